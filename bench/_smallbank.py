"""SmallBank's six transactions on PostgreSQL, as plain SQL and with hot customers in the switch, and what must hold.

Balance, DepositChecking, TransactSavings, Amalgamate, WriteCheck and SendPayment, equally often; 90 % are of hot
customers. Amounts are cents. A check over the sum of both accounts costs a cent more, so Amalgamate and WriteCheck are
computed from values: they are read, and expected to be the same when the packet executes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from jumpgate.transactions import Database, Transaction
from tests.support.pg import Postgres

CUSTOMERS, HOT_SHARE, START = 10_000, 0.9, 1_000_000
KINDS = ("balance", "deposit", "transact", "amalgamate", "check", "pay")
PENALTY = 1


@dataclass(frozen=True)
class Drawn:
    kind: str
    customer: int
    other: int
    amount: int
    is_hot: bool


def draw(rng: random.Random, hot: int) -> Drawn:
    is_hot = rng.random() < HOT_SHARE
    customer, other = rng.sample(range(hot) if is_hot else range(hot, CUSTOMERS), 2)
    return Drawn(rng.choice(KINDS), customer, other, rng.randint(1, 10_000), is_hot)


def fill(bank: Postgres) -> None:
    """Make the tables anew."""
    bank.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
    for table in ("savings", "checking"):
        bank.execute(f"DROP TABLE IF EXISTS {table}")
        bank.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, balance bigint NOT NULL)")
        bank.execute(f"INSERT INTO {table} SELECT i, {START} FROM generate_series(0, {CUSTOMERS - 1}) i")


def offload(database: Database, hot: int) -> None:
    for table in ("savings", "checking"):
        database.offload(table, "id", ["balance"], range(hot))


def total(bank: Postgres) -> int:
    found = bank.execute("SELECT (SELECT sum(balance) FROM savings) + (SELECT sum(balance) FROM checking)")
    return int(str(found[0][0]))


def by_sql(connection: psycopg.Connection[Any], d: Drawn) -> int:
    """Execute it in PostgreSQL alone, which locks rows in one order. Return what it added to the bank."""

    def one(statement: str, *parameters: int) -> int:
        row = connection.execute(statement, parameters, prepare=True).fetchone()
        return int(row[0]) if row is not None else 0

    def add(table: str, customer: int, amount: int) -> None:
        connection.execute(
            f"UPDATE {table} SET balance = balance + %s WHERE id = %s", (amount, customer), prepare=True
        )  # fmt: skip

    def lock(table: str, *customers: int) -> list[int]:
        statement = f"SELECT id, balance FROM {table} WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
        found = dict(connection.execute(statement, (list(customers),), prepare=True).fetchall())
        return [found[customer] for customer in customers]

    added = 0
    match d.kind:
        case "balance":
            for table in ("savings", "checking"):
                one(f"SELECT balance FROM {table} WHERE id = %s", d.customer)
        case "deposit":
            add("checking", d.customer, added := d.amount)
        case "transact":
            if one("SELECT balance FROM savings WHERE id = %s FOR UPDATE", d.customer) >= d.amount:
                add("savings", d.customer, added := -d.amount)
        case "amalgamate":
            savings, (checking, _) = lock("savings", d.customer)[0], lock("checking", d.customer, d.other)
            add("savings", d.customer, -savings)
            add("checking", d.customer, -checking)
            add("checking", d.other, savings + checking)
        case "check":
            sum_ = lock("savings", d.customer)[0] + lock("checking", d.customer)[0]
            added = -d.amount - (PENALTY if sum_ < d.amount else 0)
            add("checking", d.customer, added)
        case _:
            if lock("checking", d.customer, d.other)[0] >= d.amount:
                add("checking", d.customer, -d.amount)
                add("checking", d.other, d.amount)
    connection.commit()
    return added


def by_switch(database: Database, connection: psycopg.Connection[Any], d: Drawn) -> int:
    """Execute it with hot customers in the switch. Return what it added to the bank."""
    if not d.is_hot:
        return by_sql(connection, d)
    t = database.transaction()
    match d.kind:
        case "balance":
            t.read("savings", d.customer, "balance")
            t.read("checking", d.customer, "balance")
        case "deposit":
            t.add("checking", d.customer, "balance", d.amount)
        case "transact":
            t.add("savings", d.customer, "balance", -d.amount, at_least=0)
        case "pay":
            t.add("checking", d.customer, "balance", -d.amount, at_least=0)
            t.add("checking", d.other, "balance", d.amount)
        case _:
            return _computed(database, d)
    is_done = database.commit(t).done
    return {"deposit": d.amount, "transact": -d.amount}.get(d.kind, 0) if is_done else 0


def _computed(database: Database, d: Drawn) -> int:
    added = 0

    def amalgamate(t: Transaction, values: tuple[int, ...]) -> None:
        t.set("savings", d.customer, "balance", 0)
        t.set("checking", d.customer, "balance", 0)
        t.add("checking", d.other, "balance", sum(values))

    def check(t: Transaction, values: tuple[int, ...]) -> None:
        nonlocal added
        added = -d.amount - (PENALTY if sum(values) < d.amount else 0)
        t.add("checking", d.customer, "balance", added)

    build: Callable[[Transaction, tuple[int, ...]], None] = amalgamate if d.kind == "amalgamate" else check
    database.compute([(table, d.customer, "balance") for table in ("savings", "checking")], build)
    return added
