"""Transactions declared as functions: traced once, refused with a reason, and the same to the builder's answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jumpgate.errors import CapacityExceeded, InvalidDataflow
from jumpgate.transactions import (
    Database,
    Expression,
    LocalSwitch,
    Transaction,
    Value,
    add,
    number,
    read,
    require,
    sql,
    write,
)
from tests.support.pg import Postgres


@pytest.fixture(scope="module")
def bank() -> Iterator[Postgres]:
    postgres = Postgres()
    postgres.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL)")
    postgres.execute("CREATE TABLE history (id bigint, amount int)")
    postgres.execute("INSERT INTO accounts SELECT i, 1000 FROM generate_series(0, 4) i")
    yield postgres
    postgres.close()


@pytest.fixture(scope="module")
def database(bank: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("log")
    with LocalSwitch() as switch, Database(bank.url, switch, folder, workers=2) as made:
        made.offload("accounts", "id", ["balance"], range(4))
        yield made


def test_a_transfer_is_traced_once(bank: Postgres, database: Database) -> None:
    traced = []

    @database.declare
    def transfer(source: int, target: int, amount: int = 50) -> tuple[Value, Value]:
        traced.append(amount)
        sql("INSERT INTO history VALUES (%s, %s)", number(), 2 * amount)
        left = add("accounts", source, "balance", -amount)
        require(left >= 0)
        return left, add("accounts", target, "balance", amount) - 1

    assert transfer(0, 1).value == (950, 1049)
    refused = transfer(0, 1, amount=951)
    assert not refused.done and refused.value is None
    assert transfer(target=0, source=1, amount=950).value == (100, 1899)
    assert len(traced) == 1
    assert bank.execute("SELECT amount FROM history ORDER BY 1") == [(100,), (1900,)]
    database.checkpoint()
    seen = bank.execute(
        "SELECT h.amount, o.key, o.value FROM jumpgate.outcomes o JOIN history h ON h.id = o.number ORDER BY 1, 2"
    )
    assert seen == [(100, "0", 1000), (100, "1", 1000), (1900, "0", 950), (1900, "1", 1050)]
    for arguments, message in (
        ((0, 1, "5"), "amount is '5', and no int"),
        ((0, 9), r"accounts\[9\].balance is not in"),
    ):
        with pytest.raises(InvalidDataflow, match=message):
            transfer(*arguments)


def test_requirements_speak_of_what_was_read_written_or_computed(database: Database) -> None:
    @database.declare
    def at_least(account: int, bound: int) -> Value:
        before = read("accounts", account, "balance")
        require(before + 10 > 2 * bound - 1)
        return before

    @database.declare
    def reset(account: int, least: int) -> Value:
        before = write("accounts", account, "balance", 1000)
        require(before >= least)
        return before

    assert reset(2, 1000).value == 1000
    assert at_least(2, 505).value == 1000
    assert not at_least(2, 506).done
    assert not reset(2, 1001).done


def test_several_requirements_hold_together(database: Database) -> None:
    @database.declare
    def reset(account: int, balance: int) -> None:
        write("accounts", account, "balance", balance)

    @database.declare
    def pay_both(first: int, second: int, amount: int) -> tuple[Value, Value]:
        left, other = add("accounts", first, "balance", -amount), add("accounts", second, "balance", -amount)
        require(left >= 0)
        require(other >= 0)
        return left, other

    reset(2, 100), reset(3, 60)
    assert pay_both(2, 3, 50).value == (50, 10)
    assert not pay_both(2, 3, 20).done and not pay_both(3, 2, 20).done
    assert pay_both(3, 2, 10).value == (0, 40)


def test_amounts_statements_and_requirements_are_computed_from_values(bank: Postgres, database: Database) -> None:
    """Amalgamate and the like: whatever two rows they name, a row twice, and values that change meanwhile."""

    @database.declare
    def reset(account: int, balance: int) -> None:
        write("accounts", account, "balance", balance)

    @database.declare
    def amalgamate(first: int, second: int, target: int) -> Expression:
        total = write("accounts", first, "balance", 0) + write("accounts", second, "balance", 0)
        sql("INSERT INTO history VALUES (%s, 7)", total)
        return add("accounts", target, "balance", total) + total * 0

    @database.declare
    def pay_of_both(first: int, second: int, amount: int) -> Expression:
        mine, other = read("accounts", first, "balance"), read("accounts", second, "balance")
        require(mine + other >= amount)
        require(mine >= other)
        return add("accounts", first, "balance", -amount) - other

    for account, balance in ((1, 10), (2, 200), (3, 3000)):
        reset(account, balance)
    assert amalgamate(1, 2, 3).value == 3210
    assert amalgamate(3, 2, 3).value == 3210
    assert amalgamate(3, 3, 1).value == 3210
    assert bank.execute("SELECT id FROM history WHERE amount = 7") == [(210,), (3210,), (3210,)]
    reset(2, 5)
    assert pay_of_both(1, 2, 3000).value == 205
    assert not pay_of_both(1, 2, 216).done and not pay_of_both(2, 1, 1).done
    changes = iter([4, 9])

    def build(t: Transaction, values: tuple[int, ...]) -> bool:
        if (balance := next(changes, None)) is not None:
            reset(2, balance)  # another one comes between
        t.sql("INSERT INTO history VALUES (%s, 8)", values)
        t.set("accounts", 2, "balance", values[0] + 1)
        return values[0] != 10

    assert database.compute([("accounts", 2, "balance")], build).done
    assert bank.execute("SELECT id FROM history WHERE amount = 8") == [(9,)]
    assert not database.compute([("accounts", 2, "balance")], build).done
    with pytest.raises(CapacityExceeded, match="values changed 1000 times while"):
        database.compute([("accounts", 2, "balance")], lambda t, values: t.expect("accounts", 2, "balance", 0))


def required_twice(account: int) -> None:
    before = read("accounts", account, "balance")
    require(before >= 0)
    require(before >= account)


def row_after_hot(account: int) -> None:
    add("accounts", read("accounts", account, "balance"), "balance", 1)


def branch_on_hot(account: int) -> None:
    if read("accounts", account, "balance") >= 7:
        add("accounts", 1, "balance", 1)


def branch_on_argument(account: int) -> None:
    if account:
        read("accounts", account, "balance")


def loop(accounts: list[int]) -> None:
    for account in accounts:
        read("accounts", account, "balance")


def at_most(account: int) -> None:
    require(read("accounts", account, "balance") <= 5)  # type: ignore[arg-type]


def nine(account: int) -> None:
    for _ in range(9):
        add("accounts", account, "balance", 1)


def text_of_argument(account: int) -> None:
    sql(f"INSERT INTO history VALUES ({account}, 0)")


def quotient(account: int) -> None:
    add("accounts", 1, "balance", account // 2)


def untyped(account) -> None:  # type: ignore[no-untyped-def]
    read("accounts", account, "balance")


def commits(account: int) -> None:
    sql("COMMIT")


def no_table(account: int) -> None:
    read("nothing", account, "balance")


def no_server(account: int) -> None:
    read("accounts", account, "balance", server="west")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (required_twice, r"accounts\[account\].balance is required twice: require the greater"),
        (row_after_hot, "the row of accounts.balance depends on"),
        (branch_on_hot, "'accounts.*>= 7' decides what is done: a transaction is traced once"),
        (branch_on_argument, "account decides what is done"),
        (loop, "accounts decides what is done"),
        (at_most, "requires that a value is >= or > a bound"),
        (nine, "has more than 8 steps"),
        (text_of_argument, "account decides what is done"),
        (quotient, r"unsupported operand.*computed with \+, - and \*"),
        (untyped, "parameter 'account' has no type"),
        (commits, "'COMMIT' is no part of a transaction"),
        (no_table, "no table 'nothing'"),
        (no_server, "no server 'west'"),
    ],
)  # fmt: skip
def test_what_the_switch_cannot_is_refused_when_it_is_declared(
    database: Database, function: Callable[..., object], message: str
) -> None:
    with pytest.raises(InvalidDataflow, match=f"(?s){function.__name__}.*{message}"):
        database.declare(function)


def test_verbs_belong_into_a_declared_function() -> None:
    with pytest.raises(InvalidDataflow, match="@database.declare"):
        read("accounts", 1, "balance")
