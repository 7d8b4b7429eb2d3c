"""TPC-C's NewOrder and Payment, whoever ends where: money, order numbers without gaps, stock that is never negative."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import _tpcc
from jumpgate.errors import InvalidDataflow
from jumpgate.transactions import Database, LocalSwitch, Node
from tests.support.pg import Postgres

WAREHOUSES = 2


class Ended(Exception):
    """The coordinator ends here."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    postgres = Postgres()
    yield postgres
    postgres.close()


def drawn_order(rng: random.Random) -> _tpcc.Order:
    while not isinstance(drawn := _tpcc.draw(rng, WAREHOUSES), _tpcc.Order):
        pass
    return drawn


@pytest.mark.parametrize("is_switch_lost", [False, True], ids=["switch stays", "switch lost"])
def test_orders_get_numbers_without_gaps(server: Postgres, tmp_path: Path, is_switch_lost: bool) -> None:
    """Threads, and coordinators that end at each point: what was told is what PostgreSQL is given."""
    bank, rng = server, random.Random(1)
    _tpcc.fill(bank, WAREHOUSES)
    switch = LocalSwitch()
    database = Database(bank.url, switch, tmp_path, workers=4)
    _tpcc.offload(database, WAREHOUSES)
    told: set[tuple[int, int]] = set()

    def work(seed: int) -> None:
        mine = random.Random(seed)
        for _ in range(15):
            drawn = _tpcc.draw(mine, WAREHOUSES)
            number = _tpcc.by_switch(database, drawn)
            if number is not None:
                told.add((drawn.district, number))

    for point in ("prepared", "logged", "answered", "executed", "decided"):
        threads = [threading.Thread(target=work, args=(rng.randrange(1000),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        def end(reached: str, point: str = point) -> None:
            if reached == point:
                raise Ended(point)

        database.reach = end
        with pytest.raises(Ended):
            _tpcc.by_switch(database, drawn_order(rng))
        database.close()
        if is_switch_lost:
            switch.close()
            switch = LocalSwitch()
        database = Database(bank.url, switch, tmp_path, workers=4)
    database.release()
    database.close()
    switch.close()
    _tpcc.number_orders(bank)
    assert _tpcc.broken(bank) == []
    assert told <= set(bank.execute("SELECT district, number FROM orders"))


def test_stock_that_runs_out_is_replenished(server: Postgres, tmp_path: Path) -> None:
    bank = server
    _tpcc.fill(bank, 1)
    order = _tpcc.Order(0, 0, (3, 20, 21, 22, 23), (10, 1, 1, 1, 1), hot=3)
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=1) as database:
        _tpcc.offload(database, 1)
        assert [_tpcc.by_switch(database, order) for _ in range(12)] == list(range(1, 13))
        database.checkpoint()
        _tpcc.number_orders(bank)
        assert _tpcc.broken(bank) == []
        assert bank.execute("SELECT quantity FROM stock WHERE id = 3") == [(100 + 91 - 120,)]


def test_a_transaction_with_a_number_is_committed_once(server: Postgres, tmp_path: Path) -> None:
    """Its number stands for it in PostgreSQL; bigints keep what they were, whatever their base."""
    bank = server
    _tpcc.fill(bank, 1)
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=1) as database:
        database.offload("warehouse", "id", ["ytd"], [0])
        database.offload("district", "id", ["next_order"], [0, 1])
        first = database.transaction()
        first.add("warehouse", 0, "ytd", 1 << 40)
        database.commit(first)
        t = database.transaction()
        number = t.number
        t.add("district", 0, "next_order", 1, at_least=0)
        t.read("warehouse", 0, "ytd")
        t.add("district", 0, "next_order", 1)
        assert database.commit(t).values == (1, 1 << 40, 2)
        with pytest.raises(InvalidDataflow, match="is committed once"):
            database.commit(t)
        refused = database.transaction()
        assert refused.number != number
        refused.add("district", 0, "next_order", -9, at_least=0)
        assert not database.commit(refused).done
        database.checkpoint()
        assert bank.execute(
            "SELECT number, key, value_column, value FROM jumpgate.outcomes ORDER BY relation"
        ) == [(number, "0", "next_order", 1), (number, "0", "ytd", 1 << 40)]  # fmt: skip


def test_orders_of_another_node_get_their_numbers(server: Postgres, tmp_path: Path) -> None:
    """Also the one that it broke off, by node 0's next checkpoint."""
    bank = server
    _tpcc.fill(bank, 1)
    order = _tpcc.Order(0, 0, (3, 20, 21, 22, 23), (1, 1, 1, 1, 1), hot=3)
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=1, nodes=2) as database:
        _tpcc.offload(database, 1)
        with Node(bank.url, tmp_path, 1) as other:
            assert [_tpcc.by_switch(each, order) for each in (other, database, other)] == [1, 2, 3]

            def end(reached: str) -> None:
                if reached == "logged":
                    raise Ended(reached)

            other.reach = end
            with pytest.raises(Ended):
                _tpcc.by_switch(other, order)
        database.checkpoint()
        _tpcc.number_orders(bank)
        assert _tpcc.broken(bank) == []
        assert bank.execute("SELECT number FROM orders ORDER BY 1") == [(1,), (2,), (3,), (4,)]
