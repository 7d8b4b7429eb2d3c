"""PostgreSQL's side: what is in the switch, the guard against plain SQL that writes it, prepared transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from jumpgate.errors import InvalidDataflow

#: table with its schema, and its server if that is not the first; key; column
Name = tuple[str, str, str]
PREFIX = "jumpgate"
BUSY_S = 0.001

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS jumpgate;
CREATE TABLE IF NOT EXISTS jumpgate.hot (
  relation text NOT NULL, relation_id oid NOT NULL, key text NOT NULL, key_column text NOT NULL,
  value_column text NOT NULL, array_number int NOT NULL, place int NOT NULL, is_wide boolean NOT NULL,
  value bigint, gid bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (relation, key, value_column), UNIQUE (array_number, place));
DO $body$ BEGIN  -- only if need be: it would wait for prepared transactions, which are decided later
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'jumpgate.hot'::regclass AND attname = 'gid') THEN
    PERFORM set_config('lock_timeout', '10s', true);
    ALTER TABLE jumpgate.hot ADD COLUMN value bigint, ADD COLUMN gid bigint NOT NULL DEFAULT 0;
  END IF;
END $body$;
CREATE TABLE IF NOT EXISTS jumpgate.base (number int PRIMARY KEY, base text NOT NULL);
CREATE TABLE IF NOT EXISTS jumpgate.log (
  log text NOT NULL, node int NOT NULL, position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  record bytea NOT NULL);
CREATE TABLE IF NOT EXISTS jumpgate.decisions (
  log text NOT NULL, number bigint NOT NULL, answer bytea NOT NULL, PRIMARY KEY (log, number));
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
CREATE OR REPLACE FUNCTION jumpgate.balance(of regclass, row_key text, value_column text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $body$
DECLARE found bigint; key_column text;
BEGIN
  SELECT h.value INTO found FROM jumpgate.hot h
  WHERE h.relation_id = of AND h.key = row_key AND h.value_column = balance.value_column;
  IF found IS NOT NULL THEN
    RETURN found;
  END IF;
  SELECT a.attname INTO key_column FROM pg_index i
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = of AND i.indisprimary AND i.indnkeyatts = 1;
  IF key_column IS NULL THEN
    RAISE EXCEPTION '% has no primary key of one column: read its rows', of;
  END IF;
  EXECUTE format('SELECT %I FROM %s WHERE %I::text = $1', value_column, of, key_column) INTO found USING row_key;
  RETURN found;
END $body$;
CREATE OR REPLACE FUNCTION jumpgate.balance(of regclass, row_key bigint, value_column text) RETURNS bigint
LANGUAGE sql STABLE AS $body$ SELECT jumpgate.balance(of, row_key::text, value_column) $body$;
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


def on_server(relation: str, server: str) -> str:
    """Return the name of a table of a server: an unquoted name has no colon, and a quoted one begins with a quote."""
    return f"{server}:{relation}" if server else relation


def server_of(name: Name) -> str:
    """Return the server that has a value's row."""
    head, colon, _ = name[0].partition(":")
    return head if colon and not head.startswith('"') and "." not in head else ""


def local(name: Name) -> Name:
    """Return the name of a value on its own server."""
    server = server_of(name)
    return (name[0].removeprefix(f"{server}:"), *name[1:]) if server else name


def held(connection: psycopg.Connection[Any], server: str) -> dict[Name, Place]:
    """Returns what of a server is in the switch."""
    rows = connection.execute(
        "SELECT relation, key, value_column, array_number, place, is_wide FROM jumpgate.hot"
    ).fetchall()
    return {(on_server(relation, server), key, column): Place(*place) for relation, key, column, *place in rows}


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


def hold(connection: psycopg.Connection[Any], name: Name, key_column: str, place: Place, value: int) -> None:
    table, key, column = local(name)
    connection.execute(
        "INSERT INTO jumpgate.hot VALUES (%s, to_regclass(%s), %s, %s, %s, %s, %s, %s, %s)",
        (table, table, key, key_column, column, place.array, place.index, place.is_wide, value),
    )


def store(connection: psycopg.Connection[Any], found: Iterable[tuple[Name, int]], release: bool) -> None:
    """Writes values back into their rows, and with `release` forgets that they were in the switch."""
    connection.execute("SET LOCAL jumpgate.writer = 'on'")
    for name, value in found:
        table, key, column = local(name)
        row = connection.execute(
            "SELECT key_column FROM jumpgate.hot WHERE relation = %s AND key = %s AND value_column = %s",
            (table, key, column),
        ).fetchone()
        assert row is not None
        update = sql.SQL("UPDATE {} SET {} = %s WHERE {}::text = %s").format(
            _relation(table), sql.Identifier(column), sql.Identifier(row[0])
        )
        connection.execute(update, (value, key))
        connection.execute(
            "DELETE FROM jumpgate.hot WHERE relation = %(table)s AND key = %(key)s AND value_column = %(column)s"
            if release else
            "UPDATE jumpgate.hot SET value = %(value)s WHERE relation = %(table)s AND key = %(key)s "
            "AND value_column = %(column)s", {"table": table, "key": key, "column": column, "value": value},
        )  # fmt: skip


def show(connection: psycopg.Connection[Any], found: Mapping[Name, int]) -> None:
    """Let `jumpgate.balance` return these values, which no record of the log has."""
    rows = [(value, *name) for name, value in found.items()]
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE jumpgate.hot SET value = %s WHERE relation = %s AND key = %s AND value_column = %s", rows
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


def log_of(log: str, server: str) -> str:
    """Return what names a server's prepared transactions: two servers may be databases of one cluster."""
    return f"{log}-{server}" if server else log


def preparer(connection: psycopg.Connection[Any], log: str, transaction: int) -> int | None:
    """Return the node whose transaction of this number is prepared and not decided, if there is one."""
    return next((node for node, number in prepared(connection, log) if number == transaction), None)


def keep_decision(connection: psycopg.Connection[Any], log: str, transaction: int, answer: bytes) -> None:
    """Keep the switch's answer, before it is acted on."""
    connection.execute(
        "INSERT INTO jumpgate.decisions VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", (log, transaction, answer)
    )


def decisions(connection: psycopg.Connection[Any], log: str) -> list[bytes]:
    """Return the answers that were kept."""
    rows = connection.execute("SELECT answer FROM jumpgate.decisions WHERE log = %s", (log,)).fetchall()
    return [bytes(answer) for (answer,) in rows]


def forget_decisions(connection: psycopg.Connection[Any], log: str) -> None:
    connection.execute("DELETE FROM jumpgate.decisions WHERE log = %s", (log,))


def decide(
    connection: psycopg.Connection[Any], log: str, node: int, transaction: int, commit: bool, is_kept: bool = False
) -> bool:
    """Commit or roll back what is prepared. With `is_kept` another may have done that, which kept the answer first:
    return False then."""
    word = sql.SQL("COMMIT" if commit else "ROLLBACK")
    name = sql.Literal(f"{PREFIX}_{log}_{node}_{transaction}")
    while True:
        try:
            connection.execute(sql.SQL("{} PREPARED {}").format(word, name))
        except psycopg.errors.ObjectNotInPrerequisiteState:
            if not is_kept:
                raise
            time.sleep(BUSY_S)  # another is about it
        except psycopg.errors.UndefinedObject:
            query = "SELECT 1 FROM jumpgate.decisions WHERE number = %s"
            if not is_kept or connection.execute(query, (transaction,)).fetchone() is None:
                raise
            return False
        else:
            return True
