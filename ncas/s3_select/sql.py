"""Writes the condition of a part of a plan as the SQL of S3 Select, or refuses what that computes otherwise.

Integers and text are compared as SQL does everywhere, NULL included. Decimals, dates and times are taken where the
dialect compares and returns them exactly, and only beside values of their own type. Floats are not taken, as NaN comes
back as NULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import Aggregate, Sort
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.s3_select import forms
from jumpgate.ncas.s3_select.dialects import SelectDialect
from jumpgate.ncas.s3_select.shapes import Part
from jumpgate.ncas.s3_select.supersets import Superset

#: bytes of an expression, and of the condition that is a part of several
EXPRESSION_MAX = 256 << 10
CONDITION_MAX = EXPRESSION_MAX // 2
COMPARED = {"eq": "=", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: comparisons of text, whose order is the store's own
_EQUAL = ("eq", "ne")
_PLAIN = ("int8", "int16", "int32", "int64", "string")
_TYPED = ("bool", "decimal", "date", "timestamp")
#: columns of text objects; of those that stores give as numbers of their own, those that come back as they were
_TEXT = (*_PLAIN, *_TYPED, "float64")
_SURE_TEXT = (*_PLAIN, "bool", "date", "timestamp")
#: what is computed here over what stores return of text
HERE = SelectDialect(typed=True, floats=True)
#: characters of a column's name that no store takes for anything else
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refusal(part: Part, dialect: SelectDialect) -> Unsupported | None:
    """Return why the store cannot compute the part, or would do so in another way."""
    read, store = part.read, dialect
    if no := forms.refused(read):
        return no
    if read.format == "parquet":
        asked, kinds = None, (*_PLAIN, *(_TYPED if dialect.typed else ()))
    else:
        if isinstance(part.root, Sort) and not (dialect.casts or dialect.infers):
            return Unsupported("this store's S3 Select knows no numbers in text", "dialect")
        if dialect.infers and dict(read.options).get("null"):
            return Unsupported("this store's S3 Select has nothing for NULL in CSV, and no other text", "option")
        asked, dialect = superset(part, dialect), HERE
        kinds = _TEXT if asked.form.is_raw and read.format == "csv" else _SURE_TEXT
    if no := _odd_part(part, dialect, kinds):
        return no
    if len((condition(part, asked) if asked else where(part)).encode()) > CONDITION_MAX:
        return Unsupported(f"the condition has more than {CONDITION_MAX >> 10} KiB as SQL", "expression")
    match part.root:
        case Aggregate() as root:
            return _odd_aggregate(part, root, store)
        case Sort() as root:
            return _odd_top(part, root)
    return None


def unread(part: Part) -> Unsupported | None:
    """Return why rows of text that are read by ranges are not what the part has, computed here."""
    return forms.odd_text(part.read) or _odd_part(part, HERE, _TEXT)


def _odd_part(part: Part, dialect: SelectDialect, kinds: Sequence[str]) -> Unsupported | None:
    schema = part.read.schema
    if odd := next((f for f in schema if f.type.kind not in kinds), None):
        return Unsupported(f"S3 Select gives {odd.type} of '{odd.name}' in another way", "type")
    if odd := next((f for f in schema if not _NAME.fullmatch(f.name)), None):
        return Unsupported(f"'{odd.name}' is no plain name for S3 Select", "column", "Rename the column.")
    if part.where is not None and (odd_term := _odd(part.where, dialect)) is not None:
        return Unsupported(f"S3 Select may compute '{odd_term}' in another way", "expression")
    return None


def _odd_aggregate(part: Part, root: Aggregate, dialect: SelectDialect) -> Unsupported | None:
    if root.phase == "final":
        return Unsupported("the rows are not in a store", "phase")
    if not dialect.aggregates:
        return Unsupported("this store's S3 Select has no aggregates", "dialect", "Set select_dialect if it has.")
    for measure in root.measures:
        of = None if measure.argument is None else part.column(measure.argument)
        kind = "" if of is None else part.read.schema[part.read.schema.names.index(of)].type.kind
        counts = measure.function == "count_star" or (measure.function == "count" and of)
        if not counts and not (measure.function in ("sum", "avg", "min", "max") and kind.startswith("int")):
            return Unsupported(f"S3 Select may compute {measure} in another way", "aggregate")
    if odd := next((key for key in root.keys if part.column(key) is None), None):
        return Unsupported(f"S3 Select groups by columns; '{odd}' is computed", "key")
    return None


def _odd_top(part: Part, root: Sort) -> Unsupported | None:
    first = root.keys[0].expression
    if (name := part.column(first)) is None or not first.type.is_integer:
        return Unsupported(f"S3 Select orders by integers; '{first}' is none", "key")
    return None if name in part.read.schema.names else Unsupported("its key is no column", "key")


def where(part: Part) -> str:
    """Return the part's condition; TRUE is none in every dialect, so it is empty without a filter."""
    return "" if part.where is None else _condition(part.where, part.read.schema.names)


def superset(part: Part, dialect: SelectDialect) -> Superset:
    """Return what writes the conditions of a part over objects of text."""
    form = forms.form_of(part.read, not dialect.infers)
    return Superset(form, dialect, tuple(part.read.schema.names))


def condition(part: Part, asked: Superset) -> str:
    """Return a condition that each row of text meets that meets the part's."""
    return "" if part.where is None else asked.of(part.where)


def select(items: Iterable[str], conditions: Iterable[str], limit: int = 0) -> str:
    """Return a statement whose columns are c0, c1, …"""
    shown = ", ".join(f"{item} AS c{n:d}" for n, item in enumerate(items))
    terms = " AND ".join(filter(None, conditions))
    filtered = f" WHERE {terms}" if terms else ""
    return f"SELECT {shown} FROM S3Object s{filtered}" + (f" LIMIT {limit:d}" if limit else "")


def value(literal: object) -> str:
    """Return a value as SQL."""
    match literal:
        case bool():
            return str(literal).upper()
        case float():  # computed here alone
            return f"CAST('{literal!r}' AS DOUBLE)"
        case int():
            return f"{literal:d}"
        case Decimal():
            return f"'{literal:f}'"  # a number with a point is a double
        case date():
            return f"'{literal.isoformat()}'"
        case str():
            return "'" + literal.replace("'", "''") + "'"
    raise AssertionError(f"refusal accepts no {literal!r}")


def column(name: str) -> str:
    """Return a column of the object as SQL."""
    return f's."{name}"'


def _odd(e: Expression, dialect: SelectDialect) -> Expression | None:
    """Return a part of a condition that the store may compute in another way."""
    match e:
        case Call(function="and" | "or" | "not", args=args):
            return next((odd for a in args if (odd := _odd(a, dialect)) is not None), None)
        case Call(function="is_null" | "is_not_null", args=(ColumnRef(),)):
            return None
        case ColumnRef() if e.type.kind == "bool" and dialect.typed:
            return None
        case Call(function=name, args=(a, b)) if name in (COMPARED if dialect.typed or not a.type.is_text else _EQUAL):
            return None if _is_pair(a, b, dialect) else e
        case InList(input=ColumnRef() as column, options=options) if options:
            return None if all(_is_pair(column, option, dialect) for option in options) else e
    return e


def _is_pair(a: Expression, b: Expression, dialect: SelectDialect) -> bool:
    """Return whether the store compares the two: of _TYPED a column with a value of its type."""
    typed = (*_TYPED, "float64") if dialect.floats else _TYPED
    if a.type.kind in typed or b.type.kind in typed:
        kinds = {type(a), type(b)}
        return dialect.typed and kinds == {ColumnRef, Literal} and a.type.same(b.type) and not _is_null(a, b)
    return _is_operand(a) and _is_operand(b)


def _is_null(*operands: Expression) -> bool:
    return any(isinstance(e, Literal) and e.value is None for e in operands)


def _is_operand(e: Expression) -> bool:
    if _is_null(e):
        return False
    if isinstance(e, Cast):  # to a wider integer
        return (
            _is_operand(e.input)
            and e.input.type.is_integer
            and e.type.is_integer
            and e.type.width >= e.input.type.width
        )
    return isinstance(e, ColumnRef | Literal) and e.type.kind in _PLAIN


def _condition(e: Expression, names: Sequence[str]) -> str:
    """Return a condition as SQL: a column of BOOL alone is none in every store."""
    text = _text(e, names)
    return f"({text} = TRUE)" if isinstance(e, ColumnRef) else text


def _text(e: Expression, names: Sequence[str]) -> str:
    match e:
        case ColumnRef(index=index):
            return column(names[index])
        case Cast(input=input):
            return _text(input, names)
        case Literal(value=found) if found is not None:
            return value(found)
        case Call(function="and" | "or" as word, args=args):
            return "(" + f" {word.upper()} ".join(_condition(a, names) for a in args) + ")"
        case Call(function="not", args=(a,)):
            return f"(NOT {_condition(a, names)})"
        case Call(function="is_null", args=(a,)):
            return f"({_text(a, names)} IS NULL)"
        case Call(function="is_not_null", args=(a,)):
            return f"({_text(a, names)} IS NOT NULL)"
        case Call(function=name, args=(a, b)):
            return f"({_text(a, names)} {COMPARED[name]} {_text(b, names)})"
        case InList(input=a, options=options):
            return f"({_text(a, names)} IN ({', '.join(_text(o, names) for o in options)}))"
    raise AssertionError(f"refusal accepts no {e}")
