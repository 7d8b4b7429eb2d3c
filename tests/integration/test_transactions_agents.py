"""The switch tells each server's agent what is decided: coordinators may end, datagrams be lost or forged."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpgate.p4.programs import transactions as p4
from jumpgate.transactions import Agent, Database, LocalSwitch
from tests.support.pg import Postgres

EACH, POLLS = 1000, 6000
Pair = tuple[Postgres, Postgres]


class Ended(Exception):
    """The coordinator ends here."""


@pytest.fixture(scope="module")
def banks() -> Iterator[Pair]:
    made = Postgres(), Postgres()
    for bank in made:
        bank.execute("CREATE TABLE history (amount int)")
    made[0].execute("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL)")
    yield made
    for bank in made:
        bank.close()


@pytest.fixture
def agents(banks: Pair, tmp_path: Path) -> Iterator[tuple[Agent, Agent]]:
    for bank in banks:
        bank.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
        bank.execute("TRUNCATE history")
    banks[0].execute("TRUNCATE accounts")
    banks[0].execute(f"INSERT INTO accounts SELECT i, {EACH} FROM generate_series(0, 1) i")
    with Agent(banks[0].url, tmp_path) as near, Agent(banks[1].url, tmp_path, "east") as far:
        yield near, far


def opened(banks: Pair, switch: LocalSwitch, folder: Path, *agents: Agent) -> Database:
    addresses = [agent.address for agent in agents]
    return Database(banks[0].url, switch, folder, workers=2, servers={"east": banks[1].url}, agents=addresses)


def transfer(database: Database, amount: int) -> bool:
    t = database.transaction()
    for server in database.servers:
        t.sql("INSERT INTO history VALUES (%s)", (amount,), server=server)
    t.add("accounts", 0, "balance", -amount, at_least=0)
    t.add("accounts", 1, "balance", amount)
    return database.commit(t).done


def moved(banks: Pair) -> list[int]:
    """Return the amounts, on which all agree."""
    found = [[int(str(row[0])) for row in bank.execute("SELECT amount FROM history ORDER BY 1")] for bank in banks]
    assert found[0] == found[1]
    assert banks[0].execute("SELECT balance FROM accounts ORDER BY id") == [
        (EACH - sum(found[0]),),
        (EACH + sum(found[0]),),
    ]
    return found[0]


def wait_until_decided(banks: Pair) -> None:
    for _ in range(POLLS):
        if not any(bank.execute("SELECT 1 FROM pg_prepared_xacts") for bank in banks):
            return
        time.sleep(0.01)
    raise AssertionError("nobody decided")


def test_servers_decide_while_the_coordinator_lives(banks: Pair, agents: tuple[Agent, Agent], tmp_path: Path) -> None:
    with LocalSwitch() as switch, opened(banks, switch, tmp_path, *agents) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        assert [transfer(database, amount) for amount in (300, 800, 400)] == [True, False, True]
        database.checkpoint()
        assert moved(banks) == [300, 400]
        assert banks[1].execute("SELECT * FROM jumpgate.decisions") == []


@pytest.mark.parametrize("is_switch_lost", [False, True], ids=["switch stays", "switch lost"])
def test_servers_decide_without_the_coordinator(
    banks: Pair, agents: tuple[Agent, Agent], tmp_path: Path, is_switch_lost: bool
) -> None:
    """It ends before it logs the answer. What the servers decided then holds, also if the switch is lost."""
    switch = LocalSwitch()
    database = opened(banks, switch, tmp_path, *agents)
    database.offload("accounts", "id", ["balance"], [0, 1])
    assert transfer(database, 10)

    def end(reached: str) -> None:
        if reached == "answered":
            raise Ended(reached)

    for amount in (600, 500):
        database.reach = end
        with pytest.raises(Ended):
            transfer(database, amount)
        wait_until_decided(banks)
        assert [bank.execute("SELECT amount FROM history ORDER BY 1") for bank in banks] == [[(10,), (600,)]] * 2
        database.close()
        if is_switch_lost:
            switch.close()
            switch = LocalSwitch()
        database = opened(banks, switch, tmp_path, *agents)
    database.release()
    database.close()
    switch.close()
    assert moved(banks) == [10, 600]


def test_nobody_else_decides(banks: Pair, agents: tuple[Agent, Agent], tmp_path: Path) -> None:
    """A datagram without a worker's secret is no answer; without agents the coordinator decides alone."""
    with LocalSwitch() as switch:
        database = opened(banks, switch, tmp_path)
        database.offload("accounts", "id", ["balance"], [0, 1])

        def forge(reached: str) -> None:
            if reached == "prepared":
                [(name,)] = banks[1].execute("SELECT gid FROM pg_prepared_xacts")
                header = p4.Header(0, 1, 7, int(str(name).rsplit("_", 1)[1]), (0, 0), 1, state=p4.FRESH, gid=1)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                    sender.sendto(p4.pack(header, []), agents[1].address)
                agents[1].close()  # once it has seen this
                raise Ended(reached)

        database.reach = forge
        with pytest.raises(Ended):
            transfer(database, 5)
        assert agents[1].decided == 0
        database.close()
        with opened(banks, switch, tmp_path) as database:
            assert transfer(database, 6)
            database.release()
    assert moved(banks) == [6]
