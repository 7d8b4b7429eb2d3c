"""Alike statements become one loop over their numbers."""

from __future__ import annotations

import re

import pytest

from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.render import render
from jumpgate.codegen.runs import RUN_MIN, Scope, condition, fold
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Aggregate, Emit, Measure, Operator, Partitioning, Read, column
from jumpgate.dataflow.types import Field, Schema, int64

SCOPE = Scope(lambda i: "int64_t", 0, lambda table, field: "double")
COUNT = range(RUN_MIN)


def test_few_units_stay_as_they_are() -> None:
    units = [[f"row->f{i} += c{i}[x];"] for i in COUNT[1:]]
    assert fold(units, SCOPE) == ([], [line for unit in units for line in unit])


def test_what_has_a_number_is_read_from_the_table() -> None:
    (run,), rest = fold([[f"if (!(v{i} && !v{i}[x])) row->f{i + 1} += c{i}[x];"] for i in COUNT], SCOPE)
    assert rest == []
    assert run.numbers == tuple((str(i), f"offsetof(T0, f{i + 1})") for i in COUNT)
    assert run.columns == ((0, "int64_t"),)
    assert run.lines == ("if (!(v_0 && !v_0[x])) row->at<double>(m[1]) += c_0[x];",)


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
    assert rest == units[3] and len(run.numbers) == RUN_MIN
    (run,), rest = fold([*units[1:], ["x -= c0[x];"]], SCOPE)
    assert rest == ["x -= c0[x];"] and len(run.numbers) == RUN_MIN
    assert fold([[f"x += e{i} + 7;"] for i in COUNT], SCOPE)[0] == [], "what others declare has a name of its own"
    assert fold([[f"x += v{i} + row->v{i};"] for i in COUNT], SCOPE)[0] == [], "lists of values have no place in it"


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


def test_statements_do_not_grow_with_the_width() -> None:
    def statements(text: str) -> int:  # but for declarations and the loops' tables
        kept = [line.strip() for line in text.splitlines()]
        return sum(
            ";" in line
            and not line.startswith(("int64_t", "uint8_t", "jg_i128", "const", "[[maybe_unused]]", "offsetof"))
            for line in kept
        )

    assert statements(program(500)) == statements(program(100))


def test_columns_that_loops_find_by_number_are_not_declared() -> None:
    assert "__restrict c0 = " in program(RUN_MIN)
    assert re.search(r"__restrict [cv]\d+ = ", program(2 * RUN_MIN)) is None
