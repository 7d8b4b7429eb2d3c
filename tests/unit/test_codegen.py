"""Lowering and rendering: shapes, stages, late columns, and that nothing of a request reaches the generated text."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import jumpgate.ncas.runtime
from jumpgate.codegen import toolchain
from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.program import FileSource, ProbeStep
from jumpgate.codegen.render import render, shape_key
from jumpgate.dataflow import functions
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import (
    Aggregate,
    Emit,
    Filter,
    FirstRows,
    Join,
    Limit,
    Measure,
    Operator,
    Partitioning,
    Read,
    Sort,
    SortKey,
    UnionAll,
    Window,
    WindowFunction,
    column,
    window_type,
)
from jumpgate.dataflow.types import Field, Schema, date, decimal, int32, int64, string

FACTS = Schema((Field("day", int32), Field("item", int64), Field("price", decimal(7, 2)), Field("note", string)))
ITEMS = Schema((Field("id", int64), Field("brand", string), Field("since", date)))


def facts(file: str = "/data/facts.json", schema: Schema = FACTS) -> Read:
    return Read((file,), "json", schema, tuple(range(len(schema))))


def items() -> Read:
    return Read(("/data/items.parquet",), "parquet", ITEMS, (0, 1, 2))


def equals(node: Operator, index: int, value: object) -> Expression:
    reference = column(node.schema, index)
    literal = Literal(reference.type.with_nullable(False), value)  # type: ignore[arg-type]
    return functions.bind("eq", (reference, literal))


def star(day: int = 7, brand: str = "b", file: str = "/data/facts.json", kind: str = "inner") -> Emit:
    """facts ⋈ items, filtered, aggregated, top-n: every kind of table and step that most plans have."""
    left, right = Filter(facts(file), equals(facts(), 0, day)), Filter(items(), equals(items(), 1, brand))
    joined: Operator = Join(left, right, kind, (column(left.schema, 1),), (column(right.schema, 0),))
    price = column(FACTS, 2)
    total = Measure.of("sum", price, name="total")
    grouped = Aggregate(joined, (column(joined.schema, 1),), ("item",), (total,))
    return Emit(Sort(grouped, (SortKey(column(grouped.schema, 1), True),), 10), "result", Partitioning())


def test_literals_files_and_names_are_not_part_of_the_shape() -> None:
    renamed = Schema(tuple(Field(f.name + "_x", f.type) for f in FACTS))
    shapes = {
        shape_key(lower_fragment(root), DEFAULT)
        for root in (star(), star(day=8), star(brand="another"), star(file="/elsewhere.json"))
    }
    assert len(shapes) == 1
    emit = Emit(facts(schema=renamed), "result", Partitioning())
    assert shape_key(lower_fragment(emit), DEFAULT) == shape_key(lower_fragment(replace(emit, input=facts())), DEFAULT)


def test_types_operators_and_dialect_are_part_of_the_shape() -> None:
    other = Dialect(on_overflow="null")
    program = lower_fragment(star())
    assert (
        len(
            {
                shape_key(program, DEFAULT),
                shape_key(program, other),
                shape_key(lower_fragment(star(kind="left")), DEFAULT),
            }
        )
        == 3
    )


def test_equal_programs_render_to_equal_bytes() -> None:
    assert render(lower_fragment(star(day=1)), DEFAULT) == render(lower_fragment(star(day=2)), DEFAULT)


def test_builds_run_a_stage_before_their_probes() -> None:
    program = lower_fragment(star())
    stages = {p.name.split(" → ")[-1]: p.stage for p in program.pipelines}
    assert stages["build"] == 1
    assert stages["aggregate (full)"] == 2
    assert stages["send result"] == 2
    probing = next(p for p in program.pipelines if any(isinstance(s, ProbeStep) for s in p.steps))
    assert probing.needs == (program.pipelines[0].feeds[0],)


def test_columns_of_surviving_rows_only_are_late() -> None:
    source = next(s for s in lower_fragment(star()).sources if isinstance(s, FileSource) and s.format == "json")
    assert source.early == (True, False, False, False)
    unfiltered = lower_fragment(Emit(facts(), "result", Partitioning())).sources[0]
    assert isinstance(unfiltered, FileSource) and all(unfiltered.early)


def test_a_shared_aggregate_is_computed_once() -> None:
    price = column(FACTS, 2)
    total = Measure.of("sum", price, name="total")
    shared = Aggregate(facts(), (column(FACTS, 1),), ("item",), (total,))
    joined = Join(shared, shared, "inner", (column(shared.schema, 0),), (column(shared.schema, 0),))
    program = lower_fragment(Emit(joined, "result", Partitioning()))
    assert len(program.sources) == 1
    assert [p.source[0] for p in program.pipelines] == ["files", "drain", "drain"]


@pytest.mark.parametrize("kind", tuple(JoinType))
def test_every_join_type_compiles(kind: str, tmp_path: Path) -> None:
    left, right = facts(), items()
    residual = functions.bind("lt", (column(FACTS, 0), Literal(int32.with_nullable(False), 5)))
    joined = Join(left, right, kind, (column(FACTS, 1),), (column(ITEMS, 0),), residual)
    text = render(lower_fragment(Emit(Limit(UnionAll((joined, joined)), 5), "result", Partitioning())), DEFAULT).text
    compile_only(text, tmp_path)


def test_generated_program(golden, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    text = render(lower_fragment(star()), DEFAULT).text
    golden("codegen/star.cpp", text)
    compile_only(text, tmp_path)


def test_generated_program_of_first_rows(golden, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Two columns order what is partitioned by a text; of text keys a copy is kept."""
    rank = WindowFunction("rank", (), window_type("rank", ()), "place")
    order = (SortKey(column(ITEMS, 2), descending=True, nulls_first=True), SortKey(column(ITEMS, 0)))
    window = Window(items(), (column(ITEMS, 1),), order, (rank,), first=FirstRows(3, ties=True))
    program = lower_fragment(Emit(window, "result", Partitioning()))
    text = render(program, DEFAULT).text
    golden("codegen/first_rows.cpp", text)
    compile_only(text, tmp_path)
    fewer = lower_fragment(Emit(replace(window, first=FirstRows(1, ties=True)), "result", Partitioning()))
    assert shape_key(fewer, DEFAULT) == shape_key(program, DEFAULT)


def compile_only(text: str, folder: Path) -> None:
    """Raises with the compiler's words unless the text compiles without a warning."""
    source = folder / "program.cpp"
    source.write_text(text)
    include = Path(jumpgate.ncas.runtime.__file__).parent / "include"
    done = subprocess.run(
        [
            toolchain.compiler(),
            "-std=c++20",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Werror",
            "-Wno-unused-function",
            "-Wno-unused-parameter",
            "-fsyntax-only",
            f"-I{include}",
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
