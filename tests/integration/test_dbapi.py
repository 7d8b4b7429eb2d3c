"""The DB-API 2.0 module: what PEP 249 asks for."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from jumpgate.client import dbapi
from jumpgate.client.sql.markers import numbered
from jumpgate.errors import JumpgateError

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": ["a", "b?", None],
        "price": pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(7, 2)),
        "day": [datetime.date(2024, 1, 1)] * 3,
    }
)


@pytest.fixture
def connection() -> Iterator[dbapi.Connection]:
    with dbapi.connect(tables={"t": TABLE}, offload="never") as connection:
        yield connection


def test_module() -> None:
    assert (dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety) == ("2.0", "qmark", 2)
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError) and issubclass(dbapi.DatabaseError, dbapi.Error)
    assert dbapi.Connection.OperationalError is dbapi.OperationalError
    assert dbapi.Date(2024, 1, 2) == datetime.date(2024, 1, 2)


def test_description(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.description is None and cursor.rowcount == -1
    cursor.execute("SELECT id, name, price, day FROM t")
    assert cursor.description is not None
    names, types = [d[0] for d in cursor.description], [d[1] for d in cursor.description]
    assert names == ["id", "name", "price", "day"]
    kinds = (dbapi.NUMBER, dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME)
    assert all(kind == type for kind, type in zip(kinds, types, strict=True))
    assert types[0] != dbapi.STRING and types[1] != dbapi.BINARY and types[0] != dbapi.ROWID
    assert cursor.description[2][4:6] == (7, 2)
    assert all(len(d) == 7 for d in cursor.description)


def test_fetching(connection: dbapi.Connection) -> None:
    with connection.execute("SELECT id, price FROM t ORDER BY id") as cursor:
        assert cursor.fetchone() == (1, Decimal("1.50"))
        assert cursor.rowcount == -1 and cursor.rownumber == 1
        assert cursor.fetchmany() == [(2, None)]
        cursor.arraysize = 5
        assert cursor.fetchmany() == [(3, Decimal("-2.00"))]
        assert cursor.fetchmany(2) == [] and cursor.fetchone() is None
        assert cursor.rowcount == 3
        assert [row[0] for row in cursor.execute("SELECT id FROM t ORDER BY 1 DESC")] == [3, 2, 1]
        assert cursor.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
        assert cursor.execute("SELECT id FROM t").fetch_arrow_table().num_rows == 3
        assert cursor.rowcount == 3


@pytest.mark.parametrize(
    ("text", "parameters", "rows"),
    [
        ("SELECT id FROM t WHERE name = ?", ("b?",), [(2,)]),
        ("SELECT id FROM t WHERE name = ? OR price < ? ORDER BY id", ("a", Decimal("0")), [(1,), (3,)]),
        ("SELECT '?' AS \"?\", ? AS n -- ?", (5,), [("?", 5)]),
        ("SELECT /* it's ? /* ? */ */ ? AS n", (None,), [(None,)]),
        ("SELECT id FROM t WHERE name = ?", ("' OR ''='",), []),
        ("SELECT ? AS d", (datetime.date(2020, 2, 29),), [(datetime.date(2020, 2, 29),)]),
    ],
)
def test_parameters(
    connection: dbapi.Connection, text: str, parameters: tuple[object, ...], rows: list[object]
) -> None:
    assert connection.execute(text, parameters).fetchall() == rows


def test_markers() -> None:
    assert numbered("a = ? AND 'it''s ?' = ?") == ("a = $1 AND 'it''s ?' = $2", 2)
    assert numbered("'open ?") == ("'open ?", 0)
    assert numbered("/* open ?") == ("/* open ?", 0)


def test_errors_are_of_the_hierarchy(connection: dbapi.Connection) -> None:
    with pytest.raises(dbapi.ProgrammingError, match='Table with name tt does not exist!\nDid you mean "t"') as raised:
        connection.execute("SELECT * FROM tt")
    assert isinstance(raised.value.__cause__, JumpgateError)
    with pytest.raises(dbapi.ProgrammingError, match="1 question marks, but 2 parameters"):
        connection.execute("SELECT ?", (1, 2))
    with pytest.raises(dbapi.InterfaceError, match="a sequence"):
        connection.execute("SELECT ?", "x")
    with pytest.raises(dbapi.DataError):
        connection.execute("SELECT CAST(name AS INT) FROM t").fetchall()
    with pytest.raises(dbapi.OperationalError, match="no Jumpgate service"):
        dbapi.connect("127.0.0.1:1")
    with pytest.raises(dbapi.NotSupportedError, match="no transaction was begun"):
        connection.rollback()
    with pytest.raises(dbapi.InterfaceError, match="nothing was executed"):
        connection.cursor().fetchone()
    connection.commit()


def test_values_that_python_cannot_hold(connection: dbapi.Connection) -> None:
    late = "SELECT CAST('9999-12-31' AS DATE) + INTERVAL '31' DAY AS late"
    assert connection.execute(late).fetchone() == ("10000-01-31 00:00:00",)
    cursor = connection.execute(f"SELECT CAST(late AS TIMESTAMPTZ) FROM ({late})")
    with pytest.raises(dbapi.DataError, match="a value that Python cannot hold"):
        cursor.fetchone()
    assert cursor.execute(late).fetch_arrow_table().num_rows == 1


def test_statements_and_transactions(connection: dbapi.Connection) -> None:
    cursor = connection.execute("CREATE TABLE own (a INTEGER, b VARCHAR)")
    cursor.executemany("INSERT INTO own VALUES (?, ?)", [(1, "x"), (2, None)])
    assert cursor.execute("SELECT * FROM own ORDER BY a").fetchall() == [(1, "x"), (2, None)]
    connection.commit()
    connection.execute("BEGIN")
    connection.execute("DELETE FROM own")
    assert connection.execute("SELECT count(*) FROM own").fetchall() == [(0,)]
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM own, t").fetchall() == [(6,)]
    connection.execute("BEGIN")
    connection.execute("DELETE FROM own WHERE a = ?", (1,))
    connection.commit()
    assert connection.execute("SELECT a FROM own").fetchall() == [(2,)]


def test_what_is_closed_is_closed(connection: dbapi.Connection) -> None:
    cursor = connection.execute("SELECT id FROM t")
    cursor.close()
    with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
        cursor.fetchone()
    connection.close()
    connection.close()
    with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
        connection.cursor()
