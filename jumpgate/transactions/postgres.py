"""PostgreSQL's side: what is in the switch, the guard against plain SQL that writes it, prepared transactions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from jumpgate.errors import InvalidDataflow

#: table, key, column
Name = tuple[str, str, str]
PREFIX = "jumpgate"

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS jumpgate;
CREATE TABLE IF NOT EXISTS jumpgate.hot (
  relation text NOT NULL, relation_id oid NOT NULL, key text NOT NULL, key_column text NOT NULL,
  value_column text NOT NULL, array_number int NOT NULL, place int NOT NULL, is_wide boolean NOT NULL,
  PRIMARY KEY (relation, key, value_column), UNIQUE (array_number, place));
CREATE TABLE IF NOT EXISTS jumpgate.server (log text PRIMARY KEY, name text NOT NULL);
CREATE TABLE IF NOT EXISTS jumpgate.outcomes (
  number bigint NOT NULL, gid bigint NOT NULL, relation text NOT NULL, key text NOT NULL, value_column text NOT NULL,
  value bigint NOT NULL, PRIMARY KEY (number, relation, key, value_column));
CREATE OR REPLACE FUNCTION jumpgate.guard() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE found text;
BEGIN
  IF current_setting('jumpgate.writer', true) = 'on' THEN
    RETURN coalesce(NEW, OLD);
  END IF;
  IF TG_OP = 'TRUNCATE' THEN
    SELECT key INTO found FROM jumpgate.hot WHERE relation_id = TG_RELID LIMIT 1;
  ELSE
    SELECT h.key INTO found FROM jumpgate.hot h
    WHERE h.relation_id = TG_RELID AND h.key = to_jsonb(OLD) ->> h.key_column
      AND (TG_OP = 'DELETE' OR to_jsonb(OLD) -> h.value_column IS DISTINCT FROM to_jsonb(NEW) -> h.value_column
           OR to_jsonb(OLD) -> h.key_column IS DISTINCT FROM to_jsonb(NEW) -> h.key_column) LIMIT 1;
  END IF;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'row % of % is in the switch: change it by jumpgate.transactions, or release it first',
      found, TG_RELID::regclass;
  END IF;
  RETURN coalesce(NEW, OLD);
END $body$;
"""


@dataclass(frozen=True)
class Place:
    """Where a value is in the switch. It is `base` + the register; only that of a bigint (`is_wide`) moves its base."""

    array: int
    index: int
    is_wide: bool = False
    base: int = 0


def install(connection: psycopg.Connection[Any]) -> None:
    """Makes the schema, if it is not there."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(7234010)")  # two that install at once would collide
        connection.execute(_SCHEMA)


def joined(connection: psycopg.Connection[Any], log: str, name: str, is_known: bool) -> bool:
    """Let a server be that of this name in a database, unless that was another one; tell if it is."""
    if not is_known:
        connection.execute("INSERT INTO jumpgate.server VALUES (%s, %s) ON CONFLICT DO NOTHING", (log, name))
    return connection.execute("SELECT name FROM jumpgate.server WHERE log = %s", (log,)).fetchone() == (name,)


def held(connection: psycopg.Connection[Any]) -> dict[Name, Place]:
    """Returns what is in the switch."""
    rows = connection.execute(
        "SELECT relation, key, value_column, array_number, place, is_wide FROM jumpgate.hot"
    ).fetchall()
    return {(relation, key, column): Place(*place) for relation, key, column, *place in rows}


def canonical(connection: psycopg.Connection[Any], table: str) -> str:
    """A table's name with its schema, quoted where it must be. Raises InvalidDataflow."""
    row = connection.execute(
        "SELECT format('%%I.%%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.oid = to_regclass(%s)", (table,),
    ).fetchone()  # fmt: skip
    if row is None:
        raise InvalidDataflow(f"PostgreSQL has no table '{table}'", table=table)
    return str(row[0])


def _relation(table: str) -> sql.Composable:
    """A name that `canonical` gave."""
    return sql.SQL(table)


def guard(connection: psycopg.Connection[Any], table: str) -> None:
    """From now on plain SQL that would change hot values of the table is refused."""
    name = _relation(table)
    for kind, each in (("UPDATE OR DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
        trigger = sql.Identifier(f"jumpgate_guard_{each.lower()}")
        connection.execute(sql.SQL("DROP TRIGGER IF EXISTS {} ON {}").format(trigger, name))
        connection.execute(
            sql.SQL("CREATE TRIGGER {} BEFORE {} ON {} FOR EACH {} EXECUTE FUNCTION jumpgate.guard()").format(
                trigger, sql.SQL(kind), name, sql.SQL(each)
            )
        )


def lock(connection: psycopg.Connection[Any], table: str) -> None:
    """Waits for those who write the table, and keeps others from it until the end of the transaction."""
    connection.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(_relation(table)))
    connection.execute("SET LOCAL jumpgate.writer = 'on'")


def values(
    connection: psycopg.Connection[Any], table: str, key: str, column: str, rows: Sequence[Any]
) -> list[tuple[Any, str]]:
    """Returns value and type in these rows, in order. Raises InvalidDataflow for a row that is not there once.

    Makes a new version of each row: who has an older snapshot, in which it is not in the switch, fails to write it.
    """
    found: dict[str, tuple[Any, str]] = {}
    query = sql.SQL(
        "UPDATE {table} SET {column} = {column} WHERE {key} = ANY(%s) RETURNING {key}::text, {column}, "
        "pg_typeof({column})::text"
    ).format(key=sql.Identifier(key), column=sql.Identifier(column), table=_relation(table))
    for name, *value in connection.execute(query, (list(rows),)).fetchall():
        if name in found:
            raise InvalidDataflow(f"{key} = {name} is not one row of {table}: the key must be unique", table=table)
        found[name] = value[0], value[1]
    missing = [row for row in rows if str(row) not in found]
    if missing:
        raise InvalidDataflow(f"{table} has no row with {key} = {missing[0]}", table=table)
    return [found[str(row)] for row in rows]


def hold(connection: psycopg.Connection[Any], name: Name, key_column: str, place: Place) -> None:
    table, key, column = name
    connection.execute(
        "INSERT INTO jumpgate.hot VALUES (%s, to_regclass(%s), %s, %s, %s, %s, %s, %s)",
        (table, table, key, key_column, column, place.array, place.index, place.is_wide),
    )


def store(connection: psycopg.Connection[Any], found: Iterable[tuple[Name, int]], release: bool) -> None:
    """Writes values back into their rows, and with `release` forgets that they were in the switch."""
    connection.execute("SET LOCAL jumpgate.writer = 'on'")
    for (table, key, column), value in found:
        row = connection.execute(
            "SELECT key_column FROM jumpgate.hot WHERE relation = %s AND key = %s AND value_column = %s",
            (table, key, column),
        ).fetchone()
        assert row is not None
        update = sql.SQL("UPDATE {} SET {} = %s WHERE {}::text = %s").format(
            _relation(table), sql.Identifier(column), sql.Identifier(row[0])
        )
        connection.execute(update, (value, key))
        if release:
            connection.execute(
                "DELETE FROM jumpgate.hot WHERE relation = %s AND key = %s AND value_column = %s", (table, key, column)
            )


def keep(connection: psycopg.Connection[Any], values: Iterable[tuple[int, int, Name, int]]) -> None:
    """Add to `jumpgate.outcomes` number and gid of transactions, and values that they saw; some may be there."""
    rows = [(number, gid, *name, value) for number, gid, name, value in values]
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany("INSERT INTO jumpgate.outcomes VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", rows)


def prepared(connection: psycopg.Connection[Any], log: str, node: int | None = None) -> list[tuple[int, int]]:
    """Node and number of the transactions, of one node or all, that are prepared and not decided."""
    start = f"{PREFIX}_{log}_" + (f"{node}_" if node is not None else "")
    rows = connection.execute(
        "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, %s)", (start,)
    ).fetchall()
    found = (name.rsplit("_", 2) for (name,) in rows)
    return [(int(of), int(number)) for _, of, number in found]


def prepare(connection: psycopg.Connection[Any], log: str, node: int, transaction: int) -> None:
    connection.execute(sql.SQL("PREPARE TRANSACTION {}").format(sql.Literal(f"{PREFIX}_{log}_{node}_{transaction}")))


def decide(connection: psycopg.Connection[Any], log: str, node: int, transaction: int, commit: bool) -> None:
    word = sql.SQL("COMMIT" if commit else "ROLLBACK")
    name = sql.Literal(f"{PREFIX}_{log}_{node}_{transaction}")
    connection.execute(sql.SQL("{} PREPARED {}").format(word, name))
