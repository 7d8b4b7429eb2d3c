"""Random SQL in DuckDB's dialect: joins by USING, NATURAL and ON, subqueries of every kind, windows, grouping sets, set
operations and shared parts, over small Parquet files with NULLs, ties, odd floats and ends of types."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb

T = TypeVar("T")

#: name → type of a column; the tables share names, so that NATURAL and USING join by some
COLUMNS = {
    "k": "int", "g": "int", "s": "text", "d": "decimal", "f": "float", "day": "date", "ts": "time", "b": "bool",
    "u": "int", "tz": "moment", "ns": "nanos", "tm": "clock", "x": "bytes", "id": "uuid", "l": "list",
}  # fmt: skip
TABLES = {
    "r": """SELECT CASE i % 5 WHEN 4 THEN NULL ELSE i % 5 END::INTEGER AS k, (i * 7 % 6)::BIGINT AS g,
        CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE chr((97 + i % 3)::INTEGER) END AS s,
        (i * 1.25 - 5)::DECIMAL(6, 2) AS d,
        (CAST(['0', '-0', 'nan', 'inf', NULL, '1.5', '-2.5'] AS DOUBLE[]))[1 + i % 7] AS f,
        CASE WHEN i % 5 <> 3 THEN ((i % 2 * 8) || '0000000-0000-4000-8000-00000000000' || i % 4)::UUID END AS id
        FROM range(12) t(i)""",
    "q": """SELECT CASE i % 4 WHEN 2 THEN NULL ELSE i % 4 END::INTEGER AS k,
        CASE i % 3 WHEN 1 THEN NULL ELSE 'a' END AS s, DATE '1969-12-30' + (i * 400)::INTEGER AS day, i % 3 = 0 AS b,
        (i % 4)::UTINYINT AS u, CASE i % 3 WHEN 0 THEN NULL ELSE make_timestamptz(i * 1800000000 - 7) END AS tz,
        make_timestamp_ns(i // 2 * 999 - 1000) AS ns,
        CASE WHEN i % 4 <> 1 THEN ('80000000-0000-4000-8000-00000000000' || i % 3)::UUID END AS id,
        CASE i % 3 WHEN 0 THEN NULL WHEN 1 THEN [] ELSE [i::INTEGER, NULL, i] END AS l FROM range(9) t(i)""",
    "p": r"""SELECT (i % 3)::BIGINT AS g, CASE WHEN i > 5 THEN NULL ELSE i % 2 = 0 END AS b,
        TIMESTAMP '1969-12-31 23:59:59.5' + to_seconds(i * 7919) AS ts, (i / 4)::DECIMAL(9, 3) AS d,
        DATE '1969-12-30' + (i * 200)::INTEGER AS day, make_timestamptz(i // 3 * 1800000000 - 7) AS tz,
        TIME '22:59:59.5' + to_seconds(i // 2 * 900) AS tm, CASE i % 3 WHEN 2 THEN NULL ELSE ('a' || i)::BLOB
        || '\xFF'::BLOB END AS x FROM range(8) t(i)""",
    "e": "SELECT 1::INTEGER AS k, 'a' AS s, 0.5::DOUBLE AS f LIMIT 0",
}  # fmt: skip
OF = {
    "r": ("k", "g", "s", "d", "f", "id"), "q": ("k", "s", "day", "b", "u", "tz", "ns", "id", "l"),
    "p": ("g", "b", "ts", "d", "day", "tz", "tm", "x"),
    "e": ("k", "s", "f"),
}  # fmt: skip
LITERALS = {
    "int": ("0", "1", "3", "-1"), "text": ("'a'", "''", "'b'"), "decimal": ("0.25", "2.5", "-1"),
    "float": ("0e0", "1.5e0", "-2.5e0"), "date": ("DATE '1970-01-01'", "DATE '1971-06-01'"),
    "time": ("TIMESTAMP '1970-01-01 00:00:00'", "TIMESTAMP '1970-01-01 04:00:00.25'"), "bool": ("true", "false"),
    "moment": ("TIMESTAMPTZ '1970-01-01 00:00:00+00'", "TIMESTAMPTZ '1970-01-01 01:00:00.25+00'"),
    "nanos": ("TIMESTAMP_NS '1969-12-31 23:59:59.999999'", "TIMESTAMP_NS '1970-01-01 00:00:00.000000998'"),
    "clock": ("TIME '23:00:00'", "TIME '00:00:00.000001'"), "bytes": ("'a\\xFF'::BLOB", "''::BLOB"),
    "uuid": ("UUID '80000000-0000-4000-8000-000000000001'", "UUID '00000000-0000-4000-8000-000000000002'"),
    "list": ("[2, NULL, 2]::INTEGER[]", "[]::INTEGER[]"),
}  # fmt: skip
NUMBERS = ("int", "decimal", "float")
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
FRAMES = ("", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database in which the tables are views of Parquet files in the folder."""
    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # of cursors, too
    for name, query in TABLES.items():
        connection.execute(f"COPY ({query}) TO '{folder}/{name}.parquet'")
        connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")
    return connection


@dataclass(frozen=True)
class Column:
    """What a name in a text stands for; `kind` is a key of LITERALS."""

    name: str
    kind: str


Columns = list[Column]


class Texts:
    """Texts of one seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._aliases = 0

    def query(self) -> str:
        """One SELECT, whose rows do not depend on the order in which tables are read."""
        pick = self._rng.random()
        if pick < 0.12:
            return self._set()
        if pick < 0.24:
            shared = f"SELECT k, g, s FROM r WHERE {self._condition(self._columns(['k', 'g', 's']), 1)}"
            return f"WITH c AS ({shared}) {self._select(shared=True)}"
        return self._select()

    def _select(self, shared: bool = False) -> str:
        source, columns = self._source(shared)
        where = self._maybe(0.6, lambda: f" WHERE {self._condition(columns, 2)}")
        pick = self._rng.random()
        if pick < 0.4:
            return self._grouped(source + where, columns)
        if pick < 0.6:
            return self._windowed(source + where, columns)
        items = [
            f"{self._value(columns, self._one(tuple(LITERALS)), 2)} AS c{i}" for i in range(self._rng.randint(1, 3))
        ]
        if self._rng.random() < 0.2:
            items = ["*"]
        distinct = self._maybe(0.25, lambda: "DISTINCT ")
        order = self._maybe(0.2, lambda: f" ORDER BY ALL LIMIT {self._rng.randint(0, 5)}")
        return f"SELECT {distinct}{', '.join(items)} FROM {source}{where}{order}"

    def _source(self, shared: bool = False) -> tuple[str, Columns]:
        """FROM, and the columns that can be named without a table."""
        tables = self._rng.sample(("r", "q", "p", "e") + ("c",) * shared, self._rng.choice((1, 1, 2, 2, 3)))
        if shared and "c" not in tables:
            tables[0] = "c"
        of = {**OF, "c": ("k", "g", "s")}
        text, names = tables[0], list(of[tables[0]])
        twice: set[str] = set()
        for other in tables[1:]:
            kind = self._one(("", "LEFT ", "RIGHT ", "FULL ", "SEMI ", "ANTI "))
            common = [n for n in of[other] if n in names and n not in twice]
            if twice & set(of[other]) or not common:
                condition = f" ON {self._condition(self._columns([n for n in names if n not in twice]), 0)}"
                joined: set[str] = set()
            elif self._rng.random() < 0.3:
                text, joined = f"{text} NATURAL {kind}JOIN {other}", set(common)
                condition = ""
            else:
                using = common[: self._rng.randint(1, len(common))]
                condition, joined = f" USING ({', '.join(using)})", set(using)
            if condition:
                text = f"{text} {kind}JOIN {other}{condition}"
            if kind in ("SEMI ", "ANTI "):
                continue
            twice |= {n for n in of[other] if n in names and n not in joined}
            names += [n for n in of[other] if n not in names]
        return text, self._columns([n for n in names if n not in twice])

    def _grouped(self, source: str, columns: Columns) -> str:
        keys = self._rng.sample(columns, min(len(columns), self._rng.randint(0, 2)))
        names = [key.name for key in keys]
        aggregates = [f"{self._aggregate(columns)} AS a{i}" for i in range(self._rng.randint(1, 3))]
        text = f"SELECT {', '.join([*names, *aggregates])} FROM {source}"
        if names:
            text += " GROUP BY " + self._one(
                (
                    ", ".join(names),
                    f"ROLLUP ({', '.join(names)})",
                    f"GROUPING SETS (({names[0]}), (), ({', '.join(names)}))",
                )
            )
        return text + self._maybe(0.3, lambda: f" HAVING {self._one(('count(*) > 1', 'true', self._having(columns)))}")

    def _having(self, columns: Columns) -> str:
        return f"{self._aggregate(columns, 'count')} >= (SELECT count(*) FROM {self._one(('p', 'e'))}) - 7"

    def _windowed(self, source: str, columns: Columns) -> str:
        names = [column.name for column in columns]
        partition = self._maybe(0.7, lambda: f"PARTITION BY {self._one(names)} ")
        order = "ORDER BY " + ", ".join(name + self._one(("", " DESC", " NULLS FIRST")) for name in names)
        ranked = f"{self._one(('rank', 'dense_rank', 'percent_rank', 'cume_dist'))}() OVER (w {order})"
        framed = (
            f"{self._aggregate(columns, 'count', 'min', 'max')} OVER (w {order}{self._one(FRAMES[:1] + FRAMES[2:])})"
        )
        return f"SELECT {', '.join(names)}, {ranked} AS x, {framed} AS y FROM {source} WINDOW w AS ({partition})"

    def _set(self) -> str:
        kind = self._one(("int", "text", "decimal", "date", "float", "moment", "nanos", "bytes", "uuid"))
        branches = []
        for _ in range(self._rng.randint(2, 3)):
            source, columns = self._source()
            branches.append(f"SELECT {self._value(columns, kind, 1)} AS c FROM {source}")
        text = branches[0]
        for branch in branches[1:]:
            text += (
                f" {self._one(('UNION', 'UNION ALL', 'EXCEPT', 'EXCEPT ALL', 'INTERSECT', 'INTERSECT ALL'))} {branch}"
            )
        return text

    def _condition(self, columns: Columns, depth: int) -> str:
        pick = self._rng.random()
        if depth and pick < 0.3:
            parts = f" {self._one(('AND', 'OR'))} ".join(self._condition(columns, depth - 1) for _ in range(2))
            return self._one((f"({parts})", f"NOT ({parts})"))
        if depth and pick < 0.55:
            return self._subquery(columns)
        kind = self._one(sorted({column.kind for column in columns}))
        value = self._value(columns, kind, 1)
        return self._one((
            f"{value} {self._one(COMPARISONS)} {self._value(columns, kind, 1)}", f"{value} IS NOT NULL",
            f"{value} {self._one(('', 'NOT '))}IN ({', '.join(LITERALS[kind][:2])})",
            f"{value} BETWEEN {LITERALS[kind][0]} AND {LITERALS[kind][1]}",
        ))  # fmt: skip

    def _subquery(self, columns: Columns) -> str:
        """A condition of one; it may name columns of the query around it."""
        self._aliases += 1
        table, alias = self._one(("r", "q", "p", "e")), f"i{self._aliases}"
        shared = [c for c in columns if any(COLUMNS[n] == c.kind for n in OF[table])]
        if not shared:
            return f"EXISTS (SELECT 1 FROM {table} {alias})"
        outer = self._one(shared)
        inner = self._one([n for n in OF[table] if COLUMNS[n] == outer.kind])
        own = OF[table]
        where = self._one(("", f" WHERE {alias}.{self._one(own)} IS NOT NULL", self._correlation(shared, table, alias)))
        column, rows = f"{alias}.{inner}", f"FROM {table} {alias}{where}"
        return self._one((
            f"{self._one(('', 'NOT '))}EXISTS (SELECT {column} {rows})",
            f"{outer.name} {self._one(('', 'NOT '))}IN (SELECT {column} {rows})",
            f"{outer.name} {self._one(('=', '<', '>='))} {self._one(('ANY', 'ALL'))} (SELECT {column} {rows})",
            f"{outer.name} {self._one(('=', '<', '>='))} (SELECT {self._one(('min', 'max'))}({column}) {rows})",
            f"(SELECT count(*) {rows}) {self._one(('=', '>', '<='))} {self._one(('0', '1', '3'))}",
        ))  # fmt: skip

    def _correlation(self, outer: Columns, table: str, alias: str) -> str:
        found = self._one(outer)
        inner = self._one([n for n in OF[table] if COLUMNS[n] == found.kind])
        # an outer name that the inner table has, too, would be the inner table's
        return "" if found.name in OF[table] else f" WHERE {alias}.{inner} {self._one(('=', '<', '<>'))} {found.name}"

    def _value(self, columns: Columns, kind: str, depth: int) -> str:
        own = [column.name for column in columns if column.kind == kind]
        if not own or self._rng.random() < 0.1:
            return self._one(LITERALS[kind])
        value = self._one(own)
        if not depth or self._rng.random() < 0.5:
            return value
        other = self._value(columns, kind, depth - 1)
        options = [
            f"coalesce({value}, {other})",
            f"CASE WHEN {self._condition(columns, 0)} THEN {value} ELSE {other} END",
        ]
        if kind in NUMBERS:
            options += [f"({value} {self._one(('+', '-', '*'))} {other})", f"abs({value})", f"-({value})"]
        if kind == "text":
            options += [f"upper({value})", f"concat({value}, {other})", f"substring({value}, 1, 1)"]
        if kind in ("time", "moment"):
            options += [f"date_trunc('hour', {value})", f"({value} + INTERVAL 90 MINUTE)"]
        return self._one(options)

    def _aggregate(self, columns: Columns, *names: str) -> str:
        name = self._one(names or ("count", "sum", "avg", "min", "max", "bool_or", "count(*)"))
        if name == "count(*)":
            return name
        wanted = {"sum": ("int", "decimal"), "avg": ("int", "decimal"), "bool_or": ("bool",)}.get(name)
        usable = [column for column in columns if wanted is None or column.kind in wanted]
        if not usable:
            return "count(*)"
        distinct = "DISTINCT " if not names and self._rng.random() < 0.3 else ""
        call = f"{name}({distinct}{self._one(usable).name})"
        return call + ("" if names else self._maybe(0.2, lambda: f" FILTER (WHERE {self._condition(columns, 0)})"))

    def _columns(self, names: list[str]) -> Columns:
        return [Column(name, COLUMNS[name]) for name in names]

    def _maybe(self, share: float, text: Callable[[], str]) -> str:
        return text() if self._rng.random() < share else ""

    def _one(self, options: Sequence[T]) -> T:
        return self._rng.choice(options)
