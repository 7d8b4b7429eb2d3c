"""Relations and options of Substrait that DataFusion does not write, by hand: what they compute, what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.operators import Aggregate, Operator, Read, UnionAll, numbered
from jumpgate.dataflow.substrait import from_plan, to_plan
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import InvalidDataflow
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import write

SCHEMA = Schema((Field("n", DataType("int64")), Field("s", DataType("string"))))
P = [(1, "a"), (2, "b"), (2, "b"), (3, None), (3, None), (3, None), (None, None)]
S1 = [(1, "a"), (2, "b"), (3, None), (3, None), (5, "x")]
S2 = [(2, "b"), (3, None), (3, None), (6, "y"), (None, None)]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operator]:
    folder = tmp_path_factory.mktemp("substrait")
    found: dict[str, Operator] = {}
    for name, rows in (("p", P), ("s1", S1), ("s2", S2), ("none", [])):
        path = folder / f"{name}.parquet"
        write(path, "parquet", SCHEMA, rows)
        found[name] = Read((str(path),), "parquet", SCHEMA, (0, 1))
    return found


def read(name: str) -> dict[str, Any]:
    types = [{"i64": {"nullability": "NULLABILITY_NULLABLE"}}, {"string": {"nullability": "NULLABILITY_NULLABLE"}}]
    schema = {"names": ["n", "s"], "struct": {"types": types, "nullability": "NULLABILITY_REQUIRED"}}
    return {"read": {"common": {"direct": {}}, "baseSchema": schema, "namedTable": {"names": [name]}}}


def field(index: int) -> dict[str, Any]:
    return {"selection": reference(index)}


def reference(index: int) -> dict[str, Any]:
    return {"directReference": {"structField": {"field": index}}, "rootReference": {}}


def call(name: str, *arguments: dict[str, Any], **options: str) -> dict[str, Any]:
    """A function by its name, which `plan` makes an anchor; options: their only preference."""
    said = [{"name": n, "preference": v.split("|")} for n, v in options.items()]
    return {"functionReference": name, "arguments": [{"value": a} for a in arguments], "options": said}


def scalar(name: str, *arguments: dict[str, Any], **options: str) -> dict[str, Any]:
    return {"scalarFunction": call(name, *arguments, **options)}


def i64(value: int) -> dict[str, Any]:
    return {"literal": {"i64": value}}


def plan(rel: dict[str, Any], urn: str = "extension:io.substrait:functions_comparison") -> Plan:
    anchors: dict[str, int] = {}

    def numbered(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                k: anchors.setdefault(v, len(anchors) + 1) if k == "functionReference" else numbered(v)
                for k, v in value.items()
            }
        return [numbered(v) for v in value] if isinstance(value, list) else value

    found = json_format.ParseDict({"relations": [{"rel": numbered(rel)}]}, Plan())
    found.extension_urns.add(extension_urn_anchor=1, urn=urn)
    for name, anchor in anchors.items():
        function = found.extensions.add().extension_function
        function.extension_urn_reference, function.function_anchor, function.name = 1, anchor, name
    return found


def rows(rel: dict[str, Any], tables: dict[str, Operator]) -> list[tuple[Any, ...]]:
    """What DuckDB computes for the relation, in an order of their texts; and it is written and read as the same."""
    root = from_plan(plan(rel), tables)
    found = oracle.run(root)
    reads = {name: node for name, node in tables.items() if isinstance(node, Read)}
    assert not oracle.difference(
        oracle.run(from_plan(to_plan(root, reads), tables)).rename_columns(root.schema.names), root
    )
    return sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr)


def kept(rel: dict[str, Any], tables: dict[str, Operator], words: str) -> None:
    with pytest.raises(InvalidDataflow, match=words):
        from_plan(plan(rel), tables)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("MINUS_PRIMARY", []),
        ("MINUS_PRIMARY_ALL", []),
        ("INTERSECTION_PRIMARY", [(1, "a"), (2, "b"), (3, None), (None, None)]),
        ("INTERSECTION_MULTISET", [(2, "b"), (3, None)]),
        ("INTERSECTION_MULTISET_ALL", [(2, "b"), (3, None), (3, None)]),
        ("UNION_DISTINCT", [*sorted({*P, *S1, *S2}, key=repr)]),
        ("UNION_ALL", sorted([*P, *S1, *S2], key=repr)),
    ],
)
def test_set_operations_are_those_of_the_specification(
    tables: dict[str, Operator], operation: str, expected: list[tuple[Any, ...]]
) -> None:
    rel = {"set": {"inputs": [read("p"), read("s1"), read("s2")], "op": f"SET_OP_{operation}"}}
    assert rows(rel, tables) == expected


def test_differences_count_copies_and_null_equals_null(tables: dict[str, Operator]) -> None:
    for operation, expected in (
        ("MINUS_PRIMARY", [(None, None)]),
        ("MINUS_PRIMARY_ALL", [(2, "b"), (3, None), (None, None)]),
    ):
        rel = {"set": {"inputs": [read("p"), read("s1")], "op": f"SET_OP_{operation}"}}
        assert rows(rel, tables) == expected
    kept({"set": {"inputs": [read("p"), read("s1")], "op": "SET_OP_MINUS_MULTISET"}}, tables, "minus multiset")


@pytest.mark.parametrize("kind", ["hashJoin", "mergeJoin"])
def test_joins_by_keys(tables: dict[str, Operator], kind: str) -> None:
    def join(comparison: str, **more: Any) -> dict[str, Any]:
        key = {
            "left": reference(0),
            "right": reference(0),
            "comparison": {"simple": f"SIMPLE_COMPARISON_TYPE_{comparison}"},
        }
        body = {"left": read("p"), "right": read("s2"), "keys": [key], "type": "JOIN_TYPE_LEFT_SEMI", **more}
        return {kind: body}

    assert rows(join("EQ"), tables) == [(2, "b"), (2, "b"), (3, None), (3, None), (3, None)]
    assert (None, None) in rows(join("IS_NOT_DISTINCT_FROM"), tables)
    residual = scalar("equal:any_any", field(1), field(3))
    assert rows(join("EQ", residualExpression=residual), tables) == [(2, "b"), (2, "b")]
    kept(join("MIGHT_EQUAL"), tables, "compared in a way of their own")
    kept(join("EQ", keys=[]), tables, "without keys")
    kept(join("EQ", type="JOIN_TYPE_LEFT_SINGLE"), tables, "left single join is not known")


def test_nested_loop_top_n_and_expand(tables: dict[str, Operator]) -> None:
    nested = {"left": read("p"), "right": read("s1"), "type": "JOIN_TYPE_LEFT_ANTI"}
    assert rows({"nestedLoopJoin": {**nested, "expression": scalar("lte", field(0), field(2))}}, tables) == [
        (None, None)
    ]
    sorts = [{"expr": field(0), "direction": "SORT_DIRECTION_DESC_NULLS_LAST"}]
    top = {"input": read("s1"), "sorts": sorts, "offset": i64(1), "count": i64(2)}
    assert rows({"topN": top}, tables) == [(3, None), (3, None)]
    kept({"topN": {**top, "mode": "FETCH_MODE_WITH_TIES"}}, tables, "with ties")
    fields = [{"consistentField": field(1)}, {"switchingField": {"duplicates": [field(0), i64(7)]}}]
    expanded = rows({"expand": {"input": read("s1"), "fields": fields}}, tables)
    assert len(expanded) == 10 and ("a", 1, 0) in expanded and ("a", 7, 1) in expanded
    fields += [{"switchingField": {"duplicates": [i64(1), i64(2), i64(3)]}}]
    kept({"expand": {"input": read("s1"), "fields": fields}}, tables, "unlike numbers of copies")


def test_subqueries_without_reference_to_the_outside(tables: dict[str, Operator]) -> None:
    def filtered(subquery: dict[str, Any]) -> dict[str, Any]:
        return {"filter": {"input": read("s1"), "condition": subquery}}

    def exists(name: str, operation: str = "EXISTS") -> dict[str, Any]:
        return {"subquery": {"setPredicate": {"predicateOp": f"PREDICATE_OP_{operation}", "tuples": read(name)}}}

    assert len(rows(filtered(exists("p")), tables)) == 5 and rows(filtered(exists("none")), tables) == []
    kept(filtered(exists("p", "UNIQUE")), tables, "UNIQUE of a subquery")
    numbers = {"project": {"common": {"emit": {"outputMapping": [2]}}, "input": read("s2"), "expressions": [field(0)]}}
    within = {"subquery": {"inPredicate": {"needles": [field(0)], "haystack": numbers}}}
    assert [n for n, _ in rows(filtered(within), tables)] == [2, 3, 3]
    assert rows(filtered(scalar("not", within)), tables) == []  # there is a NULL
    within["subquery"]["inPredicate"]["needles"] *= 2
    kept(filtered(within), tables, "an IN of 2 values")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (scalar("add", field(0), i64(1), overflow="ERROR"), ""),
        (scalar("add", field(0), i64(1), overflow="SATURATE|ERROR"), ""),
        (scalar("add", field(0), i64(1), overflow="SATURATE"), "add with overflow SATURATE is not known"),
        (scalar("round", field(0), i64(0), rounding="TIE_AWAY_FROM_ZERO"), ""),
        (scalar("round", field(0), i64(0), rounding="TIE_TO_EVEN"), "round with rounding TIE_TO_EVEN is not known"),
        (scalar("modulus", field(0), i64(2), division_type="TRUNCATE"), ""),
        (scalar("modulus", field(0), i64(2), division_type="FLOOR"), "division_type FLOOR"),
        (scalar("contains", field(1), field(1), case_sensitivity="CASE_INSENSITIVE"), "CASE_INSENSITIVE"),
        (scalar("equal", field(0), field(0), mood="GOOD"), "equal with mood GOOD is not known"),
        (scalar("any_value", field(0)), "function any_value is not known"),
    ],
)
def test_options_ask_for_what_is_done_or_are_kept(
    tables: dict[str, Operator], expression: dict[str, Any], words: str
) -> None:
    rel = {"project": {"input": read("p"), "expressions": [expression]}}
    if words:
        kept(rel, tables, words)
    else:
        assert len(rows(rel, tables)) == len(P)


def test_concat_ignores_nulls_where_asked(tables: dict[str, Operator]) -> None:
    def texts(option: str) -> set[Any]:
        joined = scalar("concat", field(1), {"literal": {"string": "!"}}, null_handling=option)
        return {row[2] for row in rows({"project": {"input": read("p"), "expressions": [joined]}}, tables)}

    assert texts("ACCEPT_NULLS") == {"a!", "b!", None} and texts("IGNORE_NULLS") == {"a!", "b!", "!"}


def test_a_deviation_says_of_what_or_is_kept(tables: dict[str, Operator]) -> None:
    def deviation(name: str, **more: Any) -> dict[str, Any]:
        measure = {"measure": {**call(name, field(0), **more), "phase": "AGGREGATION_PHASE_INITIAL_TO_RESULT"}}
        return {"aggregate": {"input": read("s1"), "groupings": [{}], "measures": [measure]}}

    def value(name: str, **more: Any) -> Any:
        return rows(deviation(name, **more), tables)[0][0]

    for name, plain in (("std_dev", "stddev"), ("variance", "var")):
        kept(deviation(name), tables, f"{name} of unsaid is not known")
        assert value(name, distribution="SAMPLE") == value(plain if name == "variance" else "stddev_samp")
        assert value(name, distribution="POPULATION") == value(f"{plain}_pop") != value(plain)
    kept(deviation("bool_and"), tables, "bool_and of int64 is not known")
    partial = deviation("sum")
    partial["aggregate"]["measures"][0]["measure"]["phase"] = "AGGREGATION_PHASE_INITIAL_TO_INTERMEDIATE"
    kept(partial, tables, "a part of an aggregation")


def test_functions_of_other_extensions_are_kept(tables: dict[str, Operator]) -> None:
    rel = {"project": {"input": read("p"), "expressions": [scalar("add:i64_i64", field(0), i64(1))]}}
    assert from_plan(plan(rel), tables) == from_plan(plan(rel, ""), tables)
    with pytest.raises(InvalidDataflow, match="function extension:com.example:things:add is not known"):
        from_plan(plan(rel, "extension:com.example:things"), tables)


def test_fields_of_other_versions_and_enhancements_are_kept(tables: dict[str, Operator]) -> None:
    fetch = plan({"fetch": {"input": read("p")}})
    old = Plan.FromString(fetch.SerializeToString())
    body = old.relations[0].rel.fetch
    body.MergeFromString(b"\x20\x03")  # what was `count: 3`
    with pytest.raises(InvalidDataflow, match="relation fetch has fields of another version"):
        from_plan(old, tables)
    fetch.relations[0].rel.fetch.advanced_extension.enhancement.type_url = "type/of.its.own"
    with pytest.raises(InvalidDataflow, match="relation fetch has an enhancement"):
        from_plan(fetch, tables)


def test_text_files_have_their_options(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write(path, "csv", SCHEMA, P)
    options = (("delimiter", ","), ("quote", '"'), ("header", "true"), ("null", ""))
    node = Read((str(path),), "csv", SCHEMA, (1, 0), options)
    written = to_plan(node)
    assert from_plan(written, {}) == node
    text = written.relations[0].root.input.read.local_files.items[0].text
    text.escape = "\\"
    with pytest.raises(InvalidDataflow, match="a quote that is doubled"):
        from_plan(written, {})
    text.escape = ""
    text.ClearField("value_treated_as_null")
    with pytest.raises(InvalidDataflow, match="without a value that stands for NULL"):
        from_plan(written, {})
    with pytest.raises(InvalidDataflow, match="skip what is malformed"):
        to_plan(Read((str(path),), "csv", SCHEMA, (0, 1), (*options, ("on_error", "skip"))))


def window(name: str, *arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The rows of p with one window function over all of them, by n and s."""
    sorts = [{"expr": field(i), "direction": "SORT_DIRECTION_ASC_NULLS_LAST"} for i in (0, 1)]
    body = {**call(name, *arguments), "sorts": sorts, "boundsType": "BOUNDS_TYPE_ROWS", **more}
    return {"project": {"input": read("p"), "expressions": [{"windowFunction": body}]}}


def test_defaults_of_neighbours(tables: dict[str, Operator]) -> None:
    text = {"literal": {"string": "-"}}
    small = {"literal": {"i8": 9}}
    nothing = {"literal": {"null": {"string": {"nullability": "NULLABILITY_NULLABLE"}}}}
    assert [r[2] for r in rows(window("lead", field(1), i64(6), text), tables)].count("-") == 6
    assert [r[2] for r in rows(window("lead", field(0), i64(6), small), tables)].count(9) == 6
    assert [r[2] for r in rows(window("lag", field(1), i64(6), nothing), tables)].count(None) == 6
    kept(window("lag", field(0), i64(1), {"literal": {"fp64": 0.5}}), tables, "lag of int64 with a default of float64")
    kept(window("lag", field(0), i64(-1)), tables, "lag by -1 is not known: only by a literal")
    kept(window("ntile", i64(0)), tables, "ntile by 0 is not known")
    kept(window("lag", field(0), field(0)), tables, "lag by #0:n is not known: only by a literal")


def test_frames_of_another_unit_are_kept(tables: dict[str, Operator]) -> None:
    groups = window("sum", field(0), boundsType=3, lowerBound={"preceding": {"offset": 1}})
    kept(groups, tables, "window frames of bounds type 3 are not known")


def test_grouping_sets_without_measures(tables: dict[str, Operator]) -> None:
    """ROLLUP (n, s) and the empty set alone; the empty set has a row also where there are no rows."""

    def sets(name: str, *references: list[int]) -> dict[str, Any]:
        groupings = [{"expressionReferences": r} for r in references]
        body = {"input": read(name), "groupingExpressions": [field(0), field(1)], "groupings": groupings}
        return {"aggregate": body}

    pairs = [(1, "a", 0), (2, "b", 0), (3, None, 0), (None, None, 0)]
    keys = [(1, None, 1), (2, None, 1), (3, None, 1), (None, None, 1)]
    assert rows(sets("p", [0, 1], [0], []), tables) == sorted([*pairs, *keys, (None, None, 2)], key=repr)
    assert rows(sets("none", [0, 1], [0], []), tables) == [(None, None, 2)]
    alone = from_plan(plan(sets("p", [])), tables)
    assert isinstance(alone, Aggregate) and not alone.schema.fields


def test_a_set_is_made_of_the_smallest_that_has_its_keys(tables: dict[str, Operator]) -> None:
    """CUBE (n, s, n = n) with its sets in an order of their own, one of them twice."""
    n, s, both, same = [0], [1], [0, 1], [0, 2]
    groupings = [{"expressionReferences": r} for r in ([], same, n, both, [0, 1, 2], s, n)]
    keys = [field(0), field(1), scalar("equal:any_any", field(0), field(0))]
    count = {"measure": {**call("count"), "phase": "AGGREGATION_PHASE_INITIAL_TO_RESULT"}}
    body = {"input": read("p"), "groupingExpressions": keys, "groupings": groupings, "measures": [count]}
    root = from_plan(plan({"aggregate": body}), tables)
    (union,) = (node for node in numbered(root) if isinstance(node, UnionAll))
    none, pair, first, other, finest, text, again = (m.inputs[0] for m in union.members)
    assert first is again and isinstance(finest.inputs[0], Read)
    assert pair.inputs[0] is finest and other.inputs[0] is finest
    assert first.inputs[0] in (pair, other) and text.inputs[0] is other
    assert none.inputs[0] in (first, text)
    texts = [(None, text, None, [s for _, s in P].count(text), 5) for text in ("a", "b", None)]
    found = rows({"aggregate": body}, tables)
    assert [row for row in found if row[-1] in (0, 5)] == sorted([(None, None, None, len(P), 0), *texts], key=repr)
