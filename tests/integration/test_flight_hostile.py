"""What clients of Flight SQL send to end a service, or to take all of its memory: it has 1 GB, and answers others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import adbc_driver_flightsql.dbapi as adbc
import pyarrow as pa
import pytest
from adbc_driver_flightsql import DatabaseOptions
from pyarrow import flight

from jumpgate.codegen import toolchain
from jumpgate.trust import tokens
from tests.support.cgroup import MemoryGroup, memory_group
from tests.support.extreme import BYTES, MAIN
from tests.support.flight import Raw
from tests.support.served import printed


@dataclass
class Served:
    """A service of a process of its own, in a group of 1 GB."""

    process: subprocess.Popen[str]
    group: MemoryGroup
    address: str
    token: str

    def connect(self) -> adbc.Connection:
        header = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {self.token}"}
        return adbc.connect(self.address, db_kwargs=header, autocommit=True)

    def raw(self) -> Raw:
        return Raw(flight.connect(self.address), self.token)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    toolchain.runtime()  # not by compilers in the group
    with memory_group(BYTES) as group:
        enter = f'echo $$ > {group.procs} && exec "$@"'
        serve = [sys.executable, "-c", MAIN, "serve", "--port", "0", "--flight", "0", "--json"]
        command, folder = ["sh", "-c", enter, "sh", *serve], tmp_path_factory.mktemp("flight")
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            found = printed(process)
            yield Served(process, group, found["flight"], tokens.find(found["address"]) or "")
            process.terminate()
            assert process.wait(60) == 0


def test_texts_beyond_all_memory_are_an_error_of_their_client(served: Served) -> None:
    """DuckDB does not count them; mappings that it has freed leave room for others' threads."""
    text = "SELECT sum(length(repeat(i::varchar, 10000000))) FROM range(1000) t(i)"
    for _ in range(2):
        raw = served.raw()
        with pytest.raises(pa.ArrowInvalid, match="Out of Memory"):
            raw.get(raw.info(text)).read_all()
        with served.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT sum(i) FROM range(1000) t(i)")
            assert cursor.fetchall() == [(499500,)]
    assert served.process.poll() is None
    assert served.group.kills == 0


def test_values_beyond_all_memory_are_an_error_of_their_client(served: Served) -> None:
    """One row of a billion values, and a parameter of more than a request may have."""
    raw = served.raw()
    with pytest.raises(pa.ArrowInvalid, match="Out of Memory"):
        raw.get(raw.info("SELECT list(i) FROM range(1000000000) t(i)")).read_all()
    beyond = pytest.raises(adbc.Error, match="larger than max")
    with served.connect() as connection, connection.cursor() as cursor, beyond:
        cursor.execute("SELECT length(?::varchar)", ("x" * (50 << 20),))
    with served.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT sum(i) FROM range(1000) t(i)")
        assert cursor.fetchall() == [(499500,)]
    assert served.process.poll() is None
    assert served.group.kills == 0
