"""The figures of SQL: all queries of TPC-DS and TPC-H, right in every format, offloaded, generated, and fast.

    ./dev bench sql --json [--scale 1] [--data DIR] [--only FIGURE …]

The engines take turns in one process, over the same files with the same number of threads, warm, artifacts cached. A
ratio is the geometric mean over the queries of the other engine's median ÷ Jumpgate's.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any

import click
import datafusion
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from bench import _first_dataflows, _first_run
from bench._measure import Figure, alternate, counted, geometric_mean, least, medians, remark, report
from bench.estimates import quotients
from jumpgate.client.sql.connection import Connection
from jumpgate.codegen import cache
from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError, MemoryLimit
from jumpgate.ntf.codec import arrow_schema
from jumpgate.study import coverage, suites
from jumpgate.study.report import Study
from jumpgate.study.runs import study
from jumpgate.tpcds.data import generate, path
from jumpgate.tpcds.suite import TPCDS, Suite
from jumpgate.tpch import TPCH

THREADS = len(os.sched_getaffinity(0))
RUNS = 3
#: of a query that wins, and of one that loses, which may be the worst
ROUNDS, ENOUGH = (RUNS, 15), 1.0
STARTS = 9  # of shell_start_cpu_s
SECONDS_MAX = 20.0  # for one query and format
LARGE = 10.0  # scale of tpch_sf10_parquet_vs_duckdb
#: of `auto` beside others the worst of 99 ratios counts, which is as good as their noise: rounds for all, rounds for
#: those that may be the worst as their ratio is below that, seconds for one query and format
FIRST_ROUNDS, FIRST_ENOUGH, FIRST_SECONDS_MAX = (1, 9), 0.9, 20.0
AUTO_ROUNDS, AUTO_ENOUGH, AUTO_SECONDS_MAX, AUTO_SETTLED = (5, 31), 1.05, 8.0, 3
FIRST_RUNS, SMALL_RUNS = 3, 200
Run = Callable[[], Any]
#: literals that a second run of a query changes
LITERALS = re.compile(r"\b(d_year|d_moy|i_manufact_id|i_manager_id|hd_dep_count)(\s*=\s*)(\d+)\b", re.IGNORECASE)
#: of those, the first year and month that have sales
LEAST = {"d_year": 1998, "d_moy": 1}
#: columns of TPC-DS and regular expressions that filter them
PATTERNS = (
    ("c_email_address", r"^[A-Z][a-z]+\.[A-Z][a-z]{3,6}@"),
    ("c_email_address", r"\.(com|org)$"),
    ("i_item_desc", r"(?i)(good|great|nice) +\w"),
    ("i_item_desc", r"[aeiou]{3,}.*, "),
)
PATTERN_ROWS = 2_000_000


class Bench:
    """Data, connections and results that several figures share; measured when first needed."""

    def __init__(
        self, scale: float, data: Path, stack: ExitStack, numbers: Sequence[int] = (), formats: Sequence[str] = ()
    ) -> None:
        self.scale = scale
        self.queries = [(n, text) for n, text in TPCDS.queries().items() if n in numbers or not numbers]
        self.formats = formats
        self._data = data
        self._stack = stack
        self._open: dict[tuple[str, str], tuple[Connection, suites.Oracle]] = {}
        self._ratios: dict[tuple[str, str, str], list[float]] = {}

    def directory(self, suite: Suite, *formats: str) -> Path:
        folder = self._data / (f"sf{self.scale:g}" if suite is TPCDS else f"{suite.name}-sf{self.scale:g}")
        missing = generate(folder, self.scale, formats, suite=suite)
        if missing:
            remark(f"generated {suite.title} at scale {self.scale:g} in {folder}")
        return folder

    def engines(self, suite: Suite, format: str) -> tuple[Connection, suites.Oracle]:
        """Jumpgate and DuckDB over the suite's files; DuckDB has no reader for ORC and reads Parquet then."""
        key = (suite.name, format)
        if key not in self._open:
            other = "parquet" if format == "orc" else format
            folder = self.directory(suite, format, other)
            connection = self._stack.enter_context(jumpgate.connect(offload="always"))
            suites.register(connection, suite, folder, format)
            oracle = suites.Oracle(suite, folder, other, THREADS)
            self._stack.callback(oracle.close)
            self._open[key] = (connection, oracle)
        return self._open[key]

    def datafusion(self, format: str) -> datafusion.SessionContext:
        """DataFusion by itself over TPC-DS, with its own readers, as it comes."""
        context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
        folder = self.directory(TPCDS, format)
        for table in TPCDS.tables:
            file = path(folder, table, format)
            if format == "parquet":
                context.register_parquet(table, file.as_uri())
            else:
                context.register_json(table, file.as_uri(), schema=arrow_schema(TPCDS.schema(table)))
        return context

    @cached_property
    def parquet(self) -> Study:
        """TPC-DS on Parquet in every mode."""
        connection, oracle = self.engines(TPCDS, "parquet")
        found = study(connection, oracle, TPCDS.queries(), RUNS)
        return Study(TPCDS.title, self.scale, "parquet", RUNS, THREADS, tuple(found))

    def right(self, suite: Suite, among: Sequence[str] = ()) -> float:
        """Answers that are DuckDB's, over the four formats, or those named."""
        right = 0
        for format in among or formats():
            connection, oracle = self.engines(suite, format)
            for outcome in coverage.outcomes(connection, suite, oracle, "always"):
                remark(f"  {suite.title} query {outcome.query}: {outcome.verdict}, {outcome.seconds:.1f} s")
                right += outcome.verdict == "right"
                if outcome.verdict != "right":
                    remark(f"  {suite.title} query {outcome.query} from {format}: {outcome.detail}")
        return float(right)

    def ratio(self, format: str, other: str, suite: Suite = TPCDS) -> float:
        """Over all queries."""
        return geometric_mean(self.ratios(format, other, suite))

    def ratios(self, format: str, other: str, suite: Suite = TPCDS) -> list[float]:
        """Another engine's time ÷ Jumpgate's of each query."""
        key = (suite.name, format, other)
        if key not in self._ratios:
            self._ratios[key] = self._measured(format, other, suite)
        return self._ratios[key]

    def _measured(self, format: str, other: str, suite: Suite) -> list[float]:
        ratios = []
        connection, oracle = self.engines(suite, format)
        parquet, _ = self.engines(suite, "parquet")
        plain = self.datafusion(format) if other == "datafusion" else None
        for number, text in suite.queries().items():
            others: dict[str, Run] = {
                "duckdb": lambda: oracle.run(text),  # noqa: B023  called in this round
                "datafusion": lambda: plain.sql(text).to_arrow_table(),  # noqa: B023
                "parquet": lambda: parquet.sql(text).to_arrow(),  # noqa: B023
            }
            contenders = {"jumpgate": lambda: connection.sql(text).to_arrow(), other: others[other]}  # noqa: B023
            try:
                for run in contenders.values():
                    run()
                found = least(contenders, lambda s: s[other] / s["jumpgate"], ENOUGH, ROUNDS, SECONDS_MAX)
            except JumpgateError as error:
                raise SystemExit(f"query {number} from {format}: {error}") from error
            ratios.append(found[other] / found["jumpgate"])
            remark(f"  {format} query {number}: jumpgate {found['jumpgate']:.3f} s, {other} {found[other]:.3f} s")
        return ratios

    def large(self) -> float:
        """All queries of TPC-H at scale LARGE on Parquet, their answers compared first: DuckDB's time ÷ Jumpgate's."""
        bench = Bench(LARGE, self._data, self._stack)
        connection, oracle = bench.engines(TPCH, "parquet")
        for outcome in coverage.outcomes(connection, TPCH, oracle, "always"):
            if outcome.verdict != "right":
                raise SystemExit(f"query {outcome.query} at scale {LARGE:g}: {outcome.verdict}: {outcome.detail}")
        return bench.ratio("parquet", "duckdb", TPCH)

    def matching(self, other: str) -> float:
        """Filters by regular expressions: another engine's time ÷ Jumpgate's."""
        file = self._data / "patterns.parquet"
        if not file.exists():
            folder = self.directory(TPCDS, "parquet")
            columns = {}
            for column, table in (("c_email_address", "customer"), ("i_item_desc", "item")):
                values = pq.read_table(path(folder, table, "parquet"), columns=[column]).column(0).combine_chunks()
                columns[column] = values.take(pa.array(np.arange(PATTERN_ROWS) % len(values)))
            pq.write_table(pa.table(columns), file)
        connection = self._stack.enter_context(jumpgate.connect(offload="always"))
        connection.register("t", file)
        plain = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
        plain.register_parquet("t", file.as_uri())
        duck = self._stack.enter_context(duckdb.connect(config={"threads": THREADS}))
        duck.sql(f"CREATE VIEW t AS FROM '{file}'")
        ratios = []
        for column, pattern in PATTERNS:
            text = f"SELECT count(*) AS n FROM t WHERE regexp_like({column}, '{pattern}')"
            others: dict[str, Run] = {
                "duckdb": lambda: duck.sql(text.replace("regexp_like", "regexp_matches")).fetchall(),  # noqa: B023
                "datafusion": lambda: plain.sql(text).to_arrow_table(),  # noqa: B023  called in this round
            }
            contenders = {"jumpgate": lambda: connection.sql(text).to_arrow(), other: others[other]}  # noqa: B023
            found = medians(alternate(contenders, RUNS, SECONDS_MAX))
            ratios.append(found[other] / found["jumpgate"])
            remark(f"  {pattern}: jumpgate {found['jumpgate']:.3f} s, {other} {found[other]:.3f} s")
        return geometric_mean(ratios)

    def estimate_error_p90(self) -> float:
        """Return the 90th percentile of the quotient of estimated and actual rows, either way, over the operators of
        all TPC-DS queries on Parquet."""
        connection, _ = self.engines(TPCDS, "parquet")
        found = []
        for number, text in counted(self.queries, "estimate_error_p90"):
            query = connection.sql(text)
            query.to_arrow()
            records = [connection.session.describe(job).record for job in query.jobs]
            of_query = sorted(q for record in records if record is not None for q, *_ in quotients(record))
            found += of_query
            remark(f"  query {number}: {len(of_query)} operators, at worst {of_query[-1] if of_query else 1:.1f}")
        return sorted(found)[int(0.9 * len(found))]

    def auto_first_worst(self) -> float:
        """Return, over all TPC-DS queries in all formats, the least of the better of `always` and `never` ÷ `auto`,
        each as a new text, with artifacts cached and files known."""
        ratios = []
        for format in self.formats:
            connection, _ = self.engines(TPCDS, format)
            for number, text in counted(self.queries, f"auto_first_worst, {format}"):
                runs = count()
                contenders: dict[str, Run] = {
                    m: lambda m=m: answer(connection, f"{text}\n-- {next(runs)}", m)  # noqa: B023  called in this round
                    for m in ("auto", "always", "never")
                }
                answer(connection, text, "always")  # compiles, as the next one does
                contenders["auto"]()
                found = least(contenders, _first_ratio, FIRST_ENOUGH, FIRST_ROUNDS, FIRST_SECONDS_MAX)
                ratios.append(_first_ratio(found))
                times = ", ".join(f"{mode} {seconds:.3f} s" for mode, seconds in found.items())
                remark(f"  {format} query {number}: {times}: ratio {ratios[-1]:.2f}")
        return min(ratios)

    def auto_worst(self) -> float:
        """Return, over all TPC-DS queries on Parquet, the least of `never` ÷ `auto`, once the text has run both
        ways."""
        ratios = []
        connection, _ = self.engines(TPCDS, "parquet")
        for number, text in counted(self.queries, "auto_worst"):
            contenders: dict[str, Run] = {m: partial(answer, connection, text, m) for m in ("auto", "never")}
            for mode in ("always", "never") * AUTO_SETTLED:
                answer(connection, text, mode)
            found = least(contenders, _auto_ratio, AUTO_ENOUGH, AUTO_ROUNDS, AUTO_SECONDS_MAX)
            ratios.append(_auto_ratio(found))
            remark(f"  query {number}: auto {found['auto']:.4f} s, never {found['never']:.4f} s")
        return min(ratios)

    def first_run(self) -> float:
        """Return the median over the TPC-DS queries on Parquet of DuckDB's time ÷ that of `auto`, each the first text
        of a new process, with the runtime built and no program."""
        folder = self.directory(TPCDS, "parquet")
        runtime, ratios = cache.folder("runtime"), []
        for number, _ in counted(self.queries, "first_run_vs_duckdb"):
            took: dict[str, list[float]] = {_first_run.JUMPGATE: [], _first_run.DUCKDB: []}
            for _ in range(FIRST_RUNS):
                for engine, seconds in took.items():
                    with tempfile.TemporaryDirectory(prefix="jumpgate-first-run-") as empty:
                        (Path(empty) / "runtime").symlink_to(runtime)
                        seconds.append(_first_seconds(engine, folder, number, empty))
            found = medians(took)
            ratios.append(found[_first_run.DUCKDB] / found[_first_run.JUMPGATE])
            remark(f"  query {number}: " + ", ".join(f"{name} {seconds:.3f} s" for name, seconds in found.items()))
        return statistics.median(ratios)

    def first_interpreted(self) -> float:
        """Return the median over TPC-H's dataflows of the interpreter's time ÷ that of a first run, both of a service
        that is up, with the runtime built and no program. One round takes four minutes."""
        folder, runtime = self.directory(TPCH, "parquet"), cache.folder("runtime")
        took: dict[int, dict[str, list[float]]] = {}
        with ExitStack() as stack:
            asked = {
                mode: stack.enter_context(_first_service(mode, folder, runtime)) for mode in _first_dataflows.MODES
            }
            while all(lines := {mode: ask() for mode, ask in asked.items()}.values()):
                for mode, line in zip(asked, lines, strict=True):
                    number, seconds = line.split()
                    took.setdefault(int(number), {}).setdefault(mode, []).append(float(seconds))
        ratios = []
        for number, of_mode in took.items():
            found = medians(of_mode)
            remark(f"  query {number}: " + ", ".join(f"{mode} {seconds:.3f} s" for mode, seconds in found.items()))
            ratios.append(found[_first_dataflows.INTERPRETED] / found[_first_dataflows.AUTO])
        return statistics.median(ratios)

    def overhead_small(self) -> float:
        """Return the milliseconds that `auto` takes more than DuckDB by itself for a join of tables of one row: the
        worse of a file and Arrow data, and a file alone."""
        file, data = self._data / "one.parquet", pa.table({"a": [1], "c": ["y"]})
        pq.write_table(pa.table({"a": [1], "b": ["x"]}), file)
        connection = self._stack.enter_context(jumpgate.connect())
        plain = self._stack.enter_context(duckdb.connect(config={"threads": THREADS}))
        connection.register("t", file)
        connection.register("u", data)
        plain.sql(f"CREATE VIEW t AS FROM '{file}'")
        plain.register("u", data)
        found = []
        for text in ("SELECT t.a, count(*) AS n FROM t JOIN u ON t.a = u.a GROUP BY t.a", "SELECT a, b FROM t"):
            contenders: dict[str, Run] = {
                "auto": lambda: connection.sql(text).to_arrow(),  # noqa: B023  called in this round
                "duckdb": lambda: plain.execute(text).to_arrow_table(),  # noqa: B023
            }
            seconds = medians(alternate(contenders, SMALL_RUNS))
            found.append(1e3 * (seconds["auto"] - seconds["duckdb"]))
        return max(found)

    def recompiled(self) -> float:
        """Programs compiled for queries that ran before with other literals."""
        connection, _ = self.engines(TPCDS, "parquet")
        built = 0
        for number, text in TPCDS.queries().items():
            other = _with_others(text)
            if other == text:
                continue
            connection.sql(text).to_arrow()
            before = artifacts()
            connection.sql(other).to_arrow()
            new = len(artifacts() - before)
            built += new
            if new:
                remark(f"  query {number}: {new} programs compiled")
        return float(built)


def _spread(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """So many of the numbers, evenly spread; all of fewer."""
    step = max(1.0, len(numbers) / count)
    return tuple(numbers[int((i + 0.5) * step)] for i in range(min(count, len(numbers))))


def _first_seconds(engine: str, folder: Path, number: int, cached: str) -> float:
    command = [sys.executable, "-m", _first_run.__name__, engine, str(folder), str(number)]
    found = subprocess.run(
        command, env={**os.environ, "JUMPGATE_CACHE_DIR": cached}, check=True, capture_output=True, text=True
    )
    return float(found.stdout)


@contextmanager
def _first_service(mode: str, folder: Path, runtime: Path) -> Iterator[Callable[[], str]]:
    """A process of _first_dataflows with a cache of its own, asked for one line after the other."""
    with tempfile.TemporaryDirectory(prefix="jumpgate-first-run-", ignore_cleanup_errors=True) as empty:
        (Path(empty) / "runtime").symlink_to(runtime)
        command = [sys.executable, "-m", _first_dataflows.__name__, mode, str(folder)]
        with subprocess.Popen(
            command, env={**os.environ, "JUMPGATE_CACHE_DIR": empty},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        ) as process:  # fmt: skip
            assert process.stdin is not None and process.stdout is not None
            to, of = process.stdin, process.stdout

            def ask() -> str:
                to.write("\n")
                return of.readline()

            yield ask


def _with_others(text: str) -> str:
    """The query with other literals, of those that TPC-DS chooses from: beyond them there is next to nothing to find,
    and another plan is better. A column's move together: some queries compare years or months that follow."""
    values: dict[str, list[int]] = {}
    for column, _, value in LITERALS.findall(text):
        values.setdefault(column.lower(), []).append(int(value))
    steps = {column: -1 if column in LEAST and min(of) > LEAST[column] else 1 for column, of in values.items()}
    return LITERALS.sub(lambda m: f"{m[1]}{m[2]}{int(m[3]) + steps[m[1].lower()]}", text)


def _first_ratio(seconds: Mapping[str, float]) -> float:
    return min(seconds["always"], seconds["never"]) / seconds["auto"]


def _auto_ratio(seconds: Mapping[str, float]) -> float:
    return seconds["never"] / seconds["auto"]


def answer(connection: Connection, text: str, offload: str) -> None:
    """Runs it; DataFusion alone may run out of memory, and counts with the time until then."""
    with suppress(*([MemoryLimit] if offload == "never" else [])):
        connection.sql(text, offload=offload).to_arrow()


def shell_start_cpu_s() -> float:
    """Return the CPU seconds, the kernel's among them, of a process of `jumpgate sql` that runs one statement."""
    command = [str(Path(sys.executable).with_name("jumpgate")), "sql", "-c", "SELECT 1"]
    with tempfile.TemporaryDirectory() as compiled:  # as installed, where Python's bytecode is there
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        found = [_cpu_s(command, environment) for _ in range(STARTS + 1)][1:]
    return statistics.median(found)


def _cpu_s(command: Sequence[str], environment: Mapping[str, str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def artifacts() -> set[str]:
    """The programs in the cache, optimised or not."""
    return {file.stem.removesuffix("-quick") for file in (cache.root() / "artifacts").glob("*/*.so")}


def figures(bench: Bench) -> dict[str, Callable[[], Figure]]:
    """Every figure by name, in the order in which they are measured."""
    where = f"TPC-DS at scale {bench.scale:g}, {THREADS} threads"
    chosen = f"{len(bench.queries)} queries of {where}"
    speed = f"geometric mean over the 99 queries of {where}"
    return {
        "tpcds_answers_right": lambda: Figure(
            "tpcds_answers_right", bench.right(TPCDS), 396, "higher", f"of 99 × 4 formats, {where}, against DuckDB"
        ),
        "tpch_answers_right": lambda: Figure(
            "tpch_answers_right", bench.right(TPCH), 88, "higher", f"of 22 × 4 formats, scale {bench.scale:g}"
        ),
        "tpch_parquet_right": lambda: Figure(
            "tpch_parquet_right", bench.right(TPCH, ["parquet"]), 22, "higher", f"of 22, scale {bench.scale:g}"
        ),
        "tpcds_parquet_right": lambda: Figure(
            "tpcds_parquet_right", bench.right(TPCDS, ["parquet"]), 99, "higher", f"of 99, {where}, against DuckDB"
        ),
        "tpcds_operators_offloaded": lambda: Figure(
            "tpcds_operators_offloaded", bench.parquet.operators_offloaded, 0.95, "higher", f"of all plans, {where}"
        ),
        "tpcds_operators_generated": lambda: Figure(
            "tpcds_operators_generated", bench.parquet.operators_generated, 0.9, "higher", f"of all plans, {where}"
        ),
        "json_vs_duckdb": lambda: Figure("json_vs_duckdb", bench.ratio("json", "duckdb"), 5.5, "higher", speed),
        "json_vs_datafusion": lambda: Figure(
            "json_vs_datafusion", bench.ratio("json", "datafusion"), 6.0, "higher", speed
        ),
        "csv_vs_duckdb": lambda: Figure("csv_vs_duckdb", bench.ratio("csv", "duckdb"), 9.0, "higher", speed),
        "parquet_vs_datafusion": lambda: Figure(
            "parquet_vs_datafusion", bench.ratio("parquet", "datafusion"), 1.0, "higher", speed
        ),
        "tpcds_parquet_vs_duckdb": lambda: Figure(
            "tpcds_parquet_vs_duckdb", bench.ratio("parquet", "duckdb"), 1.5, "higher", speed
        ),
        "tpcds_parquet_worst": lambda: Figure(
            "tpcds_parquet_worst", min(bench.ratios("parquet", "duckdb")), 0.8, "higher", f"the least of them, {where}"
        ),
        "tpch_parquet_vs_duckdb": lambda: Figure(
            "tpch_parquet_vs_duckdb", bench.ratio("parquet", "duckdb", TPCH), 1.4, "higher",
            f"geometric mean over the 22 queries of TPC-H at scale {bench.scale:g}, {THREADS} threads",
        ),
        "tpch_sf10_parquet_vs_duckdb": lambda: Figure(
            "tpch_sf10_parquet_vs_duckdb", bench.large(), 1.4, "higher",
            f"geometric mean over the 22 queries of TPC-H at scale {LARGE:g}, answers compared, {THREADS} threads",
        ),
        "orc_vs_parquet": lambda: Figure(
            "orc_vs_parquet", bench.ratio("orc", "parquet"), 0.95, "higher", f"Jumpgate on Parquet ÷ on ORC: {speed}"
        ),
        "regex_vs_datafusion": lambda: Figure(
            "regex_vs_datafusion", bench.matching("datafusion"), 0.8, "higher", f"{len(PATTERNS)} filters, Parquet"
        ),
        "regex_vs_duckdb": lambda: Figure(
            "regex_vs_duckdb", bench.matching("duckdb"), 1.0, "higher", f"{len(PATTERNS)} filters, Parquet"
        ),
        "peak_memory_gb": lambda: Figure(
            "peak_memory_gb", max(q.peak_bytes for q in bench.parquet.queries) / 1e9, 8.0, "lower",
            f"of all instances of the hungriest query, {where}",
        ),
        "shell_start_cpu_s": lambda: Figure(
            "shell_start_cpu_s", shell_start_cpu_s(), 0.5, "lower",
            f'`jumpgate sql -c "SELECT 1"`, user and system, median of {STARTS} processes',
        ),
        "auto_worst": lambda: Figure(
            "auto_worst", bench.auto_worst(), 0.95, "higher",
            f"never ÷ auto of the query that loses most, {chosen}",
        ),
        "auto_first_worst": lambda: Figure(
            "auto_first_worst", bench.auto_first_worst(), 0.9, "higher",
            f"better of always and never ÷ auto, texts that are new, of the query and format that lose most, {chosen} "
            f"on {', '.join(bench.formats)}",
        ),
        "first_run_vs_duckdb": lambda: Figure(
            "first_run_vs_duckdb", bench.first_run(), 0.9, "higher",
            f"duckdb ÷ auto, first texts of new processes, no program built: the median of {chosen}",
        ),
        "first_run_vs_interpreted": lambda: Figure(
            "first_run_vs_interpreted", bench.first_interpreted(), 0.9, "higher",
            "without a compiler ÷ auto, first runs of TPC-H's dataflows, no program built: the median of the queries",
        ),
        "overhead_small_ms": lambda: Figure(
            "overhead_small_ms", bench.overhead_small(), 2.0, "lower",
            "auto − duckdb over tables of one row, seen before, of the worse of two texts",
        ),
        "estimate_error_p90": lambda: Figure(
            "estimate_error_p90", bench.estimate_error_p90(), 8, "lower",
            f"estimated ÷ counted rows of an operator, or the reverse: nine of ten are better, {chosen}",
        ),
        "literals_recompiled": lambda: Figure(
            "literals_recompiled", bench.recompiled(), 0, "lower", f"programs, {where}, other years and categories"
        ),
    }  # fmt: skip


@contextmanager
def opened(scale: float, data: Path, numbers: Sequence[int] = (), formats: Sequence[str] = ()) -> Iterator[Bench]:
    with ExitStack() as stack:
        yield Bench(scale, data, stack, numbers, formats)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--scale", type=float, default=1.0, show_default=True, help="Of TPC-DS and TPC-H.")
@click.option("--data", type=click.Path(path_type=Path), default=Path(os.environ.get("JUMPGATE_BENCH_DATA", "data")))
@click.option("--only", multiple=True, help="A figure's name; may be repeated. [default: all]")
@click.option("--query", "numbers", multiple=True, type=int, help="Of TPC-DS, for estimates and auto. [default: all]")
@click.option("--sample", type=click.IntRange(1), help="So many of the 99 instead, evenly spread.")
@click.option("--format", "chosen", multiple=True, type=click.Choice(tuple(formats())), help="For auto_first_worst.")
def main(
    as_json: bool,
    scale: float,
    data: Path,
    only: tuple[str, ...],
    numbers: tuple[int, ...],
    sample: int | None,
    chosen: tuple[str, ...],
) -> None:
    """Measures the figures of SQL."""
    if sample is not None:
        numbers = _spread(tuple(TPCDS.queries()), sample)
    with opened(scale, data.absolute(), numbers, chosen or tuple(formats())) as bench:
        known = figures(bench)
        unknown = sorted(set(only) - set(known))
        if unknown:
            raise click.UsageError(f"no figure '{unknown[0]}'; there are {', '.join(known)}")
        for name, measure in known.items():
            if not only or name in only:
                report(measure(), as_json)


if __name__ == "__main__":
    main()
