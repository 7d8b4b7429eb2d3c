"""Histories of several tenants, whatever of their processes is killed; and SmallBank, whose money stays."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import psycopg

from bench import _smallbank
from bench._chaos import Chaos
from jumpgate.transactions import Database, LocalSwitch
from tests.support.pg import Postgres


def test_histories_replay_in_the_order_of_their_numbers_whoever_is_killed() -> None:
    """A share of `./dev bench transactions --only histories`."""
    plan = ["node", "coordinator", "switch"]
    found = Chaos(tenants=2, workers=2, count=400, plan=plan).run()
    assert found.wrong == []
    assert found.recovered == found.kills == len(plan)
    assert found.transactions >= found.acknowledged >= 400


def test_smallbank_makes_and_loses_no_money(tmp_path: Path) -> None:
    """All six transactions, of hot customers in the switch and of others, by several workers at once."""
    postgres = Postgres()
    try:
        _smallbank.fill(postgres)
        start, added = _smallbank.total(postgres), [0] * 4
        kinds: set[tuple[str, bool]] = set()
        with LocalSwitch() as switch, Database(postgres.url, switch, tmp_path, workers=4) as database:
            _smallbank.offload(database, 3)

            def work(client: int) -> None:
                rng = random.Random(client)
                with psycopg.connect(postgres.url) as connection:
                    for _ in range(60):
                        one = _smallbank.draw(rng, 3)
                        kinds.add((one.kind, one.is_hot))
                        added[client] += _smallbank.by_switch(database, connection, one)

            threads = [threading.Thread(target=work, args=(client,)) for client in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            database.release()
        assert kinds >= {(kind, True) for kind in _smallbank.KINDS}
        assert _smallbank.total(postgres) == start + sum(added)
    finally:
        postgres.close()
