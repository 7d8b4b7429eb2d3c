"""An aggregate function, declared completely in one value; docs/add-an-aggregate.md shows how to add one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.types import DataType

Types = tuple[DataType, ...]
Row = tuple[Any, ...]
Rows = list[Row]


@dataclass(frozen=True)
class States:
    """The partial states of an aggregate. types: (arguments, order) → the columns that a partial aggregate emits. of:
    rows → a state. merged: states, ordered as rows are, → a state. value: a state → the result."""

    types: Callable[[Types, Types], Types]
    of: Callable[[Rows], Row]
    merged: Callable[[Rows], Row]
    value: Callable[[Row], Any]


@dataclass(frozen=True)
class StateCode:
    """Generated code of partial states, as C++ statements and expressions.

    s0, s1 … are the columns of a group's state, which begin as zeros; none is ever NULL, and each is a number or a
    boolean. `update` adds a row's values v0, v1 …, which are doubles if the aggregate is numeric; a row with a NULL is
    left out. `merge` adds another state, o0, o1 …, which may be that of no rows. `value` is an expression over the
    state, and not computed where the condition `null` holds. `source` is what the code needs beside
    ncas/runtime/include/jg/kernel.h.
    """

    update: str
    merge: str
    value: str
    null: str = ""
    source: str = ""


@dataclass(frozen=True)
class AggregateFunction:
    """A declaration.

    `result`: argument types → result type; raises TypeMismatch. `arity`: arguments that are computed for each row;
    literals of the types `options` follow, which `option_rule` checks, raising TypeMismatch.

    A row with a NULL argument does not count, unless the aggregate `keeps_nulls`. `ordered`: an order determines the
    first rows; rows that tie come in the order of the argument, NULL last. Without `states` it needs all rows of a
    group in one place, and is computed by `body(rows, *options)`. `distinct_of`: it is this aggregate over distinct
    values. `expanded`: compilers rewrite it in terms of others (sketches.py), and nothing else computes it. `code`: its
    C++; without it codegen/measures writes it. substrait: names there.
    """

    name: str
    doc: str
    result: Callable[[Types], DataType]
    arity: int = 1
    options: Types = ()
    option_rule: Callable[..., None] | None = None
    states: States | None = None
    code: StateCode | None = None
    body: Callable[..., Any] | None = None
    keeps_nulls: bool = False
    ordered: bool = False
    numeric: bool = False
    distinct_of: str = ""
    expanded: bool = False
    substrait: tuple[str, ...] = ()

    @property
    def has_parts(self) -> bool:
        """Return whether partial aggregates can be combined; otherwise all rows of a group must come to one place."""
        return self.states is not None and not self.distinct_of

    @property
    def plain(self) -> str:
        """Return the aggregate that is computed after equal values are dropped."""
        return self.distinct_of or self.name

    def type_of(self, types: Types, options: Sequence[Any] = ()) -> DataType:
        """Return the result's type for the values of a row. Raises TypeMismatch."""
        if len(types) != self.arity or len(options) != len(self.options):
            takes = f"{self.arity + len(self.options)} arguments" if self.arity else "no argument"
            raise TypeMismatch(f"{self.name} takes {takes}")
        if self.numeric and not all(t.is_numeric for t in types):
            raise TypeMismatch(f"{self.name} of {', '.join(t.name for t in types)}")
        if self.option_rule is not None:
            self.option_rule(*options)
        return self.result(types)

    def value(self, rows: Rows, *options: Any) -> Any:
        """Return the result for rows that count, by the reference body."""
        if self.states is not None:
            return self.states.value(self.states.of(rows))
        assert self.body is not None
        return self.body(rows, *options)
