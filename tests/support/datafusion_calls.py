"""Every function that the SQL road offloads, as SQL over columns whose values are at the edges of their types."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

from jumpgate.client.sql.function_names import PARTS, scalar
from jumpgate.dataflow.expressions import ColumnRef, Expression, Value
from jumpgate.dataflow.functions import built_in
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.types import DataType, parse_type
from tests.support.function_cases import shapes

DAY, TIME = datetime.date, datetime.datetime
#: timestamps are those that nanoseconds hold: DataFusion truncates in nanoseconds
VALUES: dict[str, list[Value]] = {
    "bool": [None, False, True],
    "int8": [None, 0, 1, 3, 65],  # counts: DataFusion panics where lpad's is negative
    "int32": [None, 0, 1, -1, 7, -33, 2**31 - 1],
    "int64": [None, 0, 1, -1, 3, 65, -(2**40)],
    "float64": [None, 0.0, -0.0, 0.3, -0.5, 1.55, 2.0, -8.0, 64.0, 1e18, math.inf, -math.inf, math.nan],
    "decimal(5, 2)": [None, Decimal("0.00"), Decimal("1.29"), Decimal("-1.55"), Decimal("99.99")],
    "decimal(38, 10)": [None, Decimal("12345678901234567890.1234567891"), Decimal("-0.5000000000")],
    "string": [None, "", "a", "aBc", "ab", "é", "aé😀b", " a ", "a,b,,c", "%_\\", "foo bAR",
               "K", "ſ", "A%c", "A\\c", "ΑΣ", "ßŉİ ΣΑ\u0301Σ.Σ"],
    "date": [None, DAY(1970, 1, 1), DAY(2024, 2, 29), DAY(2021, 1, 1), DAY(1969, 12, 31), DAY(2024, 12, 31)],
    "timestamp": [
        None, TIME(1970, 1, 1), TIME(1969, 12, 31, 23, 59, 59, 500001), TIME(2024, 1, 31, 10, 11, 12, 345678),
        TIME(2016, 2, 29), TIME(1700, 12, 31, 23),
    ],
}  # fmt: skip
NUMBERS = ("int32", "float64", "decimal(5, 2)")
ALL = tuple(VALUES)
#: SQL of functions whose declarations do not give their calls, and the arguments {0}, {1}, …: a column's type, or a
#: literal
CALLS: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    **{name: [(f"{{0}} {sql} {{1}}", ("bool", "bool"))] for name, sql in (("And", "AND"), ("Or", "OR"))},
    "Not": [("NOT {0}", ("bool",))],
    **{
        name: [(f"{{0}} {sql} {{1}}", (t, t)) for t in ("bool", "int32", "decimal(5, 2)", "string", "timestamp")]
        for name, sql in (("Eq", "="), ("NotEq", "<>"), ("Lt", "<"), ("LtEq", "<="), ("Gt", ">"), ("GtEq", ">="),
                          ("IsDistinctFrom", "IS DISTINCT FROM"), ("IsNotDistinctFrom", "IS NOT DISTINCT FROM"))
    },
    "IsNull": [("{0} IS NULL", (t,)) for t in ALL],
    "IsNotNull": [("{0} IS NOT NULL", (t,)) for t in ALL],
    **{
        name: [(f"{{0}} {sql}", ("bool",))]
        for name, sql in (("IsTrue", "IS TRUE"), ("IsNotTrue", "IS NOT TRUE"), ("IsFalse", "IS FALSE"),
                          ("IsNotFalse", "IS NOT FALSE"), ("IsUnknown", "IS UNKNOWN"),
                          ("IsNotUnknown", "IS NOT UNKNOWN"))
    },
    "Plus": [("{0} + {1}", (t, t)) for t in ("int64", "float64", "decimal(5, 2)")],
    "Minus": [("{0} - {1}", (t, t)) for t in ("int64", "float64", "decimal(5, 2)", "date")],
    "Multiply": [("{0} * {1}", ts) for ts in (("float64",) * 2, ("decimal(5, 2)",) * 2, ("decimal(38, 10)", "int32"))],
    "Divide": [("{0} / {1}", ("float64", "float64")), ("{0} / {1}", ("int64", "int64"))],
    "Modulo": [("{0} % {1}", (t, t)) for t in ("int64", "float64", "decimal(5, 2)")],
    "Negative": [("- {0}", (t,)) for t in NUMBERS],
    **{
        name: [(f"{{0}} {sql} {{1}}", (t, t)) for t in ("int32", "int64")]
        for name, sql in (("BitwiseAnd", "&"), ("BitwiseOr", "|"), ("BitwiseXor", "^"),
                          ("BitwiseShiftLeft", "<<"), ("BitwiseShiftRight", ">>"))
    },
    "StringConcat": [("{0} || {1}", ("string", "string"))],
    **{
        name: [(f"{{0}} {sql} {{1}}", ("string", p)) for p in ("'a%'", "'%C'", "'_'", "'\\%\\_\\\\'", "'a\\c'", "'%\\'",
                                                              "'%K%'", "'s%'", "''", "'%B_'", "'%É%'", "'ʼN%\\Σ_'")]
        for name, sql in (("LikeMatch", "LIKE"), ("NotLikeMatch", "NOT LIKE"), ("ILikeMatch", "ILIKE"),
                          ("NotILikeMatch", "NOT ILIKE"))
    },
    **{
        name: [(f"{{0}} {sql} {{1}}", ("string", p)) for p in ("'^a.*b|é'", "'^[A-K]+.$'", "'\\S\\s'", "'(?:bar|oo)$'",
                                                              "'[^\\w]'", "'^[[:alpha:]]{2,3}$'", "'(?s)^.?$'")]
        for name, sql in (("RegexMatch", "~"), ("RegexIMatch", "~*"), ("RegexNotMatch", "!~"),
                          ("RegexNotIMatch", "!~*"))
    },
    "regexp_like": [("regexp_like({0}, {1})", ("string", "'a+.b'")),
                    ("regexp_like({0}, {1}, {2})", ("string", "'^K?S'", "'i'"))],
    "regexp_count": [("regexp_count({0}, {1})", ("string", p)) for p in ("'[ab,]'", "'o*'", "'.'", "'^|$'")]
    + [("regexp_count({0}, {1}, {2}, {3})", ("string", "'B.'", "1", "'is'"))],
    "regexp_instr": [("regexp_instr({0}, {1})", ("string", p)) for p in ("'[b,]+'", "'$'", "'😀.'")],
    "regexp_replace": [("regexp_replace({0}, {1}, {2})", ("string", p, "'<>'")) for p in ("'o+'", "'b|$'", "'^.'")]
    + [("regexp_replace({0}, {1}, {2}, {3})", ("string", p, "'é'", f)) for p in ("'a*'", "'[A-Z]'") for f in ("'g'",
                                                                                                         "'gi'")],
    **{
        name: [(f"{name}({{0}})", (t,)) for t in ("float64", "int32")]
        for name in ("exp", "ln", "log2", "log10", "sqrt", "degrees", "radians", "sin", "cos", "tan", "asin",
                     "acos", "atan", "sinh", "cosh", "tanh", "log")
    },
    "log ": [("log({0}, {1})", ("float64", "float64"))],
    **{name: [(f"{name}({{0}}, {{1}})", ("float64", "float64"))] for name in ("power",)},
    "signum": [("signum({0})", (t,)) for t in NUMBERS],
    "trunc": [("trunc({0})", (t,)) for t in NUMBERS]
    + [("trunc({0}, {1})", (t, d)) for t in NUMBERS[1:] for d in "102"],
    "isnan": [("isnan({0})", ("float64",))],
    "abs": [("abs({0})", (t,)) for t in NUMBERS],
    "round": [("round({0})", (t,)) for t in NUMBERS]
    + [("round({0}, {1})", (t, d)) for t in NUMBERS[1:] for d in "102"],
    **{name: [(f"{name}({{0}})", (t,)) for t in NUMBERS[1:]] for name in ("floor", "ceil")},
    **{
        name: [(f"{name}({{0}}, {{1}})", (t, t)) for t in ("int32", "float64", "string", "date", "decimal(5, 2)")]
        for name in ("least", "greatest")
    },
    "coalesce": [("coalesce({0}, {1})", (t, t)) for t in ALL],
    "nullif": [("nullif({0}, {1})", (t, t)) for t in ("int32", "string", "date")],
    **{name: [(f"{name}({{0}}, {{1}})", ("string", "int64"))] for name in ("left", "right", "repeat")},
    **{
        name: [(f"{name}({{0}}, {{1}})", ("string", "int8")),
               (f"{name}({{0}}, {{1}}, {{2}})", ("string", "int8", "string"))]
        for name in ("lpad", "rpad")
    },
    **{
        name: [(f"{name}({{0}})", ("string",)),
               *((f"{name}({{0}}, {{1}})", ("string", c)) for c in ("' '", "'a'", "' ba]'", "'Σé😀^'"))]
        for name in ("btrim", "ltrim", "rtrim")
    },
    "chr": [("chr({0})", ("int64",))],
    "concat": [("concat({0}, {1})", ("string", "string"))],
    "substr": [("substr({0}, {1})", ("string", "int64")), ("substr({0}, {1}, {2})", ("string", "int64", "int64"))],
    "date_part": [
        ("date_part({0}, {1})", (f"'{p}'", t))
        for p in (*PARTS, "epoch", "nanosecond")
        for t in ("date", "timestamp")
    ],
    "date_trunc": [
        ("date_trunc({0}, {1})", (f"'{u}'", t))
        for u in ("year", "quarter", "month", "week", "day", "hour", "minute", "SECOND", "microsecond")
        for t in ("date", "timestamp")
    ],
}  # fmt: skip


def names() -> list[str]:
    """Every name that is offloaded, as `calls` takes it."""
    return [*CALLS, *(name for name in built_in("sql") if name not in CALLS)]


def calls(name: str) -> list[tuple[str, Expression, list[str]]]:
    """The calls of one name: SQL with {0}, {1}, … for columns, Jumpgate's expression over these columns, and the
    columns' types. What CALLS does not have is called as the declared function's cases are."""
    return [_call(name.strip(), sql, shape) for sql, shape in CALLS.get(name) or _plain(name)]


def _plain(name: str) -> list[tuple[str, tuple[str, ...]]]:
    found = []
    for shape in shapes(built_in("sql")[name].name):
        parts = tuple(a.name if isinstance(a, DataType) else _literal(a) for a in shape)
        found.append((f"{name}({', '.join(f'{{{i}}}' for i in range(len(parts)))})", parts))
    assert found, f"{name} has neither calls here nor cases"
    return found


def _literal(value: Value) -> str:
    return "'{}'".format(value.replace("'", "''")) if isinstance(value, str) else str(value)


def _call(name: str, sql: str, shape: tuple[str, ...]) -> tuple[str, Expression, list[str]]:
    types: list[str] = []
    arguments: list[Expression] = []
    texts = []
    for part in shape:
        if part in VALUES:
            arguments.append(ColumnRef(parse_type(part).with_nullable(True), len(types)))
            texts.append(f"{{{len(types)}}}")
            types.append(part)
        else:
            arguments.append(as_literal(part[1:-1].replace("''", "'") if part.startswith("'") else int(part)))
            texts.append(part.replace("{", "{{").replace("}", "}}"))
    return sql.format(*texts), scalar(name, arguments), types
