"""YCSB's transactions on PostgreSQL, as plain SQL and with hot keys in the switch: 8 operations, reads or increments.

Each transaction is hot with a share of 75 %, then all its keys are among 50; otherwise none is. A writes half of its
operations, B one in twenty, C none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import psycopg

from jumpgate.transactions import Database
from tests.support.pg import Postgres

KEYS, HOT_KEYS, OPERATIONS, HOT_SHARE = 100_000, 50, 8, 0.75
WRITES = {"a": 0.5, "b": 0.05, "c": 0.0}


@dataclass(frozen=True)
class Drawn:
    """Keys in their order, and which of them are written."""

    keys: tuple[int, ...]
    written: frozenset[int]

    @property
    def is_hot(self) -> bool:
        return self.keys[0] < HOT_KEYS


def draw(rng: random.Random, workload: str) -> Drawn:
    of = range(HOT_KEYS) if rng.random() < HOT_SHARE else range(HOT_KEYS, KEYS)
    keys = tuple(sorted(rng.sample(of, OPERATIONS)))
    return Drawn(keys, frozenset(key for key in keys if rng.random() < WRITES[workload]))


def fill(bank: Postgres) -> None:
    """Make the table anew."""
    bank.execute("DROP SCHEMA IF EXISTS jumpgate CASCADE")
    bank.execute("DROP TABLE IF EXISTS usertable")
    bank.execute("CREATE TABLE usertable (id int PRIMARY KEY, field int NOT NULL)")
    bank.execute(f"INSERT INTO usertable SELECT i, 0 FROM generate_series(0, {KEYS - 1}) i")


def by_sql(connection: psycopg.Connection[Any], drawn: Drawn) -> None:
    """Execute it in PostgreSQL alone, which locks rows in their order."""
    for key in drawn.keys:
        if key in drawn.written:
            connection.execute("UPDATE usertable SET field = field + 1 WHERE id = %s", (key,), prepare=True)
        else:
            connection.execute("SELECT field FROM usertable WHERE id = %s", (key,), prepare=True)
    connection.commit()


def by_switch(database: Database, drawn: Drawn) -> None:
    """Execute it with hot keys in the switch."""
    t = database.transaction()
    for key in drawn.keys:
        is_written = key in drawn.written
        if drawn.is_hot:
            t.add("usertable", key, "field", int(is_written))
        elif is_written:
            t.sql("UPDATE usertable SET field = field + 1 WHERE id = %s", (key,))
        else:
            t.sql("SELECT field FROM usertable WHERE id = %s", (key,))
    database.commit(t)


def total(bank: Postgres) -> int:
    """Return how many increments are there."""
    return int(str(bank.execute("SELECT sum(field) FROM usertable")[0][0]))
