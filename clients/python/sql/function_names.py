"""DataFusion's functions and operators as Jumpgate's: those that mean the same, with the differences written out.

Declarations say which of DataFusion's names mean the same of the same arguments (`Function.sql`); an *adapter* here
makes an expression of the arguments of another. Types are DataFusion's: what counts or finds is an int32 there. What
neither knows, or raises TypeMismatch, stays in DataFusion: among it regular expressions that regex/syntax.py does not
know, cbrt (C rounds it otherwise), and floats of 32 bits where it computes in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jumpgate.dataflow.aggregates import AGGREGATES as DECLARED
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Call, Cast, Expression, Literal
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import bind, built_in, cast_to, known
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.signatures import to_float64
from jumpgate.dataflow.types import bool_, int32, int64, string, timestamp

Arguments = tuple[Expression, ...]
Adapter = Callable[[Arguments], Expression]

_MICROSECOND_NS = 1000
_DAY_US = 86_400_000_000
#: names of date_part and EXTRACT → Jumpgate's function
PARTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "day": "day",
    "dow": "day_of_week",
    "doy": "day_of_year",
    "isodow": "iso_day_of_week",
    "isoyear": "iso_year",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}
_OF_THE_CLOCK = ("hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "epoch")
#: milliseconds before 1970 go towards 1970 there
_TRUNCATED = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "microsecond")


def scalar(name: str, arguments: Sequence[Expression]) -> Expression:
    """The call of DataFusion's function or operator `name`. Raises TypeMismatch where Jumpgate has none like it."""
    if name in ADAPTERS:
        return ADAPTERS[name](tuple(arguments))
    function = known(name, "sql")
    if function is None:
        raise TypeMismatch(f"function {name} is not known")
    found = _call(function, tuple(arguments))
    return found if function.sql_type is None else cast_to(found, function.sql_type)


def _call(function: Function, arguments: Arguments) -> Call:
    if function.operands is to_float64 and any(a.type.kind == "float32" for a in arguments):
        raise TypeMismatch(f"{function.name} of 32-bit floats is computed in 32 bits")
    return bind(function.name, arguments)


def add_interval(value: Expression, months: int, days: int, nanoseconds: int) -> Expression:
    """A date or timestamp and an interval of Arrow's three parts; to subtract one, negate them all."""
    microseconds, rest = divmod(nanoseconds, _MICROSECOND_NS)
    if rest and value.type.kind != "date":
        raise TypeMismatch("an interval of nanoseconds: timestamps have microseconds")
    if rest:  # of dates only whole days count
        microseconds = int(nanoseconds / _MICROSECOND_NS)
    if value.type.kind == "date" and not months and not microseconds % _DAY_US:
        return bind("date_add_days", (value, Literal(int32.with_nullable(False), days + microseconds // _DAY_US)))
    parts = (Literal(int64.with_nullable(False), part) for part in (months, days, microseconds))
    return bind("add_interval", (value, *parts))


def _logarithm(arguments: Arguments) -> Expression:
    if any(a.type.kind in ("decimal", "float32") for a in arguments):
        raise TypeMismatch("log of decimals and 32-bit floats is computed otherwise")
    return bind("log", arguments if len(arguments) == 2 else (as_literal(10.0), *arguments))


def _truncate(arguments: Arguments) -> Expression:
    """Without digits, -0 becomes 0."""
    if len(arguments) == 1 and arguments[0].type.kind == "float64":
        arguments = (bind("add", (*arguments, as_literal(0.0))),)
    if arguments[0].type.kind == "float32":
        raise TypeMismatch("trunc of 32-bit floats is computed in 32 bits")
    return bind("truncate", arguments)


def _round(arguments: Arguments) -> Expression:
    """DataFusion multiplies by a power of ten of the value's own width, also for digits before the point."""
    value, *digits = arguments
    if digits and value.type.kind == "float32":
        raise TypeMismatch("round of 32-bit floats to some digits is computed in 32 bits")
    if value.type.is_float and any(isinstance(d, Literal) and isinstance(d.value, int) and d.value < 0 for d in digits):
        raise TypeMismatch("round of floats to digits before the point is computed by multiplication")
    return bind("round", arguments)


def _whole(function: str) -> Adapter:
    """floor and ceil keep the type of a decimal."""

    def adapter(arguments: Arguments) -> Expression:
        found = bind(function, arguments)
        return cast_to(found, arguments[0].type) if found.type.kind == "decimal" else found

    return adapter


def _divide(arguments: Arguments) -> Expression:
    if any(a.type.kind == "decimal" for a in arguments):
        raise TypeMismatch("division of decimals: engines disagree about its digits; cast one side to a float")
    return bind("int_divide" if all(a.type.is_integer for a in arguments) else "divide", arguments)


def _compared_with(value: bool, negated: bool) -> Adapter:
    """IS [NOT] TRUE and IS [NOT] FALSE."""
    literal = Literal(bool_.with_nullable(False), value)
    return lambda arguments: bind("is_distinct" if negated else "is_not_distinct", (*arguments, literal))


def _like(function: str, negated: bool = False) -> Adapter:
    """LIKE with the backslash as escape: it makes any character plain, itself at the pattern's end."""

    def adapter(arguments: Arguments) -> Expression:
        value, pattern = arguments
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            raise TypeMismatch(f"{function}: the pattern must be a literal")
        if function == "ilike" and not pattern.value.isascii():
            return _negated(negated, bind("regexp_like", (value, _text(_as_regexp(pattern.value)))))
        escaped = _escaped(pattern.value)
        escape = () if "\\" not in escaped else (_text("\\"),)
        return _negated(negated, bind(function, (value, _text(escaped), *escape)))

    return adapter


def _negated(negated: bool, found: Expression) -> Expression:
    return bind("not", (found,)) if negated else found


def _as_regexp(pattern: str) -> str:
    """An ILIKE pattern as a regular expression."""
    found, characters = ["(?is)^"], iter(pattern)
    for c in characters:
        if c in "%_":
            found.append(".*" if c == "%" else ".")
        else:
            plain = next(characters, "\\") if c == "\\" else c
            found.append(f"\\x{{{ord(plain):x}}}")
    return "".join((*found, "$"))


def _escaped(pattern: str) -> str:
    """The pattern with a backslash only before %, _ and itself."""
    found, characters = [], iter(pattern)
    for c in characters:
        if c != "\\":
            found.append(c)
            continue
        plain = next(characters, "\\")
        found.append("\\" + plain if plain in "%_\\" else plain)
    return "".join(found)


def _said(argument: Expression, what: str) -> str:
    """The text of a literal."""
    if not isinstance(argument, Literal) or not isinstance(argument.value, str):
        raise TypeMismatch(f"{what} must be a literal")
    return argument.value


def _pattern(arguments: Arguments, flags: int, also: str = "") -> tuple[str, str]:
    """The second argument, a regular expression, with the flags of argument number `flags` written before it, and those
    of `also`."""
    pattern = _said(arguments[1], "a regular expression")
    letters = _said(arguments[flags], "the flags of a regular expression") if len(arguments) > flags else ""
    own = "".join(letter for letter in letters if letter not in also)
    if set(own) - {"i", "s"}:
        raise TypeMismatch(f"the flags {letters!r} of a regular expression are not known")
    return (f"(?{own}){pattern}" if own else pattern), letters


def _matched(fold: bool = False, negated: bool = False) -> Adapter:
    """regexp_like, ~, ~* and their negations."""

    def adapter(arguments: Arguments) -> Expression:
        pattern, _ = _pattern(arguments, 2)
        pattern = f"(?i){pattern}" if fold else pattern
        return _negated(negated, bind("regexp_like", (arguments[0], _text(pattern))))

    return adapter


def _counted(function: str, flags: int) -> Adapter:
    """Accept only the whole text and its first match: other numbers around the flags than the defaults are not
    known."""

    def adapter(arguments: Arguments) -> Expression:
        pattern, _ = _pattern(arguments, flags)
        said = [a.value if isinstance(a, Literal) else None for a in arguments]
        if any(v != 1 for v in said[2:flags]) or any(v != 0 for v in said[flags + 1 :]) or pattern == "":
            raise TypeMismatch(f"{function} from a place on, of another match than the first, or of nothing")
        return bind(function, (arguments[0], _text(pattern)))

    return adapter


def _replaced(arguments: Arguments) -> Expression:
    pattern, letters = _pattern(arguments, 3, also="g")
    by = _said(arguments[2], "what a match is replaced by")
    if "$" in by or "\\" in by:
        raise TypeMismatch("replacing by what groups matched")
    return bind("regexp_replace_all" if "g" in letters else "regexp_replace", (arguments[0], _text(pattern), _text(by)))


def _text(value: str) -> Literal:
    return Literal(string.with_nullable(False), value)


def _concat(arguments: Arguments) -> Expression:
    """NULLs are skipped."""
    return bind("concat", tuple(bind("coalesce", (a, _text(""))) if a.type.nullable else a for a in arguments))


def _trim(function: str, pattern: str) -> Adapter:
    """Spaces by a function of its own, other literal characters by a regular expression in which {0} matches them."""

    def adapter(arguments: Arguments) -> Expression:
        characters = arguments[1].value if len(arguments) == 2 and isinstance(arguments[1], Literal) else None
        if not isinstance(characters, str) or not characters:
            return bind(function, arguments)
        if not characters.strip(" "):
            return bind(function, arguments[:1])
        run = "".join(rf"\x{{{ord(c):x}}}" for c in characters)
        return bind("regexp_replace_all", (arguments[0], _text(pattern.format(f"[{run}]+")), _text("")))

    return adapter


def _date_part(arguments: Arguments) -> Expression:
    unit, value = arguments
    part = unit.value.lower() if isinstance(unit, Literal) and isinstance(unit.value, str) else None
    if value.type.kind == "date" and part in _OF_THE_CLOCK:
        value = cast_to(value, timestamp)
    if part == "epoch":
        return bind("epoch", (value,))
    if part == "nanosecond":
        thousand = Literal(int64.with_nullable(False), _MICROSECOND_NS)
        return bind("multiply", (bind("microsecond", (value,)), thousand))
    if part not in PARTS:
        raise TypeMismatch(f"date_part of {part!r} is not known")
    return cast_to(bind(PARTS[part], (value,)), int32)


def _date_trunc(arguments: Arguments) -> Expression:
    unit, value = arguments
    part = str(unit.value).lower() if isinstance(unit, Literal) else None
    if part not in _TRUNCATED:
        raise TypeMismatch(f"date_trunc to {part!r} is not known")
    if value.type.kind == "timestamp_ns" and isinstance(value, Cast) and value.input.type.kind == "date":
        return cast_to(bind("date_trunc", (_text(part), value.input)), value.type)
    return bind("date_trunc", (_text(part), value))


def _minus(arguments: Arguments) -> Expression:
    if all(a.type.kind == "date" for a in arguments):
        return bind("days_between", arguments)
    return bind("subtract", arguments)


#: DataFusion's names of aggregates. avg is of doubles; last_value is read as the first one of the reverse order
AGGREGATES: Mapping[str, str] = {name: a.name for a in DECLARED.values() for name in a.datafusion} | {
    "last_value": "first_value"
}
#: what is not a function of the same arguments; before `Function.sql`
ADAPTERS: Mapping[str, Adapter] = {
    "IsTrue": _compared_with(True, negated=False),
    "IsNotTrue": _compared_with(True, negated=True),
    "IsFalse": _compared_with(False, negated=False),
    "IsNotFalse": _compared_with(False, negated=True),
    "Minus": _minus,
    "Divide": _divide,
    "LikeMatch": _like("like"),
    "NotLikeMatch": _like("like", negated=True),
    "ILikeMatch": _like("ilike"),
    "NotILikeMatch": _like("ilike", negated=True),
    "RegexMatch": _matched(),
    "RegexIMatch": _matched(fold=True),
    "RegexNotMatch": _matched(negated=True),
    "RegexNotIMatch": _matched(fold=True, negated=True),
    "regexp_like": _matched(),
    "regexp_count": _counted("regexp_count", 3),
    "regexp_instr": _counted("regexp_position", 4),
    "regexp_replace": _replaced,
    "log": _logarithm,
    "round": _round,
    "trunc": _truncate,
    "floor": _whole("floor"),
    "ceil": _whole("ceil"),
    "concat": _concat,
    "btrim": _trim("trim", "^{0}|{0}$"),
    "ltrim": _trim("ltrim", "^{0}"),
    "rtrim": _trim("rtrim", "{0}$"),
    "date_part": _date_part,
    "date_trunc": _date_trunc,
}
assert not ADAPTERS.keys() & built_in("sql").keys(), "a function of SQL has one meaning"
