"""Writes conditions over fields of text as SQL that each row meets whose values meet them, and perhaps others.

A store sees text, and its casts are not those of the readers here: so its condition never leaves out a row that the
exact one takes, which is computed here over what it returns. Numbers are compared as doubles: the cast of a text is
monotone, so bounds that are half a unit of the last digit away hold whatever the text's notation. Dates are compared as
text where they have ten letters, which is one notation only. What has no such condition is TRUE.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, InList, Literal
from jumpgate.ncas.s3_select.dialects import EXACT, SelectDialect
from jumpgate.ncas.s3_select.forms import Form

#: TRUE is no condition in every store
ALWAYS = ""
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}
FLIPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_SIGNS = {"eq": "=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: characters of a date in its plain notation
_DATE_LENGTH = 10
_DIGITS_MAX = 15
_CONTEXT = Context(prec=100)


@dataclass(frozen=True)
class Superset:
    """`names` are the columns of the read. A text that is no value of its column's type is an error of the store's
    cast, or passes, or is left out as if it were NULL."""

    form: Form
    dialect: SelectDialect
    names: tuple[str, ...]

    def of(self, e: Expression, is_positive: bool = True) -> str:
        """Return the condition for rows of which `e` is TRUE, or FALSE if not is_positive."""
        match e:
            case Call(function="not", args=(a,)):
                return self.of(a, not is_positive)
            case Call(function="and" | "or" as word, args=args):
                terms = [self.of(a, is_positive) for a in args]
                return _all(terms) if (word == "and") == is_positive else _any(terms)
            case Call(function=name, args=(a, b)) if name in NEGATED:
                name = name if is_positive else NEGATED[name]
                a, b = unwidened(a), unwidened(b)
                if isinstance(a, Literal):
                    name, a, b = FLIPPED[name], b, a
                if isinstance(a, ColumnRef) and isinstance(b, Literal):
                    return self._compared(name, a, b.value)
            case InList(input=a, options=options) if is_positive:
                if isinstance(column := unwidened(a), ColumnRef):
                    return self._listed(column, [option.value for option in options])
        return ALWAYS

    def key(self, name: str, is_text: bool) -> str:
        """Return what a key of a join is compared with (keys.Fields)."""
        if is_text or not self.form.is_raw:
            return self.form.column(name)
        return self._number(name, "INT") if self.dialect.casts else ""

    def bound(self, name: str, sign: str, number: int) -> str:
        """Return the condition that an integer column is "le" or "ge" a number."""
        return self._bounded(sign, name, Decimal(number), 0)

    def absent(self, name: str) -> str:
        """Return the condition that a column which is not text is NULL."""
        text = self.form.column(name)
        if not self.form.returns_csv:
            return f"{text} IS NULL"
        return f"({' OR '.join(f'{text} = {_quoted(null)}' for null in dict.fromkeys(('', self.form.null)))})"

    def guarded(self, name: str, test: str) -> str:
        """Return a test of a number or a key, which NULL does not meet."""
        if not self.form.is_raw or self.dialect.cases:
            return f"({test})"
        return f"({self._present(self.form.column(name))} AND {test})"

    def _number(self, name: str, type: str = "FLOAT") -> str:
        """Return a column's text as a number; NULL is one where the dialect has CASE."""
        text = self.form.column(name)
        if not self.form.is_raw:
            return text
        cast = f"CAST({text} AS {type})"
        return f"CASE WHEN {self._present(text)} THEN {cast} END" if self.dialect.cases else cast

    def _present(self, text: str) -> str:
        if self.form.format == "json":
            return f"{text} IS NOT NULL"
        return _all(f"{text} != {_quoted(null)}" for null in dict.fromkeys(("", self.form.null)))

    def _compared(self, name: str, column: ColumnRef, value: object) -> str:
        of, kind = self.names[column.index], column.type.kind
        match value:
            case str() if kind == "string" and name in ("eq", "ne"):
                return self._is_text(of, f"{self.form.column(of)} {'=' if name == 'eq' else '!='} {_quoted(value)}")
            case bool():
                return ALWAYS
            case int() | Decimal() if column.type.is_integer or (kind == "decimal" and self.form.is_raw):
                return self._bounded(name, of, Decimal(value), column.type.scale)
            case float() if kind == "float64" and self.form.is_raw and self.dialect.casts and math.isfinite(value):
                return self._float(name, of, value)
            case datetime():
                return self._moment(name, of, value)
            case date() if kind == "date":
                return self._day(name, of, value)
        return ALWAYS

    def _listed(self, column: ColumnRef, values: list[object]) -> str:
        of = self.names[column.index]
        if column.type.kind == "string" and all(isinstance(v, str) for v in values):
            listed = ", ".join(_quoted(str(v)) for v in values)
            return self._is_text(of, f"{self.form.column(of)} IN ({listed})")
        return _any([self._compared("eq", column, value) for value in values])

    def _is_text(self, name: str, test: str) -> str:
        """Return a test of text; a store that took the column for numbers must refuse it."""
        if self.form.is_raw:
            return f"({test})"
        text = self.form.column(name)
        return f"({test} AND ({text} = 'text' OR {text} != 'text'))"

    def _bounded(self, name: str, of: str, value: Decimal, scale: int) -> str:
        """Return the condition that a number rounded to `scale` digits compares so with a value."""
        if (abs(value) >= EXACT and not self.form.is_raw) or (self.form.is_raw and not self.dialect.casts):
            return ALWAYS
        unit = Decimal(1).scaleb(-scale)
        if name == "ne":
            is_sure = scale == 0 and abs(value) < 10**_DIGITS_MAX and value == value.to_integral_value()
            return self.guarded(of, f"{self._number(of)} != {self._literal(value)}") if is_sure else ALWAYS
        low = value.quantize(unit, ROUND_CEILING, _CONTEXT)
        high = value.quantize(unit, ROUND_FLOOR, _CONTEXT)
        if name == "gt" and low == value:
            low += unit
        if name == "lt" and high == value:
            high -= unit
        half = unit / 2 if self.form.is_raw else Decimal(0)
        number = self._number(of)
        tests = []
        if name in ("eq", "gt", "ge"):
            tests.append(f"{number} >= {self._literal(_CONTEXT.subtract(low, half))}")
        if name in ("eq", "lt", "le"):
            tests.append(f"{number} <= {self._literal(_CONTEXT.add(high, half))}")
        return self.guarded(of, " AND ".join(tests))

    def _literal(self, number: Decimal) -> str:
        return _written(number) if self.form.is_raw else f"{number:f}"

    def _float(self, name: str, of: str, value: float) -> str:
        """Return the condition of a double; NaN is the greatest, and meets no comparison of a store's."""
        number, text = self._number(of), _written(Decimal(repr(value)))
        if len(text) > 40:
            return ALWAYS
        match name:
            case "eq" | "lt" | "le":
                return self.guarded(of, f"{number} {_SIGNS[name]} {text}")
            case "gt" | "ge":
                return self.guarded(of, f"NOT ({number} {_SIGNS[NEGATED[name]]} {text})")
        return ALWAYS

    def _day(self, name: str, of: str, value: date) -> str:
        if not self.dialect.casts or name == "ne":
            return ALWAYS
        text = self.form.column(of)
        test = f"{text} {_SIGNS[name]} {_quoted(value.isoformat())}"
        return self._known(of, f"(CHAR_LENGTH({text}) != {_DATE_LENGTH:d} OR {test})")

    def _moment(self, name: str, of: str, value: datetime) -> str:
        """Return the condition of a timestamp's day, which an offset may move by one."""
        if not self.dialect.casts or name == "ne":
            return ALWAYS
        text = self.form.column(of)
        try:
            first, last = ((value + timedelta(days=by)).date().isoformat() for by in (-1, 1))
        except OverflowError:
            return ALWAYS
        day = f"SUBSTRING({text}, 1, {_DATE_LENGTH:d})"
        tests = [f"{day} >= {_quoted(first)}"] if name in ("eq", "gt", "ge") else []
        tests += [f"{day} <= {_quoted(last)}"] if name in ("eq", "lt", "le") else []
        return self._known(of, f"(SUBSTRING({text}, 5, 1) != '-' OR ({' AND '.join(tests)}))")

    def _known(self, name: str, test: str) -> str:
        """Return a test of text, FALSE for NULL."""
        text = self.form.column(name)
        return f"({self._present(text)} AND {test})"


def unwidened(e: Expression) -> Expression:
    """Return what a cast to a wider integer casts."""
    while isinstance(e, Cast) and e.type.is_integer and e.input.type.is_integer and e.type.width >= e.input.type.width:
        e = e.input
    return e


def _all(terms: Iterable[str]) -> str:
    return " AND ".join(term for term in terms if term != ALWAYS)


def _any(terms: list[str]) -> str:
    if ALWAYS in terms:
        return ALWAYS
    return f"({' OR '.join(terms)})" if len(terms) > 1 else terms[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _written(number: Decimal) -> str:
    """Return a number as a double is written, so that no store takes it for an integer."""
    text = f"{number:f}"
    return text if "." in text else text + ".0"
