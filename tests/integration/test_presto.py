"""The connector in a real Presto server: scans of Parquet files are DuckDB's."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from jumpgate.codegen.cache import root
from tests.support.jvm import CLIENTS, maven

#: seconds for a server that starts and answers everything
PATIENCE_S = 300

TYPES = {
    "flag": ("bool?", pa.bool_(), [True, None, False]),
    "tiny": ("int8?", pa.int8(), [-128, None, 127]),
    "small": ("int16?", pa.int16(), [-(2**15), None, 2**15 - 1]),
    "medium": ("int32?", pa.int32(), [-(2**31), None, 2**31 - 1]),
    "large": ("int64?", pa.int64(), [-(2**63), None, 2**63 - 1]),
    "single": ("float32?", pa.float32(), [0.5, None, -math.inf]),
    "real": ("float64?", pa.float64(), [math.inf, None, -0.1]),
    "price": ("decimal(7,2)?", pa.decimal128(7, 2), [Decimal("1.25"), None, Decimal("-99999.99")]),
    "long": ("decimal(18,4)?", pa.decimal128(18, 4), [Decimal("99999999999999.9999"), None, Decimal("-0.0001")]),
    "day": ("date?", pa.date32(), [datetime.date(1969, 12, 31), None, datetime.date(2500, 1, 1)]),
    "word": ("string?", pa.string(), ["", None, "zé"]),
    "raw": ("binary?", pa.binary(), [b"", None, b"\x00\xff"]),
    "Mixed": ("int32?", pa.int32(), [1, None, 3]),
}
#: a column of a type that Presto knows less exactly: it does not see it
HIDDEN = ("moment", "timestamp?", pa.timestamp("us"))

QUERIES = [
    "SELECT * FROM t",
    *(f"SELECT {name} FROM t" for name in TYPES),
    "SELECT word, tiny FROM t",
    "SELECT MIXED FROM T",
    "SELECT count(*) FROM t",
    "SELECT count(*) FROM (SELECT n FROM many LIMIT 5)",
    "SELECT * FROM nothing",
    "SELECT count(*), sum(n), min(n), max(n) FROM many",
    "SELECT count(*) FROM many WHERE n % 7 = 3",
    "SELECT a.n FROM many a JOIN many b ON a.n = b.n + 199990",
]
FAILURES = {
    "SELECT * FROM missing": "JUMPGATE_SERVICE: .*missing.parquet",
    "SELECT moment FROM t": "SYNTAX_ERROR: .*Column 'moment' cannot be resolved",
    "SELECT * FROM broken": "JUMPGATE_DATA: .*broken.parquet",
}


@pytest.fixture(scope="module")
def lib() -> Path:
    folder = root() / "presto-0.287"
    if not folder.exists():
        arguments = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}.part")
        maven("--file", str(CLIENTS / "presto" / "server" / "pom.xml"), *arguments)
        Path(f"{folder}.part").rename(folder)
    return folder


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, lib: Path) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Presto's to each query, and the tables."""
    folder = tmp_path_factory.mktemp("presto")
    maven("--projects", "jvm,presto", "-DskipTests", "package")
    (folder / "plugin").mkdir()
    shutil.copytree(CLIENTS / "presto" / "target" / "plugin", folder / "plugin" / "jumpgate")
    whole = pa.table({name: pa.array(values, type) for name, (_, type, values) in TYPES.items()})
    tables = {"t": whole, "nothing": whole.slice(0, 0), "many": pa.table({"n": pa.array(range(200_000), pa.int64())})}
    catalog = {}
    for name, table in tables.items():
        file = folder / f"{name}.parquet"
        written = table
        if name == "t":
            written = table.append_column(HIDDEN[0], pa.array([0, None, 1], HIDDEN[2]))
        pa.parquet.write_table(written, file)
        columns = {"n": "int64"} if name == "many" else {column: text for column, (text, _, _) in TYPES.items()}
        if name == "t":
            columns[HIDDEN[0]] = HIDDEN[1]
        catalog[name] = {"format": "parquet", "files": [str(file)], "columns": columns}
    for name in ("missing", "broken"):
        catalog[name] = {"format": "parquet", "files": [str(folder / f"{name}.parquet")], "columns": {"n": "int64"}}
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more PAR1")
    (folder / "catalog.json").write_text(json.dumps({"main": catalog}))
    command = f"ip link set lo up; exec {sys.executable} -m tests.support.presto_run {folder} {lib}"
    done = subprocess.run(
        ["unshare", "--net", "--map-root-user", "sh", "-c", command],
        input=json.dumps([*QUERIES, *FAILURES]), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        cwd=CLIENTS.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip([*QUERIES, *FAILURES], json.loads(done.stdout), strict=True)), tables


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_duckdbs(query: str, answers: tuple[dict[str, Any], dict[str, pa.Table]]) -> None:
    found, tables = answers
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        expected = [[as_json(value) for value in row] for row in connection.execute(query).fetchall()]
    assert sorted(found[query], key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("query", FAILURES)
def test_a_failure_says_what_and_where(query: str, answers: tuple[dict[str, Any], dict[str, pa.Table]]) -> None:
    assert re.match(FAILURES[query], answers[0][query])


def as_json(value: Any) -> Any:
    """A value as Presto's protocol writes it."""
    if isinstance(value, Decimal | datetime.date):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, value) if isinstance(value, float) else value
