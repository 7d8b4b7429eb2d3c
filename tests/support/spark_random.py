"""Random queries in Spark's SQL over two small tables of awkward values (nulls, NaN, -0.0, extremes, empty texts)."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.support.spark import Spark, equal

FORMATS = ("parquet", "orc", "json", "csv")
ROWS = {"t": 60, "u": 25}
NULLS = 0.15
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "b": ("boolean", [True, False]),
    "s8": ("tinyint", [0, 1, -1, 127, -128]),
    "i": ("int", [0, 1, 2, 3, -2, 7, 2**31 - 1, -(2**31)]),
    "l": ("bigint", [0, 1, 3, 2**53 + 1, -(2**63), 2**63 - 1]),
    "r": ("float", [0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf]),
    "f": ("double", [0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 5e-324, 1e300]),
    "x": ("double", [0.0, 0.25, 1.5, -2.0, 10.0]),  # sums are exact in any order
    "m": ("decimal(9,2)", [Decimal(t) for t in ("0.00", "1.50", "-3.25", "9.99", "0.01", "1234567.89")]),
    "d": ("decimal(38,6)", [Decimal(t) for t in ("0", "1.5", "9" * 32 + ".999999", "-0.000001")]),
    "s": ("string", ["", "a", "ab", "b", " a ", "Grüße", "東京", "a'b", "A", "x" * 40]),
    "w": ("date", [datetime.date(*d) for d in ((1600, 1, 1), (1969, 12, 31), (2024, 2, 29), (9999, 12, 31))]),
    "n": (
        "timestamp_ntz",
        [
            datetime.datetime(*t)
            for t in ((1969, 12, 31, 23, 59, 59, 999999), (1970, 1, 1), (2024, 2, 29, 12, 34, 56, 789000))
        ],
    ),
    "z": (
        "timestamp",
        [
            datetime.datetime(*t).replace(tzinfo=datetime.UTC)
            for t in ((1969, 12, 31, 23, 59, 59, 999999), (1970, 1, 1), (2024, 3, 31, 1, 30))
        ],
    ),
}
T = TypeVar("T")
#: in texts of queries, by kind
LITERALS: dict[str, list[str]] = {
    "number": ["0", "1", "3", "-2", "7", "2147483647", "9223372036854775807", "null"],
    "float": ["0d", "-0d", "1.5d", "double('NaN')", "double('Infinity')", "1e300d"],
    "decimal": ["0.00", "1.50", "-3.25", "10.0", "cast(null as decimal(9, 2))"],
    "text": ["''", "'a'", "'ab'", "'Grüße'", "'b%'", "cast(null as string)"],
    "date": ["date'1969-12-31'", "date'2024-02-29'", "date'9999-12-31'"],
    "moment": ["timestamp_ntz'1970-01-01 00:00:00'", "timestamp_ntz'2024-02-29 12:34:56.789'"],
    "instant": ["timestamp_ltz'1970-01-01 00:00:00Z'", "timestamp_ltz'2024-03-31 03:30:00+02:00'"],
    "truth": ["true", "false", "cast(null as boolean)"],
}
KINDS = {
    "number": ("s8", "i", "l"), "float": ("f", "x", "r"), "decimal": ("m", "d"), "text": ("s",), "date": ("w",),
    "moment": ("n",), "instant": ("z",), "truth": ("b",),
}  # fmt: skip
#: NaN and infinities are words there, and an empty text is no field, which Spark reads and Jumpgate does not
TEXT_FORMATS = ("json", "csv")


@dataclass(frozen=True)
class Query:
    """`ordered`: by a key that no two rows share."""

    text: str
    ordered: bool = False


def write(spark: Spark, folder: Path) -> None:
    """The tables in every format, as views `t_orc` …"""
    spark.session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    for name, rows in ROWS.items():
        chance = random.Random(name)
        schema = ", ".join(["id int", *(f"{column} {type}" for column, (type, _) in COLUMNS.items())])
        data = [
            (i, *(None if chance.random() < NULLS else chance.choice(values) for _, values in COLUMNS.values()))
            for i in range(rows)
        ]
        for format in FORMATS:
            kept = [tuple(map(_written, row)) for row in data] if format in TEXT_FORMATS else data
            frame = spark.session.createDataFrame(kept, schema)
            files = f"{folder}/{name}.{format}"
            frame.coalesce(1).write.mode("overwrite").format(format).save(files)
            view = spark.session.read.format(format).schema(schema).load(files)
            view.createOrReplaceTempView(f"{name}_{format}")


def _written(value: Any) -> Any:
    return None if value == "" or (isinstance(value, float) and not math.isfinite(value)) else value


class Writer:
    """Makes up the text of one query."""

    def __init__(self, seed: int, format: str) -> None:
        self._chance = random.Random(seed)
        self._format = format

    def query(self) -> Query:
        shapes: list[Callable[[], Query]] = [
            self._rows, self._rows, self._groups, self._groups, self._total, self._join, self._join, self._members,
            self._sets, self._window, self._top,
        ]  # fmt: skip
        return self._pick(shapes)()

    # ---- shapes

    def _rows(self) -> Query:
        return Query(f"select id, {self._values('t')} from {self._table('t')} where {self._truth('t')}")

    def _groups(self) -> Query:
        keys = [self._expression(self._kind(), "t", 1) for _ in range(self._chance.randint(1, 2))]
        named = ", ".join(f"{key} k{i}" for i, key in enumerate(keys))
        by = ", ".join(f"k{i}" for i in range(len(keys)))
        by = self._pick([by, by, f"rollup({by})"])
        having = self._pick(["", "", " having count(*) > 1"])
        inner = f"(select *, {named} from {self._table('t')} where {self._truth('t')}) t"
        return Query(f"select k0, {self._measures('t')} from {inner} group by {by}{having}")

    def _total(self) -> Query:
        return Query(f"select {self._measures('t')} from {self._table('t')} where {self._truth('t')}")

    def _join(self) -> Query:
        kind = self._pick(["join", "left join", "right join", "full join", "left semi join", "left anti join"])
        shared = self._pick(["i", "s", "w", "b", "m", "l", "f", "s8"])
        on = self._pick([f"t.{shared} = u.{shared}", f"t.{shared} <=> u.{shared}", "t.id = u.i"])
        more = self._pick(["", "", f" and {self._comparison('t', 0)}", " and t.id < u.id", " and t.x <= u.x"])
        columns = "t.id, " + self._values("t")
        columns += "" if "semi" in kind or "anti" in kind else ", u.id, u.s, " + self._values("u")
        return Query(f"select {columns} from {self._table('t')} {kind} {self._table('u')} on {on}{more}")

    def _members(self) -> Query:
        column = self._pick(["i", "s", "w", "m", "b"])
        inner = f"select {column} from {self._table('u')} where {self._truth('u')}"
        if self._chance.random() < 0.3:
            return Query(
                f"select id from {self._table('t')} where {column} "
                f"{self._pick(['<', '>=', '<>'])} (select max({column}) from {self._table('u')})"
            )
        test = self._pick([
            f"t.{column} in ({inner})", f"t.{column} not in ({inner})", f"t.id > 50 or t.{column} in ({inner})",
            f"exists (select 1 from {self._table('u')} where u.{column} = t.{column} and u.id < 10)",
            f"not exists (select 1 from {self._table('u')} where u.{column} = t.{column})",
        ])  # fmt: skip
        return Query(f"select id, {column} from {self._table('t')} where {test}")

    def _sets(self) -> Query:
        columns = ", ".join(self._chance.sample([*COLUMNS], 2))
        operator = self._pick(["union", "union all", "intersect", "except", "except all", "intersect all"])
        sides = [f"select {columns} from {self._table(n)} where {self._truth(n)}" for n in ("t", "u")]
        return Query(f" {operator} ".join(sides))

    def _window(self) -> Query:
        by = self._pick(["b", "s", "s8", "w"])
        order = self._pick(["id", "id desc"])
        frame = self._pick(
            ["", " rows between 2 preceding and current row", " rows between 1 preceding and 1 following"]
        )
        function = self._pick(["sum(x)", "count(i)", "min(s)", "max(m)", "avg(m)", "sum(m)", "max(f)"])
        ranked = self._pick(["row_number()", "rank()", "dense_rank()"])
        whole = f"{self._pick(['sum(s8)', 'max(w)', 'count(*)'])} over (partition by {by})"
        return Query(
            f"select id, {ranked} over (partition by {by} order by {order}) a, {whole} c, "
            f"{function} over (partition by {by} order by {order}{frame}) d from {self._table('t')}"
        )

    def _top(self) -> Query:
        keys = [f"{c}{self._pick(['', ' desc', ' nulls last', ' desc nulls first'])}" for c in
                self._chance.sample(["b", "i", "f", "m", "s", "w", "n", "r", "d"], 2)]  # fmt: skip
        limit = self._pick(["", " limit 7", " limit 5 offset 3", " limit 0"])
        order = ", ".join([*keys, "id"])
        return Query(
            f"select id, {self._values('t')} from {self._table('t')} where {self._truth('t')} order by {order}{limit}",
            ordered=True,
        )

    # ---- parts

    def _values(self, table: str) -> str:
        count = self._chance.randint(1, 3)
        return ", ".join(f"{self._expression(self._kind(), table, 2)} as {table}{i}" for i in range(count))

    def _measures(self, table: str) -> str:
        found = [self._measure(table) for _ in range(self._chance.randint(1, 3))]
        return ", ".join(f"{measure} as m{i}" for i, measure in enumerate(found))

    def _measure(self, table: str) -> str:
        kind = self._kind()
        any_ = self._expression(kind, table, 1)
        text = self._pick([
            "count(*)", f"count({any_})", f"count(distinct {any_})", f"min({any_})", f"max({any_})",
            f"sum({table}.{self._pick(['s8', 'x', 'm', 'i'])})", f"avg({table}.{self._pick(['s8', 'x', 'm', 'i'])})",
            f"sum(distinct {table}.{self._pick(['s8', 'm'])})", f"stddev({table}.x)", f"sum({table}.d)",
        ])  # fmt: skip
        return text + self._pick(["", "", "", f" filter (where {self._comparison(table, 0)})"])

    def _truth(self, table: str) -> str:
        return self._pick(["true", self._comparison(table, 1), self._expression("truth", table, 2)])

    def _comparison(self, table: str, depth: int) -> str:
        kind = self._kind()
        if kind == "truth":
            return self._leaf(kind, table)
        left, right = (self._expression(kind, table, depth) for _ in range(2))
        return self._pick([
            f"{left} {self._pick(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {right}", f"{left} is null",
            f"{left} is not null", f"{left} in ({right}, {self._leaf(kind, table)}, {self._literal(kind)})",
            f"{left} between {self._literal(kind)} and {right}",
        ])  # fmt: skip

    def _expression(self, kind: str, table: str, depth: int) -> str:
        if depth == 0 or self._chance.random() < 0.3:
            return self._leaf(kind, table)
        return self._pick([*self._made(kind, table, depth - 1), *self._chosen(kind, table, depth - 1)])

    def _chosen(self, kind: str, table: str, depth: int) -> list[str]:
        """Whatever the kind is."""
        a, b = (self._expression(kind, table, depth) for _ in range(2))
        return [
            f"coalesce({a}, {b})",
            f"case when {self._comparison(table, 0)} then {a} else {b} end",
            f"if({self._comparison(table, 0)}, {a}, {b})",
        ]

    def _made(self, kind: str, table: str, depth: int) -> list[str]:
        def of(other: str) -> str:
            return self._expression(other, table, depth)

        match kind:
            case "number":
                a = of(kind)
                return [
                    f"({a} + {of(kind)})", f"({a} - {self._literal(kind)})", f"({a} * 2)", f"({a} % 3)", f"({a} div 2)",
                    f"abs({a})", f"(-{a})", f"length({of('text')})", f"year({of('date')})", f"month({of('date')})",
                    f"greatest({a}, {of(kind)})", f"({a} & 6)", f"cast({of('decimal')} as int)",
                    f"datediff({of('date')}, date'2000-01-01')",
                ]  # fmt: skip
            case "float":
                a = of(kind)
                return [
                    f"({a} + {of(kind)})", f"({a} * {self._literal(kind)})", f"({a} / {of(kind)})", f"abs({a})",
                    f"(-{a})", f"cast({of('number')} as double)", f"least({a}, {of(kind)})", f"({of('number')} / 4)",
                ]  # fmt: skip
            case "decimal":
                a = of(kind)
                return [
                    f"({a} + {table}.m)", f"({a} - {self._literal(kind)})", f"({table}.m * {table}.m)",
                    f"({table}.m / {self._literal(kind)})", f"round({a}, 1)", f"cast({a} as decimal(20, 3))",
                    f"cast({table}.i as decimal(12, 2))", f"abs({a})",
                ]  # fmt: skip
            case "text":
                a = of(kind)
                return [
                    f"upper({a})", f"lower({a})", f"trim({a})", f"concat({a}, {of(kind)})", f"substring({a}, 1, 2)",
                    f"substring({a}, 2)", f"cast({of('number')} as string)", f"cast({of('date')} as string)",
                ]  # fmt: skip
            case "date":
                return [f"date_add({of(kind)}, {table}.s8)", f"date_sub({of(kind)}, 1)"]
            case "truth":
                return [
                    f"({of(kind)} and {self._comparison(table, depth)})", f"({of(kind)} or {of(kind)})",
                    f"(not {of(kind)})", f"isnan({of('float')})", f"{of('text')} like 'a%'", f"{of('text')} like '_b'",
                    f"startswith({of('text')}, 'a')", f"contains({of('text')}, 'b')", self._comparison(table, depth),
                ]  # fmt: skip
            case _:
                return [self._leaf(kind, table)]

    def _leaf(self, kind: str, table: str) -> str:
        return self._literal(kind) if self._chance.random() < 0.2 else f"{table}.{self._pick([*KINDS[kind]])}"

    def _literal(self, kind: str) -> str:
        return self._pick(LITERALS[kind])

    def _kind(self) -> str:
        return self._pick([*KINDS])

    def _table(self, name: str) -> str:
        return f"{name}_{self._format} {name}"

    def _pick(self, of: list[T]) -> T:
        return self._chance.choice(of)


@dataclass(frozen=True)
class Failure:
    """seed makes the text again."""

    seed: int
    text: str
    wrong: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.text}\n  {self.wrong}"


@dataclass
class Trial:
    """The queries to a session that has the tables, and how many answers accelerators gave in whole or in part."""

    session: SparkSession
    spark: Spark
    asked: int = 0
    answered: int = 0
    offloaded: int = 0

    def run(self, count: int, seed: int = 0) -> Iterator[Failure]:
        for number in range(seed, seed + count):
            format = FORMATS[number % len(FORMATS)]
            self.session.conf.set("spark.sql.ansi.enabled", "true" if number % 2 else "false")
            query = Writer(number, format).query()
            wrong = self._wrong(query)
            if wrong:
                yield Failure(number, query.text, wrong)

    def _wrong(self, query: Query) -> str:
        self.asked += 1
        self.session.conf.set("spark.jumpgate.enabled", "false")
        theirs = _answer(self.session, query.text)
        self.session.conf.set("spark.jumpgate.enabled", "true")
        before = self.spark.fallbacks
        ours = _answer(self.session, query.text)
        if isinstance(theirs, str) or isinstance(ours, str):
            return "" if theirs == ours else f"Spark: {_short(theirs)}; with the plugin: {_short(ours)}"
        self.answered += 1
        if self.spark.fallbacks == before:
            self.offloaded += self.spark.coverage(self.session.sql(query.text))[0] > 0
        if equal(ours, theirs, query.ordered):
            return ""
        return f"Spark: {_short(theirs)}; with the plugin: {_short(ours)}"


def _answer(session: SparkSession, text: str) -> list[Row] | str:
    """The rows, or the error's name."""
    try:
        return session.sql(text).collect()
    except PySparkException as error:
        return error.getCondition() or str(error)
    except ValueError as error:  # dates behind the year 9999, which Python does not have
        return str(error)


def _short(answer: list[Row] | str) -> str:
    if isinstance(answer, str):
        return answer
    rows = sorted(map(str, map(tuple, answer)))
    return f"{len(rows)} rows, {'; '.join(rows)[:1500]}"
