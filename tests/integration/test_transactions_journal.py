"""The log in PostgreSQL, in place of the local one or beside it; and what plain SQL reads of values in the switch."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.transactions import Database, LocalSwitch, Node
from tests.support.pg import Postgres

EACH = 1000


class Ended(Exception):
    """The coordinator ends here."""


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
    server.execute("CREATE TABLE history (amount int)")
    server.execute(f"INSERT INTO accounts SELECT i, {EACH} FROM generate_series(0, 2) i")
    return server


def transfer(database: Database | Node, amount: int, warm: bool = True) -> bool:
    t = database.transaction()
    if warm:
        t.sql("INSERT INTO history VALUES (%s)", (amount,))
    t.add("accounts", 0, "balance", -amount, at_least=0)
    t.add("accounts", 1, "balance", amount)
    return database.commit(t).done


def balance(bank: Postgres, key: object) -> object:
    [(found,)] = bank.execute("SELECT jumpgate.balance('accounts', %s, 'balance')", key)
    return found


@pytest.mark.parametrize(("journal", "lost"), [("postgres", "folder"), ("both", "folder"), ("both", "rows")])
def test_recovers_from_each_log(bank: Postgres, tmp_path: Path, journal: str, lost: str) -> None:
    """With the switch lost, too: what was acknowledged stays, what was logged is done in both places."""
    folder = tmp_path / "log"
    for amount, point in enumerate(("logged", "answered", "executed"), 1):
        with LocalSwitch() as switch:
            database = Database(bank.url, switch, folder, workers=2, journal=journal)
            if amount == 1:
                database.offload("accounts", "id", ["balance"], [0, 1])

            def end(reached: str, point: str = point) -> None:
                if reached == point:
                    raise Ended(point)

            assert transfer(database, 10) and transfer(database, 20, warm=False)
            database.reach = end
            with pytest.raises(Ended):
                transfer(database, amount)
            database.close()
        size = (folder / "transactions-0.0.log").stat().st_size
        assert (size == 0) == (journal == "postgres")
        if lost == "folder":
            shutil.rmtree(folder)
        elif lost == "rows":
            bank.execute("DELETE FROM jumpgate.log")
    with LocalSwitch() as switch, Database(bank.url, switch, folder, workers=2, journal="local") as database:
        database.release()
    moved = 3 * 30 + 1 + 2 + 3
    assert bank.execute("SELECT balance FROM accounts ORDER BY id") == [(EACH - moved,), (EACH + moved,), (EACH,)]
    assert bank.execute("SELECT sum(amount) FROM history") == [(36,)]
    assert bank.execute("SELECT * FROM pg_prepared_xacts") == []
    assert bank.execute("SELECT * FROM jumpgate.log") == []


def test_balance_is_what_was_acknowledged(bank: Postgres, tmp_path: Path) -> None:
    """With the log in PostgreSQL; with the local one it is that of the last checkpoint."""
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=4, journal="both") as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        assert [balance(bank, key) for key in (0, "1", 2)] == [EACH] * 3

        def work() -> None:
            for _ in range(5):
                assert transfer(database, 7, warm=False)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not transfer(database, EACH)
        assert [balance(bank, key) for key in (0, 1, 2)] == [EACH - 140, EACH + 140, EACH]
        assert bank.execute("SELECT balance FROM accounts WHERE id = 0") == [(EACH,)]
        assert transfer(database, -(1 << 40), warm=False)  # gives the register another base
        assert balance(bank, 0) == EACH - 140 + (1 << 40)
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, workers=4) as database:
        assert transfer(database, 1 << 40, warm=False) and transfer(database, 1)
        assert balance(bank, 1) != EACH + 141
        database.checkpoint()
        assert balance(bank, 1) == EACH + 141
        database.release()
    assert [balance(bank, key) for key in (0, 1)] == [EACH - 141, EACH + 141]
    bank.execute("CREATE TABLE IF NOT EXISTS keyless (n int)")
    with pytest.raises(psycopg.errors.RaiseException, match="keyless has no primary key of one column"):
        bank.execute("SELECT jumpgate.balance('keyless', 1, 'n')")


def test_nodes_log_where_the_database_does(bank: Postgres, tmp_path: Path) -> None:
    with LocalSwitch() as switch, Database(bank.url, switch, tmp_path, 0, 1, nodes=2, journal="postgres") as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        with Node(bank.url, tmp_path, 1) as node:
            assert transfer(node, 5) and transfer(database, 6, warm=False)
            assert bank.execute("SELECT node, count(*) FROM jumpgate.log GROUP BY 1 ORDER BY 1") == [(0, 2), (1, 2)]
            assert balance(bank, 1) == EACH + 11

            def end(reached: str) -> None:
                if reached == "logged":
                    raise Ended(reached)

            node.reach = end
            with pytest.raises(Ended):
                transfer(node, 100)
        database.checkpoint()
        assert balance(bank, 1) == EACH + 111


def test_a_log_in_postgresql_that_fails_takes_no_transaction(bank: Postgres, tmp_path: Path) -> None:
    with LocalSwitch() as switch:
        with Database(bank.url, switch, tmp_path, workers=1, journal="postgres") as database:
            database.offload("accounts", "id", ["balance"], [0, 1])
            bank.execute("ALTER TABLE jumpgate.log ADD CONSTRAINT nothing CHECK (node < 0) NOT VALID")
            for _ in range(2):
                with pytest.raises(ConfigError, match="cannot write the log in PostgreSQL: .*\\. Open.*it recovers"):
                    transfer(database, 5)
        bank.execute("ALTER TABLE jumpgate.log DROP CONSTRAINT nothing")
        with Database(bank.url, switch, tmp_path, workers=1, journal="postgres") as database:
            database.release()
    assert bank.execute("SELECT balance FROM accounts ORDER BY id") == [(EACH,)] * 3
    with (
        LocalSwitch() as switch,
        pytest.raises(InvalidDataflow, match="no journal 'tape': it is one of local, postgres"),
    ):
        Database(bank.url, switch, tmp_path, journal="tape")
