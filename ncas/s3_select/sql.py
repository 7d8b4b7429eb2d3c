"""Writes a filter and a projection over an object as the SQL of S3 Select, or refuses what that computes otherwise.

Integers and text are compared as SQL does everywhere, NULL included. Floats are not taken, as NaN comes back as NULL;
decimals, dates and times come back as text of the store's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jumpgate.dataflow.expressions import Call, Cast, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import Filter, Operator, Project, Read
from jumpgate.nca.interface import Unsupported

#: bytes of an expression
EXPRESSION_MAX = 256 << 10
_COMPARED = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
#: comparisons of text, whose order is the store's own
_EQUAL = ("eq", "ne")
#: characters of a column's name that no store takes for anything else
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def refusal(operators: Sequence[Operator], read: Read) -> Unsupported | None:
    """Return why the store cannot compute the operators above the read, or would do so in another way."""
    if read.format != "parquet" or read.options:
        return Unsupported("S3 Select is asked about Parquet that is read without options", "format")
    if odd := next((f for f in read.schema if not _is_plain(f.type.kind)), None):
        return Unsupported(f"S3 Select gives {odd.type} of '{odd.name}' in another way", "type")
    if odd := next((f for f in read.schema if not _NAME.fullmatch(f.name)), None):
        return Unsupported(f"'{odd.name}' is no plain name for S3 Select", "column", "Rename the column.")
    for operator in operators:
        if isinstance(operator, Project) and not all(isinstance(e, ColumnRef) for e in operator.expressions):
            return Unsupported("S3 Select gives columns, and computes none", "expression")
        if isinstance(operator, Filter) and (odd_term := _odd(operator.predicate)) is not None:
            return Unsupported(f"S3 Select may compute '{odd_term}' in another way", "expression")
    if len(statement(operators, read).encode()) > EXPRESSION_MAX:
        return Unsupported(f"the condition has more than {EXPRESSION_MAX >> 10} KiB as SQL", "expression")
    return None


def statement(operators: Sequence[Operator], read: Read) -> str:
    """Return the SELECT for operators that `refusal` accepts; its columns are c0, c1, …, those of the first one."""
    names = read.schema.names
    first, last = operators[0], operators[-1]
    assert isinstance(last, Filter)
    columns = [e.index for e in first.expressions if isinstance(e, ColumnRef)] if isinstance(first, Project) else [
        *range(len(names))
    ]  # fmt: skip
    shown = ", ".join(f"{_column(names[i])} AS c{n:d}" for n, i in enumerate(columns))
    return f"SELECT {shown} FROM S3Object s WHERE {_text(last.predicate, names)}"


def _is_plain(kind: str) -> bool:
    return kind in ("int8", "int16", "int32", "int64", "string")


def _odd(e: Expression) -> Expression | None:
    """Return a part of a condition that the store may compute in another way."""
    match e:
        case Call(function="and" | "or" | "not", args=args):
            return next((odd for a in args if (odd := _odd(a)) is not None), None)
        case Call(function="is_null" | "is_not_null", args=(ColumnRef(),)):
            return None
        case Call(function=name, args=(a, b)) if name in (_EQUAL if a.type.is_text else _COMPARED):
            return None if _is_operand(a) and _is_operand(b) else e
        case InList(input=ColumnRef() as column, options=options) if options:
            return None if all(map(_is_operand, (column, *options))) else e
    return e


def _is_operand(e: Expression) -> bool:
    if isinstance(e, Literal) and e.value is None:
        return False
    if isinstance(e, Cast):  # to a wider integer
        return (
            _is_operand(e.input)
            and e.input.type.is_integer
            and e.type.is_integer
            and e.type.width >= e.input.type.width
        )
    return isinstance(e, ColumnRef | Literal) and _is_plain(e.type.kind)


def _text(e: Expression, names: Sequence[str]) -> str:
    match e:
        case ColumnRef(index=index):
            return _column(names[index])
        case Cast(input=input):
            return _text(input, names)
        case Literal(value=str() as value):
            return "'" + value.replace("'", "''") + "'"
        case Literal(value=int() as value):
            return f"{value:d}"
        case Call(function="and" | "or" as word, args=args):
            return "(" + f" {word.upper()} ".join(_text(a, names) for a in args) + ")"
        case Call(function="not", args=(a,)):
            return f"(NOT {_text(a, names)})"
        case Call(function="is_null", args=(a,)):
            return f"({_text(a, names)} IS NULL)"
        case Call(function="is_not_null", args=(a,)):
            return f"({_text(a, names)} IS NOT NULL)"
        case Call(function=name, args=(a, b)):
            return f"({_text(a, names)} {_COMPARED[name]} {_text(b, names)})"
        case InList(input=a, options=options):
            return f"({_text(a, names)} IN ({', '.join(_text(o, names) for o in options)}))"
    raise AssertionError(f"refusal accepts no {e}")


def _column(name: str) -> str:
    return f's."{name}"'
