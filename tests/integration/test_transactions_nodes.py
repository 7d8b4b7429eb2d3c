"""Processes with workers of one database and one switch: exact sums, whichever of them ends where."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jumpgate.errors import ConfigError, InvalidDataflow, Unreachable
from jumpgate.transactions import Database, LocalSwitch, Node, postgres
from jumpgate.transactions.steps import amount_max
from tests.support.pg import Postgres

ROOT = Path(__file__).resolve().parents[2]
EACH = 1000
POINTS = ("prepared", "logged", "answered", "executed", "decided")


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    postgres = Postgres()
    yield postgres
    postgres.close()


@pytest.fixture
def bank(server: Postgres) -> Postgres:
    server.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
    server.execute("DROP TABLE IF EXISTS accounts, history")
    server.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL)")
    server.execute("CREATE TABLE history (node int, amount int)")
    server.execute(f"INSERT INTO accounts SELECT i, {EACH} FROM generate_series(0, 2) i")
    return server


def node(bank: Postgres, folder: Path, number: int, count: int, point: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.support.transactions_node"]
    arguments = [bank.url, str(folder), str(number), str(count), point]
    return subprocess.Popen([*command, *arguments], cwd=ROOT)


def transfer(database: Database | Node, amount: int = 1) -> None:
    t = database.transaction()
    t.sql("INSERT INTO history VALUES (0, %s)", (amount,))
    t.add("accounts", 0, "balance", -amount, at_least=0)
    t.add("accounts", 1, "balance", amount)
    assert database.commit(t).done


def moved(bank: Postgres) -> int:
    """What the rows of both sides agree on."""
    rows = bank.execute("SELECT amount FROM history")
    total = sum(int(str(amount)) for (amount,) in rows)
    assert bank.execute("SELECT balance FROM accounts ORDER BY id") == [(EACH - total,), (EACH + total,), (EACH,)]
    assert bank.execute("SELECT * FROM pg_prepared_xacts") == []
    return total


def test_nodes_work_at_a_time_and_end_anywhere(bank: Postgres, tmp_path: Path) -> None:
    """What a process that ended had on the way is finished by a checkpoint of another; then it may come back."""
    with (
        LocalSwitch() as switch,
        Database(bank.url, switch, tmp_path, workers=2, nodes=3) as database,
    ):
        database.offload("accounts", "id", ["balance"], [0, 1])
        running = [node(bank, tmp_path, 1, 20), node(bank, tmp_path, 2, 20, "executed")]
        for _ in range(20):
            transfer(database)
            database.checkpoint()
        assert [process.wait() for process in running] == [0, 9]
        database.checkpoint()
        assert moved(bank) == 60
        back = node(bank, tmp_path, 2, 2)
        assert back.wait() == 0
        database.release()
        assert moved(bank) == 62


@pytest.mark.parametrize("is_switch_lost", [False, True], ids=["switch stays", "switch lost"])
def test_a_node_may_end_at_each_point(bank: Postgres, tmp_path: Path, is_switch_lost: bool) -> None:
    """In this process: those of a node that is settled by itself, or with the switch by node 0."""
    switch = LocalSwitch()
    done = 0
    Database(bank.url, switch, tmp_path, workers=1, nodes=2).close()
    for point in POINTS:

        def end(reached: str, point: str = point) -> None:
            if reached == point:
                raise InterruptedError(point)

        with Database(bank.url, switch, tmp_path, workers=1, nodes=2) as database:
            if point == POINTS[0]:
                database.offload("accounts", "id", ["balance"], [0, 1])
            transfer(database)
        broken = Node(bank.url, tmp_path, 1)
        transfer(broken)
        broken.reach = end
        with pytest.raises(InterruptedError):
            transfer(broken)
        broken.close()
        done += 2 + (point != "prepared")
        if is_switch_lost:
            switch.close()
            switch = LocalSwitch()
        else:
            with Node(bank.url, tmp_path, 1) as again:
                transfer(again)
                done += 1
        with Database(bank.url, switch, tmp_path, workers=1, nodes=2) as database:
            database.checkpoint()
        assert moved(bank) == done
    switch.close()


def test_a_node_follows_what_node_0_changes(bank: Postgres, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no node 1: open it with more nodes"):
        Node(bank.url, tmp_path, 1)
    switch = LocalSwitch()
    with Database(bank.url, switch, tmp_path, workers=1, nodes=2) as database, Node(bank.url, tmp_path, 1) as other:
        database.offload("accounts", "id", ["balance"], [0, 1])
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
        t = other.transaction()
        with pytest.raises(InvalidDataflow, match="is not in the switch"):
            t.read("accounts", 0, "balance")
        t.sql("SELECT 1")
        other.commit(t)
        for _ in range(3):  # beyond what a register holds, but for the checkpoints, which move its base
            t = other.transaction()
            t.add("accounts", 0, "balance", amount_max(2))
            t.add("accounts", 0, "balance", 0)
            assert other.commit(t).done
            t = database.transaction()
            t.add("accounts", 0, "balance", -1)
            seen = database.commit(t).values[0]
            database.checkpoint()
        assert seen == EACH + 3 * amount_max(2) - 2
    switch.close()


def test_a_node_whose_switch_was_replaced_says_so(bank: Postgres, tmp_path: Path) -> None:
    first, second = LocalSwitch(), LocalSwitch()
    with Database(bank.url, first, tmp_path, workers=1, nodes=2) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
    with Node(bank.url, tmp_path, 1) as other:
        transfer(other)
        first.close()
        with Database(bank.url, second, tmp_path, workers=1, nodes=2) as database:
            with pytest.raises(Unreachable, match="the switch was replaced"):
                transfer(other)
            database.checkpoint()
            assert moved(bank) == 1
    second.close()


def test_a_node_that_learns_of_other_bases_misses_no_value(
    bank: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread names a value while what is where is read again, as it does without any latch."""
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=1, nodes=2) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        with Node(bank.url, tmp_path, 1) as other:
            held, named = postgres.held, []

            def read(*arguments: Any) -> Any:
                named.append(other.name("accounts", 0, "balance"))
                return held(*arguments)

            database.checkpoint()
            monkeypatch.setattr(postgres, "held", read)
            transfer(other)
            assert named == [("public.accounts", "0", "balance")]
            database.checkpoint()
            assert moved(bank) == 1
