"""TPC-C's NewOrder and Payment on PostgreSQL, as plain SQL and as transactions in the switch, and what must hold.

The switch has the totals of warehouses and districts, the next order numbers, and the stock of what sells; each order
has at most one such item. An order is known by the transaction's number, and gets its order number, which its customer
is told at once, from `jumpgate.outcomes`. In the switch stock is replenished, by 91 as TPC-C does, when it runs out; in
PostgreSQL by TPC-C's rule. No order is for an item that does not exist.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from jumpgate.transactions import Database, Node
from tests.support.pg import Postgres

DISTRICTS, CUSTOMERS, ITEMS, HOT_ITEMS = 10, 3000, 1000, 10
STOCK, REPLENISHED = 100, 91
HOT_SHARE, REMOTE_SHARE = 0.75, 0.2

_TABLES = """
DROP SCHEMA IF EXISTS jumpgate CASCADE;
DROP TABLE IF EXISTS warehouse, district, customer, item, stock, orders, order_line, payments;
CREATE TABLE warehouse (id int PRIMARY KEY, ytd bigint NOT NULL);
CREATE TABLE district (id int PRIMARY KEY, ytd bigint NOT NULL, next_order int NOT NULL);
CREATE TABLE customer (id int PRIMARY KEY, balance bigint NOT NULL);
CREATE TABLE item (id int PRIMARY KEY, price int NOT NULL);
CREATE TABLE stock (id int PRIMARY KEY, quantity int NOT NULL CHECK (quantity >= 0));
CREATE TABLE orders (id bigint PRIMARY KEY, district int NOT NULL, customer int NOT NULL, number int);
CREATE TABLE order_line (orders bigint, stock int, quantity int, amount bigint, PRIMARY KEY (orders, stock));
CREATE TABLE payments (district int NOT NULL, customer int NOT NULL, amount bigint NOT NULL);
"""
_LINES = "unnest(%s::int[], %s::int[]) AS l(stock, quantity)"
Statement = tuple[str, Sequence[Any]]


@dataclass(frozen=True)
class Order:
    """`stock`: rows of it, of which `hot` is in the switch, if there is one; each with a quantity."""

    district: int
    customer: int
    stock: tuple[int, ...]
    quantities: tuple[int, ...]
    hot: int | None


@dataclass(frozen=True)
class Payment:
    district: int
    customer: int
    amount: int


def draw(rng: random.Random, warehouses: int) -> Order | Payment:
    """Return one of both, equally often; a fifth of the orders have an item of any warehouse."""
    warehouse = rng.randrange(warehouses)
    district, customer = warehouse * DISTRICTS + rng.randrange(DISTRICTS), rng.randrange(warehouses * CUSTOMERS)
    if rng.random() < 0.5:
        return Payment(district, customer, rng.randint(100, 500_000))
    items = rng.sample(range(HOT_ITEMS, ITEMS), rng.randint(5, 15))
    stock = [warehouse * ITEMS + item for item in items]
    if rng.random() < REMOTE_SHARE:
        stock[-1] = rng.randrange(warehouses) * ITEMS + items[-1]
    hot = None
    if rng.random() < HOT_SHARE:
        hot = stock[0] = warehouse * ITEMS + rng.randrange(HOT_ITEMS)
    return Order(district, customer, tuple(sorted(stock)), tuple(rng.randint(1, 10) for _ in stock), hot)


def fill(bank: Postgres, warehouses: int) -> None:
    """Make the tables anew."""
    bank.execute(_TABLES)
    for table, rows, values in (
        ("warehouse", warehouses, "0"), ("district", warehouses * DISTRICTS, "0, 1"),
        ("customer", warehouses * CUSTOMERS, "0"), ("item", ITEMS, "100 + i"),
        ("stock", warehouses * ITEMS, str(STOCK)),
    ):  # fmt: skip
        bank.execute(f"INSERT INTO {table} SELECT i, {values} FROM generate_series(0, {rows - 1}) i")


def offload(database: Database, warehouses: int) -> None:
    districts = range(warehouses * DISTRICTS)
    database.offload("warehouse", "id", ["ytd"], range(warehouses), checked=False)
    database.offload("district", "id", ["ytd", "next_order"], districts, checked=False)
    hot = [warehouse * ITEMS + item for warehouse in range(warehouses) for item in range(HOT_ITEMS)]
    database.offload("stock", "id", ["quantity"], hot)


def _paid(p: Payment) -> list[Statement]:
    return [
        ("UPDATE customer SET balance = balance - %s WHERE id = %s", (p.amount, p.customer)),
        ("INSERT INTO payments VALUES (%s, %s, %s)", (p.district, p.customer, p.amount)),
    ]


def _ordered(number: int, o: Order, of_switch: int | None) -> list[Statement]:
    """Return what is done in PostgreSQL, where stock is locked in the order of its rows."""
    lines = [line for line in zip(o.stock, o.quantities, strict=True) if line[0] != of_switch]
    mine, quantities = [list(column) for column in zip(*lines, strict=True)]
    return [
        ("INSERT INTO orders VALUES (%s, %s, %s)", (number, o.district, o.customer)),
        ("SELECT id FROM stock WHERE id = ANY(%s) ORDER BY id FOR UPDATE", (mine,)),
        ("UPDATE stock s SET quantity = s.quantity - l.quantity + CASE WHEN s.quantity < l.quantity + 10 THEN "
         f"{REPLENISHED} ELSE 0 END FROM {_LINES} WHERE s.id = l.stock", (mine, quantities)),
        ("INSERT INTO order_line SELECT %s, l.stock, l.quantity, l.quantity * i.price "
         f"FROM {_LINES} JOIN item i ON i.id = mod(l.stock, {ITEMS})", (number, list(o.stock), list(o.quantities))),
    ]  # fmt: skip


def by_sql(connection: psycopg.Connection[Any], drawn: Order | Payment, number: int) -> None:
    """Execute it in PostgreSQL alone."""
    if isinstance(drawn, Payment):
        connection.execute(
            "UPDATE warehouse SET ytd = ytd + %s WHERE id = %s", (drawn.amount, drawn.district // DISTRICTS)
        )
        connection.execute("UPDATE district SET ytd = ytd + %s WHERE id = %s", (drawn.amount, drawn.district))
        statements = _paid(drawn)
    else:
        row = connection.execute(
            "UPDATE district SET next_order = next_order + 1 WHERE id = %s RETURNING next_order - 1", (drawn.district,)
        ).fetchone()
        assert row is not None
        statements = _ordered(number, drawn, None)
        statements.append(("UPDATE orders SET number = %s WHERE id = %s", (row[0], number)))
    for statement, parameters in statements:
        connection.execute(statement, parameters, prepare=True)
    connection.commit()


def by_switch(database: Database | Node, drawn: Order | Payment) -> int | None:
    """Execute it with what is hot in the switch. Return an order's number."""
    if isinstance(drawn, Payment):
        t = database.transaction()
        for statement in _paid(drawn):
            t.sql(*statement)
        t.add("warehouse", drawn.district // DISTRICTS, "ytd", drawn.amount)
        t.add("district", drawn.district, "ytd", drawn.amount)
        database.commit(t)
        return None
    while True:
        t = database.transaction()
        for statement in _ordered(t.number, drawn, drawn.hot):
            t.sql(*statement)
        if drawn.hot is not None:
            quantity = drawn.quantities[drawn.stock.index(drawn.hot)]
            t.add("stock", drawn.hot, "quantity", -quantity, at_least=0)
        at = t.add("district", drawn.district, "next_order", 1)
        outcome = database.commit(t)
        if outcome.done:
            return outcome.values[at]
        more = database.transaction()
        more.add("stock", drawn.hot, "quantity", REPLENISHED)
        database.commit(more)


def number_orders(bank: Postgres) -> None:
    """Give orders the numbers that the last checkpoint brought."""
    bank.execute(
        "UPDATE orders SET number = o.value FROM jumpgate.outcomes o "
        "WHERE o.number = orders.id AND o.value_column = 'next_order' AND orders.number IS NULL"
    )


def broken(bank: Postgres) -> list[str]:
    """Return what does not hold of TPC-C's conditions: money, order numbers without gaps, stock."""
    return [name for name, query in _CONDITIONS.items() if bank.execute(query)]


#: each finds the rows that are wrong
_CONDITIONS = {
    "a warehouse's total is that of its districts":
        f"SELECT w.id FROM warehouse w JOIN district d ON d.id / {DISTRICTS} = w.id GROUP BY w.id, w.ytd "
        "HAVING w.ytd <> sum(d.ytd)",
    "a district's total is that of its payments":
        "SELECT d.id FROM district d LEFT JOIN payments p ON p.district = d.id GROUP BY d.id, d.ytd "
        "HAVING d.ytd <> coalesce(sum(p.amount), 0)",
    "a customer's balance is what was paid":
        "SELECT c.id FROM customer c LEFT JOIN payments p ON p.customer = c.id GROUP BY c.id, c.balance "
        "HAVING c.balance <> -coalesce(sum(p.amount), 0)",
    "a district's orders have the numbers from 1, each once":
        "SELECT d.id FROM district d LEFT JOIN orders o ON o.district = d.id GROUP BY d.id, d.next_order "
        "HAVING d.next_order - 1 <> count(o.id) OR d.next_order - 1 <> count(DISTINCT o.number) "
        "OR d.next_order - 1 <> coalesce(max(o.number), 0) OR min(o.number) < 1",
    "stock is what was there and came, without what was ordered; never negative":
        "SELECT s.id FROM stock s LEFT JOIN order_line l ON l.stock = s.id GROUP BY s.id, s.quantity "
        f"HAVING s.quantity < 0 OR mod(s.quantity + coalesce(sum(l.quantity), 0) - {STOCK}, {REPLENISHED}) <> 0",
    "each order has its lines": "SELECT o.id FROM orders o LEFT JOIN order_line l ON l.orders = o.id GROUP BY o.id "
        "HAVING count(l.stock) < 5",
}  # fmt: skip
