"""Hybrid reads, push-back and hosts near a store (FlexPushdownDB, VLDB 2021), behind a link.

    python -m bench._hybrid PART ENDPOINT ADDRESS RUNS     # in a process on the client's machine

The store's data is there under several names: `ranges` is read by ranges alone, `select` may be asked by Select, and so
may `pushed`, of which the client's disk has nothing. Prints one JSON object a point: the seconds of each way.
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
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench import _pushdown
from bench._measure import Figure, remark
from bench._pushdown import KEY, R_MAX, SECRET
from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import cache
from jumpgate.hosts import config
from jumpgate.ncas.s3_select.lifecycle import SelectLifecycle
from jumpgate.service import embedded
from jumpgate.study.paper.network import Network, line

LINK = "1gbit"
BUCKETS = ("ranges", "select", "pushed")
COLUMNS = [f"v{i}" for i in range(10)]
#: names of the same table, half of which the disk has for hybrid reads
COPIES = ("a", "b", "c", "d")
#: of the rows, which hybrid reads return, and those of push-back
SHARES, MANY = (1e-3, 1e-2, 1e-1), 0.2
#: of a core that the busy store has
CPU = 0.25
CGROUPS, GROUP = Path("/sys/fs/cgroup/cpu"), "jumpgate-bench-"
#: folders of a cache that hold no chunks of objects
BUILT = ("runtime", "build", "artifacts", "templates", "calibration")

Run = Callable[[], pa.Table]


def hybrid(open_: Callable[..., Session], runs: int) -> Iterator[dict[str, Any]]:
    """Yield points over the share of the rows that are left. Before each run the disk has half of the objects."""
    keeping, plain, pushing = open_(prefer=("cpp",)), open_(), open_(prefer=("s3_select",))
    objects = [f"{copy}/{part}.parquet" for copy in COPIES for part in range(_pushdown.PARTS)]
    half = objects[: len(objects) // 2]

    def flow(bucket: str, names: Sequence[str]) -> Dataflow:
        return read([f"s3://{bucket}/{name}" for name in names]).select("r", *COLUMNS)

    folder = cache.root() / "chunks"
    for bucket in ("ranges", "select"):
        sums = {name: sum_(name) for name in ("r", *COLUMNS)}
        keeping.run(flow(bucket, half).aggregate(**sums)).to_arrow()
    kept = set(folder.rglob("*-*"))

    for share in SHARES:

        def few(bucket: str, share: float = share) -> Dataflow:
            return flow(bucket, objects).filter(col("r") < round(share * R_MAX)).select(*COLUMNS)

        def run(session: Session, bucket: str, few: Callable[[str], Dataflow] = few) -> Run:
            return lambda: session.run(few(bucket)).to_arrow()

        if " on the disk" not in (text := pushing.explain(few("select"))) or "s3_select" not in text:
            raise SystemExit(f"the plan is no hybrid one:\n{text}")
        ways = {
            "cache": run(plain, "ranges"), "select": run(pushing, "pushed"),
            "hybrid": run(pushing, "select"), "chosen": run(plain, "select"),
        }  # fmt: skip
        yield {"x": share, **_medians({way: (of, lambda: _restored(folder, kept)) for way, of in ways.items()}, runs)}


def pushback(open_: Callable[..., Session], runs: int) -> Iterator[dict[str, Any]]:
    """Yield the seconds of a query that insists on a busy store's Select, and of one that may leave it for ranges."""
    session = open_(prefer=("s3_select",))

    def many() -> pa.Table:
        found = read([f"s3://pushed/{copy}/*.parquet" for copy in COPIES]).filter(col("r") < round(MANY * R_MAX))
        result = session.run(found.aggregate(n=count(), s=sum_("v0"), t=sum_("v1")))
        table = result.to_arrow()
        by_ranges = sum(c["asked"].get("ranged_objects", 0) for c in _counters(session, result.job))
        remark(f"  {by_ranges:g} of {len(COPIES) * _pushdown.PARTS} objects by ranges")
        return table

    yield {"x": CPU, **_medians({"insists": (many, _insisting), "shifts": (many, _none)}, runs)}


def near(open_: Callable[..., Session], runs: int) -> Iterator[dict[str, Any]]:
    """Yield the seconds of an aggregate by groups: by Select, and by an agent beside the store."""
    plain, pushing = open_(), open_(prefer=("s3_select",))

    def groups(bucket: str) -> Dataflow:
        sums = {f"s{i}": sum_(f"v{i}") for i in range(4)}
        return read(f"s3://{bucket}/groups/*.parquet").aggregate(by=["g32"], **sums)

    result = plain.run(groups("ranges"))
    result.to_arrow()
    if "near s3://ranges" not in (text := plain.explain_job(result.job)):
        raise SystemExit(f"nothing runs beside the store:\n{text}")
    found = {
        "near": (lambda: plain.run(groups("ranges")).to_arrow(), _none),
        "select": (lambda: pushing.run(groups("pushed")).to_arrow(), _none),
    }
    yield {"x": 32, **_medians(found, runs)}


PARTS: Mapping[str, Callable[[Callable[..., Session], int], Iterator[dict[str, Any]]]] = {
    "hybrid": hybrid, "pushback": pushback, "near": near,
}  # fmt: skip


def _counters(session: Session, job: str) -> list[dict[str, Any]]:
    record = session.describe(job).record
    assert record is not None
    return [counters for counters in record["counters"].values() if "asked" in counters]


@contextlib.contextmanager
def _none() -> Iterator[None]:
    yield


@contextlib.contextmanager
def _restored(folder: Path, kept: Set[Path]) -> Iterator[None]:
    """Leave these chunks alone on the disk before the block."""
    for file in {*folder.rglob("*-*")} - kept:
        file.unlink()
    yield


@contextlib.contextmanager
def _insisting() -> Iterator[None]:
    """Let new instances ask the store, however slow it is (bench/_insisting.py)."""
    was, SelectLifecycle.module = SelectLifecycle.module, "bench._insisting"
    try:
        yield
    finally:
        SelectLifecycle.module = was


def _medians(ways: Mapping[str, tuple[Run, Callable[[], Any]]], runs: int) -> dict[str, float]:
    """Return the seconds of each way, in the median of runs in turns, once the answers were found to be equal."""
    expected: list[Any] | None = None
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(runs + 1):
        for way, (run, context) in ways.items():
            with context():
                start = time.perf_counter()
                table = run()
                took = time.perf_counter() - start
            if turn:  # the first one builds what the plan needs
                seconds[way].append(took)
                continue
            rows = sorted(zip(*(c.to_pylist() for c in table.columns), strict=True))
            if expected is not None and rows != expected:
                raise SystemExit(f"{way} has another answer")
            expected = rows
    found = {way: statistics.median(of) for way, of in seconds.items()}
    remark("  " + ", ".join(f"{way} {of:.2f} s" for way, of in found.items()))
    return found


def behind(part: str, folder: Path, runs: int) -> list[dict[str, Any]]:
    """Return the points of a part over a store behind the link. Needs root."""
    _pushdown.generate(folder)
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.closing(Network()) as network,
        _quarter(part == "pushback") as take,
    ):
        for bucket in BUCKETS:
            shutil.copytree(folder, Path(name) / bucket, copy_function=os.link)
            for copy in COPIES:
                shutil.copytree(folder / "items", Path(name) / bucket / copy, copy_function=os.link)
        store, client = network.machine(), network.machine()
        server = store.python("-m", "bench._store_server", name, KEY, SECRET, store.address, "select")
        take(server.pid)
        endpoint = line(server).strip()
        env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
               "AWS_EC2_METADATA_DISABLED": "true", "PYTHONPATH": str(Path.cwd()),
               "JUMPGATE_CONFIG": f"{name}/jumpgate.toml", "JUMPGATE_CACHE_DIR": f"{name}/cache"}  # fmt: skip
        os.mkdir(env["JUMPGATE_CACHE_DIR"], 0o700)
        for built in BUILT:
            (Path(name) / "cache" / built).symlink_to(cache.folder(built))
        hosts = ""
        if part == "near":
            token = Path(name) / "token"
            token.touch(0o600)
            token.write_text("of the benchmark\n")
            agent = store.python(
                "-m", "jumpgate.hosts.agent", "--listen", f"{store.address}:0", "--token-file", token, env=env
            )
            port = json.loads(line(agent))["port"]
            hosts = (
                f'[[host]]\nname = "beside"\nagent = "{store.address}:{port}"\ntoken_file = "{token}"\n'
                f'near = "s3://ranges"\nlink_bits_per_s = 1000000000\n[[host]]\nname = "local"\n'
            )
        stores = (
            f'[[store]]\nurl = "s3://{bucket}"\nendpoint = "{endpoint}"\ninsecure = true\nbits_per_s = 1e9\n'
            + f'select = true\nselect_dialect = "{"filters" if part == "pushback" else "aws"}"\n' * (bucket != "ranges")
            for bucket in BUCKETS
        )
        service = f"[service]\ncache_bytes = {1 << 32}\n" * (part == "hybrid")
        Path(env["JUMPGATE_CONFIG"]).write_text("".join(stores) + hosts + service)
        store.limit(LINK)
        asking = client.python("-m", "bench._hybrid", part, client.address, str(runs), env=env)
        points = len(SHARES) if part == "hybrid" else 1
        return [json.loads(line(asking)) for _ in range(points)]


@contextlib.contextmanager
def _quarter(is_busy: bool) -> Iterator[Callable[[int], None]]:
    """Yield what gives a process its share of a core, by a group of its own (cgroups, version 1); nothing if the store
    is not the busy one."""
    if not is_busy:
        yield lambda pid: None
        return
    for left in CGROUPS.glob(f"{GROUP}*"):  # by benches that were killed
        if not Path("/proc", left.name.removeprefix(GROUP)).exists():
            _ungroup(left)
    group = CGROUPS / f"{GROUP}{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text(str(round(CPU * 100_000)))
        yield lambda pid: (group / "cgroup.procs").write_text(str(pid)) and None
    finally:
        _ungroup(group)


def _ungroup(group: Path) -> None:
    """Remove a group of processes, which go on without it."""
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            (CGROUPS / "cgroup.procs").write_text(pid)
    group.rmdir()


def figures(part: str, points: Sequence[Mapping[str, float]]) -> Iterator[Figure]:
    """Yield the figure of a part."""
    if part == "hybrid":
        ratios = {p["x"]: min(p["cache"], p["select"]) / p["hybrid"] for p in points}
        shown = ", ".join(f"{ratio:.2f} with {x:g} of the rows" for x, ratio in ratios.items())
        words = f"half of the objects on the disk, beside the better of ranges and Select, {LINK}; {shown}"
        yield Figure("hybrid_vs_best", max(ratios.values()), 1.2, "higher", words)
    elif part == "pushback":
        words = f"shifting to ranges beside insisting on Select, the store has {CPU:g} of a core, {LINK}"
        yield Figure("pushback_vs_pushdown", points[0]["insists"] / points[0]["shifts"], 1.5, "higher", words)
    else:
        words = f"an aggregate into 32 groups by an agent beside the store, beside Select, {LINK}"
        yield Figure("near_vs_select", points[0]["select"] / points[0]["near"], 2.0, "higher", words)


def main(part: str, address: str, runs: str) -> None:
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(contextlib.closing(embedded.start(config.load())))

        def open_(**options: Any) -> Session:
            return stack.enter_context(Session(service.address, host=address, progress=False, **options))

        for found in PARTS[part](open_, int(runs)):
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
