"""Accelerators with one mistake each, which the conformance kit must find.

They are two that pass, tests/packages/arrow_engine (pyarrow) and tests/packages/card (a hash-join card), each changed
in one place in a way that engines and cards do go wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PACKAGES = Path(__file__).resolve().parents[1] / "tests" / "packages"


@dataclass(frozen=True)
class Mutant:
    """A module's function made anew of the right one."""

    name: str
    module: str
    function: str
    change: Callable[[Any], Any]

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        module = importlib.import_module(self.module)
        right = getattr(module, self.function)
        setattr(module, self.function, self.change(right))
        try:
            yield
        finally:
            setattr(module, self.function, right)


@contextlib.contextmanager
def importable() -> Iterator[None]:
    """The packages can be imported, here and by child processes."""
    folders = [str(PACKAGES / name) for name in ("arrow_engine", "card")]
    before = os.environ.get("PYTHONPATH")
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *([before] if before else [])])
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _measure(function: str, change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """`change` makes a measure's column of the found groups and the right column."""

    def mutate(right: Any) -> Any:
        return lambda found, f, i: change(found, right(found, f, i)) if f == function else right(found, f, i)

    return mutate


def _tables(change: Callable[[pa.Table], pa.Table]) -> Callable[[Any], Any]:
    """`change` spoils the table before it is computed with."""
    return lambda right: lambda table, how: right(change(table), how)


def _columns(is_type: Callable[[pa.DataType], bool], change: Callable[[Any], Any]) -> Callable[[pa.Table], pa.Table]:
    def spoil(table: pa.Table) -> pa.Table:
        for i, field in enumerate(table.schema):
            if is_type(field.type):
                table = table.set_column(i, field.name, change(table.column(i)).cast(field.type))
        return table

    return spoil


def _batches(change: Callable[[list[Any]], list[Any]]) -> Callable[[Any], Any]:
    """`change` spoils the list of an input's batches."""
    from jumpgate.nca.worker import Input

    return lambda right: lambda input: right(Input(input.schema, input.stage, iter(change(list(input)))))


def _how(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Any]:
    """Corrupt the configuration with `change`."""
    return lambda right: lambda table, how: right(table, {**how, **change(how)})


def _keys_without_nulls(right: Any) -> Any:
    def aggregate(table: pa.Table, how: dict[str, Any]) -> pa.Table:
        for i in how["keys"]:
            table = table.filter(pc.is_valid(table[f"c{i}"]))
        return right(table, how)

    return aggregate


def _nothing_of_nothing(right: Any) -> Any:
    return lambda table, how: right(table, how).slice(0, table.num_rows)


def _sums_wrap(right: Any) -> Any:
    def widened(table: pa.Table, measures: list[Any]) -> pa.Table:
        wide = right(table, measures)
        for i, field in enumerate(wide.schema):
            if field.name.startswith("s") and pa.types.is_integer(table[f"c{field.name[1:]}"].type):
                wide = wide.set_column(i, field.name, wide.column(i).cast(pa.int64()))
        return wide

    return widened


def _sums_as_floats(right: Any) -> Any:
    def widened(table: pa.Table, measures: list[Any]) -> pa.Table:
        wide = right(table, measures)
        for i, field in enumerate(wide.schema):
            if field.name.startswith("s"):
                wide = wide.set_column(i, field.name, wide.column(i).cast(pa.float32()).cast(pa.float64()))
        return wide

    return widened


def _swapped_measure(right: Any) -> Any:
    other = {"min": "max", "max": "min"}
    return lambda found, f, i: (
        found[f"c{i}_{other[f]}"] if f"c{i}_{other.get(f)}" in found.column_names else right(found, f, i)
    )


def _is_64(type: pa.DataType) -> bool:
    return bool(type == pa.int64())


def _valid_or_zero(right: Any) -> Any:
    def with_keys(input: Any) -> Iterator[pa.RecordBatch]:
        for batch in input:
            columns = [*batch.columns[:-1], pc.fill_null(batch.columns[-1], 0)]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    return with_keys


def _one_partner(right: Any) -> Any:
    def probe(self: Any, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
        positions, rows = right(self, keys)
        first = dict(reversed([*zip(positions.to_pylist(), rows.to_pylist(), strict=True)]))
        return pa.array(first.keys(), pa.int64()), pa.array(first.values(), pa.int64())

    return probe


def _rows_of_batches(right: Any) -> Any:
    def probe(self: Any, keys: pa.Array) -> tuple[pa.Array, pa.Array]:
        positions, rows = right(self, keys)
        return positions, pa.array([row % 13 for row in rows.to_pylist()], pa.int64())

    return probe


def _takes_all_joins(right: Any) -> Any:
    from dataclasses import replace

    from jumpgate.dataflow.operators import Join

    def answer(self: Any, node: Any, *rest: Any) -> Any:
        if isinstance(node, Join) and node.type in ("left", "right", "full"):
            found = right(self, replace(node, type="inner"), *rest)
            return replace(found, operators=(node,), schema=node.schema) if hasattr(found, "operators") else found
        return right(self, node, *rest)

    return answer


def _takes_residuals(right: Any) -> Any:
    from dataclasses import replace

    from jumpgate.dataflow.operators import Join

    def answer(self: Any, node: Any, *rest: Any) -> Any:
        if isinstance(node, Join) and node.residual is not None:
            found = right(self, replace(node, residual=None), *rest)
            return replace(found, operators=(node,)) if hasattr(found, "operators") else found
        return right(self, node, *rest)

    return answer


@dataclass(frozen=True)
class MethodMutant(Mutant):
    """A method of a class in the module."""

    cls: str = ""

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        cls = getattr(importlib.import_module(self.module), self.cls)
        right = getattr(cls, self.function)
        setattr(cls, self.function, self.change(right))
        try:
            yield
        finally:
            setattr(cls, self.function, right)


def _engine(name: str, function: str, change: Callable[[Any], Any]) -> Mutant:
    return Mutant(name, "arrow_engine.worker", function, change)


def _values(name: str, is_type: Callable[[pa.DataType], bool], change: Callable[[Any], Any]) -> Mutant:
    """An engine whose groups are made of changed values."""
    return _engine(name, "aggregate", _tables(_columns(is_type, change)))


def _sorting(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Mutant:
    return _engine(name, "sort", _how(change))


def _takes_floats(right: Any) -> Any:
    def answer(*asked: Any) -> Any:
        no = right(*asked)
        return None if no is not None and no.code == "float" else no

    return answer


MUTANTS: tuple[Mutant, ...] = (
    _engine("a sum of nothing is 0", "measure", _measure("sum", lambda _, c: pc.fill_null(c, 0))),
    _engine("sums of int64 wrap", "widened", _sums_wrap),
    _engine("sums are made of floats", "widened", _sums_as_floats),
    _engine("count counts NULLs", "measure", _measure("count", lambda found, _: found["count_all"])),
    _engine("averages are whole numbers", "measure", _measure("avg", lambda _, c: pc.floor(c))),
    _engine("min and max are swapped", "measure", _swapped_measure),
    _engine("the group of NULL is lost", "aggregate", _keys_without_nulls),
    _engine("an aggregate of no rows is not a row", "aggregate", _nothing_of_nothing),
    _engine("the last batch is lost", "collected", _batches(lambda found: found[:-1])),
    _engine("the first batch comes twice", "collected", _batches(lambda found: found[:1] + found)),
    _engine(
        "batches lose their last row", "collected", _batches(lambda found: [b.slice(0, len(b) - 1) for b in found])
    ),
    _values("keys are compared without case", pa.types.is_string, pc.utf8_lower),
    _values("blanks at the end are cut", pa.types.is_string, pc.utf8_rtrim_whitespace),
    _values("text is cut after 255 bytes", pa.types.is_string, lambda c: pc.utf8_slice_codeunits(c, 0, 255)),
    _values("empty text is NULL", pa.types.is_string, lambda c: pc.if_else(pc.equal(c, ""), None, c)),
    _values("int64 go through floats", _is_64, lambda c: c.cast(pa.float64(), safe=False).cast(pa.int64(), safe=False)),
    _values("times are cut to seconds", pa.types.is_timestamp, lambda c: pc.floor_temporal(c, unit="second")),
    _sorting("NULLs are sorted to the other end", lambda how: {"keys": [[i, d, not n] for i, d, n in how["keys"]]}),
    _sorting(
        "the order of equal keys is wrong",
        lambda how: {"keys": how["keys"][:1] + [[i, not d, n] for i, d, n in how["keys"][1:]]},
    ),
    _sorting("descending is ignored", lambda how: {"keys": [[i, False, n] for i, _, n in how["keys"]]}),
    _sorting("an offset is ignored", lambda how: {"offset": 0}),
    _sorting("a limit of 0 is none", lambda how: {"limit": how["limit"] or None}),
    _sorting("a limit is one too many", lambda how: {"limit": None if how["limit"] is None else how["limit"] + 1}),
    Mutant("NaN and -0.0 make groups of their own", "arrow_engine", "_aggregate", _takes_floats),
    Mutant("NaN is sorted to the end in both directions", "arrow_engine", "_sort", _takes_floats),
    Mutant("NULL keys match", "card.gateway", "with_keys", _valid_or_zero),
    Mutant("the last batch of an input is lost", "card.gateway", "with_keys", _batches(lambda found: found[:-1])),
    MethodMutant("a row has one partner", "card.gateway", "probe", _one_partner, "Table"),
    MethodMutant("rows are numbered in their batches", "card.gateway", "probe", _rows_of_batches, "Table"),
    Mutant(
        "keys have 16 bits", "card.gateway", "words", lambda right: lambda keys: right(pc.bit_wise_and(keys, 0xFFFF))
    ),
    MethodMutant("outer joins are inner ones", "card", "match_operations", _takes_all_joins, "CardJoin"),
    MethodMutant("a further condition is forgotten", "card", "match_operations", _takes_residuals, "CardJoin"),
)
