"""What SQL means here, as data: each row is tested on every road (support.roads_run) and printed in docs/sql.md.

A `Formula` is an expression over one-row and few-row tables of awkward values; a `Cell` is a notation in a text file.
What must come out is a value, or an `Error` with its code.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Error:
    """A typed error: any of these codes of jumpgate.errors."""

    codes: tuple[str, ...]

    def __str__(self) -> str:
        return f"error: {self.codes[0]}"


BY_ZERO = Error(("division_by_zero",))
NO_CAST = Error(("invalid_cast", "overflow"))
SCHEMA = Error(("schema",))
RANGE = Error(("overflow",))


@dataclass(frozen=True)
class Formula:
    """An expression with literals, the same over columns of V (or a query over V and W), and its value."""

    text: str
    columns: str
    value: Any
    meaning: str = ""

    def queries(self) -> Iterator[str]:
        """The query over columns, then that which DuckDB can fold.

        A constant that cannot be computed may also be an error of the text.
        """
        if self.columns:
            yield self.columns if self.columns.startswith("SELECT") else f"SELECT {self.columns} AS r FROM v"
        if self.text:
            yield f"SELECT {self.text} AS r FROM v"


@dataclass(frozen=True)
class Cell:
    """A file's text and the resulting column `a`. schema: as registered, in its order."""

    format: str
    text: str
    schema: tuple[tuple[str, str], ...]
    value: Any
    meaning: str
    options: tuple[tuple[str, str], ...] = ()


NAN, INF = math.nan, math.inf


_D = pa.decimal128(9, 3)
V_VALUES: dict[str, tuple[pa.DataType, Any]] = {
    "i1": (pa.int64(), 1), "i2": (pa.int64(), 2), "i7": (pa.int64(), 7), "neg": (pa.int64(), -7),
    "zero": (pa.int64(), 0), "small": (pa.int16(), 3), "big": (pa.int64(), 2**63 - 1), "n": (pa.int64(), None),
    "f": (pa.float64(), 2.7), "g": (pa.float64(), -2.7), "half": (pa.float64(), 2.5), "c": (pa.float64(), 1.005),
    "f0": (pa.float64(), 0.0), "nz": (pa.float64(), -0.0), "nan": (pa.float64(), NAN), "inf": (pa.float64(), INF),
    "huge": (pa.float64(), 1e300),
    "d": (_D, Decimal("1.005")), "dn": (_D, Decimal("-1.995")), "d0": (_D, Decimal("0.000")),
    "dm": (_D, Decimal("123456.780")), "wide": (pa.decimal128(38, 10), Decimal("1.5")),
    "s": (pa.string(), "abc"), "e": (pa.string(), ""), "sp": (pa.string(), " 7 "), "u": (pa.string(), "Grüße"),
    "sn": (pa.string(), None), "t": (pa.bool_(), True), "nb": (pa.bool_(), None),
    "last": (pa.date32(), datetime.date(9999, 12, 31)), "jan": (pa.date32(), datetime.date(2024, 1, 31)),
    "old": (pa.timestamp("us"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    "oldz": (pa.timestamp("us", "UTC"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    "leap": (pa.timestamp("us", "UTC"), datetime.datetime(2024, 2, 29, 22, 30)),
    "tz_n": (pa.timestamp("us", "UTC"), None),
}  # fmt: skip
#: one row of values
V = pa.table({name: pa.array([value], type) for name, (type, value) in V_VALUES.items()})
#: some rows
W = pa.table(
    {
        "f": pa.array([0.0, -0.0, NAN, NAN, 1.0, None], pa.float64()),
        "b": pa.array([2**53 + 1, 2**53 + 1, None, None, None, None], pa.int64()),
        "i": pa.array([1, 2, None, 2, 3, 4], pa.int64()),
        "s": pa.array(["a", "B", "", "é", None, "z"]),
    }
)

FORMULAS = (
    Formula("7 / 2", "i7 / i2", 3.5, "integers divide as floats"),
    Formula("-7 / 2", "neg / i2", -3.5),
    Formula("7 / 0", "i7 / zero", INF),
    Formula("0 / 0", "zero / zero", NAN),
    Formula("1 / 2 > 1 / 2", "i1 / 2 > 1 / 2", False, "before constants are folded, and after"),
    Formula("2 / 2 > 1 / 2", "i2 / 2 > 1 / 2", True),
    Formula("7 % 0", "i7 % zero", None, "the rest of a division by zero is NULL"),
    Formula("-7 % 2", "neg % i2", -1, "the sign of the dividend"),
    Formula("2.7e0 / 0e0", "f / f0", INF, "floats follow IEEE 754"),
    Formula("0e0 / 0e0", "f0 / f0", NAN),
    Formula("2.5e0 % 0e0", "half % f0", NAN),
    Formula("-2.7e0 / 0e0", "g / f0", -INF),
    Formula("", "d / i2", 0.5025, "decimals, too"),
    Formula("", "d / d0", INF),
    Formula("", "d % d0", None),
    Formula("CAST(1.005 AS DECIMAL(9, 3)) * 2", "d * i2", Decimal("2.010")),
    Formula("", "wide * small", Decimal("4.5"), "DECIMAL(38, 10) times SMALLINT, where the product fits"),
    Formula("", "wide + small", Decimal("4.5")),
    Formula("", "d * d", Decimal("1.010025")),
    Formula("0.1 + 0.2 = 0.3", "", True, "numbers with a point are exact decimals"),
    Formula("1e-1 + 2e-1 = 3e-1", "", False, "numbers with an exponent are floats"),
    Formula("7 + 0.5", "i7 + 0.5", Decimal("7.5")),
    Formula("", "d = 1.005", True),
    Formula("", "big + i1", RANGE, "what does not fit is an error"),
    Formula(
        "CAST(2.7e0 AS BIGINT)", "CAST(f AS BIGINT)", 3, "casts to integers round, of two as near ones to the even one"
    ),
    Formula("CAST(-2.7e0 AS BIGINT)", "CAST(g AS BIGINT)", -3),
    Formula("CAST(2.5e0 AS BIGINT)", "CAST(half AS BIGINT)", 2),
    Formula("CAST(CAST('-1.995' AS DECIMAL(9, 3)) AS BIGINT)", "CAST(dn AS BIGINT)", -2),
    Formula("CAST(CAST('NaN' AS DOUBLE) AS BIGINT)", "CAST(nan AS BIGINT)", NO_CAST, "what does not fit is an error"),
    Formula("CAST(1e300 AS BIGINT)", "CAST(huge AS BIGINT)", NO_CAST),
    Formula("CAST(9223372036854775807 AS SMALLINT)", "CAST(big AS SMALLINT)", NO_CAST),
    Formula(
        "CAST(CAST('1.005' AS DECIMAL(9, 3)) AS DECIMAL(9, 2))",
        "CAST(d AS DECIMAL(9, 2))",
        Decimal("1.01"),
        "casts to fewer digits after the point round half away from zero",
    ),
    Formula("CAST(CAST('-1.995' AS DECIMAL(9, 3)) AS DECIMAL(9, 2))", "CAST(dn AS DECIMAL(9, 2))", Decimal("-2.00")),
    Formula("CAST(1.005e0 AS DECIMAL(9, 2))", "CAST(c AS DECIMAL(9, 2))", Decimal("1.00"), "the float is below 1.005"),
    Formula("", "CAST(dm AS DECIMAL(5, 2))", NO_CAST),
    Formula("CAST('abc' AS BIGINT)", "CAST(s AS BIGINT)", NO_CAST),
    Formula("CAST('' AS BIGINT)", "CAST(e AS BIGINT)", NO_CAST),
    Formula("CAST(' 7 ' AS BIGINT)", "CAST(sp AS BIGINT)", 7),
    Formula("TRY_CAST('abc' AS BIGINT)", "TRY_CAST(s AS BIGINT)", None),
    Formula("CAST(true AS BIGINT)", "CAST(t AS BIGINT)", 1),
    Formula("CAST(2.5e0 AS VARCHAR)", "CAST(half AS VARCHAR)", "2.5"),
    Formula("CAST(1e-1 + 2e-1 AS VARCHAR)", "", "0.30000000000000004"),
    Formula("", "CAST(d AS VARCHAR)", "1.005"),
    Formula("CAST(DATE '2024-01-31' AS VARCHAR)", "CAST(jan AS VARCHAR)", "2024-01-31"),
    Formula("", "CAST(old AS DATE)", datetime.date(1969, 12, 31), "a moment before 1970 belongs to the day before"),
    Formula("", "date_trunc('day', old)", datetime.datetime(1969, 12, 31)),
    Formula("", "extract(year FROM old)", 1969),
    Formula(
        "DATE '9999-12-31' + INTERVAL '31' DAY > DATE '9999-12-31'",
        "last + INTERVAL '31' DAY > last",
        True,
        "years beyond 9999 stay in DuckDB",
    ),
    Formula(
        "DATE '2024-01-31' + INTERVAL '1' MONTH",
        "jan + INTERVAL '1' MONTH",
        datetime.datetime(2024, 2, 29),
        "a date and an interval are a timestamp",
    ),
    Formula("'abc' < 'Z'", "s < 'Z'", False, "strings compare byte by byte in UTF-8"),
    Formula("'é' > 'z'", "u > 'Gr'", True),
    Formula("'abc' = 'abc '", "s = 'abc '", False, "blanks count"),
    Formula("'' IS NULL", "e IS NULL", False, "the empty string is a value"),
    Formula("'abc' LIKE 'A%'", "s LIKE 'A%'", False),
    Formula("'Grüße' LIKE 'Gr_ße'", "u LIKE 'Gr_ße'", True, "a character is a code point"),
    Formula("length('Grüße')", "length(u)", 5),
    Formula("substring('Grüße', 3, 1)", "substring(u, 3, 1)", "ü"),
    Formula("upper('Grüße')", "upper(u)", "GRÜẞE"),
    Formula("'' || NULL", "e || sn", None),
    Formula("CAST('NaN' AS DOUBLE) = CAST('NaN' AS DOUBLE)", "nan = nan", True, "NaN equals itself"),
    Formula("CAST('NaN' AS DOUBLE) > CAST('inf' AS DOUBLE)", "nan > inf", True, "and is the largest"),
    Formula("-0e0 = 0e0", "nz = f0", True, "−0.0 equals 0.0"),
    Formula("-0e0 < 0e0", "nz < f0", False),
    Formula("nullif(0e0, -0e0)", "nullif(f0, nz)", None),
    Formula("greatest(0e0 / 0e0, 1e0)", "greatest(f0 / f0, half)", NAN, "whatever computed the NaN"),
    Formula("", "SELECT count(*) AS r FROM w WHERE f <> -0e0 AND f IN (0e0, 0e0)", 0, "−0.0 is no other number"),
    Formula("", "SELECT count(*) AS r FROM w WHERE f BETWEEN 0e0 AND 0e0 * -1e0", 2),
    Formula("", "SELECT max(f) AS r FROM w", NAN),
    Formula("", "SELECT count(DISTINCT f) AS r FROM w", 3),
    Formula("", "SELECT count(*) AS r FROM (SELECT f FROM w GROUP BY f) g", 4),
    Formula("", "SELECT count(*) AS r FROM w AS a JOIN w AS b ON a.f = b.f", 9, "also as the key of a join"),
    Formula("", "SELECT count(*) AS r FROM w WHERE f > 0.5", 3),
    Formula("", "SELECT count(*) AS r FROM w WHERE NOT (f <= 0.5)", 3),
    Formula("", "SELECT f AS r FROM w ORDER BY f DESC LIMIT 1", NAN, "NULL comes last, whatever the direction"),
    Formula("", "SELECT i AS r FROM w ORDER BY i OFFSET 5", None),
    Formula(
        "",
        "SELECT lag(i, 1, i + 10) OVER (ORDER BY i) AS r FROM w ORDER BY i LIMIT 1",
        11,
        "a default is computed for its row",
    ),
    Formula("", "SELECT min(s) AS r FROM w", ""),
    Formula("", "SELECT max(s) AS r FROM w", "é"),
    Formula("", "SELECT sum(i) AS r FROM w WHERE i > 9", None, "a sum of nothing is NULL"),
    Formula("", "SELECT avg(i) AS r FROM w", 2.4),
    Formula("", "SELECT avg(b) AS r FROM w", float(2**53), "averages are computed on floats"),
    Formula("", "SELECT sum(b) AS r FROM w", Decimal(2 * (2**53 + 1)), "a sum of integers is a HUGEINT"),
    Formula("NULL = NULL", "n = n", None, "three-valued logic"),
    Formula("NULL IS DISTINCT FROM NULL", "n IS DISTINCT FROM n", False),
    Formula("NULL AND false", "nb AND NOT t", False),
    Formula("NULL OR true", "nb OR t", True),
    Formula("7 IN (1, NULL)", "i7 IN (1, NULL)", None),
    Formula("7 NOT IN (1, NULL)", "i7 NOT IN (1, NULL)", None),
    Formula("", "SELECT count(*) AS r FROM v WHERE i7 NOT IN (SELECT i FROM w)", 0),
    Formula("round(2.5e0)", "round(half)", 3.0, "half away from zero"),
    Formula("round(-2.5e0)", "round(-half)", -3.0),
    Formula("", "round(d, 2)", Decimal("1.01")),
    Formula("power(2, 10)", "power(i2, 10)", 1024.0),
    Formula("", "oldz < leap AND leap > TIMESTAMP '2024-02-29 22:29:59'", True, "moments with a zone"),
    Formula("", "date_trunc('day', oldz)", datetime.datetime(1969, 12, 31, tzinfo=datetime.UTC)),
    Formula("", "extract(hour FROM leap)", 22),
    Formula("", "leap + INTERVAL '1' YEAR", datetime.datetime(2025, 2, 28, 22, 30, tzinfo=datetime.UTC)),
    Formula("", "CAST(leap AS DATE)", datetime.date(2024, 2, 29)),
    Formula("", "coalesce(tz_n, leap) = leap", True),
    Formula("", "leap - INTERVAL '3' HOUR", datetime.datetime(2024, 2, 29, 19, 30, tzinfo=datetime.UTC)),
)

_A_STRING = (("a", "string"),)
_A_NUMBER = (("a", "int64"),)
_A_DECIMAL = (("a", "decimal(5, 2)"),)
_A_TIME = (("a", "timestamp"),)
_A_MOMENT = (("a", "timestamptz(UTC)"),)
_A_CLOCK = (("a", "time"),)
_AB = (("a", "string"), ("b", "string"))
CELLS = (
    Cell("csv", "b,a\n1,2\n", (("a", "int64"), ("b", "int64")), [2], "columns are found by the header's names"),
    Cell("csv", "a,b\n1,2\n", (("b", "int64"), ("a", "int64")), [1], "whatever the schema's order"),
    Cell("csv", "b\n1\n", _A_NUMBER, SCHEMA, "a name that the header lacks is an error"),
    Cell("csv", 'a,b\n"",x\n,y\n', _AB, ["", None], "quoted nothing is an empty string, nothing is NULL"),
    Cell("csv", 'a,b\n"",x\n,y\n', (("a", "int64"), ("b", "string")), [None, None], "of numbers both are NULL"),
    Cell(
        "csv", 'a,b\nNA,x\n,y\n"NA",z\n', _AB, [None, "", "NA"],
        "with null=NA that is NULL, nothing is an empty string, and quoted NA is text", (("null", "NA"),),
    ),
    Cell("csv", "a\n2.7\n", _A_NUMBER, SCHEMA, "a number with a fraction is not an integer"),
    Cell("csv", "a\n1e3\n", _A_NUMBER, [1000], "an integer may have an exponent"),
    Cell("csv", "a\n99999999999999999999\n", _A_NUMBER, RANGE, "what does not fit the type is an error"),
    Cell("csv", "a\n1.005\n-1.005\n", _A_DECIMAL, [Decimal("1.01"), Decimal("-1.01")], "rounds half away from zero"),
    Cell("csv", "a\n1234.5\n", _A_DECIMAL, RANGE, ""),
    Cell("csv", "a\nnan\n-inf\n", (("a", "float64"),), [NAN, -INF], ""),
    Cell("csv", "a\n2024-02-30\n", (("a", "date"),), SCHEMA, "a day that is not in the calendar is an error"),
    Cell("csv", "a\n2024-01-01 00:00:00.1234567\n", _A_TIME, SCHEMA, "digits below a microsecond are an error"),
    Cell("csv", "a\n2024-01-01 00:00:00+02\n2024-01-01T00:00:00\n", _A_MOMENT, [
        datetime.datetime(2023, 12, 31, 22, tzinfo=datetime.UTC), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    ], "a moment without an offset is in UTC"),
    Cell("csv", "a\n12:34:56.5\n\"\"\n", _A_CLOCK, [datetime.time(12, 34, 56, 500000), None], ""),
    Cell("csv", "a\n24:00:00\n", _A_CLOCK, SCHEMA, "the last time is before 24:00:00"),
    Cell("csv", "a\n1.9\n", (("a", "duration(s)"),), SCHEMA, "a duration is an integer"),
    Cell("json", '{"a": 2.7}\n', _A_NUMBER, SCHEMA, "a number with a fraction is not an integer"),
    Cell("json", '{"a": 2.0}\n', _A_NUMBER, [2], "unless the fraction is zero"),
    Cell("json", '{"a": "2"}\n', _A_NUMBER, [2], "a number may be written as a string"),
    Cell("json", '{"a": 9007199254740993}\n', _A_NUMBER, [2**53 + 1], ""),
    Cell("json", '{"a": 1, "a": 2}\n', _A_NUMBER, [2], "of a key that occurs twice the last one counts"),
    Cell("json", '{"b": 1}\n{"a": null}\n', _A_NUMBER, [None, None], "a key that a row lacks is NULL"),
    Cell("json", '{"a": ""}\n', _A_STRING, [""], ""),
    Cell("json", '{"a": 12}\n{"a": true}\n', _A_STRING, ["12", "true"], "numbers and booleans can be read as text"),
    Cell("json", '{"a": 1.005}\n', _A_DECIMAL, [Decimal("1.01")], "rounds half away from zero"),
    Cell("json", '{"a": "NaN"}\n{"a": "-inf"}\n', (("a", "float64"),), [NAN, -INF], "JSON has strings for these"),
    Cell("json", '{"a": "2024-01-01 00:00:00.1234567"}\n', _A_TIME, SCHEMA, "digits below a microsecond are an error"),
    Cell("json", '{"a": "2024-01-01T00:00:00Z"}\n', _A_MOMENT, [
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    ], ""),
    Cell("json", '{"a": "00:00:00.0000001"}\n', _A_CLOCK, SCHEMA, ""),
)  # fmt: skip


def page() -> str:
    """The tables of docs/sql.md."""
    lines = ["| expression | value | |", "|---|---|---|"]
    for row in FORMULAS:
        shown = row.text or (row.columns if row.columns.startswith("SELECT") else with_values(row.columns))
        lines.append(f"| `{_escaped(shown)}` | {_code(row.value)} | {row.meaning} |")
    lines += ["", "| file | type of `a` | values of `a` | |", "|---|---|---|---|"]
    for cell in CELLS:
        text = _escaped(cell.text.rstrip("\n").replace("\n", " ⏎ "))
        lines.append(f"| {cell.format}: `{text}` | {dict(cell.schema)['a']} | {_code(cell.value)} | {cell.meaning} |")
    return "\n".join(lines) + "\n"


def with_values(columns: str) -> str:
    """An expression over V with literals in the columns' places."""
    return re.sub(r"\b[a-z]\w*\b", lambda m: _literal(*V_VALUES[m[0]]) if m[0] in V_VALUES else m[0], columns)


def _literal(type: pa.DataType, value: Any) -> str:
    if pa.types.is_decimal(type):
        return f"DECIMAL({type.precision}, {type.scale}) '{value.normalize():f}'"
    if pa.types.is_timestamp(type):
        return f"TIMESTAMP{'TZ' if type.tz else ''} '{value}{'Z' if type.tz else ''}'"
    return f"{'SMALLINT ' if type == pa.int16() else ''}{value}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _code(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_code, value))
    if value is None or isinstance(value, Error):
        return "NULL" if value is None else str(value)
    if isinstance(value, Decimal):
        return f"`DECIMAL '{value}'`"
    shown = f"'{value}'" if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{shown}`"
