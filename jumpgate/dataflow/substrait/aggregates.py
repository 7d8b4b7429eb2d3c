"""Aggregations of Substrait. Grouping sets become a union: the finest set is aggregated once, each other one from the
rows of the coarsest that has its keys, so that a rollup reads fewer and fewer rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from substrait.algebra_pb2 import (
    AGGREGATION_PHASE_INITIAL_TO_RESULT,
    AGGREGATION_PHASE_UNSPECIFIED,
    AggregateFunction,
    AggregateRel,
)

from jumpgate.dataflow.aggregate import AggregateFunction as AggregateDeclaration
from jumpgate.dataflow.aggregates import find_aggregate, known_aggregate, of_substrait
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Case, Expression, Literal
from jumpgate.dataflow.functions import bind, cast_to
from jumpgate.dataflow.operators import (
    Aggregate,
    Measure,
    Operator,
    Project,
    SortKey,
    UnionAll,
    column,
)
from jumpgate.dataflow.substrait.expressions import GROUPING_ID, ExpressionReader
from jumpgate.dataflow.substrait.options import read_options
from jumpgate.dataflow.substrait.sorts import read_sorts
from jumpgate.dataflow.substrait.types import Unmapped, read_type
from jumpgate.dataflow.types import DataType, bool_, decimal, int64

#: Substrait's own names of moments, which leave the distribution open
_DISTRIBUTED = ("std_dev", "variance")
#: extra digits of a sum over its values, enough for 10^10 of them
SUM_DIGITS = 10
#: phases that turn rows into results
_WHOLE = (AGGREGATION_PHASE_UNSPECIFIED, AGGREGATION_PHASE_INITIAL_TO_RESULT)
_DISTINCT = AggregateFunction.AGGREGATION_INVOCATION_DISTINCT
#: measures over groups that combine from those over finer groups
COMBINE = {"sum": "sum", "count": "sum", "count_star": "sum", "min": "min", "max": "max"}


def read_aggregate(
    rel: AggregateRel, node: Operator, reader: ExpressionReader, functions: Mapping[int, str], datafusion: bool
) -> Operator:
    """Read keys, measures and, for several grouping sets, the set's number (datafusion: before the measures, the bit
    mask of absent keys)."""
    read_keys = [reader.read(e) for e in rel.grouping_expressions]
    keys = list(dict.fromkeys(read_keys))  # each set may list its keys anew
    references = [list(g.expression_references) for g in rel.groupings]
    if not all(0 <= r < len(read_keys) for refs in references for r in refs):
        raise Unmapped("a grouping set refers to a key that does not exist")
    sets = [[keys.index(read_keys[r]) for r in refs] for refs in references] or [[]]
    names = tuple(getattr(k, "name", "") or f"k{i}" for i, k in enumerate(keys))
    read = [_measure(m, reader, functions, f"m{i}") for i, m in enumerate(rel.measures)]
    measures = tuple(m for m, _ in read)
    types = [t for _, t in read]
    if len(sets) == 1:
        used = [i for i in range(len(keys)) if i in sets[0]]
        whole = Aggregate(node, tuple(keys[i] for i in used), tuple(names[i] for i in used), measures)
        return narrowed(whole, len(used), types)
    return GroupingSets(node, tuple(keys), names, measures, sets, types, datafusion).union()


def _measure(
    item: AggregateRel.Measure, reader: ExpressionReader, functions: Mapping[int, str], name: str
) -> tuple[Measure, DataType]:
    """Return the measure, and the type that its producer declared."""
    call = item.measure
    known = functions.get(call.function_reference, "")
    function = of_substrait(known)
    if function is None:
        raise Unmapped(f"aggregate function {known or call.function_reference} is not known")
    if call.phase not in _WHOLE:
        raise Unmapped(f"a part of an aggregation ({known}) is not known")
    values = [a.value for a in call.arguments if a.WhichOneof("arg_type") == "value"]
    words = [a.enum for a in call.arguments if a.WhichOneof("arg_type") == "enum"]
    if len(values) + len(words) != len(call.arguments):
        raise Unmapped(f"{known} of types is not known")
    options = read_options(known, call.options)
    if known in _DISTRIBUTED:
        distribution = words or [options.get("distribution", "unsaid")]
        if distribution not in (["SAMPLE"], ["POPULATION"]):
            raise Unmapped(f"{known} of {', '.join(distribution)} is not known")
        function += "_pop" if distribution == ["POPULATION"] else ""
    elif words:
        raise Unmapped(f"{known} of {', '.join(words)} is not known")
    arguments = tuple(map(reader.read, values))
    if known in ("bool_and", "bool_or") and arguments and arguments[0].type.kind != "bool":
        raise Unmapped(f"{known} of {arguments[0].type.name} is not known")
    condition = reader.predicate(item.filter) if item.HasField("filter") else None
    order = read_sorts(call.sorts, reader)
    found = built(known, function, arguments, name, order, call.invocation == _DISTINCT, condition)
    type, argument = found.type, found.argument
    declared = read_type(call.output_type) if call.HasField("output_type") else undeclared(type, argument)
    same_digits = declared.scale == type.scale if type.kind == "decimal" else True
    if not (declared.kind == type.kind or (declared.is_integer and type.is_integer)) or not same_digits:
        raise Unmapped(f"{known} gives {declared.name} there and {type.name} here")
    return found, declared


def built(
    known: str,
    function: str,
    arguments: tuple[Expression, ...],
    name: str,
    order: tuple[SortKey, ...] = (),
    distinct: bool = False,
    condition: Expression | None = None,
) -> Measure:
    """Build the measure `function` over the rows for which `condition` holds; errors call it `known`. Raises
    Unmapped."""
    if function == "count" and not distinct and (not arguments or len(arguments) == 1 and _always(arguments[0])):
        function, arguments = "count_star", ()
        if condition is not None:
            function, arguments = "count", (Literal(int64.with_nullable(False), 1),)
    declaration = find_aggregate(function)
    if not arguments and function != "count_star":
        raise Unmapped(f"{known} without an argument is not known")
    if distinct and function not in ("min", "max"):
        function = f"{function}_distinct"
        if known_aggregate(function) is None:
            raise Unmapped(f"{known} of distinct values is not known")
    if order and not declaration.ordered:
        raise Unmapped(f"{known} with an order is not known")
    if declaration.ordered and not order:
        raise Unmapped(f"{known} without an order depends on how rows are read")
    if order and distinct and any(k.expression != arguments[0] for k in order):
        raise Unmapped(f"{known} of distinct values in another order than their own is not known")
    if condition is not None:
        if declaration.keeps_nulls:
            order = (SortKey(_holds(condition), descending=True), *order)
        arguments = (_where(condition, arguments[0]), *arguments[1:])
    arguments = (*arguments[: declaration.arity], *_options(known, declaration, arguments[declaration.arity :]))
    try:
        return Measure.of(function, *arguments, name=name, order=order)
    except TypeMismatch as mismatch:
        raise Unmapped(f"{known}: {mismatch}") from None


def _options(known: str, declaration: AggregateDeclaration, found: tuple[Expression, ...]) -> Iterator[Literal]:
    for option, type in zip(found, declaration.options, strict=False):
        if not isinstance(option, Literal) or option.value is None:
            raise Unmapped(f"{known} with an option that is not a literal is not known")
        value = option.value
        if type.is_float and isinstance(value, Decimal | int):
            value = float(value)
        yield Literal(type.with_nullable(False), value)


def undeclared(type: DataType, argument: Expression | None) -> DataType:
    """Return the type of an aggregate that declares none: a decimal sum gets SUM_DIGITS more, so that expressions over
    it need only 64 bits where possible."""
    if type.kind != "decimal" or argument is None or argument.type.precision + SUM_DIGITS >= type.precision:
        return type
    return decimal(argument.type.precision + SUM_DIGITS, type.scale)


def _always(argument: Expression) -> bool:
    return isinstance(argument, Literal) and argument.value is not None


def _where(condition: Expression, argument: Expression) -> Expression:
    """Return the argument where the condition holds, NULL elsewhere."""
    type = argument.type.with_nullable(True)
    return Case(type, (condition, argument), Literal(type, None))


def _holds(condition: Expression) -> Expression:
    """The condition as TRUE or FALSE."""
    sure = bool_.with_nullable(False)
    return Case(sure, (condition, Literal(sure, True)), Literal(sure, False))


def narrowed(node: Operator, keys: int, types: Sequence[DataType]) -> Operator:
    """Narrow decimal sums to their declared type: 64 bits where they suffice; a sum that does not fit is an error."""
    schema = node.schema
    narrow = [t.kind == "decimal" and t.precision < schema[keys + i].type.precision for i, t in enumerate(types)]
    if not any(narrow):
        return node
    expressions: list[Expression] = [column(schema, i) for i in range(keys)]
    for i, type in enumerate(types):
        value = column(schema, keys + i)
        expressions.append(cast_to(value, type) if narrow[i] else value)
    return Project(node, tuple(expressions), schema.names)


def coarser(made: Mapping[tuple[int, ...], Aggregate], wanted: tuple[int, ...]) -> Aggregate:
    """Return the states of a set, from those of the smallest set that was `made` with all of its keys."""
    keys = min((keys for keys in made if set(wanted) <= set(keys)), key=len)
    finer = made[keys]
    schema = finer.schema
    positions = [keys.index(k) for k in wanted]
    parts = tuple(
        Measure.of(COMBINE[m.function], column(schema, len(keys) + i), name=m.name)
        for i, m in enumerate(finer.measures)
    )
    names = tuple(schema[p].name for p in positions)
    return Aggregate(finer, tuple(column(schema, p) for p in positions), names, parts)


@dataclass(frozen=True)
class GroupingSets:
    """Aggregates by several sets of keys, as a union of one aggregate for each set."""

    node: Operator
    keys: tuple[Expression, ...]
    names: tuple[str, ...]
    measures: tuple[Measure, ...]
    sets: list[list[int]]
    types: list[DataType]
    mask: bool  # a set's number is the bit mask of its absent keys, before the measures

    def union(self) -> Operator:
        if not all(m.function in (*COMBINE, "avg") for m in self.measures):
            return UnionAll(tuple(self._from_rows(n) for n in range(len(self.sets))))
        finest = tuple(sorted({k for s in self.sets for k in s}))
        base, states = self._finest(finest)
        made = {finest: base}
        for wanted in sorted({tuple(sorted(set(s))) for s in self.sets} - {finest}, key=len, reverse=True):
            made[wanted] = coarser(made, wanted)
        return UnionAll(tuple(self._combined(made, states, n) for n in range(len(self.sets))))

    def _finest(self, keys: tuple[int, ...]) -> tuple[Aggregate, list[tuple[int, ...]]]:
        """Return the rows of the finest set, and the positions of each measure's state among its measures (avg: sum and
        count)."""
        parts: list[Measure] = []
        states = []
        for m in self.measures:
            first = len(parts)
            if m.function == "avg":
                assert m.argument is not None
                parts += [
                    Measure.of("sum", m.argument, name=f"{m.name}.sum"),
                    Measure.of("count", m.argument, name=f"{m.name}.count"),
                ]
            else:
                parts.append(m)
            states.append(tuple(range(first, len(parts))))
        expressions = tuple(self.keys[k] for k in keys)
        return Aggregate(self.node, expressions, tuple(self.names[k] for k in keys), tuple(parts)), states

    def _combined(
        self, made: Mapping[tuple[int, ...], Aggregate], states: list[tuple[int, ...]], number: int
    ) -> Operator:
        wanted = sorted(set(self.sets[number]))
        node = made[tuple(wanted)]
        values: list[Expression] = []
        for m, state in zip(self.measures, states, strict=True):
            columns = [column(node.schema, len(wanted) + s) for s in state]
            if m.function == "avg":
                total, count = columns
                values.append(
                    bind("divide", (total, bind("null_if", (count, Literal(count.type.with_nullable(False), 0)))))
                )
            elif m.function in ("count", "count_star"):
                zero = Literal(int64.with_nullable(False), 0)
                values.append(bind("coalesce", (columns[0], zero)))
            else:
                values.append(columns[0])
        return self._member(node, wanted, values, number)

    def _from_rows(self, number: int) -> Operator:
        wanted = sorted(set(self.sets[number]))
        keys = tuple(self.keys[k] for k in wanted)
        node = Aggregate(self.node, keys, tuple(self.names[k] for k in wanted), self.measures)
        values = [column(node.schema, len(wanted) + i) for i in range(len(self.measures))]
        return self._member(node, wanted, [*values], number)

    def _member(self, node: Operator, wanted: list[int], values: list[Expression], number: int) -> Operator:
        """One set's rows in the shape of all: absent keys are NULL."""
        expressions: list[Expression] = []
        for i, key in enumerate(self.keys):
            if i in wanted:
                expressions.append(column(node.schema, wanted.index(i)))
            else:
                expressions.append(Literal(key.type.with_nullable(True), None))
        results = []
        for value, type in zip(values, self.types, strict=True):
            narrow = type.kind == "decimal" and type.precision < value.type.precision
            results.append(cast_to(value, type) if narrow else value)
        names = tuple(m.name for m in self.measures)
        if self.mask:
            absent = sum(1 << len(self.keys) - 1 - i for i in range(len(self.keys)) if i not in wanted)
            set_ = Literal(int64.with_nullable(False), absent)
            return Project(node, (*expressions, set_, *results), (*self.names, GROUPING_ID, *names))
        set_ = Literal(int64.with_nullable(False), number)
        return Project(node, (*expressions, *results, set_), (*self.names, *names, GROUPING_ID))
