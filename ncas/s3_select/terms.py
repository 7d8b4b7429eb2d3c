"""Columns and conditions as SQL that a store computes exactly, for its aggregates.

Of Parquet these are the columns themselves. Fields of CSV and JSON Lines are cast: an integer in its plain notation is
the same here and in every store. Others (`+5`, `5.0`, ` 5`) are values here, and errors or other values there, so
`odd` tells whether an object has any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, InList, Literal
from jumpgate.dataflow.operators import Aggregate
from jumpgate.nca.interface import Unsupported
from jumpgate.ncas.s3_select import forms
from jumpgate.ncas.s3_select.dialects import EXACT, SelectDialect
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.ncas.s3_select.shapes import Part
from jumpgate.ncas.s3_select.sql import COMPARED, column, value
from jumpgate.ncas.s3_select.supersets import FLIPPED, NEGATED, unwidened


class Terms(Protocol):
    """Columns of an object in statements."""

    def field(self, name: str) -> str:
        """Return a column as rows have it."""

    def value(self, name: str, condition: str = "") -> str:
        """Return a column's value, NULL unless a condition is met."""

    def absent(self, name: str) -> str:
        """Return the condition that a column is NULL."""


class Columns:
    """Columns of Parquet."""

    def field(self, name: str) -> str:
        return column(name)

    def value(self, name: str, condition: str = "") -> str:
        return f"CASE WHEN {condition} THEN {column(name)} END" if condition else column(name)

    def absent(self, name: str) -> str:
        return f"{column(name)} IS NULL"


@dataclass(frozen=True)
class Fields:
    """Fields of text. integers: names of columns of integers; the others are text."""

    form: Form
    integers: frozenset[str]

    def field(self, name: str) -> str:
        return self.form.column(name)

    def value(self, name: str, condition: str = "") -> str:
        conditions = " AND ".join(filter(None, [condition, self.present(name)]))
        return f"CASE WHEN {conditions} THEN {self._typed(name)} END"

    def absent(self, name: str) -> str:
        text = self.form.column(name)
        if self.form.format == "json":
            return f"{text} IS NULL"
        return f"({' OR '.join(f'{text} = {value(null)}' for null in self._nulls(name))})"

    def present(self, name: str) -> str:
        """Return the condition that a column is not NULL."""
        text = self.form.column(name)
        if self.form.format == "json":
            return f"{text} IS NOT NULL"
        return " AND ".join(f"{text} != {value(null)}" for null in self._nulls(name))

    def odd(self, names: Iterable[str]) -> str:
        """Return the condition that one of some integers is not in plain notation."""
        return " OR ".join(f"({self.present(name)} AND {self._letters(name)})" for name in names)

    def met(self, e: Expression, names: tuple[str, ...], is_positive: bool = True) -> str | None:
        """Return the condition for rows of which `e` is TRUE, or FALSE if not is_positive; None: there is none that is
        exact."""
        match e:
            case Call(function="not", args=(a,)):
                return self.met(a, names, not is_positive)
            case Call(function="and" | "or" as word, args=args):
                terms = [self.met(a, names, is_positive) for a in args]
                joint = " AND " if (word == "and") == is_positive else " OR "
                return None if None in terms else f"({joint.join(term for term in terms if term)})"
            case Call(function="is_null" | "is_not_null" as name, args=(ColumnRef(index=index),)):
                is_null = (name == "is_null") == is_positive
                return f"({self.absent(names[index]) if is_null else self.present(names[index])})"
            case Call(function=name, args=(a, b)) if name in COMPARED:
                a, b = unwidened(a), unwidened(b)
                if isinstance(a, Literal):
                    name, a, b = FLIPPED[name], b, a
                sign = COMPARED[name if is_positive else NEGATED[name]]
                return self._compared(a, sign, [b], names) if isinstance(b, Literal) else None
            case InList(input=a, options=options):
                return self._compared(unwidened(a), "IN" if is_positive else "NOT IN", list(options), names)
        return None

    def _compared(self, a: Expression, sign: str, to: list[Expression], names: tuple[str, ...]) -> str | None:
        """Return the comparison of a column with values; it is not TRUE for NULL."""
        if not isinstance(a, ColumnRef):
            return None
        name, values = names[a.index], [of.value for of in to if isinstance(of, Literal)]
        if len(values) < len(to) or not all(self._is_comparable(name, v) for v in values):
            return None
        if name not in self.integers and sign not in ("=", "!=", "IN", "NOT IN"):
            return None
        texts = ", ".join(map(value, values))
        return f"({self.value(name)} {sign} {f'({texts})' if 'IN' in sign else texts})"

    def _is_comparable(self, name: str, value: object) -> bool:
        if name in self.integers:
            return isinstance(value, int) and not isinstance(value, bool) and abs(value) < EXACT
        return isinstance(value, str)

    def _typed(self, name: str) -> str:
        text = self.form.column(name)
        return f"CAST({text} AS INT)" if name in self.integers else text

    def _letters(self, name: str) -> str:
        text = self.form.column(name)
        own = f"CAST({text} AS STRING)" if self.form.format == "json" else text
        return f"CAST(CAST({text} AS INT) AS STRING) != {own}"

    def _nulls(self, name: str) -> list[str]:
        """Return the texts of CSV that mean NULL."""
        return list(dict.fromkeys((*([""] if name in self.integers else []), self.form.null)))


def fields_of(part: Part) -> Fields:
    """Return the fields of a part over text."""
    schema = part.read.schema
    return Fields(forms.form_of(part.read, True), frozenset(f.name for f in schema if f.type.is_integer))


def met(part: Part) -> str | None:
    """Return the condition of a part over text; None: no store computes it exactly."""
    return "" if part.where is None else fields_of(part).met(part.where, tuple(part.read.schema.names))


def inexact(part: Part, dialect: SelectDialect) -> Unsupported | None:
    """Return why a store does not compute an aggregate over text exactly."""
    if not isinstance(part.root, Aggregate) or part.read.format == "parquet":
        return None
    if not dialect.cases:
        return Unsupported("this store's S3 Select has no CASE, which tells NULL from other text", "dialect")
    if odd := next((f for f in part.read.schema if not (f.type.is_integer or f.type.kind == "string")), None):
        return Unsupported(f"S3 Select may take the text of '{odd.name}' for another {odd.type.name}", "type")
    if met(part) is None:
        return Unsupported(f"S3 Select may compute '{part.where}' over text in another way", "expression")
    return None
