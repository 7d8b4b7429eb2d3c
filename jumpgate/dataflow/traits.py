"""The base of all operators: the traits that each declares, so that passes need not know its class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from typing import ClassVar

from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.types import Schema

#: column of an operator's output → column of its replacement's output
Places = Mapping[int, int]


class State(Enum):
    """The rows that an operator holds: none; one input's, which those of the other look up; or rows of its result."""

    NOTHING = "nothing"
    BUILD_SIDE = "build side"
    ROWS = "rows"


@cache
def _kind(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


@dataclass(frozen=True)
class Operator:
    """A node of a plan: what it computes, over its inputs. Immutable; equal by content.

    A trait that an operator does not declare has the value that is right for every operator, if not the best one: it
    needs all columns of its inputs, nothing moves through it, and one instance computes it from all rows.
    """

    state: ClassVar[State] = State.NOTHING
    #: the result depends on columns of the inputs that no consumer reads
    uses_all: ClassVar[bool] = True
    #: each row of an input is a row of the result
    keeps: ClassVar[bool] = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """The operators below it, left to right."""
        return ()

    @property
    def schema(self) -> Schema:
        """Return the names and types of its output columns."""
        raise TypeError(f"{type(self).__name__} has no schema")

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        """Return the same operator over other inputs, as many as it has."""
        return self

    @property
    def kind(self) -> str:
        """Return the operator's name in the registry, the protobuf and explain."""
        return _kind(type(self).__name__)

    @property
    def text(self) -> str:
        """Describe the operator in one line, without its inputs."""
        return self.kind

    def walk(self) -> Iterator[Operator]:
        """This operator and all below it, parents first."""
        yield self
        for child in self.inputs:
            yield from child.walk()

    # ---- expressions ----

    @property
    def own_expressions(self) -> tuple[Expression, ...]:
        """Return all expressions that the operator itself holds, in the order in which `with_expressions` takes
        them."""
        return ()

    def with_expressions(self, expressions: Sequence[Expression]) -> Operator:
        """Return the same operator with other expressions, one for each of `own_expressions`."""
        assert not expressions
        return self

    @property
    def scopes(self) -> tuple[tuple[int, ...], ...]:
        """Return for each expression the inputs, by number, whose columns it reads, one after the other."""
        return ((0,),) * len(self.own_expressions)

    def with_positions(self, places: Places) -> Operator:
        """Return the same operator with the columns that it names by position moved."""
        return self

    def map_expressions(self, change: Callable[[Expression], Expression]) -> Operator:
        """Apply `change` to each expression over the inputs; return the same object if none changed."""
        before = self.own_expressions
        if not before or not self.inputs:
            return self
        after = tuple(change(e) for e in before)
        same = all(a is b for a, b in zip(after, before, strict=True))
        return self if same else self.with_expressions(after)

    @property
    def held_inputs(self) -> tuple[Operator, ...]:
        """Return the inputs whose rows are held in a table as long as those of others are looked up in it."""
        return ()

    # ---- columns ----

    @property
    def passes(self) -> tuple[int, ...]:
        """Return the inputs, by number, whose columns are the first ones of its output, all of them and in order."""
        return ()

    def lineage(self, index: int) -> tuple[tuple[int, Expression], ...]:
        """Return the expressions over inputs, with the input's number, whose values output column `index` has: those of
        the row, or of the input's rows that a group or a row of a union is made of. None if it has values of its
        own."""
        for number in self.passes:
            schema = self.inputs[number].schema
            if index < len(schema):
                return ((number, column(schema, index)),)
            index -= len(schema)
        return ()

    @property
    def row_counts(self) -> Set[int]:
        """Return output columns that hold numbers of rows, such as a rank."""
        return frozenset()

    def below(self, expression: Expression, input: int = 0) -> Expression | None:
        """Return an expression over the output as one over an input; None if it reads a column that is not made of that
        input's alone."""
        columns = expression.columns()
        if self.passes[:1] == (input,) and all(i < len(self.inputs[input].schema) for i in columns):
            return expression
        found = {i: e for i in columns for number, e in self.lineage(i) if number == input}
        return expression.remap(found.__getitem__) if len(found) == len(columns) else None

    def needs(self, wanted: Set[int]) -> list[set[int]]:
        """Return the columns of each input that the operator needs to output the `wanted` columns."""
        if self.uses_all:
            return [{*range(len(i.schema))} for i in self.inputs]
        found: list[set[int]] = [set() for _ in self.inputs]
        _assign(wanted, self.passes, self.inputs, found)
        for expression, scope in zip(self.own_expressions, self.scopes, strict=True):
            _assign(expression.columns(), scope, self.inputs, found)
        return found

    def over(self, inputs: tuple[Operator, ...], places: Sequence[Places]) -> Operator:
        """Return the same operator over inputs in which column i of the former input n is column places[n][i]."""
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        moved: list[Expression] = []
        for expression, scope in zip(self.own_expressions, self.scopes, strict=True):
            schema = scope_schema(inputs, scope)
            where = joined([self.inputs[n] for n in scope], [inputs[n] for n in scope], [places[n] for n in scope])
            moved.append(expression.remap(lambda i, schema=schema, where=where: column(schema, where[i])))  # type: ignore[misc]
        node = self.with_expressions(moved) if moved else self
        return node.with_positions(places[0]).with_inputs(inputs)

    def output_places(self, inputs: Sequence[Operator], places: Sequence[Places]) -> dict[int, int]:
        """Return where the output columns of `over(inputs, places)` are."""
        old, new = [self.inputs[n] for n in self.passes], [inputs[n] for n in self.passes]
        found = joined(old, new, [places[n] for n in self.passes])
        before, after = (sum(len(i.schema) for i in side) for side in (old, new))
        return found | {before + i: after + i for i in range(len(self.schema) - before)}

    # ---- rows ----

    @property
    def limits(self) -> tuple[int, int | None]:
        """Return how many rows it skips, and the most rows that it outputs; None: all."""
        return 0, None

    def bounded(self, most: int) -> Operator:
        """Return the same operator for a consumer of at most `most` rows: one that holds rows holds no more."""
        return self

    def enough(self, most: int | None) -> tuple[int | None, ...]:
        """Return for each input how many rows of it are enough for `most` rows of the result; None: all."""
        return (most if self.keeps else None,) * len(self.inputs)

    @property
    def together(self) -> tuple[Expression, ...] | None:
        """Return the expressions whose equal values must be on one instance; none: all rows must. None: each row is
        computed by itself, so that it may be on any instance."""
        return ()

    @property
    def compared(self) -> tuple[str, tuple[Expression, ...]]:
        """Return the expressions whose values it compares or computes with, and the beginning of a sentence about
        one."""
        return ("an expression is", self.own_expressions) if self.together is not None else ("", ())

    def commutes(self, columns: Set[int], may_fail: bool = False) -> bool:
        """Return whether a filter by these output columns, which `may_fail` for a row, has the same result if the
        inputs are filtered instead."""
        return False

    @property
    def partial_phase(self) -> Operator | None:
        """Return what each instance may compute of its share of the rows, for one to complete; None: nothing."""
        return None

    def final_phase(self, partial: Operator) -> Operator:
        """Return the operator that combines the output of partial phases."""
        return self.with_inputs((partial,))

    @property
    def defect(self) -> str:
        """Return what of its own parts does not fit together, whatever their expressions refer to; empty: nothing."""
        return ""


@dataclass(frozen=True)
class Unary(Operator):
    """An operator of one input, whose columns it passes on by default."""

    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Operator:
        return replace(self, input=inputs[0])

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def passes(self) -> tuple[int, ...]:
        return (0,)


def _assign(columns: Set[int], numbers: Sequence[int], inputs: Sequence[Operator], found: list[set[int]]) -> None:
    """Add to `found` the columns of each input, given their positions in the columns of the inputs `numbers` together.
    Further positions are of no input."""
    start = 0
    for number in numbers:
        end = start + len(inputs[number].schema)
        found[number] |= {i - start for i in columns if start <= i < end}
        start = end


def joined(old: Sequence[Operator], new: Sequence[Operator], places: Sequence[Places]) -> dict[int, int]:
    """Return where the columns of several inputs, one after the other, are in those of their replacements."""
    found: dict[int, int] = {}
    before = after = 0
    for former, input, where in zip(old, new, places, strict=True):
        found |= {before + i: after + j for i, j in where.items()}
        before, after = before + len(former.schema), after + len(input.schema)
    return found


def scope_schema(inputs: Sequence[Operator], scope: tuple[int, ...]) -> Schema:
    """Return the columns that an expression reads, of the inputs with these numbers."""
    if len(scope) == 1:
        return inputs[scope[0]].schema
    return Schema(tuple(f for n in scope for f in inputs[n].schema))


def scoped(node: Operator) -> Iterator[tuple[Expression, Schema]]:
    """Yield the operator's expressions over inputs, each with the columns that it reads."""
    for expression, scope in zip(node.own_expressions, node.scopes, strict=True):
        yield expression, scope_schema(node.inputs, scope)


def column(schema: Schema, index: int) -> ColumnRef:
    """A reference to column `index` of `schema`."""
    return ColumnRef(schema[index].type, index, schema[index].name)


def columns_of(expressions: Iterable[Expression]) -> set[int]:
    """Return the columns that the expressions read."""
    return {i for e in expressions for i in e.columns()}


def rewrite(root: Operator, change) -> Operator:  # type: ignore[no-untyped-def]
    """Rebuilds the tree bottom-up; `change(node)` returns the node or its replacement. Shared nodes stay shared."""
    memo: dict[int, Operator] = {}

    def visit(node: Operator) -> Operator:
        if id(node) not in memo:
            inputs = tuple(visit(i) for i in node.inputs)
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            memo[id(node)] = change(node if same else node.with_inputs(inputs))
        return memo[id(node)]

    return visit(root)


def numbered(root: Operator) -> list[Operator]:
    """Return every node of the graph once, in the order in which it is printed: parents first, then their inputs. A
    node's position is its number in estimates and counters."""
    found: dict[int, Operator] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in found:
            found[id(node)] = node
            stack.extend(reversed(node.inputs))
    return [*found.values()]
