"""Plans of DataFusion and by hand: what they are as dataflows, and what is refused with which words."""

from __future__ import annotations

import pytest
from google.protobuf import json_format
from substrait.algebra_pb2 import Rel
from substrait.plan_pb2 import Plan

from jumpgate.dataflow.operators import Operator, Sort
from jumpgate.dataflow.substrait import Kept, Reader, from_plan
from jumpgate.errors import InvalidDataflow
from tests.support.substrait_plans import QUERIES, plan, tables

TABLES = tables()


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    return [plan(sql, TABLES) for sql in QUERIES]


def test_the_first_query_is_a_sort_of_an_aggregate_of_a_join(plans: list[Plan]) -> None:
    root = from_plan(plans[0], TABLES)
    kinds = []
    node = root
    while node.inputs:
        kinds.append(node.kind)
        node = node.inputs[0]
    assert isinstance(root, Sort) and root.limit == 10
    assert [k for k in kinds if k != "project"] == ["sort", "aggregate", "join"]
    assert [f.type.kind for f in root.schema] == ["string", "decimal"]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_bytes_and_json_say_the_same(plans: list[Plan], number: int) -> None:
    found = _read(plans[number])
    assert _read(Plan.FromString(plans[number].SerializeToString())) == found
    assert _read(plans[number], json_format.MessageToJson(plans[number])) == found


def _read(plan: Plan, text: str = "") -> Operator:
    return from_plan(text or plan, TABLES)


def test_concat_of_datafusion_skips_nulls_and_its_operator_does_not() -> None:
    for sql, words in (("concat(i_brand, i_category)", "coalesce"), ("i_brand || i_category", "concat")):
        root = from_plan(plan(f"select {sql} from item", TABLES), TABLES)
        assert words in str(root) and ("coalesce" in str(root)) == (words == "coalesce")


def test_a_table_of_literals_is_refused() -> None:
    with pytest.raises(InvalidDataflow, match="a read of virtual table is not known"):
        from_plan(plan("select i_item_sk from item union all select 3", TABLES), TABLES)


def test_equal_relations_are_one_node() -> None:
    sales = "(select ss_item_sk, sum(ss_quantity) q from store_sales group by ss_item_sk)"
    root = from_plan(plan(f"select * from {sales} a join {sales} b on a.q = b.q", TABLES), TABLES)
    nodes: list[Operator] = []
    stack = [root]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(node.inputs)
    aggregates = [n for n in nodes if n.kind == "aggregate"]
    assert len(aggregates) == 2 and aggregates[0] == aggregates[1]


def test_an_unknown_table_is_kept(plans: list[Plan]) -> None:
    reader = Reader(plans[0], {"item": TABLES["item"]})
    found = reader.relation(plans[0].relations[0].root.input)
    assert found == Kept("table 'store_sales' is only in the client's memory")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.version.__setattr__("major_number", 1), "the plan is of Substrait 1."),
        (lambda p: p.ClearField("relations"), "a plan with 0 relations"),
        (lambda p: p.ClearField("extensions"), "function anchor 0 is not declared"),
        (lambda p: p.relations[0].root.names.append("more"), "its relation has"),
        (lambda p: p.relations[0].root.input.CopyFrom(Rel()), "relation of no type is not known"),
    ],
)
def test_what_is_no_dataflow_says_why(plans: list[Plan], change: object, words: str) -> None:
    broken = Plan.FromString(plans[0].SerializeToString())
    change(broken)  # type: ignore[operator]
    with pytest.raises(InvalidDataflow, match=words):
        from_plan(broken, TABLES)


def test_columns_that_do_not_exist_are_refused() -> None:
    for field in (99, 2**31 - 1, -1):
        broken = plan("select ss_quantity from store_sales where ss_quantity > 3", TABLES)
        selection = _first_filter(broken.relations[0].root.input).filter.condition.scalar_function.arguments[0].value
        selection.selection.direct_reference.struct_field.field = field
        with pytest.raises(InvalidDataflow, match=f"column {field} does not exist"):
            from_plan(broken, TABLES)


def _first_filter(rel: Rel) -> Rel:
    while (kind := rel.WhichOneof("rel_type")) != "filter":
        rel = getattr(rel, kind or "").input
    return rel


def test_a_plan_nested_ten_thousand_deep_is_refused() -> None:
    def length(n: int) -> bytes:
        found = b""
        while n > 127:
            found, n = found + bytes([n & 127 | 128]), n >> 7
        return found + bytes([n])

    def message(field: int, body: bytes) -> bytes:
        return length(field << 3 | 2) + length(len(body)) + body

    rel = b""
    for _ in range(10_000):
        rel = message(2, message(2, rel))  # Rel.filter, FilterRel.input
    with pytest.raises(InvalidDataflow, match="nested too deeply"):
        from_plan(message(3, message(1, rel)), TABLES)
    with pytest.raises(InvalidDataflow, match="nested too deeply"):
        from_plan('{"relations":[{"rel":' + '{"filter":{"input":' * 10_000, TABLES)


@pytest.mark.parametrize("text", [b"\xff\xff\xff", "nonsense", "{", b"SELECT 1"])
def test_what_is_no_plan_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidDataflow, match="this is not a Substrait plan"):
        from_plan(text, TABLES)
