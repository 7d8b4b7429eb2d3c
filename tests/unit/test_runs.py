"""Alike statements become one loop over their numbers."""

from __future__ import annotations

import re

import pytest

from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.program import Table
from jumpgate.codegen.render import render
from jumpgate.codegen.row_layout import Layout, names
from jumpgate.codegen.runs import RUN_MIN, Scope, condition, fold
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Aggregate, Emit, Measure, Operator, Partitioning, Read, column
from jumpgate.dataflow.types import Field, Schema, int64, string

SCOPE = Scope(lambda i: "int64_t", 0, lambda table, field: "double")
COUNT = range(RUN_MIN)


def test_few_units_stay_as_they_are() -> None:
    units = [[f"row->f{i} += c{i}[x];"] for i in COUNT[1:]]
    assert fold(units, SCOPE) == ([], [line for unit in units for line in unit])


def test_what_has_a_number_is_read_from_the_table() -> None:
    (run,), rest = fold([[f"if (!(v{i} && !v{i}[x])) row->f{i + 1} += c{i}[x];"] for i in COUNT], SCOPE)
    assert rest == []
    assert (run.count, run.first, run.steps) == (RUN_MIN, ("0", "offsetof(T0, f0) + 1"), (1, 1))
    assert run.columns == ((0, "int64_t"),)
    assert run.lines == ("if (!(v_0 && !v_0[x])) row->at<double>(m[1]) += c_0[x];",)


def test_numbers_that_grow_evenly_need_no_table() -> None:
    units = [[f"row->f{90 - i} += c{2 * i}[x] + t->params[5].i;"] for i in COUNT]
    (run,), _ = fold(units, SCOPE)
    assert (run.count, run.first, run.steps) == (RUN_MIN, ("offsetof(T0, f0) + 90", "0", "5"), (-1, 2, 0))
    assert run.table == ()
    (run,), _ = fold([*units[:-1], ["row->f0 += c1[x] + t->params[5].i;"]], SCOPE)
    assert len(run.table) == run.count == RUN_MIN
    assert run.table[:2] == (("offsetof(T0, f0) + 90", "0", "5"), ("offsetof(T0, f0) + 89", "2", "5"))
    assert run.table[-1] == ("offsetof(T0, f0)", "1", "5")


def test_units_are_told_apart_by_what_is_equal_in_them() -> None:
    same = [[f"x += c{i}[x] * c{i}[x];"] for i in COUNT]
    other = [[f"x += c{i}[x] * c{i + 1}[x];"] for i in COUNT]
    mixed = [unit for pair in zip(same, other, strict=True) for unit in pair]
    runs, rest = fold(mixed, SCOPE)
    assert [run.lines for run in runs] == [("x += c_0[x] * c_0[x];",), ("x += c_0[x] * c_1[x];",)]
    assert rest == []


KINDS = {
    "w->out<float>({0})[i] = c{0}[x];": "w->out<float>(m[0])[i] = c_1[x];",
    "w->out<uint8_t>({0})[i] = !(((const T3*)r2[i])->n{0});": (
        "w->out<uint8_t>(m[0])[i] = !(((const T3*)r2[i])->at<uint8_t>(m[1]));"
    ),
    "jg_fail(t, JG_OVERFLOW, {0});": "jg_fail(t, JG_OVERFLOW, m[0]);",
    "int q{0} = code(c{0}[x]); if (q{0} != JG_OK) jg_fail(t, q{0}, {0});": (
        "int q_0 = code(c_0[x]); if (q_0 != JG_OK) jg_fail(t, q_0, m[1]);"
    ),
    "if (jg_load(t, {0}, w->s1, n)) return 1;": "if (jg_load(t, m[0], w->s1, n)) return 1;",
    "const int64_t e{0} = t->params[{0}].i; row->f1 = e{0};": (
        "const int64_t e_0 = t->params[m[0]].i; row->at<double>(m[1]) = e_0;"
    ),
    "out[{0}].data = w->outputs[{0}];": "out[m[0]].data = w->outputs[m[1]];",
    "a->f{0} = 1e5 + 2 * b->f{0};": "a->at<double>(m[0]) = 1e5 + 2 * b->at<double>(m[0]);",
}


@pytest.mark.parametrize("text", KINDS)
def test_each_kind_of_number(text: str) -> None:
    (run,), rest = fold([[text.format(i)] for i in COUNT], SCOPE)
    assert (run.lines, rest) == ((KINDS[text],), [])


def test_other_types_other_texts_and_names_of_others_are_not_put_together() -> None:
    types = Scope(lambda i: "double" if i == 3 else "int64_t", 0)
    units = [[f"x += c{i}[x];"] for i in range(RUN_MIN + 1)]
    (run,), rest = fold(units, types)
    assert rest == units[3] and run.count == RUN_MIN
    (run,), rest = fold([*units[1:], ["x -= c0[x];"]], SCOPE)
    assert rest == ["x -= c0[x];"] and run.count == RUN_MIN
    assert fold([[f"x += e{i} + 7;"] for i in COUNT], SCOPE)[0] == [], "what others declare has a name of its own"
    assert fold([[f"x += v{i} + row->v{i};"] for i in COUNT], SCOPE)[0] == [], "lists of values have no place in it"


def test_entries_of_lists_have_no_fields_of_the_table() -> None:
    def place(table: int, name: str) -> tuple[str, int]:
        raise KeyError(name)

    scope = Scope(lambda i: "int64_t", 0, lambda table, field: "double", place)
    units = [[f"entry->n1 = 0; entry->f{i} = 7;"] for i in COUNT]
    assert fold(units, scope) == ([], [line for unit in units for line in unit])


def test_a_wide_condition_is_a_loop_and_what_is_left() -> None:
    runs, rest = condition([*(f"a->f{i} == b->f{i}" for i in COUNT), "a->g"], SCOPE)
    assert [r.lines for r in runs] == [("if (!(a->at<double>(m[0]) == b->at<double>(m[0]))) return 0;",)]
    assert rest == "a->g"
    assert condition(["a", "b"], SCOPE) == ([], "a && b")
    assert condition([], SCOPE) == ([], "true")


def program(width: int) -> str:
    schema = Schema(tuple(Field(f"c{i}", int64) for i in range(width)))
    read = Read(("/data/t.parquet",), "parquet", schema, tuple(range(width)))
    columns = [column(schema, i) for i in range(width)]
    half = width // 2
    sums = tuple(Measure.of("sum", c, name=f"s{i}") for i, c in enumerate(columns[half:]))
    node: Operator = Aggregate(read, tuple(columns[:half]), tuple(f"k{i}" for i in range(half)), sums)
    lowered = lower_fragment(Emit(node, "e0", Partitioning("single")))
    return render(lowered, DEFAULT).text


def test_programs_do_not_grow_with_the_width() -> None:
    assert program(500).count("\n") == program(100).count("\n")


def test_fields_that_loops_find_by_their_places_are_not_declared_one_by_one() -> None:
    layout = Layout(Table(3, "groups", [*[int64] * (2 * RUN_MIN), string, int64.with_nullable(False)]))
    (texts, numbers), flags = layout.fields, layout.flags
    assert [*texts.declarations(frozenset())] == [f"JgStr f{2 * RUN_MIN};  // string?"]
    named = names("row->f2 + a->f3 - offsetof(T3, f7) + b->f9")
    assert [*numbers.declarations(named)] == [
        "int64_t f0_[2];",
        "int64_t f2;  // int64?",
        "int64_t f3;  // int64?",
        "int64_t f4_[3];",
        "int64_t f7;  // int64?",
        "int64_t f8;  // int64?",
        "int64_t f9;  // int64?",
        f"int64_t f10_[{2 * RUN_MIN - 9}];",
    ]
    assert [*flags.declarations(names("b->n0"))] == ["uint8_t n0;", f"uint8_t n1_[{2 * RUN_MIN}];"]
    assert layout.place("f3") == ("offsetof(T3, f0)", 24)
    assert layout.place(f"f{2 * RUN_MIN + 1}") == ("offsetof(T3, f0)", 16 * RUN_MIN)
    assert layout.place("n4") == ("offsetof(T3, n0)", 4)


def test_columns_that_loops_find_by_number_are_not_declared() -> None:
    assert "__restrict c0 = " in program(RUN_MIN)
    assert re.search(r"__restrict [cv]\d+ = ", program(2 * RUN_MIN)) is None
