"""JSON plans as older versions of Substrait spelled them: each is what today's spelling of it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumpgate.dataflow.expressions import Literal
from jumpgate.dataflow.operators import Aggregate, Filter, Join, Limit, Operator, Project, Read, Sort
from jumpgate.dataflow.substrait import from_plan, parse
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import InvalidDataflow

SCHEMA = Schema((Field("n", DataType("int64")), Field("s", DataType("string"))))
TABLES: dict[str, Operator] = {"t": Read(("/t.parquet",), "parquet", SCHEMA, (0, 1))}
I64, TEXT = {"i64": {"nullability": "NULLABILITY_NULLABLE"}}, {"string": {"nullability": "NULLABILITY_NULLABLE"}}
READ = {"read": {"baseSchema": {"names": ["n", "s"], "struct": {"types": [I64, TEXT]}}, "namedTable": {"names": ["t"]}}}
N = {"selection": {"directReference": {"structField": {"field": 0}}, "rootReference": {}}}
S = {"selection": {"directReference": {"structField": {"field": 1}}, "rootReference": {}}}


def read(rel: dict[str, Any], **more: Any) -> Operator:
    return from_plan(json.dumps({"relations": [{"rel": rel}], **more}), TABLES)


def test_rows_of_a_fetch_are_numbers() -> None:
    assert read({"fetch": {"input": READ, "offset": "2", "count": 5}}) == Limit(TABLES["t"], 5, 2)
    everything = read({"fetch": {"input": READ, "offset": 3, "count": "-1"}})
    assert isinstance(everything, Limit) and everything.offset == 3 and everything.count > 1 << 60
    key = {"expr": N, "direction": "SORT_DIRECTION_ASC_NULLS_LAST"}
    top = read({"fetch": {"input": {"sort": {"input": READ, "sorts": [key]}}, "count": "1"}})
    assert isinstance(top, Sort) and (top.limit, top.offset) == (1, 0)


def test_grouping_sets_list_their_keys() -> None:
    one = read({"aggregate": {"input": READ, "groupings": [{"groupingExpressions": [S, N]}]}})
    assert isinstance(one, Aggregate) and one.key_names == ("s", "n")
    sets = [{"groupingExpressions": [N]}, {"groupingExpressions": [N, S]}, {}]
    several = read({"aggregate": {"input": READ, "groupings": sets}})
    references = [{"expressionReferences": r} for r in ([0], [0, 1], [])]
    today = {"input": READ, "groupingExpressions": [N, S], "groupings": references}
    assert several == read({"aggregate": today})
    both = [{**old, **new} for old, new in zip(sets, references, strict=True)]
    assert several == read({"aggregate": {**today, "groupings": both}})


@pytest.mark.parametrize("snake", [False, True], ids=["camel", "snake"])
def test_functions_belong_to_uris(snake: bool) -> None:
    def plan(uri: str, reference: int, anchor: int = 7) -> Operator:
        call = {"functionReference": 1, "arguments": [{"value": N}, {"value": {"literal": {"i64": 3}}}]}
        function = {"extensionUriReference": reference, "functionAnchor": 1, "name": "gt:any_any"}
        extensions = {
            "extensionUris": [{"extensionUriAnchor": anchor, "uri": uri}],
            "extensionUrns": [{"extensionUrnAnchor": anchor, "urn": "extension:somebody:else"}],
            "extensions": [{"extensionFunction": function}],
        }
        rel = {"filter": {"input": READ, "condition": {"scalarFunction": call}}}
        text = json.dumps({"relations": [{"rel": rel}], **extensions})
        if snake:
            text = text.replace("extensionUriReference", "extension_uri_reference")
            text = text.replace("extensionUris", "extension_uris").replace("scalarFunction", "scalar_function")
        return from_plan(text, TABLES)

    known = plan("https://github.com/substrait-io/substrait/blob/main/extensions/functions_comparison.yaml", 7)
    assert isinstance(known, Filter) and str(known.predicate) == "gt(#0:n, 3)"
    assert plan("/functions_comparison.yaml", 0, 0) == known
    assert plan("", 4294967295) == known
    with pytest.raises(InvalidDataflow, match="function urn:elsewhere:gt is not known"):
        plan("urn:elsewhere", 7)


def test_joins_had_shorter_names() -> None:
    join = {"left": READ, "right": READ, "expression": {"literal": {"boolean": True}}}
    for name, kind in (("SEMI", "semi"), ("ANTI", "anti")):
        found = read({"join": {**join, "type": f"JOIN_TYPE_{name}"}})
        assert isinstance(found, Join) and (found.type, found.left_keys, found.residual) == (kind, (), None)
    with pytest.raises(InvalidDataflow, match="a left single join is not known"):
        read({"join": {**join, "type": "JOIN_TYPE_SINGLE"}})


def test_a_table_may_keep_its_types_to_itself() -> None:
    names_only = {"read": {"baseSchema": {"names": ["s"]}, "namedTable": {"names": ["t"]}}}
    assert read(names_only).schema.names == ("s",)
    assert read({"read": {"namedTable": {"names": ["t"]}}}) == TABLES["t"]
    wrong = {"names": ["n", "s"], "struct": {"types": [I64]}}
    with pytest.raises(InvalidDataflow, match="names and types do not belong together"):
        read({"read": {"baseSchema": wrong, "namedTable": {"names": ["t"]}}})


def test_a_comparison_is_a_truth_whatever_is_declared() -> None:
    call = {"functionReference": 1, "outputType": I64, "arguments": [{"value": N}, {"value": N}]}
    extensions = [{"extensionFunction": {"functionAnchor": 1, "name": "equal"}}]
    found = read({"filter": {"input": READ, "condition": {"scalarFunction": call}}}, extensions=extensions)
    assert isinstance(found, Filter) and found.predicate.type.kind == "bool"


def test_an_empty_list_holds_nothing() -> None:
    found = read({"filter": {"input": READ, "condition": {"singularOrList": {"value": N}}}})
    assert isinstance(found, Filter) and found.predicate == Literal(DataType("bool", nullable=False), False)


def test_rows_within_a_plan_are_read_and_refused_by_name() -> None:
    rows = {"baseSchema": {"names": ["a"]}, "virtualTable": {"values": [{"fields": [{"i32": 1}]}]}}
    with pytest.raises(InvalidDataflow, match="a read of virtual table is not known"):
        read({"read": rows})


def test_projections_of_older_producers_replace_their_input() -> None:
    call = {"functionReference": 1, "arguments": [{"value": N}, {"value": N}]}
    extensions = [{"extensionFunction": {"functionAnchor": 1, "name": "add"}}]
    project = {"project": {"input": READ, "expressions": [{"scalarFunction": call}, S]}}
    emit = {"common": {"emit": {"outputMapping": [2, 3]}}}
    mapped = {"project": {**project["project"], **emit}}

    def types(rel: dict[str, Any], producer: str, minor: int) -> list[str]:
        found = read(rel, extensions=extensions, version={"producer": producer, "minorNumber": minor})
        return [field.type.name for field in found.schema]

    appended = ["int64", "string", "int64", "string"]
    for producer, last in (("DuckDB", 53), ("datafusion", 51)):
        assert types(project, producer, last) == types(mapped, producer, last) == appended[2:]
        assert types(project, producer, last + 1) == appended
        below = {"project": {"input": mapped, "expressions": [N]}}  # of a producer that knows mappings
        assert types(below, producer, last) == [*appended[2:], "int64"]
    assert types(project, "", 51) == types(project, "somebody", 51) == appended
    # not the column of the table at that place, but what is computed there
    measure = {"functionReference": 2, "arguments": [{"value": N}], "outputType": I64}
    sums = [*extensions, {"extensionFunction": {"functionAnchor": 2, "name": "sum"}}]
    rel: dict[str, Any] = {"aggregate": {"input": project, "groupings": [{}], "measures": [{"measure": measure}]}}
    found = read(rel, extensions=sums, version={"producer": "DuckDB", "minorNumber": 53})
    assert isinstance(found, Aggregate) and isinstance(found.input, Project)
    assert str(found.input.expressions[0]) == "add(#0:n, #0:n)"
    rel["aggregate"]["groupings"] = [{"groupingExpressions": [N]}, {"groupingExpressions": [S]}]
    with pytest.raises(InvalidDataflow, match="grouping sets of a producer that leaves out which set a row is of"):
        read(rel, extensions=sums, version={"producer": "datafusion", "minorNumber": 51})


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", "{",
     '{"extensions": 3}', '{"extensions": [[]]}', '{"extensionUris": [{"extensionUriAnchor": "x"}]}',
     '{"relations": [{"rel": {"fetch": 5}}]}', '{"relations": [{"rel": {"aggregate": {"groupings": {}}}}]}',
     '{"extensions": [{"extensionFunction": {"extensionUriReference": []}}]}', '{"relationz": []}',
     "[" * 100_000, '{"a":' * 600 + "1" + "}" * 600, "9" * 10_000],
)  # fmt: skip
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataflow, match=r"not a Substrait plan|a plan with 0 relations"):
        parse(text)
