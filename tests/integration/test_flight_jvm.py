"""Flight SQL by Arrow's driver for JDBC, with the calls that a database browser makes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.codegen import cache
from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.hosts.config import ClientConfig, TableConfig, local_hosts
from jumpgate.service import embedded
from tests.support.jvm import maven

VERSION = "18.3.0"
PROGRAM = Path(__file__).with_name("FlightSqlCalls.java")
#: what its methods without parameters answer; all of them are called
ANSWERS = {
    "getDatabaseProductName": "Jumpgate",
    "getIdentifierQuoteString": '"',
    "supportsTransactions": "true",
    "getDefaultTransactionIsolation": "2",
    "supportsFullOuterJoins": "true",
    "supportsCorrelatedSubqueries": "true",
    "isReadOnly": "false",
    "catalogs": "memory",
    "schemas": "main,memory",
    "table types": "TABLE; VIEW",
    "tables": "main,t,TABLE",
    "columns": "t,a,-5,1; t,b,12,2",
    "primary keys": "",
    "imported keys": "",
    "exported keys": "",
    "cross reference": "",
    "query": "x0,2; x1,2; x2,2; x3,2; x4,2; x5,2; x6,2; x7,2; x8,2; x9,2",
    "own": "6",
    "prepared": "99",
    "with parameters": "x5; x5",
    "error": "true",
}


@pytest.fixture(scope="module")
def driver() -> Path:
    """The driver's jar, fetched once."""
    folder = cache.root() / f"flight-sql-jdbc-{VERSION}"
    with cache.locked("flight-sql-jdbc"):
        if not folder.exists():
            artifact = f"org.apache.arrow:flight-sql-jdbc-driver:{VERSION}"
            maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}.part", "-N")
            Path(f"{folder}.part").rename(folder)
    return next(folder.glob("*.jar"))


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    pq.write_table(pa.table({"a": range(100), "b": [f"x{i % 10}" for i in range(100)]}), tmp_path / "t.parquet")
    (tmp_path / "token").write_text("s3cret")
    config = replace(
        local_hosts(1),
        clients=(ClientConfig("browser", str(tmp_path / "token")),),
        tables=(TableConfig("t", (str(tmp_path / "t.parquet"),), "parquet"),),
    )
    service = embedded.start(config)
    door = Door(Clients(lambda: config, service.service, service.loop), "127.0.0.1", 0, None)
    yield door.address.replace("grpc://", "jdbc:arrow-flight-sql://")
    door.close()
    service.close()


def test_a_database_browser(driver: Path, url: str) -> None:
    command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", str(driver), str(PROGRAM)]
    done = subprocess.run([*command, url, "browser", "s3cret"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.partition(": ")[::2] for line in done.stdout.splitlines()]
    found = dict(lines)
    assert len(found) > 140
    assert not [line for line in lines if line[1].startswith("failed")]
    assert [value for name, value in lines if name == "changed"] == ["1", "2"]
    assert {name: found[name] for name in ANSWERS} == ANSWERS
