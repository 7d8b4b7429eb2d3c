"""Correlated subqueries of Substrait: what they compute is what DuckDB computes for the same query in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.substrait import from_plan
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import InvalidDataflow
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import write
from tests.unit.test_substrait_relations import call, field, i64, plan, read, scalar

Rel = dict[str, Any]
SCHEMA = Schema((Field("n", DataType("int64")), Field("s", DataType("string"))))
TABLES: dict[str, list[tuple[int | None, str | None]]] = {
    "p": [(1, "a"), (2, "b"), (2, "b"), (3, None), (3, "c"), (None, None), (None, "a"), (7, "z")],
    "q": [(1, "a"), (1, "c"), (2, "b"), (3, None), (3, None), (5, "x"), (None, "b"), (None, None)],
    "r": [(2, "b"), (3, "c"), (3, None), (6, "y"), (None, None)],
    "none": [],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operator]:
    folder: Path = tmp_path_factory.mktemp("dependent")
    found: dict[str, Operator] = {}
    for name, rows in TABLES.items():
        write(folder / f"{name}.parquet", "parquet", SCHEMA, rows)
        found[name] = Read((str(folder / f"{name}.parquet"),), "parquet", SCHEMA, (0, 1))
    return found


# ---- relations by hand ------------------------------------------------------------------------------------------


def outer(index: int, steps: int = 1) -> Rel:
    segment = {"directReference": {"structField": {"field": index}}, "outerReference": {"stepsOut": steps}}
    return {"selection": segment}


def where(rel: Rel, *conditions: Rel) -> Rel:
    condition = conditions[0] if len(conditions) == 1 else scalar("and", *conditions)
    return {"filter": {"input": rel, "condition": condition}}


def project(rel: Rel, width: int, *expressions: Rel) -> Rel:
    mapping = [width + i for i in range(len(expressions))]
    return {"project": {"common": {"emit": {"outputMapping": mapping}}, "input": rel, "expressions": [*expressions]}}


def aggregate(rel: Rel, measures: list[Rel], keys: list[Rel] | None = None) -> Rel:
    grouping: Rel = {}
    if keys:
        grouping = {"groupingExpressions": keys, "groupings": [{"expressionReferences": [*range(len(keys))]}]}
    return {"aggregate": {"input": rel, "measures": [{"measure": m} for m in measures], **grouping}}


def measure(name: str, *arguments: Rel) -> Rel:
    return {**call(name, *arguments), "phase": "AGGREGATION_PHASE_INITIAL_TO_RESULT"}


def sort(rel: Rel, *keys: Rel) -> Rel:
    sorts = [{"expr": k, "direction": "SORT_DIRECTION_ASC_NULLS_LAST"} for k in keys]
    return {"sort": {"input": rel, "sorts": sorts}}


def fetch(rel: Rel, count: int, offset: int = 0) -> Rel:
    return {"fetch": {"input": rel, "countExpr": i64(count), "offsetExpr": i64(offset)}}


def join(left: Rel, right: Rel, condition: Rel, kind: str = "INNER") -> Rel:
    return {"join": {"left": left, "right": right, "expression": condition, "type": f"JOIN_TYPE_{kind}"}}


def exists(rel: Rel) -> Rel:
    return {"subquery": {"setPredicate": {"predicateOp": "PREDICATE_OP_EXISTS", "tuples": rel}}}


def value(rel: Rel) -> Rel:
    return {"subquery": {"scalar": {"input": rel}}}


def among(needle: Rel, rel: Rel) -> Rel:
    return {"subquery": {"inPredicate": {"needles": [needle], "haystack": rel}}}


def no(term: Rel) -> Rel:
    return scalar("not", term)


def eq(a: Rel, b: Rel) -> Rel:
    return scalar("equal", a, b)


def any_of(needle: Rel, operator: str, rel: Rel, reduction: str = "ANY") -> Rel:
    names = {"reductionOp": f"REDUCTION_OP_{reduction}", "comparisonOp": f"COMPARISON_OP_{operator}"}
    return {"subquery": {"setComparison": {**names, "left": needle, "right": rel}}}


P, Q, R = read("p"), read("q"), read("r")
#: q of the same n, and of a smaller one
SAME, SMALLER = where(Q, eq(field(0), outer(0))), where(Q, scalar("lt", field(0), outer(0)))
TEXTS = project(SAME, 2, field(1))
CASES: list[tuple[str, Rel, str]] = [
    ("exists", where(P, exists(SAME)), "from p where exists (from q where q.n = p.n)"),
    ("not exists", where(P, no(exists(SMALLER))), "from p where not exists (from q where q.n < p.n)"),
    (
        "exists as a value",
        project(P, 2, field(0), exists(SAME)),
        "select n, exists (from q where q.n = p.n) from p",
    ),
    ("limits", where(P, exists(fetch(sort(SAME, field(1)), 3))), "from p where exists (from q where q.n = p.n)"),
    ("no row asked for", where(P, no(exists(fetch(SAME, 0)))), "from p"),
    (
        "second row",
        where(P, exists(fetch(sort(SAME, field(1)), 1, 1))),
        "from p where (select count(*) from q where q.n = p.n) > 1",
    ),
    ("in", where(P, among(field(1), TEXTS)), "from p where s in (select s from q where q.n = p.n)"),
    (
        "in as a value",
        project(P, 2, field(0), field(1), among(field(1), TEXTS)),
        "select n, s, s in (select s from q where q.n = p.n) from p",
    ),
    (
        "not in",
        where(P, no(among(field(1), project(SMALLER, 2, field(1))))),
        "from p where s not in (select s from q where q.n < p.n)",
    ),
    (
        "in an aggregate",
        project(
            P,
            2,
            field(0),
            among(field(0), project(aggregate(SMALLER, [measure("count", field(0))], [field(1)]), 2, field(1))),
        ),
        "select n, n in (select count(n) from q where q.n < p.n group by s) from p",
    ),
    (
        "in one row",
        project(P, 2, field(0), among(field(0), project(aggregate(SAME, [measure("count")]), 1, field(0)))),
        "select n, n in (select count(*) from q where q.n = p.n) from p",
    ),
    (
        "count",
        project(P, 2, field(0), value(aggregate(SAME, [measure("count")]))),
        "select n, (select count(*) from q where q.n = p.n) from p",
    ),
    (
        "over an aggregate",
        project(
            P, 2, field(0), value(project(aggregate(SAME, [measure("count")]), 1, scalar("add", field(0), outer(0))))
        ),
        "select n, (select count(*) + p.n from q where q.n = p.n) from p",
    ),
    (
        "max of smaller ones",
        project(P, 2, field(0), value(aggregate(SMALLER, [measure("max", field(1))]))),
        "select n, (select max(s) from q where q.n < p.n) from p",
    ),
    (
        "measure of outer rows",
        project(P, 2, field(0), value(aggregate(SAME, [measure("sum", scalar("add", field(0), outer(0)))]))),
        "select n, (select sum(q.n + p.n) from q where q.n = p.n) from p",
    ),
    (
        "two subqueries",
        where(P, exists(SAME), scalar("gt", value(aggregate(SAME, [measure("count")])), i64(1))),
        "from p where exists (from q where q.n = p.n) and (select count(*) from q where q.n = p.n) > 1",
    ),
    (
        "a join below",
        where(P, exists(where({"cross": {"left": Q, "right": R}}, eq(field(0), outer(0)), eq(field(1), field(3))))),
        "from p where exists (from q, r where q.n = p.n and q.s = r.s)",
    ),
    (
        "a join of two dependent inputs",
        where(P, exists(join(SAME, where(R, eq(field(1), outer(1))), eq(field(0), field(2))))),
        "from p where exists (from (from q where q.n = p.n) q, (from r where r.s = p.s) r where q.n = r.n)",
    ),
    (
        "a right input",
        where(P, exists(join(Q, where(R, eq(field(1), outer(1))), eq(field(0), field(2))))),
        "from p where exists (from q, (from r where r.s = p.s) r where q.n = r.n)",
    ),
    (
        "an outer join",
        project(
            P,
            2,
            field(0),
            value(
                aggregate(
                    join(SAME, where(R, eq(field(1), outer(1))), eq(field(0), field(2)), "LEFT"),
                    [
                        measure("count"),
                    ],
                )
            ),
        ),
        "select n, (select count(*) from (from q where q.n = p.n) q left join (from r where r.s = p.s) r on q.n = r.n) "
        "from p",
    ),
    (
        "a semi join",
        where(P, exists(join(Q, where(R, eq(field(1), outer(1))), eq(field(0), field(2)), "LEFT_SEMI"))),
        "from p where exists (from q where q.n in (select r.n from r where r.s = p.s))",
    ),
    (
        "a union",
        where(P, exists({"set": {"op": "SET_OP_UNION_ALL", "inputs": [SAME, where(R, eq(field(1), outer(1)))]}})),
        "from p where exists (from q where q.n = p.n) or exists (from r where r.s = p.s)",
    ),
    (
        "distinct values",
        project(P, 2, field(0), value(aggregate(aggregate(SMALLER, [], [field(1)]), [measure("count")]))),
        "select n, (select count(*) from (select distinct s from q where q.n < p.n)) from p",
    ),
    (
        "an aggregate of an aggregate",
        project(P, 2, field(0), value(aggregate(aggregate(SMALLER, [measure("count")]), [measure("sum", field(0))]))),
        "select n, (select sum(c) from (select count(*) c from q where q.n < p.n)) from p",
    ),
    (
        "the first one",
        project(P, 2, field(0), value(project(fetch(sort(SMALLER, field(1), field(0)), 1), 2, field(1)))),
        "select n, (select s from q where q.n < p.n order by s nulls last, n nulls last limit 1) from p",
    ),
    (
        "in a subquery in a subquery",
        where(
            P,
            exists(
                where(Q, eq(field(0), outer(0)), exists(where(R, eq(field(0), outer(0)), eq(field(1), outer(1, 2)))))
            ),
        ),
        "from p where exists (from q where q.n = p.n and exists (from r where r.n = q.n and r.s = p.s))",
    ),
    (
        "two steps out alone",
        where(P, exists(where(Q, exists(where(R, eq(field(0), outer(0, 2))))))),
        "from p where exists (from q where exists (from r where r.n = p.n))",
    ),
    (
        "of two steps out a value",
        project(
            P,
            2,
            field(0),
            value(
                aggregate(
                    where(
                        Q,
                        scalar(
                            "gt",
                            value(aggregate(where(R, scalar("lte", field(0), outer(0, 2))), [measure("count")])),
                            field(0),
                        ),
                    ),
                    [measure("count")],
                )
            ),
        ),
        "select n, (select count(*) from q where (select count(*) from r where r.n <= p.n) > q.n) from p",
    ),
    (
        "any",
        project(
            P, 2, field(0), field(1), any_of(field(0), "GT", project(where(Q, eq(field(1), outer(1))), 2, field(0)))
        ),
        "select n, s, n > any (select n from q where q.s = p.s) from p",
    ),
    (
        "all",
        project(P, 2, field(0), any_of(field(0), "LE", project(SAME, 2, scalar("add", field(0), i64(1))), "ALL")),
        "select n, n <= all (select n + 1 from q where q.n = p.n) from p",
    ),
    (
        "all of rows that refer to nothing",
        project(P, 2, field(0), any_of(field(0), "NE", project(R, 2, field(0)), "ALL")),
        "select n, n <> all (select n from r) from p",
    ),
    (
        "of nothing",
        project(
            P,
            2,
            field(0),
            exists(where(read("none"), eq(field(0), outer(0)))),
            among(field(0), project(where(read("none"), eq(field(0), outer(0))), 2, field(0))),
        ),
        "select n, false, false from p",
    ),
]


@pytest.mark.parametrize(("name", "rel", "sql"), CASES, ids=[c[0] for c in CASES])
def test_the_answer_is_duckdbs(tables: dict[str, Operator], name: str, rel: Rel, sql: str) -> None:
    found = oracle.run(from_plan(plan(rel), tables))
    with duckdb.connect() as connection:
        for table, node in tables.items():
            assert isinstance(node, Read)
            connection.execute(f"create view {table} as from '{node.files[0]}'")
        expected = connection.execute(sql).fetchall()
    assert sorted(zip(*(c.to_pylist() for c in found.columns), strict=True), key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("rel", "words"),
    [
        (where(P, eq(outer(0), field(0))), "1 steps out is not known"),
        (where(P, exists(where(Q, eq(field(0), outer(0, 2))))), "2 steps out is not known"),
        (where(P, exists(where(Q, eq(field(0), outer(9))))), "column 9 does not exist"),
        (where(P, exists(join(SAME, R, eq(field(0), field(2)), "OUTER"))), "with a full join is not known"),
    ],
)
def test_what_cannot_be_unnested_says_why(tables: dict[str, Operator], rel: Rel, words: str) -> None:
    with pytest.raises(InvalidDataflow, match=words):
        from_plan(plan(rel), tables)


def test_more_rows_than_one_fail(tables: dict[str, Operator]) -> None:
    root = from_plan(plan(project(P, 2, value(project(SAME, 2, field(1))))), tables)
    with pytest.raises(Exception, match="several rows"):
        oracle.run(root)
