"""How fast this host computes, in generated programs and in DuckDB: measured once, kept in the cache.

Each step asks two queries over a generated star that differ in one kind of work. What the second one takes longer,
beside what it was expected to take longer, says by how much that kind of work is slower or faster than assumed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from jumpgate import errors
from jumpgate.dataflow.formats import Format, formats
from jumpgate.service import calibration

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

#: of the other tables
ITEMS, TINY_ROWS = 1_000, 10


@dataclass(frozen=True)
class Effort:
    """How long to measure. rows: of the facts, in columnar formats and in text: they must take longer than a job's time
    varies by. factor_max: no kind of work is believed to be so many times faster or slower than assumed. formats: all
    if empty; work of others is taken to be as assumed."""

    columnar_rows: int
    text_rows: int
    runs: int
    factor_max: float
    formats: tuple[str, ...] = ()


#: half a minute on an idle machine, and a few seconds on one that has other things to do
FULL = Effort(3_000_000, 600_000, runs=5, factor_max=20.0)
BRIEF = Effort(1_000_000, 0, runs=3, factor_max=4.0, formats=("parquet",))
#: where DuckDB differs from generated programs, before anything was measured
DUCKDB = {
    "job": 8e-4, "open": 1.7e-4, "operator": 5e-4,
    "filter": 0.6e-9, "expression": 2e-9, "probe": 22e-9, "probe large": 40e-9, "build": 28e-9, "build large": 80e-9,
    "group": 6e-9, "group large": 100e-9, "measure": 2e-9, "sort": 10e-9, "window": 33e-9,
}  # fmt: skip
#: seconds for a table that it reads through Jumpgate's converters: a job
OPEN_CONVERTED = 1.1e-2


@dataclass(frozen=True)
class Step:
    """Two queries, and what work the second one has more, for each row of the facts: it is what is measured."""

    first: str
    second: str
    work: Mapping[str, float]


#: the same rows through so many operators that hold them, and files, more
TINY = "SELECT count(*) FROM {tiny}"
TINY_HELD = """SELECT a.k, sum(b.q) AS s FROM {tiny} AS a JOIN {tiny} AS b ON a.k = b.k JOIN {tiny} AS c ON a.u = c.u
    GROUP BY a.k ORDER BY s"""
HELD, FILES = 3, 2
#: over each format; the number of bytes of a row is filled in
SCANS = {
    "byte": Step(TINY, "SELECT sum(k) FROM {fact}", {}),
    "number": Step("SELECT sum(k) FROM {fact}", "SELECT sum(k), sum(q), sum(u) FROM {fact}", {"measure": 2.0}),
    "decimal": Step("SELECT sum(k) FROM {fact}", "SELECT sum(k), sum(price) FROM {fact}", {"measure": 1.0}),
    "text": Step("SELECT sum(k) FROM {fact}", "SELECT sum(k), max(note) FROM {fact}", {"measure": 1.0}),
}
#: over this one
OPERATORS_IN = "parquet"
OPERATORS = (
    Step("SELECT sum(k), sum(q) FROM {fact}", "SELECT sum(k) FROM {fact} WHERE q >= 0 AND q + k < 2000",
         {"filter": 2.0, "expression": 1.0, "measure": -1.0}),
    Step("SELECT sum(k), sum(q) FROM {fact}", "SELECT q, sum(k) FROM {fact} GROUP BY q",
         {"group": 1.0, "measure": -1.0}),
    Step("SELECT sum(k), sum(u) FROM {fact}", "SELECT count(*) FROM (SELECT u, sum(k) AS s FROM {fact} GROUP BY u)",
         {"group large": 1.0}),
    Step("SELECT sum(k) FROM {fact}", "SELECT sum(k), min(category) FROM {fact} JOIN {item} ON k = id",
         {"probe": 1.0, "expression": 1.0, "measure": 1.0}),
    Step("SELECT sum(f.k), sum(f.u), sum(f.k + 1) FROM {fact} AS f",
         "SELECT sum(f.k), sum(g.k) FROM {fact} AS f JOIN {fact} AS g ON f.u = g.u",
         {"build large": 1.0, "probe large": 1.0, "expression": 1.0, "scan parquet number": 2.0}),
    Step("SELECT sum(k), sum(q), sum(u) FROM {fact}",
         "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY q ORDER BY u) AS r, k FROM {fact})",
         {"sort": 19.0, "window": 1.0, "measure": -2.0}),
    Step("SELECT sum(k), sum(q), sum(u) FROM {fact}", "SELECT k, q, u FROM {fact}", {"send": 25.0, "measure": -3.0}),
)  # fmt: skip


def assumed() -> dict[str, float]:
    """Return the speeds that are assumed of DuckDB, with those that each format declares of its scans there."""
    found = {**calibration.assumed(), **DUCKDB}
    for name, format in formats().items():
        if format.converted:
            found[f"open {name}"] = OPEN_CONVERTED
        if format.duckdb_speeds is not None:
            found |= {
                f"scan {name} {kind}": getattr(format.duckdb_speeds, kind) for kind in ("number", "decimal", "text")
            }
    return found


def load() -> dict[str, float]:
    """How fast DuckDB is on this host as it was measured, else as it is assumed to be."""
    return {**assumed(), **calibration.load("duckdb")}


Progress = Callable[[str, int, int], None]


def measure(
    connection: Connection, progress: Progress = lambda what, done, total: None, effort: Effort = FULL
) -> dict[str, dict[str, float]]:
    """Runs the queries in every format, with and without accelerators. Raises the jobs' errors.

    Returns seconds of a core by kind of work, of `host` and of `duckdb`.
    """
    found = {"host": dict(calibration.assumed()), "duckdb": assumed()}
    with tempfile.TemporaryDirectory(prefix="jumpgate-calibrate-") as folder:
        chosen = (f for f in formats().values() if f.name in effort.formats or not effort.formats)
        all_of_them = sorted(chosen, key=lambda f: f.name != OPERATORS_IN)
        for number, format in enumerate(all_of_them):
            progress(f"measuring {format.title}", number, len(all_of_them))
            rows = effort.columnar_rows if format.columnar else effort.text_rows
            names = _register(connection, Path(folder), format, rows)
            try:
                size = (Path(folder) / f"fact{format.suffixes[0]}").stat().st_size
                for who, mode in (("host", "always"), ("duckdb", "never")):
                    _Measurement(connection, names, rows, mode, found[who], effort).run(format, size)
            finally:
                for name in names.values():
                    connection.deregister(name)
    progress("done", len(all_of_them), len(all_of_them))
    return found


class _Measurement:
    """One format, one engine. `seconds` is what is known of the engine, and is corrected step by step."""

    def __init__(
        self,
        connection: Connection,
        names: Mapping[str, str],
        rows: int,
        mode: str,
        seconds: dict[str, float],
        effort: Effort,
    ) -> None:
        self._connection, self._names, self._rows, self._mode, self._seconds = connection, names, rows, mode, seconds
        self._runs, self._factor_max = effort.runs, effort.factor_max
        self._took: dict[str, tuple[float, float]] = {}

    def run(self, of: Format, size: int) -> None:
        format = of.name
        fixed, fixed_cpu = self._time(TINY)
        if format == OPERATORS_IN:
            self._set("job", fixed - self._seconds["open"] - self._seconds["operator"])
            held_s = self._time(TINY_HELD)[1] - fixed_cpu - FILES * self._seconds["open"]
            self._set("operator", held_s / HELD)
        elif self._mode == "never":
            self._set(f"open {format}", fixed - self._seconds["job"])
        for kind in ("number", "decimal", "text"):
            step, values = SCANS[kind], 2.0 if kind == "number" else 1.0
            self._correct(step, {**step.work, f"scan {format} {kind}": values}, {f"scan {format} {kind}"})
        if not of.columnar:
            work = {"measure": 1.0, f"scan {format} number": 1.0, f"scan {format} byte": size / self._rows}
            self._correct(SCANS["byte"], work, {f"scan {format} byte"})
        if format == OPERATORS_IN:
            for step in OPERATORS:
                kinds = {
                    k for k, amount in step.work.items() if amount > 0 and not k.startswith(("scan", "expression"))
                }
                self._correct(step, step.work, kinds - {"measure"} if len(kinds) > 1 else kinds)

    def _set(self, kind: str, seconds: float) -> None:
        """Replaces the assumed seconds of a unit by what it took, as far as that is believed."""
        known = calibration.unit_seconds(kind, self._seconds)
        self._seconds[kind] = min(known * self._factor_max, max(known / self._factor_max, seconds))

    def _correct(self, step: Step, work: Mapping[str, float], kinds: set[str]) -> None:
        """Makes `kinds` so much slower or faster that what the step was expected to take is what it took."""
        took = (self._time(step.second)[1] - self._time(step.first)[1]) / self._rows
        expected = {kind: amount * calibration.unit_seconds(kind, self._seconds) for kind, amount in work.items()}
        others = sum(seconds for kind, seconds in expected.items() if kind not in kinds)
        factor = (took - others) / sum(expected[kind] for kind in kinds)
        factor = min(self._factor_max, max(1.0 / self._factor_max, factor))
        for kind in kinds:
            self._seconds[kind] = factor * calibration.unit_seconds(kind, self._seconds)

    def _time(self, template: str) -> tuple[float, float]:
        """Seconds, and seconds of cores of this process and of the jobs' instances, which vary less."""
        text = template.format(**{kind: f'"{name}"' for kind, name in self._names.items()})
        if text not in self._took:
            runs = [self._run(text) for _ in range(self._runs + 1)][1:]
            self._took[text] = min(wall for wall, _ in runs), min(cpu for _, cpu in runs)
        return self._took[text]

    def _run(self, text: str) -> tuple[float, float]:
        start, cpu_start = time.perf_counter(), time.process_time()
        with self._connection.sql(text, offload=self._mode) as query:
            if query.to_arrow().num_rows == 0:
                raise errors.InternalError("calibration: the query has no rows")
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        for job in query.jobs:
            record = self._connection.session.describe(job).record or {}
            cpu += sum(counters["cpu_ns"] for counters in record.get("counters", {}).values()) / 1e9
        return wall, cpu


def _register(connection: Connection, folder: Path, format: Format, fact_rows: int) -> dict[str, str]:
    """Writes and registers the tables of one format: kind → name."""
    names = {}
    for kind, rows in (("fact", fact_rows), ("tiny", TINY_ROWS), ("item", ITEMS)):
        if kind == "item":
            table = pa.table({"id": range(ITEMS), "category": [f"category {i % 20}" for i in range(ITEMS)]})
            schema = {"id": "int64", "category": "string"}
        else:
            table, schema = _fact(rows), {**dict.fromkeys("kqu", "int64"), "note": "string"}
            schema["price"] = "decimal(7, 2)"
        file = folder / f"{kind}{format.suffixes[0]}"
        format.write(table, file)
        names[kind] = f"jumpgate_calibration_{kind}"
        connection.register(names[kind], file, format=format.name, schema=schema, **format.written_options)
    return names


def _fact(rows: int) -> pa.Table:
    keys, prices = _numbers(1, rows, ITEMS), _numbers(2, rows, 10_000)
    unique = pc.sort_indices(pc.random(rows, initializer=3)).cast(pa.int64())
    notes = pc.binary_join_element_wise("note ", _numbers(4, rows, 100_003).cast(pa.string()), "")
    few = pc.subtract(keys, pc.multiply(pc.divide(keys, 100), 100))
    price = pc.multiply(prices.cast(pa.decimal128(19)), pa.scalar(Decimal("0.01"))).cast(pa.decimal128(7, 2))
    return pa.table({"k": keys, "q": few, "u": unique, "note": notes, "price": price})


def _numbers(seed: int, rows: int, end: int) -> pa.Array:
    """From 0 to `end`, which is not one of them."""
    return pc.floor(pc.multiply(pc.random(rows, initializer=seed), float(end))).cast(pa.int64())
