"""Hot values in a switch, rows in PostgreSQL: exact answers, and nothing lost or done twice when anything ends."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jumpgate.errors import ConfigError, InvalidDataflow, Overflow, Unreachable
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import Header, Instruction
from jumpgate.transactions import Database, LocalSwitch
from jumpgate.transactions.steps import VALUE_MAX, amount_max
from tests.support.pg import Postgres
from tests.support.transactions import fill

ACCOUNTS, EACH = 5, 1000
NUMBERS = itertools.count()


class Ended(Exception):
    """The coordinator ends here."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    postgres = Postgres()
    yield postgres
    postgres.close()


@pytest.fixture(scope="module")
def switch() -> Iterator[LocalSwitch]:
    made = LocalSwitch()
    yield made
    made.close()


@pytest.fixture
def bank(server: Postgres) -> Postgres:
    server.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
    server.execute("DROP TABLE IF EXISTS accounts, history")
    server.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, note text)")
    server.execute("CREATE TABLE history (account int, amount int)")
    server.execute(f"INSERT INTO accounts SELECT i, {EACH} FROM generate_series(0, {ACCOUNTS - 1}) i")
    return server


@pytest.fixture
def number() -> int:
    """Of a database that nobody had on the switch."""
    return next(NUMBERS)


def opened(bank: Postgres, switch: LocalSwitch, folder: Path, number: int, **more: object) -> Database:
    return Database(bank.url, switch, folder, number, workers=4, **more)  # type: ignore[arg-type]


def transfer(database: Database, source: int, target: int, amount: int, warm: bool = False) -> bool:
    t = database.transaction()
    if warm:
        t.sql("INSERT INTO history VALUES (%s, %s)", (source, amount))
    t.add("accounts", source, "balance", -amount, at_least=0)
    t.add("accounts", target, "balance", amount)
    return database.commit(t).done


def balances(bank: Postgres) -> list[object]:
    return [row[0] for row in bank.execute("SELECT balance FROM accounts ORDER BY id")]


def test_transfers_keep_the_sum_and_come_back(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
        done = [transfer(database, i % ACCOUNTS, 2, 300) for i in range(30)]
        assert True in done and False in done
        t = database.transaction()
        for account in range(ACCOUNTS):
            t.read("accounts", account, "balance")
        seen = database.commit(t).values
        assert sum(v or 0 for v in seen) == ACCOUNTS * EACH and min(v or 0 for v in seen) >= 0
        database.release()
        assert balances(bank) == list(seen)
        bank.execute("UPDATE accounts SET balance = 1")


def test_threads_share_a_counter(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    """Order numbers: each is given once, without gaps."""
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], [0])
        seen: list[int | None] = []

        def work() -> None:
            for _ in range(25):
                t = database.transaction()
                t.add("accounts", 0, "balance", 1)
                seen.extend(database.commit(t).values)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(seen, key=lambda v: v or 0) == list(range(EACH, EACH + 100))


def test_plain_sql_does_not_write_what_is_in_the_switch(
    bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int
) -> None:
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], [1])
        for statement in (
            "UPDATE accounts SET balance = 0 WHERE id = 1",
            "SET search_path TO pg_catalog; UPDATE public.accounts SET balance = 0",
            "DELETE FROM accounts WHERE id = 1",
            "UPDATE accounts SET id = 77 WHERE id = 1",
            "TRUNCATE accounts",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="row 1 of .*accounts is in the switch"):
                bank.execute(statement)
        bank.execute("UPDATE accounts SET note = 'x' WHERE id = 1")
        bank.execute("UPDATE accounts SET balance = 5 WHERE id = 2")
        transfer(database, 1, 1, 0)
        t = database.transaction()
        t.set("accounts", 1, "balance", 42)
        database.commit(t)
        assert balances(bank)[1] == EACH
        database.checkpoint()
        assert balances(bank)[1] == 42


def test_what_the_switch_cannot_is_refused(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    bank.execute("ALTER TABLE accounts ALTER balance TYPE integer")
    bank.execute(f"UPDATE accounts SET balance = {VALUE_MAX + 1} WHERE id = 4")
    with opened(bank, switch, tmp_path, number) as database:
        for arguments, message in (
            (("accounts", "id", ["balance"], [4]), "the switch holds values of integer within"),
            (("accounts", "id", ["balance"], [99]), "has no row with id = 99"),
            (("accounts", "id", ["note"], [0]), "is None, of type text: the switch holds values of integer and bigint"),
            (("nothing", "id", ["balance"], [0]), "no table 'nothing'"),
        ):
            with pytest.raises(InvalidDataflow, match=message):
                database.offload(*arguments)  # type: ignore[arg-type]
        database.offload("accounts", "id", ["balance"], [0, 1])
        with pytest.raises(InvalidDataflow, match="is in the switch already"):
            database.offload("accounts", "id", ["balance"], [0])
        t = database.transaction()
        with pytest.raises(InvalidDataflow, match=r"accounts\[2\].balance is not in the switch"):
            t.read("accounts", 2, "balance")
        t.add("accounts", 0, "balance", 1, at_least=0)
        t.expect("accounts", 1, "balance", EACH)
        with pytest.raises(InvalidDataflow, match="is required in a transaction that expects values"):
            database.commit(t)
        for statement in ("COMMIT", "/* x */ -- y\n rollback;"):
            with pytest.raises(InvalidDataflow, match="is no part of a transaction"):
                t.sql(statement)
        t = database.transaction()
        t.sql("INSERT INTO history VALUES (0, 0); COMMIT")
        t.add("accounts", 0, "balance", 1)
        with pytest.raises(psycopg.errors.SyntaxError, match="multiple commands"):
            database.commit(t)
        assert bank.execute("SELECT * FROM history") == []


def test_integers_never_wrap(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    most = amount_max(4)
    bank.execute("ALTER TABLE accounts ALTER balance TYPE integer")
    bank.execute(f"UPDATE accounts SET balance = {VALUE_MAX} WHERE id = 0")
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], [0])
        t = database.transaction()
        t.add("accounts", 0, "balance", most)
        t.add("accounts", 0, "balance", 1)
        with pytest.raises(InvalidDataflow, match="release the row, or split it"):
            database.commit(t)
        del t.steps[1]
        assert database.commit(t).values == (VALUE_MAX,)
        for _ in range(2):
            with pytest.raises(Overflow, match="balance reached"):
                database.commit(t)
    with opened(bank, switch, tmp_path, number) as database:
        with pytest.raises(Overflow, match="balance reached"):
            database.commit(t)
        database.release()
        with pytest.raises(InvalidDataflow, match="is not in the switch any more"):
            database.commit(t)
        assert balances(bank)[0] == VALUE_MAX + most


def test_bigints_have_64_bits(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    """Values, amounts and requirements beyond a register's 32 bits."""
    large = 3 * (1 << 40)
    bank.execute(f"UPDATE accounts SET balance = {large} WHERE id = 0")
    most = amount_max(4)
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], [0, 1])
        expected = [large, EACH]
        for amount, is_warm in ((most, False), (most, False), (most, True), (3, True), (large, False), (large, False)):
            is_done = amount <= expected[0]
            assert transfer(database, 0, 1, amount, is_warm) == is_done
            expected = [expected[0] - amount * is_done, expected[1] + amount * is_done]
        assert not transfer(database, 0, 1, expected[0] + 1)
        t = database.transaction()
        t.set("accounts", 1, "balance", -large)
        t.read("accounts", 0, "balance")
        t.add("accounts", 1, "balance", 1)
        assert database.commit(t).values == (expected[1], expected[0], -large)
        t.sql("SELECT 1")
        assert database.commit(t).done
        with pytest.raises(Overflow, match="would be"):
            transfer(database, 0, 1, -(1 << 62))
    with opened(bank, switch, tmp_path, number) as database:
        database.release()
        assert balances(bank)[:2] == [expected[0], 1 - large]


def test_a_rebase_may_end_anywhere(bank: Postgres, tmp_path: Path) -> None:
    """The registers hold nothing of the new base yet: the log says so, and recovery loads them."""
    with LocalSwitch() as switch:
        database = opened(bank, switch, tmp_path, 0)
        database.offload("accounts", "id", ["balance"], [0])
        assert transfer(database, 0, 0, 1)

        def end(reached: str) -> None:
            if reached == "rebased":
                raise Ended(reached)

        database.reach = end
        with pytest.raises(Ended):
            transfer(database, 0, 0, -(1 << 40))
        database.close()
        with opened(bank, switch, tmp_path, 0) as database:
            assert transfer(database, 0, 0, 1)
            database.release()
    assert balances(bank)[0] == EACH


def test_warm_transactions_are_all_or_nothing(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
        assert transfer(database, 0, 1, 600, warm=True)
        assert not transfer(database, 0, 1, 600, warm=True)
        t = database.transaction()
        t.sql("INSERT INTO nowhere VALUES (1)")
        t.add("accounts", 0, "balance", 1)
        with pytest.raises(psycopg.errors.UndefinedTable):
            database.commit(t)
        assert transfer(database, 0, 1, 400, warm=True)
        assert bank.execute("SELECT amount FROM history") == [(600,), (400,)]
        database.release()
        assert balances(bank)[:2] == [0, 2 * EACH]


POINTS = ("prepared", "logged", "answered", "executed", "decided")


@pytest.mark.parametrize("is_switch_lost", [False, True], ids=["switch stays", "switch lost"])
def test_a_coordinator_may_end_anywhere(bank: Postgres, tmp_path: Path, is_switch_lost: bool) -> None:
    """At each point in turn: the transaction is done in both places or in neither, and what was acknowledged stays."""
    switch = LocalSwitch()
    database = opened(bank, switch, tmp_path, 0)
    database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
    acknowledged = 0
    for turn, point in enumerate(POINTS):
        acknowledged += transfer(database, 0, 1, 1, warm=True)

        def end(reached: str, point: str = point) -> None:
            if reached == point:
                raise Ended(point)

        database.reach = end
        with pytest.raises(Ended):
            transfer(database, 0, 1, 10, warm=True)
        if point != "prepared":
            with pytest.raises(Unreachable, match="was broken off"):
                transfer(database, 0, 1, 1)
        database.close()
        if is_switch_lost:
            switch.close()
            switch = LocalSwitch()
        database = opened(bank, switch, tmp_path, 0)
        rows = [amount for (amount,) in bank.execute("SELECT amount FROM history")]
        assert rows.count(1) == acknowledged
        assert rows.count(10) == turn  # all but the first are executed by recovery at the latest
        assert bank.execute("SELECT * FROM pg_prepared_xacts") == []
        database.checkpoint()
        assert balances(bank)[:2] == [EACH - sum(map(int, rows)), EACH + sum(map(int, rows))]
    database.close()
    switch.close()


def test_a_lost_switch_is_said_and_rebuilt(bank: Postgres, tmp_path: Path) -> None:
    switch = LocalSwitch()
    database = opened(bank, switch, tmp_path, 0, lost_s=0.3)
    database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
    for i in range(20):
        transfer(database, i % ACCOUNTS, (i + 1) % ACCOUNTS, 100)
    switch.close()
    with pytest.raises(Unreachable, match="did not answer transaction"):
        transfer(database, 0, 1, 7)
    with pytest.raises(Unreachable):
        transfer(database, 0, 1, 7)
    database.close()
    with LocalSwitch() as switch, opened(bank, switch, tmp_path, 0) as database:
        database.release()
        assert balances(bank) == [EACH - 7, EACH + 7, EACH, EACH, EACH]


def flood(switch: LocalSwitch, database: Database) -> None:
    """Send without waiting for answers, until a packet is lost between its passes."""
    lease = database._workers[-1].channel.lease
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for sequence in range(1, 100_000):
            header = Header(lease.flow, sequence, lease.secret, 0, (1, 0), 1)
            sender.sendto(p4.pack(header, [Instruction(0, 0)]), switch.address)
            if switch.switch.counts()["loop_full"]:
                return


def test_a_packet_that_is_lost_between_passes_leaves_nothing_stuck(bank: Postgres, tmp_path: Path) -> None:
    """It held the locks, and others wait for them in the switch: these do nothing once the database is recovered."""
    with LocalSwitch() as switch:
        locks = switch.switch.register("locks")
        with opened(bank, switch, tmp_path, 0, lost_s=0.3) as database:
            database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
            assert transfer(database, 0, 1, 100)
            switch.switch.write_register(locks, 0, [(1, 1)])
            flood(switch, database)
            with pytest.raises(Unreachable, match="open the database again, which recovers"):
                transfer(database, 0, 1, 7)
            lease = database._workers[0].channel.lease
        with opened(bank, switch, tmp_path, 0) as database:
            assert database._workers[0].channel.lease.secret != lease.secret
            assert transfer(database, 0, 1, 10)
            assert switch.switch.read_register(locks, 0, 1) == [(0, 0)]
            database.release()
        assert balances(bank)[:2] == [EACH - 117, EACH + 117]


def test_a_log_torn_at_its_end_loses_nothing(bank: Postgres, tmp_path: Path) -> None:
    with LocalSwitch() as switch, opened(bank, switch, tmp_path, 0) as database:
        database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
        transfer(database, 0, 1, 100)
    path = tmp_path / "transactions-0.0.log"
    whole = path.read_bytes()
    for torn in (b"\x10", whole[-60:-1], bytes(40)):
        path.write_bytes(whole + torn)
        with LocalSwitch() as switch, opened(bank, switch, tmp_path, 0) as database:
            database.checkpoint()
            assert balances(bank)[:2] == [EACH - 100, EACH + 100]


def test_a_log_that_lacks_what_was_not_synced_gives_no_old_answer(bank: Postgres, tmp_path: Path) -> None:
    """The coordinator's host is lost with the end of its log, the switch is not: its workers' numbers go on."""
    path = tmp_path / "transactions-0.0.log"
    with LocalSwitch() as switch:
        with Database(bank.url, switch, tmp_path, workers=1) as database:
            database.offload("accounts", "id", ["balance"], [0])
            synced = path.read_bytes()
            t = database.transaction()
            t.add("accounts", 0, "balance", 1)
            assert database.commit(t).values == (EACH,)
        path.write_bytes(synced)
        with Database(bank.url, switch, tmp_path, workers=1) as database:
            t = database.transaction()
            t.add("accounts", 0, "balance", 10)
            assert database.commit(t).values == (EACH + 1,)
            database.release()
    assert balances(bank)[0] == EACH + 11


def test_a_full_disk_takes_no_transaction(bank: Postgres, tmp_path: Path) -> None:
    with LocalSwitch() as switch:
        with opened(bank, switch, tmp_path, 0) as database:
            database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
            fill(database._log)
            for _ in range(2):
                with pytest.raises(ConfigError, match="No space left on device. Make room"):
                    transfer(database, 0, 1, 100, warm=True)
        with opened(bank, switch, tmp_path, 0) as database:
            database.release()
            assert balances(bank)[:2] == [EACH, EACH]
            assert bank.execute("SELECT * FROM history") == []


def test_closing_waits_for_transactions_that_go_on(bank: Postgres, tmp_path: Path) -> None:
    """Who is on the way keeps its socket and connection; who comes later is told."""
    with LocalSwitch() as switch:
        database = Database(bank.url, switch, tmp_path, workers=2)
        database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
        closer = threading.Thread(target=database.close)

        def close(reached: str) -> None:
            if reached == "logged":
                closer.start()
                closer.join(0.2)  # it cannot end before this transaction does

        database.reach = close
        assert transfer(database, 0, 1, 10, warm=True)
        closer.join()
        with pytest.raises(InvalidDataflow, match="the database was closed: open it again"):
            database.commit(database.transaction())
        with pytest.raises(InvalidDataflow, match="the database was closed: open it again"):
            database.name("history", 0, "amount")
        database.close()
        with Database(bank.url, switch, tmp_path, workers=2) as database:
            database.release()
    assert balances(bank)[:2] == [EACH - 10, EACH + 10]


def test_a_folder_without_the_log_is_refused(bank: Postgres, tmp_path: Path) -> None:
    with LocalSwitch() as switch, opened(bank, switch, tmp_path, 0) as database:
        database.offload("accounts", "id", ["balance"], [0])
    with LocalSwitch() as switch, pytest.raises(InvalidDataflow, match="lacks 1 values"):
        opened(bank, switch, tmp_path / "other", 0)


def test_what_was_broken_off_stays_in_the_log(bank: Postgres, tmp_path: Path) -> None:
    """A checkpoint would forget that the switch executed what is prepared in PostgreSQL."""
    with LocalSwitch() as switch:
        database = opened(bank, switch, tmp_path, 0)
        database.offload("accounts", "id", ["balance"], range(ACCOUNTS))

        def end(reached: str) -> None:
            if reached == "executed":
                raise Ended(reached)

        database.reach = end
        with pytest.raises(Ended):
            transfer(database, 0, 1, 10, warm=True)
        for change in (database.checkpoint, database.release):
            with pytest.raises(Unreachable, match="was broken off"):
                change()
        database.close()
        with opened(bank, switch, tmp_path, 0) as database:
            database.release()
    assert bank.execute("SELECT amount FROM history") == [(10,)]
    assert balances(bank)[:2] == [EACH - 10, EACH + 10]


def test_who_waited_while_a_transaction_broke_off_sends_nothing(bank: Postgres, tmp_path: Path) -> None:
    """It would take the sequence number on, and what was broken off could not be asked for again."""
    with LocalSwitch() as switch:
        database = Database(bank.url, switch, tmp_path, workers=1)
        database.offload("accounts", "id", ["balance"], [0])
        waiting: list[BaseException] = []

        def late() -> None:
            try:
                transfer(database, 0, 0, 0)
            except Unreachable as error:
                waiting.append(error)

        other = threading.Thread(target=late)

        def end(reached: str) -> None:
            if reached == "logged":
                other.start()
                raise Ended(reached)

        database.reach = end
        with pytest.raises(Ended):
            transfer(database, 0, 0, 5)
        other.join()
        assert len(waiting) == 1
        database.close()
        with Database(bank.url, switch, tmp_path, workers=1) as database:
            database.release()
    assert balances(bank)[0] == EACH


@pytest.mark.parametrize("workers", [1, 6])
def test_the_number_of_workers_may_change(
    bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int, workers: int
) -> None:
    with opened(bank, switch, tmp_path, number) as database:
        database.offload("accounts", "id", ["balance"], [0])
    with Database(bank.url, switch, tmp_path, number, workers=workers) as database:
        assert database.workers == max(workers, 4)
        database.release()


def test_a_region_is_its_owners(bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int) -> None:
    with (
        opened(bank, switch, tmp_path / "one", number),
        pytest.raises(ConfigError, match="is another one's: open yours with another number"),
    ):
        opened(bank, switch, tmp_path / "other", number)


def test_an_older_snapshot_does_not_write_what_is_in_the_switch(
    bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int
) -> None:
    """Its trigger does not see what is in the switch."""
    with opened(bank, switch, tmp_path, number) as database, psycopg.connect(bank.url) as plain:
        plain.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        plain.execute("SELECT 1 FROM history")
        database.offload("accounts", "id", ["balance"], [0])
        with pytest.raises(psycopg.errors.SerializationFailure):
            plain.execute("UPDATE accounts SET balance = 7 WHERE id = 0")
        plain.rollback()


def test_a_worker_whose_connection_was_ended_gets_another(
    bank: Postgres, switch: LocalSwitch, tmp_path: Path, number: int
) -> None:
    with Database(bank.url, switch, tmp_path, number, workers=1) as database:
        database.offload("accounts", "id", ["balance"], [0])
        t = database.transaction()
        t.sql("SELECT pg_terminate_backend(pg_backend_pid())")
        for _ in range(2):
            with pytest.raises(psycopg.errors.AdminShutdown):
                database.commit(t)
        t = database.transaction()
        t.sql("INSERT INTO history VALUES (1, 1)")
        assert database.commit(t).done
