"""Operators declare their traits: these are consistent, and few files name an operator or dispatch on its class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields

import pytest
from test_tidy import texts

from jumpgate.compiler.plan import KeysOfBuild
from jumpgate.dataflow import operators
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal
from jumpgate.dataflow.operators import (
    Aggregate,
    Distinct,
    Emit,
    Filter,
    Join,
    Limit,
    Measure,
    Operator,
    Partitioning,
    Project,
    Prune,
    Read,
    Receive,
    Send,
    Shuffle,
    Skyline,
    Sort,
    SortKey,
    UnionAll,
    Unnest,
    Window,
    WindowFunction,
    column,
)
from jumpgate.dataflow.traits import State, scoped
from jumpgate.dataflow.types import Field, Schema, bool_, int64, parse_type

READ = Read(("/f",), "csv", Schema(tuple(Field(n, int64) for n in "abc")), (0, 1, 2))
LISTS = Read(("/f",), "json", Schema((Field("a", int64), Field("l", parse_type("list<int64>")))), (0, 1))
A, B, C = (column(READ.schema, i) for i in range(3))
LESS = Call(bool_, "lt", (A, B))
KEYS = (SortKey(B), SortKey(C, descending=True))
EXAMPLES: tuple[Operator, ...] = (
    Read(("/f",), "csv", READ.file_schema, (0, 1, 2), predicate=LESS),
    Filter(READ, LESS),
    Project(READ, (C, LESS), ("c", "less")),
    Join(READ, READ, "left", (A,), (B,), Call(bool_, "lt", (A, ColumnRef(int64, 4, "b")))),  # type: ignore[arg-type]
    Join(READ, READ, "mark", (A,), (B,)),  # type: ignore[arg-type]
    Aggregate(READ, (B,), ("b",), (Measure.of("sum", C, name="s"), Measure.of("first_value", A, name="f", order=KEYS))),
    Sort(READ, KEYS, 3, 1),
    Skyline(READ, KEYS),
    Window(READ, (B,), KEYS, (WindowFunction("lag", (C, Literal(int64, 1)), int64, "w"),)),
    Limit(READ, 2, 1),
    Unnest(LISTS, column(LISTS.schema, 1), "element", outer=True),
    Distinct(READ),
    UnionAll((READ, READ)),
    Shuffle(READ, Partitioning("hash", (1, 2), 2)),
    Send(READ, ("localhost:1",)),
    Receive("e", READ.schema),
    Prune(READ, READ.schema),
    Emit(READ, "e", Partitioning()),
    KeysOfBuild(READ, (B,)),
)
CLASSES = {name for name, value in vars(operators).items() if isinstance(value, type) and issubclass(value, Operator)}
CLASSES -= {"Operator", "Unary", "Ordered"}
#: the most product files that name an operator, but for accelerators, which name what they take: a limit is lowered,
#: never raised; a new operator has eight
FILES_MAX = {
    "Join": 36, "Read": 35, "Project": 30, "Filter": 23, "Aggregate": 23, "Window": 15, "UnionAll": 16, "Receive": 11,
    "Distinct": 11, "Limit": 9,
}  # fmt: skip
FILES_MAX_NEW = 8
#: the most functions that choose by three or more classes of operators
DISPATCHES_MAX = 29


def _held(value: object) -> Iterator[Expression]:
    """Yield the expressions that a field holds, in order."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, SortKey):
        yield value.expression
    elif isinstance(value, Measure):
        yield from value.expressions
    elif isinstance(value, WindowFunction):
        yield from value.arguments
    elif isinstance(value, tuple):
        for item in value:
            yield from _held(item)


def test_every_operator_is_held() -> None:
    assert {type(node).__name__ for node in EXAMPLES} == CLASSES | {"KeysOfBuild"}


@pytest.mark.parametrize("node", EXAMPLES, ids=lambda node: node.kind)
def test_expressions(node: Operator) -> None:
    held = [e for f in fields(node) for e in _held(getattr(node, f.name))]
    assert [*node.own_expressions] == held, "an operator declares all expressions that its fields hold"
    assert node.with_expressions(held) == node
    assert len(node.scopes) == len(held)
    if node.inputs:
        assert all(0 <= i < len(schema) for e, schema in scoped(node) for i in e.columns())
        other = node.map_expressions(lambda e: Literal(e.type, None))
        assert all(isinstance(e, Literal) for e in other.own_expressions)
        assert node.map_expressions(lambda e: e) is node
    assert node.defect == ""
    assert node.text.startswith(("top", node.kind.split("_")[0]))


@pytest.mark.parametrize("node", [n for n in EXAMPLES if n.inputs], ids=lambda node: node.kind)
def test_columns(node: Operator) -> None:
    width = len(node.schema)
    for index in range(width):
        for number, expression in node.lineage(index):
            assert expression.type.same(node.schema[index].type)
            assert node.below(column(node.schema, index), number) is not None
            assert expression.columns() <= node.needs({index})[number]
    passed = sum(len(node.inputs[n].schema) for n in node.passes)
    assert node.schema.types[:passed] == () or passed <= width
    if not node.uses_all:  # its inputs get a column in front
        columns = [[column(i.schema, n) for n in range(len(i.schema))] for i in node.inputs]
        wider = tuple(
            Project(i, (c[0], *c), ("new", *i.schema.names)) for i, c in zip(node.inputs, columns, strict=True)
        )
        places = [{n: n + 1 for n in range(len(c))} for c in columns]
        over, where = node.over(wider, places), node.output_places(wider, places)
        assert sorted(where) == [*range(width)]
        if not isinstance(node, UnionAll):
            assert all(over.schema[where[i]].type.same(node.schema[i].type) for i in range(width))
            assert over.defect == "" and over.text.replace("#", "") != "" and type(over) is type(node)


@pytest.mark.parametrize("node", EXAMPLES, ids=lambda node: node.kind)
def test_rows(node: Operator) -> None:
    if node.together is None:
        assert node.state is State.NOTHING and node.limits == (0, None), "a row by itself needs no other"
    if node.commutes({0, 1, 2}):
        assert node.limits == (0, None), "a filter before a limit lets other rows pass"
    if node.partial_phase is not None:
        assert type(node.final_phase(node.partial_phase)) is type(node)


def test_a_key_moves_through_groups_and_partitions_only() -> None:
    groups, window = EXAMPLES[5], EXAMPLES[8]
    assert groups.commutes({0}) and not groups.commutes({0, 1}) and not groups.commutes(set())
    assert window.commutes({1}) and not window.commutes({0}) and not window.commutes({1}, may_fail=True)
    assert not EXAMPLES[6].commutes({0}) and Sort(READ, KEYS).commutes({0})


def _named(tree: ast.Module) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & CLASSES


def _dispatched(function: ast.AST) -> set[str]:
    """Return the operators by whose classes a function chooses."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            found |= {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            found.add(node.cls.id)
    return found & CLASSES


def test_an_operator_touches_few_files() -> None:
    naming: dict[str, set[str]] = {name: set() for name in CLASSES}
    dispatching: list[str] = []
    for path, text in texts():
        tests = path.parts[:2] == ("jumpgate", "testing") or path.parts[:3] == ("jumpgate", "nca", "conformance")
        if path.suffix != ".py" or path.parts[0] not in ("jumpgate", "converters") or tests:
            continue
        tree = ast.parse(text)
        for name in _named(tree):
            naming[name].add(path.as_posix())
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
        dispatching += [f"{path}:{f.lineno} {f.name}" for f in functions if len(_dispatched(f)) >= 3]
    many = {
        name: (len(files), sorted(files))
        for name, files in naming.items()
        if len(files) > FILES_MAX.get(name, FILES_MAX_NEW)
    }
    assert not many, f"declare a trait in dataflow/operators.py: {many}"
    assert len(dispatching) <= DISPATCHES_MAX, dispatching
