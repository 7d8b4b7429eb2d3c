"""Tables on disk when the disk is full, and when an instance, its agent or the service is killed while it writes: one
error that says where, nothing left, and other jobs that go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import jumpgate
from jumpgate.errors import JumpgateError
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import Watch, descriptors, wait_until
from tests.support.modes import by_job

pytestmark = pytest.mark.usefixtures("grpc_is_up")

ROWS = 1_000_000
LIMIT_BYTES = 12 << 20
PATIENCE_S = 300
#: of what must happen while a query runs
TRIALS = 5

#: what holds more than the limit → a query
QUERIES = {
    "group": "SELECT count(*) AS n, sum(s) AS s, max(t) AS t FROM"
    " (SELECT many, text AS t, sum(v) AS s FROM facts GROUP BY many, text)",
    "join": "SELECT count(*) AS n, sum(a.v) AS s, max(b.text) AS t FROM facts AS a JOIN facts AS b ON a.many = b.id",
    "full join": "SELECT count(*) AS n, sum(a.v) AS s, max(b.text) AS t FROM facts AS a"
    " FULL JOIN facts AS b ON a.many = b.id",
    "values": "SELECT count(*) AS n, sum(m) AS s, max(t) AS t FROM (SELECT many % 1000 AS k, median(v::INT) AS m,"
    " median(id::INT) AS i, median((id + v)::INT) AS j, max(text) AS t FROM facts GROUP BY k)",
    "sort": "SELECT count(*) AS n, sum(v) AS s, min(text) AS t FROM"
    " (SELECT v, text FROM facts ORDER BY text, id LIMIT 900000)",
    "window": "SELECT count(*) AS n, sum(v * (r % 7)) AS s, max(text) AS t FROM"
    " (SELECT v, text, row_number() OVER (PARTITION BY many ORDER BY v, id) AS r FROM facts)",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("faults") / "facts.parquet"
    random = np.random.default_rng(11)
    many = random.integers(0, ROWS, ROWS)
    text = pc.binary_join_element_wise("a text of some length ", pa.array(many % 300_000).cast(pa.string()), "")
    table = pa.table({"id": np.arange(ROWS), "many": many, "text": text, "v": random.integers(-1000, 1000, ROWS)})
    pq.write_table(table, file, row_group_size=50_000)
    return file


@pytest.fixture(scope="module")
def expected(file: Path) -> dict[str, list[list[str]]]:
    with duckdb.connect() as duck:
        duck.execute(f"CREATE VIEW facts AS FROM '{file}'")
        return {name: [list(map(str, row)) for row in duck.execute(q).fetchall()] for name, q in QUERIES.items()}


def _rows(table: pa.Table) -> list[list[str]]:
    return [[str(v) for v in row.values()] for row in table.to_pylist()]


def _mounts() -> bool:
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not _mounts(), reason="a disk of its own needs user and mount namespaces")
def test_a_full_disk_is_an_error_that_names_it(
    file: Path, expected: dict[str, list[list[str]]], own_cache: Path, watch: Watch
) -> None:
    command = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-m", "tests.support.full_spool"]
    done = subprocess.run(
        [*command, str(file)], input=json.dumps([*QUERIES.values()]), capture_output=True, text=True, check=False,
        timeout=PATIENCE_S, cwd=Path(__file__).parents[2], env={**os.environ, "JUMPGATE_CACHE_DIR": str(own_cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, line in zip(QUERIES, done.stdout.splitlines(), strict=True):
        found = json.loads(line)
        assert found["refused"].get("code") == "memory", (name, found)
        assert f"they go on in {own_cache}/spool, whose disk has less than 512 MiB left" in found["refused"]["message"]
        assert "set JUMPGATE_CACHE_DIR to a folder on another disk" in found["refused"]["message"]
        assert found["is_empty"]
        assert found["left"] == []
        assert "rows" in found["small"], name
        assert found["answered"] == {"rows": expected[name]}


class Asked:
    """A query on a thread of its own; `error` or `rows` once it has ended."""

    def __init__(self, address: str, file: Path, text: str, limit_bytes: int | None) -> None:
        self.error: JumpgateError | None = None
        self.rows: list[list[str]] | None = None
        self._asks = address, file, text, limit_bytes
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def _ask(self) -> None:
        address, file, text, limit_bytes = self._asks
        try:
            with jumpgate.connect(address, offload="always", memory_limit_bytes=limit_bytes) as connection:
                connection.register("facts", file)
                self.rows = _rows(by_job(connection, text))
        except JumpgateError as error:
            self.error = error

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> Asked:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        return self


def _spilling(watch: Watch, spool: Path) -> list[int]:
    """The instances that have tables on disk."""
    return [p.pid for p in watch.processes("jg ") if any(d.startswith(str(spool)) for d in descriptors(p.pid))]


def _stopped(asked: Asked, watch: Watch, spool: Path) -> int | None:
    """The query's instance, which has just begun to write tables to disk, stopped there; None if it was faster."""
    found: list[int] = []
    assert wait_until(lambda: bool(found.extend(_spilling(watch, spool)) or found) or asked.has_ended, PATIENCE_S)
    if not found:
        return None
    os.kill(found[0], signal.SIGSTOP)
    return found[0]


@pytest.fixture
def service(own_cache: Path, watch: Watch) -> Iterator[embedded.Embedded]:
    service = embedded.start(local_hosts(1))
    yield service
    service.close()


def _asked_when_killed(
    service: embedded.Embedded, file: Path, query: str, killed: str, watch: Watch, spool: Path
) -> Asked:
    """A query that has ended, whose instance or agent was killed while it wrote tables to disk, unless it was faster.
    Another job of the same agent goes on."""
    with jumpgate.connect(service.address, offload="always") as connection:
        connection.register("facts", file)
        asked = Asked(service.address, file, QUERIES[query], LIMIT_BYTES)
        instance = _stopped(asked, watch, spool)
        if instance is None:
            return asked.end()
        other = connection.sql("SELECT id, text, v FROM facts")
        batches = other.batches()
        rows = next(batches).num_rows
        agent = service.engine.agents.own["local"].process.pid
        os.kill(instance if killed == "instance" else agent, signal.SIGKILL)
        if killed == "instance":
            assert rows + sum(b.num_rows for b in batches) == ROWS
        other.close()
    return asked.end()


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("killed", ["instance", "agent"])
@pytest.mark.parametrize("query", QUERIES)
def test_who_is_killed_while_it_writes_leaves_nothing(
    file: Path,
    expected: dict[str, list[list[str]]],
    own_cache: Path,
    service: embedded.Embedded,
    watch: Watch,
    query: str,
    killed: str,
) -> None:
    spool = own_cache / "spool"
    error = None
    for _ in range(TRIALS):
        asked = _asked_when_killed(service, file, query, killed, watch, spool)
        error = asked.error
        if error is not None:
            break
        assert asked.rows == expected[query]  # it had ended before it was stopped
        assert wait_until(lambda: not _spilling(watch, spool))
    assert error is not None
    assert error.code == "instance_failed", error
    assert "SIGKILL" in str(error) or "agent" in str(error)
    assert "'local'" in str(error) or error.fields.get("host") == "local"
    assert wait_until(lambda: not _spilling(watch, spool))
    assert [*spool.iterdir()] == []
    assert Asked(service.address, file, QUERIES[query], LIMIT_BYTES).end().rows == expected[query]
    assert [*spool.iterdir()] == []


SERVICE = """
import sys
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
print(embedded.start(local_hosts(1)).address, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("query", ["group", "window"])
def test_a_service_that_is_killed_takes_its_tables_with_it(
    file: Path, expected: dict[str, list[list[str]]], own_cache: Path, watch: Watch, query: str
) -> None:
    spool = own_cache / "spool"
    error = None
    for _ in range(TRIALS):
        command = [sys.executable, "-c", SERVICE]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
            assert served.stdout is not None
            asked = Asked(served.stdout.readline().strip(), file, QUERIES[query], LIMIT_BYTES)
            _stopped(asked, watch, spool)
            served.kill()
        error = asked.end().error
        if error is not None:
            break
        assert asked.rows == expected[query]  # it had ended before it was stopped
    assert error is not None
    assert error.is_unreachable, error
    assert wait_until(lambda: not watch.processes())
    assert [*spool.iterdir()] == []
    again = embedded.start(local_hosts(1))
    assert Asked(again.address, file, QUERIES[query], LIMIT_BYTES).end().rows == expected[query]
    again.close()
    assert [*spool.iterdir()] == []


def test_what_was_left_under_a_name_is_removed_at_the_next_start(file: Path, own_cache: Path, watch: Watch) -> None:
    """By an instance that was killed where the file system has no files without names."""
    spool = own_cache / "spool"
    spool.mkdir()
    (spool / "tables-a1B2c3").write_bytes(b"rows")
    (spool / "result.arrow").write_bytes(b"somebody else's")
    service = embedded.start(local_hosts(1))
    text = "SELECT count(*) AS n FROM facts WHERE v < 2000"
    assert Asked(service.address, file, text, None).end().rows == [[str(ROWS)]]
    service.close()
    assert [f.name for f in spool.iterdir()] == ["result.arrow"]
