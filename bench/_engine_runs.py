"""Asks Presto or Trino with the connector, the engine's own hive connector, and DuckDB; writes runs to a journal:

    python -m bench._engine_runs SETTINGS FOLDER

in a network namespace (`presto.in_a_network`), where the servers may listen. SETTINGS is a `Settings` as JSON, FOLDER
has what `_engines.prepare` puts there.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from bench import _engines
from bench._engines import SUITES, Catalog
from bench._measure import remark
from bench._runs import Journal, Run, made
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.compare import duckdb_over
from jumpgate.tpcds.data import generate
from jumpgate.tpcds.suite import Suite
from tests.support import presto, presto_texts, trino

#: the engine's own execution, and the connector as it is by default
WAYS = ("never", "always")
#: nodes of a plan that are not operators: how rows travel, and its ends
NOT_OPERATORS = ("Exchange", "Merge", "Output", "TableScan", "RemoteSource", "Values")


@dataclass(frozen=True)
class Settings:
    """timed: ways take turns, once to warm up and once for the clock, each from the same files. Otherwise only answers
    are wanted: each way is asked once, and the engine's own is from Parquet."""

    engine: str
    scale: float
    data: str
    journal: str
    formats: tuple[str, ...]
    queries: tuple[str, ...]
    timed: bool

    def suites(self) -> tuple[Suite, ...]:
        return tuple(s for s in SUITES[self.engine] if any(q.startswith(f"{s.name}:") for q in self.queries))

    def folder(self, suite: Suite) -> Path:
        return Path(self.data) / (f"sf{self.scale:g}" if suite.name == "tpcds" else f"{suite.name}-sf{self.scale:g}")

    def runs(self) -> list[Run]:
        """Makes those that the journal lacks, in a process of its own."""
        wanted = {(query, format) for format in self.formats for query in self.queries}
        if not wanted <= Journal(Path(self.journal)).runs.keys():
            for suite in self.suites():
                generate(self.folder(suite), self.scale, (*self.formats, "parquet"), suite=suite)
            with TemporaryDirectory(prefix="jumpgate-bench-") as scratch:
                _engines.prepare(self.engine, Path(scratch))
                settings = json.dumps(asdict(self))
                subprocess.run(presto.in_a_network("bench._engine_runs", settings, scratch), check=True)
        found = Journal(Path(self.journal)).runs
        return [found[query, format] for format in self.formats for query in self.queries]


def texts(engine: str) -> dict[str, str]:
    """All queries by the suite's name and their number."""
    return {f"{s.name}:{number}": text for s in SUITES[engine] for number, text in presto_texts.queries(s).items()}


class Runner:
    """Asks both ways of a query."""

    def __init__(
        self, settings: Settings, ours: Catalog, own: Catalog, oracles: dict[str, duckdb.DuckDBPyConnection]
    ) -> None:
        self.settings, self.catalogs, self.oracles = settings, {"never": own, "always": ours}, oracles
        self.own_answers: dict[str, list[list[Any]] | str] = {}

    def run(self, query: str, format: str, text: str) -> Run:
        suite = query.partition(":")[0]
        seconds: dict[str, float] = {}
        found: dict[str, list[list[Any]] | str] = {}
        for measured in (False, True) if self.settings.timed else (True,):
            for way in WAYS:
                if isinstance(found.get(way), str):
                    continue
                start = time.perf_counter()
                found[way] = self.answer(way, query, format, text)
                if measured and isinstance(found[way], list):
                    seconds[way] = time.perf_counter() - start
        if not self.settings.timed:
            seconds = {}
        errors = [f"{way}: {answer}" for way, answer in found.items() if isinstance(answer, str)]
        if errors:
            return Run(query, format, seconds, error=" ".join(errors))
        number = int(query.partition(":")[2])
        known = {s.name: s for s in SUITES[self.settings.engine]}
        expected = self.oracles[suite].execute(presto_texts.for_duckdb(known[suite], number)).fetchall()
        theirs = same(found["always"], found["never"])
        duckdbs = same(found["always"], [[self.as_json(value) for value in row] for row in expected])
        for judge, agrees in (("the engine", theirs), ("DuckDB", duckdbs)):
            if not agrees:
                remark(f"{query} from {format}: {judge} has another answer")
        offloaded = operators = 0
        if self.settings.engine == "Presto":
            plan = self.catalogs["always"].must(f"EXPLAIN (TYPE LOGICAL, FORMAT JSON) {text}", f"{suite}_{format}")
            offloaded, operators = counts(json.loads(plan[0][0]))
        error = "" if theirs and duckdbs else f"another answer: as the engine {theirs}, as DuckDB {duckdbs}"
        return Run(query, format, seconds, theirs and duckdbs, offloaded, operators, error)

    def answer(self, way: str, query: str, format: str, text: str) -> list[list[Any]] | str:
        suite = query.partition(":")[0]
        if way == "never" and not self.settings.timed:
            if query not in self.own_answers:
                self.own_answers[query] = self.catalogs[way].ask(text, f"{suite}_parquet")
            return self.own_answers[query]
        return self.catalogs[way].ask(text, f"{suite}_{format}")

    def as_json(self, value: Any) -> Any:
        return (trino if self.settings.engine == "Trino" else presto).as_json(value)


def same(ours: Any, theirs: Any) -> bool:
    """Rows in any order; floats may differ in their last digits, and a decimal from a float by its own rounding."""
    ours, theirs = sorted(ours, key=_key), sorted(theirs, key=_key)
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_equal, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def _number(value: Any) -> Any:
    if isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value):
        return float(value)
    return value


def _key(row: Sequence[Any]) -> list[str]:
    values = [_number(value) for value in row]
    return [f"{v + 0.0:.2e}" if isinstance(v, float) else repr(v) for v in values]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9) or a == b
    if isinstance(a, float) and isinstance(b, str):
        return presto.equal(b, a)
    if isinstance(b, float):
        return isinstance(a, str) and presto.equal(a, b)
    return bool(a == b)


def counts(plan: dict[str, Any]) -> tuple[int, int]:
    """Operators below the last exchange: how many are offloaded, and how many there are; one in two steps is one."""
    offloaded = sum(int(n) for n in re.findall(r"(\d+) of \d+ operators", json.dumps(plan)))
    staying = 0
    nodes = [(plan, False)]
    while nodes:
        node, below = nodes.pop()
        below = below or "RemoteStreamingExchange" in node["name"] or "RemoteMerge" in node["name"]
        nodes += [(child, below) for child in node["children"]]
        operator = not any(word in node["name"] for word in NOT_OPERATORS) and "(PARTIAL)" not in node["name"]
        fused = node["name"] in ("ScanFilter", "ScanProject", "ScanFilterProject")
        staying += below and (operator or fused) and node["name"] != "ScanFilterProject" or 0
        staying += 2 if below and node["name"] == "ScanFilterProject" else 0
    return offloaded, offloaded + staying


@contextmanager
def runner(settings: Settings, folder: Path) -> Iterator[Runner]:
    """Both servers, a service, and DuckDB over the same data."""
    engine, formats = settings.engine, settings.formats
    schemas = {
        f"{suite.name}_{format}": presto.suite_catalog(suite, settings.folder(suite), format)
        for suite in settings.suites()
        for format in formats
    }
    (folder / "catalog.json").write_text(json.dumps(schemas))
    with ExitStack() as stack:
        service = embedded.start(local_hosts(1))
        stack.callback(service.close)
        properties = {"jumpgate.service": service.address, "jumpgate.catalog": folder / "catalog.json"}
        lib = presto.library() if engine == "Presto" else trino.library()
        table = f"{next(iter(schemas))}.{settings.suites()[0].tables[0]}"
        ours = stack.enter_context(_engines.serving(engine, folder, lib, 18080, "jumpgate", properties, table))
        own = replace(ours, session=f"{ours.session},jumpgate.offload=false")
        if engine == "Presto":
            own = stack.enter_context(_hive(settings, folder / "hive"))
        oracles = {
            suite.name: stack.enter_context(duckdb_over(settings.folder(suite), "parquet", suite=suite))
            for suite in settings.suites()
        }
        yield Runner(settings, ours, own, oracles)


@contextmanager
def _hive(settings: Settings, folder: Path) -> Iterator[Catalog]:
    """Presto's hive connector over the same files, in a server of its own; what it knows of them stays beside them."""
    tables = Path(settings.data) / f"hive-presto-sf{settings.scale:g}"
    tables.mkdir(exist_ok=True)
    properties = {"hive.metastore": "file", "hive.metastore.catalog.dir": f"file://{tables}/metastore"}
    lib = _engines.library_of_hive()
    with _engines.serving(settings.engine, folder, lib, 18081, "hive-hadoop2", properties) as hive:
        for suite in settings.suites():
            for format in settings.formats if settings.timed else ("parquet",):
                _engines.describe(hive, tables, suite, settings.folder(suite), format)
        yield hive


def main() -> None:
    settings = Settings(**json.loads(sys.argv[1]))
    known = texts(settings.engine)
    wanted = {(query, format): known[query] for query in settings.queries for format in settings.formats}
    made(Journal(Path(settings.journal)), wanted, lambda: runner(settings, Path(sys.argv[2])))


if __name__ == "__main__":
    main()
