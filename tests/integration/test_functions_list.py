"""Functions of lists, maps and structs in generated C++ have the values of their Python bodies, failures included."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import ColumnRef, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.functions_list import LISTS
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.operators import Project
from jumpgate.dataflow.types import DataType, bool_, list_, map_, parse_type
from jumpgate.errors import ComputeError
from jumpgate.ntf.arrow_types import arrow_type
from jumpgate.testing import oracle
from tests.integration.test_functions_generated import VALUES
from tests.support.function_cases import CASES, FAILURES

OF_LISTS = {f.name for f in LISTS}
TYPES = (
    "bool", "int8", "int16", "int32", "int64", "float32", "float64", "decimal(4, 2)", "decimal(38, 0)", "date",
    "timestamp", "string", "binary",
)  # fmt: skip
ROWS = 24


class Table:
    """A file whose columns are added one by one."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.session, self.folder = session, folder
        self.columns: list[tuple[DataType, list[Any]]] = []

    def add(self, type: DataType, values: list[Any]) -> ColumnRef:
        self.columns.append((type, values))
        return ColumnRef(type, len(self.columns) - 1, f"c{len(self.columns) - 1}")

    def computed(self, expressions: Sequence[Expression]) -> list[list[Any]]:
        """Return the values of each expression."""
        arrays = [pa.array(values, arrow_type(type)) for type, values in self.columns]
        pq.write_table(pa.table(arrays, [f"c{i}" for i in range(len(arrays))]), self.folder / "t.parquet")
        names = tuple(f"e{i}" for i in range(len(expressions)))
        root = read(str(self.folder / "t.parquet")).root
        answer = self.session.run(Dataflow(Project(root, tuple(expressions), names))).to_arrow()
        return [oracle.values(column) for column in answer.columns]


def same(a: Any, b: Any) -> bool:
    """Return whether values are equal; structs of Arrow have names, too."""
    a = tuple(a.values()) if isinstance(a, dict) else a
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isnan(a) and math.isnan(b)
    return type(a) is type(b) and bool(a == b)


def call(table: Table, name: str, arguments: Sequence[Any]) -> Expression:
    """A call on a row; arguments as function_cases.CASES has them."""
    return bind(name, tuple(table.add(a[1], [a[0]]) if isinstance(a, tuple) else as_literal(a) for a in arguments))


def test_values_worked_out_by_hand(local: Session, tmp_path: Path) -> None:
    cases = [c for c in CASES if c[0] in OF_LISTS]
    table = Table(local, tmp_path)
    found = table.computed([call(table, name, arguments) for name, *arguments, _ in cases])
    for (name, *arguments, expected), (value,) in zip(cases, found, strict=True):
        assert same(value, expected), f"{name}{arguments} is {value!r}, not {expected!r}"


def test_failures(local: Session, tmp_path: Path) -> None:
    failures = [(name, arguments) for _, name, *arguments in FAILURES if name in OF_LISTS]
    assert len(failures) >= 9
    for name, arguments in failures:
        table = Table(local, tmp_path)
        with pytest.raises(ComputeError):
            table.computed([call(table, name, arguments)])


def lists_of(values: Sequence[Any], r: random.Random) -> list[Any]:
    """Lists of a type's edge values, NULL among them; one of none, and NULL."""
    return [None, [], [None], *([r.choice(values) for _ in range(r.randrange(1, 9))] for _ in range(ROWS - 3))]


def calls_of(table: Table, name: str, r: random.Random) -> list[Expression]:
    type, values = parse_type(f"{name}?"), VALUES[name]
    a, b = (table.add(list_(type), lists_of(values, r)) for _ in range(2))
    x, y = (table.add(type, [r.choice(values) for _ in range(ROWS)]) for _ in range(2))
    n = table.add(parse_type("int32?"), [r.randrange(-4, 5) or 1 for _ in range(ROWS)])
    several = table.add(list_(list_(type)), [[*lists_of(values, r)[:4], [values[1]]] for _ in range(ROWS)])
    entries = [None, [], *([(k, r.choice(values)) for k in r.sample(range(9), 3)] for _ in range(ROWS - 2))]
    map = table.add(map_(parse_type("int64"), type), entries)
    yes, no = (Literal(bool_.with_nullable(False), v) for v in (True, False))
    calls = [
        *(bind("list_sort", (a, d, f)) for d in (yes, no) for f in (yes, no)),
        *(bind(f, (a, b)) for f in ("list_intersect", "list_except", "list_concat", "list_zip")),
        *(bind(f, (a,)) for f in ("list_distinct", "list_count", "list_min", "list_max", "cardinality")),
        bind("list_slice", (a, n, as_literal(3))), bind("element_at", (a, n)), bind("flatten", (several,)),
        bind("list_of", (x, y, x)), bind("struct_of", (x, n, y)), bind("list_contains", (a, x)),
        bind("list_position", (a, x)), bind("map_keys", (map,)), bind("map_values", (map,)),
        bind("list_distinct", (bind("list_concat", (a, bind("list_of", (x, y)))),)),
    ]  # fmt: skip
    keys, elements = bind("map_keys", (map,)), bind("map_values", (map,))
    return [*calls, bind("map_of", (keys, elements)), bind("map_value", (map, n))]


@pytest.mark.parametrize("types", [TYPES[:5], TYPES[5:9], TYPES[9:]], ids=lambda t: t[0])
def test_lists_of_all_types(local: Session, tmp_path: Path, types: Sequence[str]) -> None:
    r, table = random.Random(7), Table(local, tmp_path)
    calls = [c for name in types for c in calls_of(table, name, r)]
    found = table.computed(calls)
    for e, values in zip(calls, found, strict=True):
        for i, value in enumerate(values):
            row = [column[i] for _, column in table.columns]
            expected = evaluate(e, row)
            assert same(value, expected), f"{e} on {[row[c] for c in sorted(e.columns())]}: {value!r}, not {expected!r}"
