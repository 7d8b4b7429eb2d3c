"""PushdownDB's sweeps (ICDE 2020, figures 1 to 11) over a store behind a link.

    python -m bench._pushdown ENDPOINT RUNS LINK SCALE [SWEEP …]     # in a process on the client's machine

ENDPOINT is that of a store that counts; without one, as over MinIO, it is "", and jobs count what they asked.

The store's data is there under several names: `s3://ranges` is read by ranges alone, `s3://select` may be asked by
Select, `s3://index` has index tables and no Select, and `s3://both` has both. Each point of a sweep is run by ranges,
by Select or an index wherever they match, and as the estimate chooses. Prints one JSON object a point: seconds,
dollars, requests and bytes of each way.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import jumpgate
from bench import _minio, _panels, _pushdown_csv, _tuning
from bench._measure import Figure, geometric_mean, remark
from bench._panels import Panel
from bench._sweeps import Sweep
from bench._tuning import Constants
from jumpgate.client import Dataflow, avg, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.ncas.s3_select import indexing
from jumpgate.observe import timeline
from jumpgate.study import charts
from jumpgate.study.paper.network import Network, line

KEY, SECRET = "AKIABENCH", "bench-only"
#: prices that AWS published in dollars: 10⁹ bytes scanned and returned, 1000 requests, an hour of r4.8xlarge
SCANNED, RETURNED, REQUESTS, HOUR = 0.002, 0.0007, 0.0004, 2.128
ROWS, PARTS = 4_000_000, 8
#: the slowest link, in tc's notation
SLOWEST = "1gbit"
SKEWS = (0.0, 0.6, 0.9, 1.1, 1.3)
SKEWED_GROUPS = 100
GROUPS = (2, 4, 8, 16, 32)
#: speed-ups over reading whole tables, as the paper tells them
PUBLISHED: dict[str, dict[float, float]] = {"filter": {1e-3: 10.0}, **_pushdown_csv.PUBLISHED}
#: of `r`, which is evenly spread
R_MAX = _pushdown_csv.R_MAX
#: of a store whose Select may be used
SELECT = 'select = true\nselect_dialect = "aws"\nselect_formats = ["parquet", "csv"]'
BUCKETS = {"ranges": "", "select": SELECT, "index": "", "both": SELECT}
#: those of all sweeps; some have "index", too
WAYS = ("ranges", "select", "chosen")


def generate(folder: Path, count: int = ROWS) -> None:
    """Write the tables, once, in several objects each: `items`, which is filtered, and `groups`. count: of rows."""
    draw = np.random.default_rng(7)
    values = {f"v{i}": draw.integers(0, 1_000_000_000, count, np.int32) for i in range(10)}
    weights = {s: 1 / np.arange(1, SKEWED_GROUPS + 1) ** s for s in SKEWS}
    texts = pc.cast(pa.array(draw.integers(1 << 60, 1 << 62, count)), pa.string())
    tables = {
        "items": {"r": draw.integers(0, R_MAX, count, np.int32), **values, "t0": texts},
        "groups": {
            **{f"g{n}": draw.integers(0, n, count, np.int32) for n in GROUPS},
            **{f"z{round(s * 10)}": draw.choice(SKEWED_GROUPS, count, p=w / w.sum()) for s, w in weights.items()},
            **values,
        },
    }
    for name, columns in tables.items():
        if not (folder / name).exists():
            (folder / name).mkdir(parents=True)
            table = pa.table(columns)
            for part in range(PARTS):
                rows = table.slice(part * count // PARTS, count // PARTS)
                pq.write_table(rows, folder / name / f"{part}.parquet", row_group_size=1 << 17)


def sweeps(scale: float, link: str = SLOWEST, names: Sequence[str] = ()) -> list[Sweep]:
    """Return the experiments over a link; those of these names, if there are any."""
    found = [*_of_parquet(), *_pushdown_csv.sweeps(scale)]
    return [s for s in found if (not names or s.name in names) and (link == SLOWEST or not s.is_slow)]


def _of_parquet() -> list[Sweep]:
    items = "items/*.parquet"
    groups = "groups/*.parquet"

    def grouped(groups: float) -> Constants:
        return {"": {"GROUPS_MAX": int(groups)}, "groups": {"GROUPS_MAX": int(groups), "LARGE": 0.0}}

    def sampled(rows: float) -> Constants:
        return {"": {"SAMPLED_MIN": int(rows), "SAMPLED_MAX": int(rows)}}

    def measured(flow: Dataflow, key: str) -> Dataflow:
        return flow.aggregate(by=[key], **{f"s{i}": sum_(f"v{i}") for i in range(4)})

    return [
        Sweep("filter", "1", "share of the rows that are left", True, {
            share: lambda b, share=share: read(f"{b}/{items}").filter(col("r") < round(share * R_MAX))
            for share in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
        }),
        Sweep("group-by", "5", "groups", False, {
            float(n): lambda b, n=n: measured(read(f"{b}/{groups}"), f"g{n}") for n in GROUPS
        }),
        Sweep("skewed group-by", "7", "Zipf's exponent of 100 groups", False, {
            s: lambda b, s=s: measured(read(f"{b}/{groups}"), f"z{round(s * 10)}") for s in SKEWS
        }),
        Sweep("groups at the store", "6", "groups that the store computes, of 100 with Zipf's exponent 1.3", False, {
            float(n): lambda b: measured(read(f"{b}/{groups}"), "z13") for n in (1, 2, 4, 6, 8, 12)
        }, published="6 to 8 are best", tuned=grouped),
        Sweep("sampled rows", "8", "rows of the sample for the first 100", True, {
            float(n): lambda b: read(f"{b}/{items}").top(100, "v0", "r", "v1") for n in (100, 1000, 10_000, 100_000)
        }, published="√(K·N/α) is best", tuned=sampled),
        Sweep("top", "9", "rows wanted", True, {
            float(k): lambda b, k=k: read(f"{b}/{items}").top(k, "v0", "r", "v1") for k in (1, 10, 100, 1000, 10_000)
        }),
        Sweep("columns", "11", "columns returned, of a hundredth of the rows", False, {
            float(n): lambda b, n=n: read(f"{b}/{items}").filter(col("r") < R_MAX // 100).select(
                *(f"v{i}" for i in range(n))) for n in (1, 5, 10)
        }),
        Sweep("totals", "10", "share of the rows that are left", True, {
            share: lambda b, share=share: read(f"{b}/{items}").filter(col("r") < round(share * R_MAX)).aggregate(
                n=count(), total=sum_("v0"), mean=avg("v1")) for share in (1e-3, 1e-1, 1.0)
        }),
    ]  # fmt: skip


def counted(endpoint: str) -> dict[str, float]:
    """Return the requests, the bytes of bodies and what else the store counts since the last call."""
    with urllib.request.urlopen(f"{endpoint}/-/counts") as answer:
        found: dict[str, float] = json.load(answer)
    return found


def cost(seconds: float, counts: Mapping[str, float]) -> float:
    """Return dollars.

    >>> round(cost(3600, {"scanned": 1e9, "returned": 1e9, "requests": 1000}), 4)
    2.1311
    """
    asked = counts["scanned"] * SCANNED + counts["returned"] * RETURNED
    return seconds / 3600 * HOUR + asked / 1e9 + counts["requests"] / 1000 * REQUESTS


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    rows = zip(*(c.to_pylist() for c in table.columns), strict=True)
    return sorted((tuple(f"{v:.9g}" if isinstance(v, float) else v for v in row) for row in rows), key=repr)


class Way:
    """Runs dataflows, and SQL over the tables of TPC-H in a bucket."""

    def __init__(self, bucket: str, scale: float, **options: Any) -> None:
        self.bucket = bucket
        self._jobs: list[tuple[Session, str]] = []
        self._session = Session(progress=False, **options)
        self._sql = jumpgate.connect(offload="always", progress=False, **options)
        for name in _pushdown_csv.TABLES:
            self._sql.register(name, _pushdown_csv.table(bucket, name, scale))

    def close(self) -> None:
        self._session.close()
        self._sql.close()

    def __call__(self, found: Dataflow | str) -> pa.Table:
        if isinstance(found, str):
            query = self._sql.sql(found)
            table = query.to_arrow()
            self._jobs += [(self._sql.session, job) for job in query.jobs]
            return table
        result = self._session.run(found)
        self._jobs.append((self._session, result.job))
        return result.to_arrow()

    def counted(self, endpoint: str) -> dict[str, float]:
        """Return the requests, the bytes of bodies and what else the store counts since the last call, or what jobs say
        that they asked for."""
        jobs, self._jobs = self._jobs, []
        if endpoint:
            return counted(endpoint)
        asked = [timeline.from_record(session.describe(job).record).asked or timeline.Asked() for session, job in jobs]
        return {
            "requests": sum(one.requests for one in asked),
            "bytes": sum(one.returned_bytes for one in asked),
            "scanned": sum(one.scanned_bytes for one in asked),
            "returned": sum(one.returned_bytes for one in asked if one.scanned_bytes),
        }


def measured(endpoint: str, runs: int, scale: float, wanted: Sequence[Sweep]) -> Iterator[dict[str, Any]]:
    """Yield each point: what each way took, in the median, once all answers were found to be equal."""
    for sweep in wanted:
        with contextlib.ExitStack() as stack:
            asked = _ways(sweep, scale, stack)
            for x, flow in sweep.points.items():
                if sweep.tuned:  # services remember plans
                    stack.close()
                    stack.enter_context(_tuning.applied(sweep.tuned(x)))
                    asked = _ways(sweep, scale, stack)
                expected = None
                found: dict[str, Any] = {"sweep": sweep.name, "figure": sweep.figure, "over": sweep.over, "x": x}
                for way, run in asked.items():
                    rows = rows_of(run(flow(run.bucket)))  # it also builds what the plan needs
                    if expected is not None and rows != expected:
                        raise SystemExit(f"{sweep.name} at {x:g}: {way} has another answer")
                    expected, seconds = rows, []
                    run.counted(endpoint)
                    for _ in range(runs):
                        start = time.perf_counter()
                        run(flow(run.bucket))
                        seconds.append(time.perf_counter() - start)
                    counts = {key: value / runs for key, value in run.counted(endpoint).items()}
                    took = statistics.median(seconds)
                    found[way] = {"seconds": took, "cost": cost(took, counts), **counts}
                remark(f"  {sweep.name} {x:g}: " + ", ".join(f"{w} {found[w]['seconds']:.2f} s" for w in asked))
                yield found


def _ways(sweep: Sweep, scale: float, stack: contextlib.ExitStack) -> dict[str, Way]:
    """Open the ways of a sweep, and make its indexes."""
    found = {"ranges": Way("s3://ranges", scale), "select": Way("s3://select", scale, prefer=("s3_select",))}
    if sweep.indexed is None:
        found["chosen"] = Way("s3://select", scale)
    else:
        found |= {"index": Way("s3://index", scale, prefer=("s3_select",)), "chosen": Way("s3://both", scale)}
        for way in ("index", "chosen"):
            objects, column = sweep.indexed
            indexing.create(objects(found[way].bucket).root, column, found[way].bucket)
    for way in found.values():
        stack.callback(way.close)
    return found


def behind(
    link: str,
    data: Path,
    runs: int,
    scale: float = 1.0,
    names: Sequence[str] = (),
    rows: int = ROWS,
    with_minio: bool = False,
) -> list[dict[str, Any]]:
    """Return the points of sweeps over a store whose link has a rate, in tc's notation: hadro's protocol with DuckDB's
    speed, or MinIO. Needs root."""
    folder = data / ("select" if rows == ROWS else f"select-{rows}")
    generate(folder, rows)
    _pushdown_csv.generate(folder, data, scale)
    with tempfile.TemporaryDirectory() as name, contextlib.closing(Network()) as network:
        store, client = network.machine(), network.machine()
        if with_minio:
            endpoint = f"http://{store.address}:{_minio.PORT}"
            store.start(*_minio.command(endpoint, Path(name) / "minio"), env=_minio.environment(KEY, SECRET))
            copying = store.python("-m", "bench._minio", endpoint, KEY, SECRET, folder, *BUCKETS)
            if copying.wait():
                raise SystemExit("MinIO took no copies of the tables")
        else:
            for bucket in BUCKETS:
                shutil.copytree(folder, Path(name) / bucket, copy_function=os.link)
            server = store.python("-m", "bench._store_server", name, KEY, SECRET, store.address, "select")
            endpoint = line(server).strip()
        store.limit(link)
        bits = float(link.removesuffix("gbit")) * 1e9
        config = Path(name) / "jumpgate.toml"
        config.write_text(
            "".join(
                f'[[store]]\nurl = "s3://{bucket}"\nendpoint = "{endpoint}"\ninsecure = true\n'
                f"bits_per_s = {bits}\n{more.replace('aws', 'minio') if with_minio else more}\n"
                for bucket, more in BUCKETS.items()
            )
            + f'[[host]]\nname = "local"\nmoney_per_hour = {HOUR}\n'
        )
        env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
               "AWS_EC2_METADATA_DISABLED": "true", "JUMPGATE_CONFIG": str(config), "PYTHONPATH": str(Path.cwd()),
               "JUMPGATE_STATE_DIR": f"{name}/state"}  # fmt: skip
        counting = "" if with_minio else endpoint
        asking = client.python("-m", "bench._pushdown", counting, str(runs), link, str(scale), *names, env=env)
        points = sum(len(sweep.points) for sweep in sweeps(scale, link, names))
        return [json.loads(line(asking)) for _ in range(points)]


def figures(links: Mapping[str, Sequence[Mapping[str, Any]]], scale: float) -> Iterator[Figure]:
    """Yield the figures of the sweeps that were run, by link."""
    first, points = next(iter(links.items()))
    filters = [
        p["ranges"]["seconds"] / p["select"]["seconds"] for p in points if p["sweep"] == _pushdown_csv.CSV_FILTER
    ]
    if filters:
        words = f"Select over CSV, taken apart beforehand, beside ranges, the best of the sweep, {first}"
        yield Figure("filter_speedup", max(filters), 5.0, "higher", words)
    yield from _pushdown_csv.figures(first, scale, points)
    ratios = [
        p["chosen"]["seconds"] / min(p[way]["seconds"] for way in ("ranges", "select", "index") if way in p)
        for found in links.values()
        for p in found
    ]
    words = f"the way chosen beside the better one, {len(ratios)} points at {', '.join(links)}; worst {max(ratios):.2f}"
    yield Figure("chosen_vs_best", geometric_mean(ratios), 1.15, "lower", words)


def page(links: Mapping[str, Sequence[Mapping[str, Any]]], found: Sequence[Figure], scale: float) -> str:
    """Draw the sweeps that were run beside the published ones."""
    panels = []
    run = {p["sweep"] for points in links.values() for p in points}
    for sweep in (sweep for sweep in sweeps(scale) if sweep.name in run):
        series: dict[str, list[tuple[float, float]]] = {}
        for link, points in links.items():
            for way in _shown(sweep)[1:]:
                series[f"{way}, {link}"] = [
                    (p["x"], p["ranges"]["seconds"] / p[way]["seconds"]) for p in points if p["sweep"] == sweep.name
                ]
        published = PUBLISHED.get(sweep.name, {})
        if published:
            series["published"] = list(published.items())
        said = f"; published: {sweep.published}" if sweep.published else ""
        text = f"Speed-up over ranged reads, by {sweep.over}. PushdownDB's figure {sweep.figure}{said}."
        panels.append(Panel(sweep.name, text, charts.lines(series, logarithmic=sweep.is_logarithmic)))
        columns = (
            sweep.over,
            "link",
            *(f"{way}: {what}" for way in _shown(sweep) for what in ("s", "cents", "requests")),
        )
        rows = tuple(
            (f"{p['x']:g}", link, *(
                f"{value:.3g}"
                for way in _shown(sweep)
                for value in (p[way]["seconds"], 100 * p[way]["cost"], p[way]["requests"])
            ))
            for link, points in links.items()
            for p in points
            if p["sweep"] == sweep.name
        )  # fmt: skip
        panels.append(Panel(f"{sweep.name}: all figures", "", None, columns, rows))
    text = (
        "Ranges: objects are read by ranges. Select: the store filters, aggregates or prunes, wherever it can. "
        "Index: rows are read by index tables. Chosen: as the estimate decides. Cents are those of the store by AWS's "
        "published prices, and of an hour of r4.8xlarge."
    )
    return _panels.page("Storage that computes", "the sweeps of PushdownDB", text, panels, found)


def _shown(sweep: Sweep) -> tuple[str, ...]:
    return (*WAYS, "index") if sweep.indexed else WAYS


def main(endpoint: str, runs: str, link: str, scale: str, *names: str) -> None:
    for found in measured(endpoint, int(runs), float(scale), sweeps(float(scale), link, names)):
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
