"""Runs queries in a real Presto server that has the connector."""

from __future__ import annotations

import base64
import datetime
import json
import math
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet
import pytest

from jumpgate.codegen import cache
from jumpgate.dataflow.types import timestamp_of
from jumpgate.presto import write_plugin
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import Suite
from jumpgate.tpch import TPCH
from tests.support import jvm
from tests.support.jvm import CLIENTS, maven

#: seconds for a server that starts and answers everything
PATIENCE_S = 800


class Query(NamedTuple):
    """SQL with properties of its session: 'jumpgate.offload=false'; clocks are those of its zone."""

    text: str
    session: str = ""
    zone: str = "UTC"


class Answers(NamedTuple):
    """A server's answer to each query, rows or the text of an error, and how many rows of files were read for it."""

    found: dict[Query, Any]
    rows_read: dict[Query, int]
    folder: Path

    def rows(self, text: str, session: str = "") -> list[str]:
        rows = self.found[Query(text, session)]
        assert isinstance(rows, list), rows
        return sorted(map(repr, rows))

    def plan(self, text: str, session: str = "") -> str:
        return str(self.found[Query(f"EXPLAIN {text}", session)][0][0])


def library() -> Path:
    """The jars of a slim Presto server, fetched once."""
    return fetched("presto-0.296", "presto", "dependency:copy-dependencies")


def command_line() -> Path:
    """The jar of Presto's command line, fetched once."""
    artifact = "com.facebook.presto:presto-cli:0.287:jar:executable"
    return next(fetched("presto-cli-0.287", "presto", "dependency:copy", f"-Dartifact={artifact}").glob("*.jar"))


def fetched(name: str, client: str, *goal: str, pom: str = "pom.xml") -> Path:
    """The folder of that name into which a goal of Maven copies jars, as the server of a client says."""
    folder = cache.root() / name
    with cache.locked(client):
        if not folder.exists():
            maven("--file", str(CLIENTS / client / "server" / pom), *goal, f"-DoutputDirectory={folder}.part")
            Path(f"{folder}.part").rename(folder)
    return folder


def install(plugins: Path) -> None:
    """Build the connector and put it into a server's folder of plugins."""
    jvm.build()
    write_plugin(plugins / "jumpgate")


def tpch_catalog(folder: Path) -> dict[str, Any]:
    """Return the catalog of TPC-H's tables, which are Parquet files in a folder."""
    return suite_catalog(TPCH, folder, "parquet")


def suite_catalog(suite: Suite, folder: Path, format: str) -> dict[str, Any]:
    """Return the catalog of a suite's tables, which are files of one format in a folder."""
    return {
        table: {
            "format": format,
            "files": [str(path(folder, table, format))],
            "columns": {field.name: str(field.type) for field in suite.schema(table).fields},
        }
        for table in suite.tables
    }


def write_table(folder: Path, name: str, table: pa.Table, row_group_rows: int | None = None) -> dict[str, Any]:
    """Write a Parquet file; return its entry of a catalog."""
    file = folder / f"{name}.parquet"
    pa.parquet.write_table(table, file, row_group_size=row_group_rows)
    return {"format": "parquet", "files": [str(file)], "columns": {f.name: type_text(f) for f in table.schema}}


def type_text(field: pa.Field) -> str:
    """Return a column's type as a catalog writes it."""
    return f"{_type_text(field.type)}?"


def _type_text(type: pa.DataType) -> str:
    names = {pa.bool_(): "bool", pa.float32(): "float32", pa.float64(): "float64", pa.date32(): "date",
             pa.time64("us"): "time"}  # fmt: skip
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{f.name} {_type_text(f.type)}' for f in type)}>"
    if pa.types.is_map(type):
        return f"map<{_type_text(type.key_type)}, {_type_text(type.item_type)}>"
    if pa.types.is_list(type):
        return f"list<{_type_text(type.value_type)}>"
    if pa.types.is_timestamp(type):
        return timestamp_of(type.unit, type.tz).name
    if pa.types.is_decimal(type):
        return f"decimal({type.precision},{type.scale})"
    return names.get(type, str(type))


def answers(folder: Path, catalog: Mapping[str, Any], queries: Sequence[Query]) -> Answers:
    """Ask a server about the catalog, which is schema main; the first query must have rows."""
    install(folder / "plugin")
    return ask(folder, catalog, queries, library(), "Presto")


def ask(folder: Path, catalog: Mapping[str, Any], queries: Sequence[Query], jars: Path, engine: str) -> Answers:
    """Ask a server that has the connector in the folder's plugin/."""
    (folder / "catalog.json").write_text(json.dumps({"main": catalog}))
    done = subprocess.run(
        in_a_network("tests.support.presto_run", folder, jars, engine), input=json.dumps(queries), capture_output=True,
        text=True, timeout=PATIENCE_S, check=False, cwd=CLIENTS.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    read = json.loads((folder / "rows_read.json").read_text())
    return Answers(
        dict(zip(queries, json.loads(done.stdout), strict=True)), dict(zip(queries, read, strict=True)), folder
    )


def shared_answers(modules: Iterable[ModuleType], engine: str, made: pytest.TempPathFactory) -> Answers:
    """Ask one server the queries of all modules. Of each, `asks_ENGINE(folder)` writes files and returns their catalog
    and the queries; no two have a table of the same name."""
    folder = made.mktemp(engine)
    catalog: dict[str, Any] = {}
    queries: list[Query] = []
    for ask_for in (getattr(module, f"asks_{engine}") for module in modules if hasattr(module, f"asks_{engine}")):
        tables, more = ask_for(folder)
        assert not catalog.keys() & tables.keys()
        catalog |= tables
        queries += more
    support = import_module(f"tests.support.{engine}")
    found: Answers = support.answers(folder, catalog, list(dict.fromkeys(queries)))
    return found


def in_a_network(module: str, *arguments: object) -> list[str]:
    """The command that runs a Python module in a network namespace, as a server may listen at all addresses."""
    script = 'ip link set lo up && exec "$0" -m "$@"'
    words = ["unshare", "--net", "--map-root-user", "sh", "-c", script, sys.executable, module]
    return [*words, *map(str, arguments)]


def as_json(value: Any) -> Any:
    """A value as Presto's protocol writes it."""
    if isinstance(value, Decimal | datetime.date):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def equal(found: Any, expected: Any) -> bool:
    """Compare values. If DuckDB divides decimals it gives a float, and the server a decimal: this is rounded, and a
    float may be just below a half."""
    if isinstance(expected, float):
        digits = -int(Decimal(found).as_tuple().exponent) if isinstance(found, str) else 9
        return math.isclose(float(found), expected, rel_tol=1e-9, abs_tol=0.500001 * 10.0**-digits)
    if isinstance(expected, Decimal):
        return Decimal(found) == expected
    return bool(found == as_json(expected))
