"""The operator that makes rows of the elements of lists."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from jumpgate.dataflow.expressions import Expression
from jumpgate.dataflow.traits import Unary
from jumpgate.dataflow.types import DataType, Field, Schema, struct

#: kinds of types that have elements
NESTED = ("list", "map")


def element_of(type: DataType) -> DataType:
    """Return the type of a list's elements, or of a map's, which are structs of `key` and `value`."""
    return type.parts[0].type if type.kind == "list" else struct(*type.parts).with_nullable(False)


@dataclass(frozen=True)
class Unnest(Unary):
    """The input's columns and an element of `list`, which may be a map, beside them: a row for each element, in the
    list's order. A list that is NULL or empty has no row; with `outer` it has one, whose element is NULL."""

    uses_all: ClassVar[bool] = False

    list: Expression
    name: str
    outer: bool = False

    @cached_property
    def schema(self) -> Schema:
        element = element_of(self.list.type)
        return Schema((*self.input.schema, Field(self.name, element.with_nullable(element.nullable or self.outer))))

    @property
    def text(self) -> str:
        return f"unnest {self.list} as {self.name}" + (" or null" if self.outer else "")

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        return (self.list,)

    def with_expressions(self, expressions: Sequence[Expression]) -> Unnest:
        return replace(self, list=expressions[0])

    @property
    def together(self) -> None:
        return None

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        return not may_fail and all(i < len(self.input.schema) for i in columns)

    @property
    def defect(self) -> str:
        return "" if self.list.type.kind in NESTED else f"unnest of {self.list.type.name}, which is no list"
