"""Runs queries in a real Presto server that has the connector."""

from __future__ import annotations

import base64
import datetime
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from jumpgate.codegen import cache
from jumpgate.presto import write_plugin
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import Suite
from jumpgate.tpch import TPCH
from tests.support import jvm
from tests.support.jvm import CLIENTS, maven

#: seconds for a server that starts and answers everything
PATIENCE_S = 800


class Query(NamedTuple):
    """SQL with properties of its session: 'jumpgate.offload=false'."""

    text: str
    session: str = ""


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
    names = {pa.bool_(): "bool", pa.float32(): "float32", pa.float64(): "float64", pa.date32(): "date",
             pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz(UTC)"}  # fmt: skip
    if pa.types.is_decimal(field.type):
        return f"decimal({field.type.precision},{field.type.scale})?"
    return names.get(field.type, str(field.type)) + "?"


def answers(folder: Path, catalog: Mapping[str, Any], queries: Sequence[Query]) -> dict[Query, Any]:
    """Each one's rows, or the text of its error; the first one must have rows. Of the catalog that is schema main."""
    install(folder / "plugin")
    return ask(folder, catalog, queries, library(), "Presto")


def ask(
    folder: Path, catalog: Mapping[str, Any], queries: Sequence[Query], jars: Path, engine: str
) -> dict[Query, Any]:
    """Ask a server that has the connector in the folder's plugin/."""
    (folder / "catalog.json").write_text(json.dumps({"main": catalog}))
    done = subprocess.run(
        in_a_network("tests.support.presto_run", folder, jars, engine), input=json.dumps(queries), capture_output=True,
        text=True, timeout=PATIENCE_S, check=False, cwd=CLIENTS.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(queries, json.loads(done.stdout), strict=True))


def rows_read(folder: Path, found: Mapping[Query, Any]) -> dict[Query, int]:
    """Return the rows read from files for each query that was asked in that folder."""
    return dict(zip(found, json.loads((folder / "rows_read.json").read_text()), strict=True))


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
