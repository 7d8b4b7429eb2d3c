"""Writes expressions in DuckDB's SQL, exactly as a dialect has them, or refuses them by name.

No text of a request gets into a statement: columns are numbered and literals are parameters. Each text has exactly the
type of its expression. Differences of DuckDB are written out: decimals are added and multiplied without its limit of 18
digits, a division by zero is what the dialect says, floats are keys with one NaN, the largest, and one zero.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from decimal import Decimal

from jumpgate.dataflow.casts import cannot_fail, cast_value
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, Expression, InList, Literal, Value
from jumpgate.dataflow.functions import find
from jumpgate.dataflow.types import DataType
from jumpgate.errors import ComputeError
from jumpgate.nca.interface import Unsupported

TYPES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamp_ns": "TIMESTAMP_NS",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "string": "VARCHAR",
    "binary": "BLOB",
}
#: the most characters of one expression: operands that are written twice double it at each level
CHARACTERS_MAX = 1 << 16
#: and of all, each counted with those that it is a part of
STATEMENT_CHARACTERS_MAX = 1 << 22
#: digits of decimals that DuckDB computes with in 64 bits, unless one operand has more
WORD_DIGITS = 18
DIGITS_MAX = 38
#: in messages of errors that a statement raises on purpose
BY_ZERO = "jumpgate: division by zero"
OUT_OF_RANGE = "jumpgate: out of range"
NO_VALUE = "jumpgate: no value: "
#: what raises them, which cannot be tried
ERROR = "error("

INFIX = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "is_distinct": "IS DISTINCT FROM",
    "is_not_distinct": "IS NOT DISTINCT FROM", "and": "AND", "or": "OR", "concat": "||",
    "bit_and": "&", "bit_or": "|",
}  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct", "null_if")
DIVISIONS = ("divide", "int_divide", "modulo", "divide_decimal")
ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*"}
#: that DuckDB has with the same values
SAME = {
    "coalesce": "coalesce",
    "null_if": "nullif",
    "char_length": "length",
    "starts_with": "starts_with",
    "ends_with": "suffix",
    "contains": "contains",
    "abs": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "day",
    "day_of_week": "dayofweek",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "least": "least",
    "greatest": "greatest",
    "octet_length": "strlen",
    "is_nan": "isnan",
    "left": "left",
    "right": "right",
    "replace": "replace",
    "week": "week",
    "iso_year": "isoyear",
    "iso_day_of_week": "isodow",
    "day_of_year": "dayofyear",
    "bit_xor": "xor",
}
#: functions of values whose kind does not matter
OF_ANYTHING = frozenset((*COMPARISONS, "coalesce", "is_null", "is_not_null", "least", "greatest"))
#: kinds of which nothing else is computed
PASSED = frozenset(("timestamp_ns", "timestamptz"))
#: how many arguments of a function are computed; the others are literals that its text has in it
COMPUTED = {"round": 1, "divide_decimal": 2}
#: that date_trunc truncates to
UNITS = frozenset(("second", "minute", "hour", "day", "week", "month", "quarter", "year"))  # fmt: skip
TRIMS = ("trim", "ltrim", "rtrim")
#: kinds of values → the kinds to which DuckDB casts them as Jumpgate does
CASTS = {
    "bool": ("int8", "int16", "int32", "int64"),
    "date": ("timestamp", "string"),
    "timestamp": ("date",),
    "float32": ("float64", "int8", "int16", "int32", "int64"),
    "float64": ("int8", "int16", "int32", "int64"),
    "decimal": ("int8", "int16", "int32", "int64", "float64", "decimal", "string"),
}
INTEGER_CASTS = ("bool", "int8", "int16", "int32", "int64", "float64", "decimal", "string")

#: the text of a column, by its position
Columns = Callable[[int], str]


class Refused(Exception):
    """The engine does not do a part of a dataflow exactly; `answer` says which, and why."""

    def __init__(self, reason: str, code: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.answer = Unsupported(reason, code, remedy)


def sql_type(type: DataType) -> str:
    """Return DuckDB's name of the type. Raises Refused."""
    if type.kind == "decimal":
        return f"DECIMAL({type.precision:d}, {type.scale:d})"
    if type.kind not in TYPES:
        raise Refused(f"the engine does not take values of type {type.name}", "type")
    return TYPES[type.kind]


def key(text: str, type: DataType) -> str:
    """Return a text of a value that is equal, ordered and grouped as the value is in Jumpgate."""
    if not type.is_float:
        return text
    number = f"CAST({text} AS DOUBLE)"
    found = f"CASE WHEN isnan({number}) THEN CAST('NaN' AS DOUBLE) ELSE {number} + CAST(0 AS DOUBLE) END"
    return f"CAST({found} AS {sql_type(type)})"


class Expressions:
    """The expressions of one statement. `parameters` are the texts of its literals, and lists of files."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.parameters: list[str | list[str] | None] = []
        self._characters = 0
        if dialect.on_overflow == "wrap":
            raise Refused("the engine does not wrap around", "overflow_wrap", "use on_overflow = error or null")

    def parameter(self, value: str | list[str] | None) -> str:
        """Return the name of a new parameter."""
        self.parameters.append(value)
        return f"${len(self.parameters):d}"

    def text(self, e: Expression, columns: Columns) -> str:
        """Return the SQL of an expression over columns. Raises Refused."""
        found = self._text(e, columns)
        self._characters += len(found)
        if len(found) > CHARACTERS_MAX or self._characters > STATEMENT_CHARACTERS_MAX:
            raise Refused("an expression is too large for the engine", "large")
        return found

    def key(self, e: Expression, columns: Columns) -> str:
        """Return an expression by which rows are compared, grouped or ordered."""
        self.check_comparable(e.type)
        return key(self.text(e, columns), e.type)

    def check_comparable(self, type: DataType) -> None:
        """Raise Refused for floats that are compared as IEEE 754 has it."""
        if type.is_float and self.dialect.nan != "largest":
            raise Refused("the engine orders NaN as the largest number, as its equal", "nan", 'use nan = "largest"')

    def _text(self, e: Expression, columns: Columns) -> str:
        match e:
            case ColumnRef():
                sql_type(e.type)
                return columns(e.index)
            case Literal():
                return self._literal(e.value, e.type)
            case Cast():
                return self._cast(e, columns)
            case Case():
                parts = [self.text(child, columns) for child in e.children]
                pairs = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(parts[:-1:2], parts[1:-1:2], strict=True))
                return f"CAST(CASE {pairs} ELSE {parts[-1]} END AS {sql_type(e.type)})"
            case InList():
                self.check_comparable(e.input.type)
                if not e.options:
                    raise Refused("the engine takes no empty list", "list")
                options = ", ".join(self.text(o, columns) for o in e.options)
                return f"({self.text(e.input, columns)} IN ({options}))"
            case Call():
                return self._call(e, columns)
        raise Refused(f"the engine does not compute {type(e).__name__.lower()} of nested values", "expression")

    def _literal(self, value: Value, type: DataType) -> str:
        match value:
            case None:
                text = None
            case bool():
                text = "true" if value else "false"
            case bytes():
                return f"unhex({self.parameter(value.hex())})"
            case datetime.datetime():
                text = value.isoformat(" ") + ("+00" if type.is_zoned else "")
            case datetime.date() | datetime.time():
                text = value.isoformat()
            case Decimal():
                text = f"{value:f}"
            case float():
                text = repr(value) if math.isfinite(value) else str(value)
            case int() | str() if type.kind not in ("timestamp_ns", "duration"):
                text = str(value)
            case _:
                raise Refused(f"the engine takes no literal of type {type.name}", "literal")
        if text is not None and "\0" in text:
            raise Refused("the engine takes no text with NUL", "literal")
        return f"CAST(CAST({self.parameter(text)} AS VARCHAR) AS {sql_type(type)})"

    def _cast(self, e: Cast, columns: Columns) -> str:
        source, target = e.input.type, e.type
        if isinstance(e.input, Literal) and source.kind == "string":
            return self._parsed(e)
        input = self.text(e.input, columns)
        taken = INTEGER_CASTS if source.is_integer else CASTS.get(source.kind, ())
        if not source.same(target) and target.kind not in taken:
            raise Refused(f"the engine does not cast {source.name} to {target.name} exactly", "cast")
        if (
            target.is_integer
            and (source.is_float or source.kind == "decimal")
            and self.dialect.to_integer == "truncate"
        ):
            input = f"trunc({input})"
        cast = "TRY_CAST" if e.on_failure == "null" else "CAST"
        return f"{cast}({input} AS {sql_type(target)})"

    def _parsed(self, e: Cast) -> str:
        """Return the value of a literal text, or the error that it is read as."""
        assert isinstance(e.input, Literal)
        try:
            return self._literal(cast_value(e.input.value, e.input.type, e.type, self.dialect), e.type)
        except ComputeError as error:
            if e.on_failure == "null":
                return self._literal(None, e.type)
            said = "".join(c for c in error.message if c.isprintable())
            return f"CAST(error('{NO_VALUE}' || CAST({self.parameter(said)} AS VARCHAR)) AS {sql_type(e.type)})"

    def _call(self, e: Call, columns: Columns) -> str:
        function, types = e.function, [a.type for a in e.args]
        args = [self.text(a, columns) for a in e.args[: COMPUTED.get(function)]]
        if function not in OF_ANYTHING and any(t.kind in PASSED for t in types):
            raise Refused(f"the engine does not compute {function} of moments", f"function_{function}")
        if function in COMPARISONS:
            for compared in types:
                self.check_comparable(compared)
        if function in ("and", "or"):
            args = _guarded(function, e.args, args)
        if function in INFIX:
            return "(" + f" {INFIX[function]} ".join(args) + ")"
        if function in ARITHMETIC:
            return self._checked(e, self._arithmetic(e, args))
        if function in DIVISIONS[:3]:
            return self._checked(e, self._division(e, args))
        if function in SAME:
            if function in ("least", "greatest") and types[0].is_float:
                raise Refused(f"the engine's {function} of floats is another", function)
            return self._checked(e, f"CAST({SAME[function]}({', '.join(args)}) AS {sql_type(e.type)})")
        if function in TRIMS:
            return f"{function}({args[0]}, ' ')"
        match function:
            case "not":
                return f"(NOT {args[0]})"
            case "is_null" | "is_not_null":
                return f"({args[0]} IS {'NOT ' if function == 'is_not_null' else ''}NULL)"
            case "negate":
                return self._checked(e, f"CAST((- {args[0]}) AS {sql_type(e.type)})")
            case "like":
                return f"({args[0]} LIKE {args[1]}{f' ESCAPE {args[2]}' if len(args) > 2 else ''})"
            case "substring":
                return self._substring(e, args)
            case "round":
                return self._round(e, args)
            case "divide_decimal":
                return self._checked(e, self._divide_decimals(e, args))
            case "truncate" if len(args) == 1:
                return f"CAST(trunc(CAST({args[0]} AS {sql_type(e.type)})) AS {sql_type(e.type)})"
            case "mean":
                return f"(CAST({args[0]} AS DOUBLE) / CAST({args[1]} AS DOUBLE))"
            case "days_between":
                return f"CAST(({args[0]} - {args[1]}) AS {sql_type(e.type)})"
            case "date_add_days":
                return self._moved(e, f"({args[0]} + CAST({args[1]} AS INTEGER))")
            case "add_interval" if e.type.kind != "date" or isinstance(e.args[3], Literal) and not e.args[3].value:
                months, days = (f"CAST({a} AS INTEGER)" for a in args[1:3])
                moved = f"({args[0]} + to_months({months}) + to_days({days}) + to_microseconds({args[3]}))"
                return self._moved(e, moved)
            case "date_trunc" if isinstance(e.args[0], Literal) and e.args[0].value in UNITS:
                return f"CAST(date_trunc({args[0]}, CAST({args[1]} AS TIMESTAMP)) AS {sql_type(e.type)})"
        raise Refused(f"the engine does not compute {function} exactly", f"function_{function}")

    def _checked(self, e: Call, text: str) -> str:
        """Return a call with what the dialect makes of an overflow; `error` is what the engine does."""
        if self.dialect.on_overflow == "error" or not find(e.function).fallible or e.type.is_float:
            return text
        if ERROR in text or any(_may_fail(a) for a in e.args):
            raise Refused(f"the engine does not tell failures of operands from those of {e.function}", "overflow_null")
        return f"TRY({text})"

    def _arithmetic(self, e: Call, args: list[str]) -> str:
        operator, type = ARITHMETIC[e.function], sql_type(e.type)
        if e.type.kind != "decimal":
            return f"CAST(({args[0]} {operator} {args[1]}) AS {type})"
        digits = [a.type.precision for a in e.args]
        if e.function != "multiply":
            wide = [f"CAST({a} AS DECIMAL({e.type.precision:d}, {e.type.scale:d}))" for a in args]
            return f"CAST(({wide[0]} {operator} {wide[1]}) AS {type})"
        if sum(digits) <= WORD_DIGITS or max(digits) > WORD_DIGITS:
            return f"CAST(({args[0]} * {args[1]}) AS {type})"
        # in 64 bits, which is six times faster, and else in 128
        wide_digits = max(WORD_DIGITS + 1, digits[0])
        left = f"CAST({args[0]} AS DECIMAL({wide_digits:d}, {e.args[0].type.scale:d}))"
        if ERROR in "".join(args):
            return f"CAST(({left} * {args[1]}) AS {type})"
        return f"coalesce(TRY(CAST(({args[0]} * {args[1]}) AS {type})), CAST(({left} * {args[1]}) AS {type}))"

    def _division(self, e: Call, args: list[str]) -> str:
        a, b = args
        type, by_zero = e.args[0].type, self.dialect.division_by_zero
        operator = {"divide": "/", "int_divide": "//", "modulo": "%"}[e.function]
        if e.function == "modulo" and not type.is_integer:
            raise Refused("the engine's modulo of decimals and floats is another", "function_modulo")
        divisor = e.args[1]
        if isinstance(divisor, Literal) and divisor.value:
            pass
        elif by_zero == "null":
            b = f"nullif({b}, CAST(0 AS {sql_type(type)}))"
        elif by_zero == "error" or not type.is_float:
            b = f"CASE WHEN {b} = CAST(0 AS {sql_type(type)}) AND {a} IS NOT NULL THEN error('{BY_ZERO}') ELSE {b} END"
        if e.function == "modulo":  # the least integer by -1 overflows there
            return f"CASE WHEN {args[1]} = -1 THEN {a} - {a} ELSE CAST(({a} % {b}) AS {sql_type(e.type)}) END"
        return f"CAST(({a} {operator} {b}) AS {sql_type(e.type)})"

    def _divide_decimals(self, e: Call, args: list[str]) -> str:
        """Return a quotient that is rounded once, halves away from zero: of integers, as the engine's is a float."""
        (a, b), scale = (arg.type for arg in e.args[:2]), e.type.scale
        power = scale - a.scale + b.scale
        number, divisor = (_digits(text, type) for text, type in zip(args, (a, b), strict=True))
        number, divisor = _times(number, max(power, 0)), _times(divisor, max(-power, 0))
        zero = f"{divisor} = 0 AND {number} IS NOT NULL"
        least = f"nullif(abs({divisor}), 0)"
        if self.dialect.division_by_zero != "null":
            least = f"CASE WHEN {zero} THEN error('{BY_ZERO}') ELSE abs({divisor}) END"
        up = f"CASE WHEN 2 * (abs({number}) % abs({divisor})) >= abs({divisor}) THEN 1 ELSE 0 END"
        sign = f"CASE WHEN ({number} < 0) <> ({divisor} < 0) THEN -1 ELSE 1 END"
        found = f"CAST((abs({number}) // ({least}) + {up}) * {sign} AS DECIMAL({e.type.precision:d}, 0))"
        if max(scale, a.scale, b.scale, abs(power)) >= DIGITS_MAX:
            raise Refused("the engine divides decimals of fewer digits behind the point", "function_divide_decimal")
        unit = f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale + 1:d}, {scale:d}))" if scale else "1"
        return f"CAST(({found} * {unit}) AS {sql_type(e.type)})"

    def _substring(self, e: Call, args: list[str]) -> str:
        numbers = [a.value if isinstance(a, Literal) else None for a in e.args[1:]]
        if any(not isinstance(n, int) or n < least for n, least in zip(numbers, (1, 0), strict=False)):
            raise Refused("the engine takes substrings of literal positions and lengths", "function_substring")
        return f"substring({', '.join(args)})"

    def _round(self, e: Call, args: list[str]) -> str:
        digits = e.args[1].value if len(e.args) > 1 and isinstance(e.args[1], Literal) else 0
        if e.args[0].type.kind != "decimal" or not isinstance(digits, int) or digits < 0:
            raise Refused("the engine rounds decimals, to digits behind the point", "function_round")
        return f"CAST({args[0]} AS {sql_type(e.type)})"

    def _moved(self, e: Call, moved: str) -> str:
        """Return a day or moment that was moved, in the years that Jumpgate has."""
        within = f"{moved} >= TIMESTAMP '0001-01-01' AND {moved} < TIMESTAMP '9999-12-31' + INTERVAL 1 DAY"
        found = f"CAST({moved} AS {sql_type(e.type)})"
        beyond = "" if self.dialect.on_overflow == "null" else f"WHEN {moved} IS NOT NULL THEN error('{OUT_OF_RANGE}') "
        return f"CASE WHEN {within} THEN {found} {beyond}END"


def _digits(text: str, type: DataType) -> str:
    """Return the digits of a decimal as an integer of 128 bits."""
    wide = f"CAST({text} AS DECIMAL({max(type.precision, WORD_DIGITS + 1):d}, {type.scale:d}))"
    return f"CAST(({wide} * CAST('1{'0' * type.scale}' AS DECIMAL({type.scale + 1:d}, 0))) AS HUGEINT)"


def _times(number: str, power: int) -> str:
    return f"({number} * CAST('1{'0' * power}' AS HUGEINT))" if power else number


def _guarded(function: str, terms: Sequence[Expression], texts: list[str]) -> list[str]:
    """Return the terms of an AND or OR; one that may fail is not computed where those before it settle the outcome."""
    settled, negated = ("FALSE", "NOT ") if function == "and" else ("TRUE", "")
    guarded = texts[:1]
    for number, (term, text) in enumerate(zip(terms[1:], texts[1:], strict=True), 1):
        if _may_fail(term) or any(_may_overflow(part) for part in term.walk()):
            before = f" {function.upper()} ".join(texts[:number])
            text = f"CASE WHEN {negated}({before}) THEN {settled} ELSE {text} END"
        guarded.append(text)
    return guarded


def _may_overflow(e: Expression) -> bool:
    return isinstance(e, Call) and not e.type.is_float and find(e.function).fallible


def _may_fail(e: Expression) -> bool:
    """Return whether a part may raise an error that is no overflow of arithmetic."""
    return any(
        isinstance(part, Cast) and part.on_failure == "error" and not cannot_fail(part.input.type, part.type)
        or isinstance(part, Call) and part.function in DIVISIONS
        for part in e.walk()
    )  # fmt: skip
