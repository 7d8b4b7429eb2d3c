"""DuckDB's scalar functions as Jumpgate's: those of which every value, NULL and error is the same.

Where they are the same for some arguments only, the dataflow fails for others (`only_if`), and DuckDB answers instead.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jumpgate.client.duckdb.reasons import Stays
from jumpgate.client.duckdb.types import BOOLEAN, SIGNED, ZONED, SqlType
from jumpgate.dataflow.casts import cast_type
from jumpgate.dataflow.expressions import Case, Cast, Expression, Literal, Member, Value
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import DataType, bool_, float64, int64, string, timestamp

#: of values of which DuckDB has other parts, or none
BEYOND = "a date beyond the years 1 to 9999"
_ENDS: Mapping[str, tuple[Value, Value]] = {
    "date": (datetime.date.min, datetime.date.max), "time": (datetime.time.min, datetime.time.max),
}  # fmt: skip
_TRUE = Literal(bool_.with_nullable(False), True)


@dataclass(frozen=True)
class Site:
    """A call: its arguments, their types in DuckDB and that of its result."""

    name: str
    args: tuple[Expression, ...]
    types: tuple[SqlType, ...]
    result: SqlType

    def ids(self, *wanted: tuple[str, ...]) -> bool:
        """Return whether there are so many arguments, each of one of these types."""
        return len(wanted) == len(self.types) and all(t.id in ids for t, ids in zip(self.types, wanted, strict=True))

    def refuse(self) -> Stays:
        """The reason of a call that is not known."""
        return Stays(f"{self.name}({', '.join(map(str, self.types))}) is not offloaded")


Rule = Callable[[Site], Expression]


def as_type(value: Expression, type: DataType) -> Expression:
    """The value as another type of the same values: what does not fit is an error."""
    return value if value.type.same(type) else Cast(cast_type(value.type, type, "error"), value)


def failure(type: DataType, reason: str) -> Expression:
    """An expression of that type that fails for every row. Raises Stays for a type in which none can."""
    if type.kind == "binary" or type.is_nested:
        raise Stays(f"an error in place of a {type.name} is not offloaded")
    found: Expression = Literal(string.with_nullable(False), reason)
    for step in (int64, string) if type.kind == "string" else (type,):
        found = Cast(cast_type(found.type, step, "error"), found)
    return found


def only_if(condition: Expression, value: Expression, reason: str) -> Expression:
    """The value, where the condition is TRUE or NULL; else a failure."""
    known = bind("coalesce", (condition, _TRUE))
    return Case(value.type, (known, value), failure(value.type, reason))


def is_ascii(value: Expression) -> Expression:
    """Return whether a text has no letters beyond ASCII, about which libraries differ."""
    return bind("eq", (bind("octet_length", (value,)), bind("char_length", (value,))))


def is_finite(value: Expression) -> Expression:
    """Return whether a float is neither infinite nor NaN."""
    most = Literal(float64.with_nullable(False), sys.float_info.max)
    return bind("le", (bind("abs", (value,)), most))


def in_calendar(value: Expression) -> Expression:
    """Return whether a date, timestamp or moment is of the years 1 to 9999, as infinite ones are not; of a time,
    whether it is before 24:00."""
    ends = _ENDS.get(value.type.kind, (datetime.datetime.min, datetime.datetime.max))
    first, last = (Literal(value.type.with_nullable(False), end) for end in ends)
    return bind("and", (bind("ge", (value, first)), bind("le", (value, last))))


def whole(value: int, type: DataType = int64) -> Literal:
    """An integer literal."""
    return Literal(type.with_nullable(False), value)


# ---- rules ----------------------------------------------------------------------------------------------------------

_NUMBERS = ("DECIMAL", "DOUBLE", "HUGEINT", *SIGNED)
_UNSIGNED_MAX = {"UTINYINT": (1 << 8) - 1, "USMALLINT": (1 << 16) - 1, "UINTEGER": (1 << 32) - 1}
#: units of date_diff that are months
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNSIGNED = tuple(_UNSIGNED_MAX)
_TEXT, _DATES, _CALENDAR = ("VARCHAR",), ("DATE",), ("DATE", "TIMESTAMP")
#: types whose parts are those of the calendar; of moments in UTC
DAYS, CLOCKS = (*_CALENDAR, ZONED), ("TIMESTAMP", ZONED, "TIME")


def _arithmetic(function: str) -> Rule:
    def rule(site: Site) -> Expression:
        if function == "add" and site.ids(_DATES, ("INTEGER",)):
            return bind("date_add_days", site.args)
        if function == "subtract" and site.ids(_DATES, _DATES):
            return _days_between(*site.args)
        if function == "subtract" and site.ids(_DATES, ("INTEGER",)):
            return bind("date_add_days", (site.args[0], bind("negate", (site.args[1],))))
        if function == "subtract" and site.ids(_NUMBERS):
            return bind("negate", site.args)
        if site.ids(_UNSIGNED, _UNSIGNED) and site.types[0] == site.types[1]:
            return _unsigned(function, site)
        if not site.ids(_NUMBERS, _NUMBERS):
            raise site.refuse()
        a, b = site.types
        if a.id != b.id and {a.id, b.id} != {"HUGEINT", "DECIMAL"}:
            raise site.refuse()
        return bind(function, site.args)

    return rule


def _unsigned(function: str, site: Site) -> Expression:
    """Compute in 64 bits what the type may be too narrow for, which is then an error."""
    found = bind(function, tuple(as_type(a, int64) for a in site.args))
    inside = bind("and", (bind("ge", (found, whole(0))), bind("le", (found, whole(_UNSIGNED_MAX[site.types[0].id])))))
    return only_if(inside, found, f"an overflow of {site.types[0]}")


def _divided(site: Site) -> Expression:
    if not site.ids(("DOUBLE",), ("DOUBLE",)):
        raise site.refuse()
    return bind("divide", site.args)


def _of_integers(function: str) -> Rule:
    """NULL where the divisor is 0, as DuckDB has it; the least number by -1 is an error, also of `%`."""

    def rule(site: Site) -> Expression:
        if not site.ids(SIGNED, SIGNED) or site.types[0] != site.types[1]:
            raise site.refuse()
        a, b = site.args
        found = bind(function, (a, bind("null_if", (b, whole(0, b.type)))))
        if isinstance(b, Literal) and b.value != -1:
            return found
        least = whole(-(1 << (8 << SIGNED.index(site.types[0].id)) - 1), a.type)
        fits = bind("or", (bind("ne", (a, least)), bind("ne", (b, whole(-1, b.type)))))
        return only_if(fits, found, f"an overflow of {site.types[0]}")

    return rule


def _plain(function: str, *wanted: tuple[str, ...]) -> Rule:
    """The function of that name, for arguments of these types."""

    def rule(site: Site) -> Expression:
        if not site.ids(*wanted):
            raise site.refuse()
        return bind(function, site.args)

    return rule


def _ascii(function: str, *wanted: tuple[str, ...]) -> Rule:
    """The same, for texts of ASCII alone."""

    def rule(site: Site) -> Expression:
        if not site.ids(*wanted):
            raise site.refuse()
        for pattern in site.args[1:]:
            if not isinstance(pattern, Literal) or pattern.value is None or not str(pattern.value).isascii():
                raise site.refuse()
        return only_if(is_ascii(site.args[0]), bind(function, site.args), f"{site.name} of a text beyond ASCII")

    return rule


def _like(negated: bool, function: str = "like") -> Rule:
    def rule(site: Site) -> Expression:
        if not site.ids(_TEXT, _TEXT) or not _known_text(site.args[1]):
            raise site.refuse()
        found: Expression = bind(function, site.args)
        if function == "ilike":
            if not str(site.args[1].value).isascii():  # type: ignore[attr-defined]
                raise site.refuse()
            found = only_if(is_ascii(site.args[0]), found, "ILIKE of a text beyond ASCII")
        return bind("not", (found,)) if negated else found

    return rule


def _like_escape(negated: bool) -> Rule:
    """Match a constant pattern with an escape that is one character; a pattern that Jumpgate refuses stays."""

    def rule(site: Site) -> Expression:
        _, pattern, escape = site.args
        if not site.ids(_TEXT, _TEXT, _TEXT) or not (_known_text(pattern) and _known_text(escape)):
            raise site.refuse()
        said = str(escape.value)  # type: ignore[attr-defined]
        if len(said) != 1 or not said.isascii() or said in "%_":
            raise site.refuse()
        found = bind("like", site.args)
        return bind("not", (found,)) if negated else found

    return rule


def _known_text(value: Expression) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, str)


def _substring(site: Site) -> Expression:
    """From a place that is counted from the start."""
    numbers = [a.value for a in site.args[1:] if isinstance(a, Literal) and isinstance(a.value, int)]
    if site.types[0].id != "VARCHAR" or len(numbers) != len(site.args) - 1 or not 1 <= len(numbers) <= 2:
        raise site.refuse()
    if numbers[0] < 1 or any(not 0 <= n < 1 << 31 for n in numbers):
        raise site.refuse()
    return bind("substring", site.args)


def _rounded(site: Site) -> Expression:
    digits = site.args[1] if len(site.args) == 2 else whole(0)
    if (
        site.types[0].id not in ("DOUBLE", "DECIMAL")
        or not isinstance(digits, Literal)
        or not isinstance(digits.value, int)
    ):
        raise site.refuse()
    if not 0 <= digits.value <= (15 if site.types[0].id == "DOUBLE" else site.types[0].scale):
        raise site.refuse()
    return bind("round", site.args)


def _concat(site: Site) -> Expression:
    """NULL is empty text."""
    if any(t.id != "VARCHAR" for t in site.types):
        raise site.refuse()
    empty = Literal(string.with_nullable(False), "")
    return bind("concat", tuple(bind("coalesce", (a, empty)) if a.type.nullable else a for a in site.args))


def _replace(site: Site) -> Expression:
    if not site.ids(_TEXT, _TEXT, _TEXT) or not (_known_text(site.args[1]) and site.args[1].value):  # type: ignore[attr-defined]
        raise site.refuse()
    return bind("replace", site.args)


def of_types(function: str, *ids: str) -> Rule:
    """Return the rule of a function of one value of these types that means the same."""

    def rule(site: Site) -> Expression:
        if not site.ids(ids):
            raise site.refuse()
        return bind(function, site.args)

    return rule


def part_of(function: str, *ids: str) -> Rule:
    """Return the rule of a part of a date or time of these types, for years that both count alike."""

    def rule(site: Site) -> Expression:
        if not site.ids(ids):
            raise site.refuse()
        return only_if(in_calendar(site.args[0]), bind(function, site.args), BEYOND)

    return rule


def _left(site: Site) -> Expression:
    """Take so many characters, counted from the start."""
    count = site.args[1].value if isinstance(site.args[1], Literal) else None
    if not site.ids(_TEXT, ("BIGINT",)) or not isinstance(count, int) or not 0 <= count < 1 << 31:
        raise site.refuse()
    return bind("substring", (site.args[0], whole(1), whole(count)))


def _difference(site: Site) -> Expression:
    """Count the limits of days, months, quarters or years from one date to another."""
    unit = getattr(site.args[0], "value", None)
    if unit in _MONTHS and site.ids(_TEXT, _CALENDAR, _CALENDAR) and site.types[1] == site.types[2]:
        start, end = (_months(value, _MONTHS[str(unit)]) for value in site.args[1:])
        known = bind("and", tuple(bind("gt", (part, whole(0))) for part in (start, end)))
        return only_if(known, bind("subtract", (end, start)), "a difference of dates before our era")
    if not site.ids(_TEXT, _DATES, _DATES) or unit != "day":
        raise site.refuse()
    _, start, end = site.args
    return _days_between(end, start)


def _days_between(end: Expression, start: Expression) -> Expression:
    inside = bind("and", (in_calendar(end), in_calendar(start)))
    return only_if(inside, bind("days_between", (end, start)), BEYOND)


def _months(value: Expression, unit: int) -> Expression:
    """The number of a date's year, or of its quarter or month since year 0; negative before."""
    year = as_type(bind("year", (value,)), int64)
    if unit == 12:
        return year
    part = as_type(bind("quarter" if unit == 3 else "month", (value,)), int64)
    return bind("add", (bind("multiply", (year, whole(12 // unit))), part))


def _truncated(site: Site) -> Expression:
    if not site.ids(_TEXT, DAYS) or not _known_text(site.args[0]):
        raise site.refuse()
    unit = str(site.args[0].value)  # type: ignore[attr-defined]
    if unit not in ("year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        raise site.refuse()
    value = site.args[1] if site.types[1].id == ZONED else as_type(site.args[1], timestamp)
    return only_if(in_calendar(site.args[1]), bind("date_trunc", (site.args[0], value)), BEYOND)


def _field(site: Site) -> Expression:
    """A field of a struct by its name, in which DuckDB ignores the case."""
    struct, name = site.args
    if site.types[0].id != "STRUCT" or not _known_text(name):
        raise site.refuse()
    wanted = str(name.value).lower()  # type: ignore[attr-defined]
    for number, part in enumerate(struct.type.parts):
        if part.name.lower() == wanted:
            return Member(part.type, struct, number)
    raise site.refuse()


def _constant_or_null(site: Site) -> Expression:
    value, *others = site.args
    if site.result != BOOLEAN:
        raise site.refuse()
    missing = [bind("is_null", (other,)) for other in others]
    condition: Expression = missing[0] if len(missing) == 1 else bind("or", tuple(missing))
    nullable = bool_.with_nullable(True)
    return Case(nullable, (condition, Literal(nullable, None)), value)


def _error(site: Site) -> Expression:
    """Whoever comes here has DuckDB answer, which says what is wrong."""
    return failure(site.result.carrier, "DuckDB has an error here")


def _alike(function: str) -> Rule:
    """Return the rule of a function whose arguments have one type."""

    def rule(site: Site) -> Expression:
        if not site.types or any(t != site.types[0] for t in site.types) or site.types[0].id == "FLOAT":
            raise site.refuse()
        return _first_of(function, site) if site.types[0].id == "DOUBLE" else bind(function, site.args)

    return rule


def _first_of(function: str, site: Site) -> Expression:
    """The least or the greatest float: of 0.0 and -0.0 the first."""
    if len(site.args) > 4:  # each one more makes the expression three times as large
        raise site.refuse()
    found, before = site.args[0], "lt" if function == "least" else "gt"
    for other in site.args[1:]:
        takes = bind("or", (bind("is_null", (found,)), bind(before, (other, found))))
        found = Case(found.type.with_nullable(True), (takes, other), found)
    return found


RULES: Mapping[str, Rule] = {
    "+": _arithmetic("add"), "-": _arithmetic("subtract"), "*": _arithmetic("multiply"), "/": _divided,
    "//": _of_integers("int_divide"), "%": _of_integers("modulo"),
    "abs": _plain("abs", ("DOUBLE", "DECIMAL", *SIGNED)), "sqrt": _plain("sqrt", ("DOUBLE",)),
    "round": _rounded, "floor": _plain("floor", ("DOUBLE", "DECIMAL")),
    "ceil": _plain("ceil", ("DOUBLE", "DECIMAL")), "ceiling": _plain("ceil", ("DOUBLE", "DECIMAL")),
    "~~": _like(False), "!~~": _like(True), "~~*": _like(False, "ilike"), "!~~*": _like(True, "ilike"),
    "like_escape": _like_escape(False), "not_like_escape": _like_escape(True),
    "contains": _plain("contains", _TEXT, _TEXT), "prefix": _plain("starts_with", _TEXT, _TEXT),
    "starts_with": _plain("starts_with", _TEXT, _TEXT), "suffix": _plain("ends_with", _TEXT, _TEXT),
    "ends_with": _plain("ends_with", _TEXT, _TEXT),
    "upper": _ascii("upper", _TEXT), "lower": _ascii("lower", _TEXT), "trim": _ascii("trim", _TEXT),
    "ltrim": _ascii("ltrim", _TEXT), "rtrim": _ascii("rtrim", _TEXT),
    "length": _plain("char_length", _TEXT), "len": _plain("char_length", _TEXT),
    "strlen": _plain("octet_length", _TEXT),
    "substring": _substring, "substr": _substring, "||": _plain("concat", _TEXT, _TEXT), "concat": _concat,
    "md5": _plain("md5", _TEXT), "sha1": _plain("sha1", _TEXT), "sha256": _plain("sha256", _TEXT),
    "replace": _replace, "left": _left, "date_diff": _difference, "datediff": _difference,
    "year": part_of("year", *DAYS), "quarter": part_of("quarter", *DAYS),
    "month": part_of("month", *DAYS), "day": part_of("day", *DAYS),
    "dayofweek": part_of("day_of_week", *DAYS), "isodow": part_of("iso_day_of_week", *DAYS),
    "dayofyear": part_of("day_of_year", *DAYS),
    "hour": part_of("hour", *CLOCKS), "minute": part_of("minute", *CLOCKS),
    "second": part_of("second", *CLOCKS),
    "date_trunc": _truncated, "constant_or_null": _constant_or_null, "error": _error,
    "struct_extract": _field, "array_extract": _field,
    "least": _alike("least"), "greatest": _alike("greatest"),
}  # fmt: skip
