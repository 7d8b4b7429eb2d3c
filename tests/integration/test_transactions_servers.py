"""Transactions over a switch and several servers of PostgreSQL: done everywhere or nowhere, whoever is lost where."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jumpgate.errors import ConfigError, InvalidDataflow, Unreachable
from jumpgate.transactions import Database, LocalSwitch, Node, Transaction
from tests.support.pg import Postgres

ROOT = Path(__file__).resolve().parents[2]
EACH = 1000
Pair = tuple[Postgres, Postgres]


class Ended(Exception):
    """The coordinator ends here."""


@pytest.fixture(scope="module")
def servers() -> Iterator[Pair]:
    made = Postgres(), Postgres()
    yield made
    for postgres in made:
        postgres.close()


@pytest.fixture
def banks(servers: Pair) -> Pair:
    for server in servers:
        server.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
        server.execute("DROP TABLE IF EXISTS accounts, history")
        server.execute("CREATE TABLE history (amount int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    servers[0].execute("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL)")
    servers[0].execute(f"INSERT INTO accounts SELECT i, {EACH} FROM generate_series(0, 1) i")
    return servers


def opened(banks: Pair, switch: LocalSwitch, folder: Path, **more: object) -> Database:
    return Database(banks[0].url, switch, folder, workers=2, servers={"east": banks[1].url}, **more)  # type: ignore[arg-type]


def transfer(database: Database | Node, amount: int, steps: bool = True) -> bool:
    t = database.transaction()
    t.sql("INSERT INTO history VALUES (%s)", (amount,))
    t.sql("INSERT INTO history VALUES (%s)", (amount,), server="east")
    if steps:
        t.add("accounts", 0, "balance", -amount, at_least=0)
        t.add("accounts", 1, "balance", amount)
    return database.commit(t).done


def moved(banks: Pair) -> list[int]:
    """What all agree on."""
    found = [[int(str(row[0])) for row in bank.execute("SELECT amount FROM history ORDER BY 1")] for bank in banks]
    assert found[0] == found[1]
    assert all(bank.execute("SELECT * FROM pg_prepared_xacts") == [] for bank in banks)
    total = sum(found[0])
    assert banks[0].execute("SELECT balance FROM accounts ORDER BY id") == [(EACH - total,), (EACH + total,)]
    return found[0]


def test_all_servers_or_none(banks: Pair, tmp_path: Path) -> None:
    with LocalSwitch() as switch, opened(banks, switch, tmp_path) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        assert transfer(database, 1)
        assert not transfer(database, 2 * EACH)
        banks[1].execute("INSERT INTO history VALUES (7)")  # is found when it is prepared, on the second server
        with pytest.raises(psycopg.errors.UniqueViolation):
            transfer(database, 7)
        banks[1].execute("DELETE FROM history WHERE amount = 7")
        assert transfer(database, 7)
        with pytest.raises(InvalidDataflow, match="the database has no server 'west'"):
            database.transaction().sql("SELECT 1", server="west")
        database.release()
        assert moved(banks) == [1, 7]
        t = database.transaction()
        for server in ("", "east"):
            t.sql("DELETE FROM history WHERE amount = 7", server=server)
        assert database.commit(t).done  # without hot values the switch says only that it is decided
        assert [bank.execute("SELECT amount FROM history") for bank in banks] == [[(1,)], [(1,)]]


@pytest.mark.parametrize("is_switch_lost", [False, True], ids=["switch stays", "switch lost"])
def test_a_coordinator_may_end_anywhere(banks: Pair, tmp_path: Path, is_switch_lost: bool) -> None:
    """Between prepare and send nothing is done; from then on all, on both servers."""
    switch = LocalSwitch()
    database = opened(banks, switch, tmp_path)
    database.offload("accounts", "id", ["balance"], [0, 1])
    expected: list[int] = []
    for amount, point in enumerate(("prepared", "logged", "answered", "executed", "deciding", "decided"), 1):

        def end(reached: str, point: str = point) -> None:
            if reached == point:
                raise Ended(point)

        database.reach = end
        with pytest.raises(Ended):
            transfer(database, amount)
        expected += [amount] if point != "prepared" else []
        database.close()
        if is_switch_lost:
            switch.close()
            switch = LocalSwitch()
        database = opened(banks, switch, tmp_path)
        database.checkpoint()
        assert moved(banks) == expected
    database.close()
    switch.close()


def test_a_process_that_ends_while_it_prepares_leaves_nothing(banks: Pair, tmp_path: Path) -> None:
    """It is prepared on one server of two. A checkpoint of node 0 settles it, or the node itself."""
    with LocalSwitch() as switch, opened(banks, switch, tmp_path, nodes=2) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        command = [sys.executable, "-m", "tests.support.transactions_node"]
        arguments = [banks[0].url, str(tmp_path), "1", "1", "preparing", banks[1].url]
        assert subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode == 9
        assert [len(bank.execute("SELECT * FROM pg_prepared_xacts")) for bank in banks] == [0, 1]
        database.checkpoint()
        assert moved(banks) == []
        with Node(banks[0].url, tmp_path, 1, servers={"east": banks[1].url}) as node:
            assert transfer(node, 5)
        database.checkpoint()
        assert moved(banks) == [5]


def test_a_server_that_is_lost_decides_when_it_is_back(banks: Pair, tmp_path: Path) -> None:
    with LocalSwitch() as switch:
        database = opened(banks, switch, tmp_path)
        database.offload("accounts", "id", ["balance"], [0, 1])

        def end(reached: str) -> None:
            if reached == "executed":
                banks[1].server.stop()

        database.reach = end
        with pytest.raises(Unreachable, match="open the database again, which recovers"):
            transfer(database, 3)
        database.close()
        with pytest.raises(Unreachable, match="server 'east' cannot be reached"):
            opened(banks, switch, tmp_path)
        banks[1].server.start()
        with opened(banks, switch, tmp_path) as database:
            database.release()
        assert moved(banks) == [3]


def test_values_of_any_server_are_in_the_switch(banks: Pair, tmp_path: Path) -> None:
    """Tables of the same name, moved between servers, with the switch lost, and when each server writes them back."""
    banks[1].execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL CHECK (balance <> 990))")
    banks[1].execute(f"INSERT INTO accounts VALUES (0, {EACH})")

    def move(database: Database | Node, amount: int) -> tuple[int | None, ...]:
        t = database.transaction()
        t.add("accounts", 0, "balance", -amount, at_least=0, server="east")
        t.add("accounts", 0, "balance", amount)
        return database.commit(t).values

    with LocalSwitch() as switch, opened(banks, switch, tmp_path, nodes=2) as database:
        database.offload("accounts", "id", ["balance"], [0])
        with pytest.raises(InvalidDataflow, match=r"accounts\[0\].balance is not in the switch"):
            move(database, 1)
        database.offload("accounts", "id", ["balance"], [0], server="east")
        assert move(database, 5) == (EACH, EACH)
        with Node(banks[0].url, tmp_path, 1, servers={"east": banks[1].url}) as node:
            assert move(node, 5) == (EACH - 5, EACH + 5)
        with pytest.raises(psycopg.errors.RaiseException, match="is in the switch"):
            banks[1].execute("UPDATE accounts SET balance = 0")
    with LocalSwitch() as switch, opened(banks, switch, tmp_path) as database:
        with pytest.raises(psycopg.errors.CheckViolation):
            database.release()  # the first server has its value back already
        with pytest.raises(InvalidDataflow, match="is not in the switch"):
            move(database, 1)
        banks[1].execute("ALTER TABLE accounts DROP CONSTRAINT accounts_balance_check")
        assert database.commit(reading(database)).values == (EACH - 10,)
        database.release()
    assert [bank.execute("SELECT balance FROM accounts WHERE id = 0") for bank in banks] == [[(1010,)], [(990,)]]


def reading(database: Database) -> Transaction:
    t = database.transaction()
    t.read("accounts", 0, "balance", server="east")
    return t


def test_servers_are_those_that_the_database_had(banks: Pair, tmp_path: Path) -> None:
    with LocalSwitch() as switch:
        opened(banks, switch, tmp_path, nodes=2).close()
        with pytest.raises(ConfigError, match="the database has a server 'east', too"):
            Database(banks[0].url, switch, tmp_path)
        with pytest.raises(ConfigError, match="this is not the server 'east' of the database"):
            Database(banks[0].url, switch, tmp_path, servers={"east": banks[0].url})
        with pytest.raises(ConfigError, match="'West' names no server"):
            Database(banks[0].url, switch, tmp_path, servers={"West": banks[1].url})
        with pytest.raises(ConfigError, match="opened with other servers"):
            Node(banks[0].url, tmp_path, 1)
