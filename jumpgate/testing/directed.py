"""Directed dataflows for accelerators: each operator over each type, at the points where engines differ.

They cover NULLs, groups without a value, empty inputs, the extremes of every type, NaN and both zeros, overflowing
sums, equal keys, several batches. An accelerator may refuse any of them; for each operator that it takes, they include
its width and type.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from jumpgate.client import avg, col, count, count_distinct, lit, max_, min_, stddev, sum_
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.join_types import JoinType
from jumpgate.dataflow.operators import Frame, Operator, SortKey, Window, WindowFunction, column, window_type
from jumpgate.dataflow.types import DataType, int64, parse_type
from jumpgate.nca.conformance.kit import Case
from jumpgate.testing.directed_functions import compared, functions
from jumpgate.testing.lab import Lab

#: values at the edges of a type; the first is what rows are compared with
EDGES: dict[str, list[Any]] = {
    "int32": [0, -1, 1, -(2**31), 2**31 - 1, 2**24 + 1],
    "int64": [0, -1, 1, -(2**63), 2**63 - 1, 2**53, 2**53 + 1],
    "decimal(7, 2)": [Decimal(t) for t in ("0.00", "-0.01", "99999.99", "-99999.99", "1.50")],
    "float64": [0.0, -0.0, 1.5, -math.inf, math.inf, math.nan, 5e-324, -1.7e308],
    "date": [datetime.date(*d) for d in ((1970, 1, 1), (1969, 12, 31), (1, 1, 1), (9999, 12, 31), (2000, 2, 29))],
    "string": ["", "a", "A", "ab", "a ", "ü", "u\u0308", "日本", "~" * 300, "it's"],
    "int8": [0, -1, 1, -128, 127],
    "bool": [False, True],
    "timestamp": [datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
                  datetime.datetime(2261, 12, 31, 23, 59, 59), datetime.datetime(1678, 1, 1, 0, 0, 0, 1)],
    "int16": [0, -1, 1, -(2**15), 2**15 - 1],
    "float32": [0.0, -0.0, 1.5, -math.inf, math.inf, math.nan, -3.0],
    "decimal(38, 6)": [Decimal(t) for t in ("0", "-0.000001", "1.5", "9" * 32 + ".999999", "-" + "9" * 32)],
}  # fmt: skip
#: more than a batch holds
MANY = 33_000
ONE = Literal(int64.with_nullable(False), 1)
UP_TO_ROW = Frame("rows", None, 0)

Make = Callable[[Dataflow], Dataflow]


def directed(folder: Path, limit: int | None = None, only: Collection[str] = ()) -> Iterator[Case]:
    """Yield all of them over files in `folder`; at most `limit` for each operator, the commonest types first. `only`:
    the operators to yield them of."""
    groups: dict[str, Callable[[Lab], Iterable[Case | tuple[str, Dataflow, str]]]] = {
        "filter": _filters, "project": _projections, "function": functions, "join": _joins, "aggregate": _aggregates,
        "sort": _sorts, "distinct": _distincts, "window": _windows, "rest": _rest,
    }  # fmt: skip
    for operator, cases in groups.items():
        if only and operator not in only:
            continue
        lab = Lab(None, folder / operator)  # type: ignore[arg-type]  # it runs nothing
        lab.folder.mkdir(parents=True, exist_ok=True)
        for found in itertools.islice(cases(lab), limit):
            case = found if isinstance(found, Case) else Case(found[0], found[1].root, found[2])
            case = replace(case, name=f"{operator}: {case.name}")
            yield case
            if case.name in ON_TWO:
                yield replace(case, name=f"{case.name}, on two instances", parallelism=2)


Found = Iterator[tuple[str, Dataflow, str]]
#: dataflows that also run with two instances of each operator
ON_TWO = frozenset((
    "filter: many rows", "join: of many rows", "join: full on int32", "join: anti on string", "join: left on two keys",
    "aggregate: of many rows", "aggregate: of many rows, all", "aggregate: of int32 by a group", "aggregate: by string",
    "sort: the first of many rows", "sort: int32, then rows", "sort: first string", "distinct: of many rows",
))  # fmt: skip


def table(lab: Lab, type: str, nulls: bool = True, copies: int = 3) -> Dataflow:
    """(g, v, n): v has each edge of the type `copies` times and NULLs; of the groups g 7 has no value, and one is NULL;
    n is the row's number."""
    values = [v for v in EDGES[type] for _ in range(copies)]
    rows: list[tuple[Any, ...]] = [(i % 4, v) for i, v in enumerate(values)]
    if nulls:
        rows += [(7, None), (7, None), (None, EDGES[type][0]), (2, None), (None, None)]
    kinds = {name: parse_type(t).with_nullable(nulls) for name, t in (("g", "int32"), ("v", type))}
    numbered = [(*row, n) for n, row in enumerate(rows)]
    return lab.table({**kinds, "n": DataType("int64").with_nullable(False)}, numbered, files=2)


def many(lab: Lab) -> Dataflow:
    """Rows of several batches, their number no multiple of a batch's."""
    rows = [(i % 997, None if i % 11 == 0 else i * 7919 % 20011 - 10000, i) for i in range(MANY)]
    return lab.table({"g": "int64", "v": "int64", "n": "int64"}, rows, files=1)


def _none(flow: Dataflow) -> Dataflow:
    return flow.filter(col("n") < 0)


def _filters(lab: Lab) -> Found:
    for type, (first, *_) in EDGES.items():
        flow = table(lab, type)
        value = lit(first).cast(type)
        yield f"{type} above a value", flow.filter(col("v") > value), ""
        yield f"{type} equal to a value", flow.filter(col("v") == value), ""
        yield f"{type} unequal to one", flow.filter(col("v") != value), ""
        yield f"{type} that is NULL", flow.filter(col("v").is_null() | (col("g") == 7)), ""
    yield "many rows", many(lab).filter(col("v") > 0), ""
    yield "no rows", _none(table(lab, "int32")).filter(col("v") > 0), ""


def _projections(lab: Lab) -> Found:
    for type in EDGES:
        flow = table(lab, type)
        yield f"{type} in another order", flow.select("n", "v", w=col("v")), ""
        yield f"{type} beside each of its edges", Dataflow(compared(flow, type, EDGES[type])), ""


def _joins(lab: Lab) -> Found:
    for type in EDGES:
        for nulls in (True, False):
            left, right = (
                table(lab, type, nulls),
                table(lab, type, nulls, 2).select(g2=col("g"), v2=col("v"), n2=col("n")),
            )
            for how in (t for t in JoinType if nulls or t.any_order):
                joined = left.join(right, left_on="v", right_on="v2", how=how)
                yield f"{how} on {type}{'' if nulls else ' without NULLs'}", joined, ""
        left, right = table(lab, type), table(lab, type, copies=1).select(g2=col("g"), v2=col("v"), n2=col("n"))
        if type == "int32":
            for how in (t for t in JoinType if not t.marks):
                both = left.join(right, left_on=["g", "v"], right_on=["g2", "v2"], how=how)
                yield f"{how} on two keys", both, ""
            texts = table(lab, "string").select(g2=col("g"), v2=col("v"), n2=col("n"))
            words = table(lab, "string", copies=2)
            yield "on two keys, text first", words.join(texts, left_on=["v", "g"], right_on=["v2", "g2"]), ""
        yield f"on {type} with an empty build side", left.join(_none_of(right), left_on="v", right_on="v2"), ""
        yield f"on {type} with an empty probe side", _none(left).join(right, left_on="v", right_on="v2"), ""
        yield f"of a table of {type} with itself", left.join(left, left_on="v", right_on="v", suffix="_r"), ""
    left, right = table(lab, "int32"), table(lab, "int32").select(g2=col("g"), v2=col("v"), n2=col("n"))
    for how in (t for t in JoinType if not t.unmatched_right and not t.marks):
        joined = left.join(right, left_on="v", right_on="v2", how=how, where=col("n") < col("n2"))
        yield f"{how} with a further condition", joined, ""
    big = many(lab)
    small = big.filter(col("n") < 1500).select(k=col("g"), m=col("n"))
    yield "of many rows", big.join(small, left_on="g", right_on="k"), ""
    yield "with many rows to build", small.join(big, left_on="k", right_on="g"), ""


def _none_of(flow: Dataflow) -> Dataflow:
    return flow.filter(col("n2") < 0)


def _aggregates(lab: Lab) -> Found:
    for type in EDGES:
        flow, numeric = table(lab, type), type.startswith(("int", "decimal", "float"))
        least = {"lo": min_("v"), "hi": max_("v"), "c": count("v"), "n": count()}
        yield f"of {type} by a group", flow.aggregate(by=["g"], **least), ""
        yield f"by {type}", flow.aggregate(by=["v"], n=count(), m=max_("n")), ""
        yield f"of {type}, all", flow.aggregate(by=(), **least), ""
        yield f"the largest {type} of a group", flow.aggregate(by=["g"], hi=max_("v")), ""
        yield f"the least {type} of a group", flow.aggregate(by=["g"], lo=min_("v")), ""
        yield f"the last row of a group, beside {type}", flow.aggregate(by=["g"], last=max_("n")), ""
        yield f"the largest {type} of no groups", _none(flow).aggregate(by=["g"], hi=max_("v")), ""
        yield f"of {type}, no rows", _none(flow).aggregate(by=(), **least), ""
        yield f"of {type}, no rows and so no groups", _none(flow).aggregate(by=["g"], **least), ""
        yield f"distinct {type}", flow.aggregate(by=["g"], d=count_distinct("v")), ""
        if not numeric:
            continue
        yield f"one sum of nothing, of {type}", _none(flow).aggregate(s=sum_("v")), ""
        small = flow.filter((col("v") > -2) & (col("v") < 2)) if type != "int8" else flow
        yield f"sums of {type}", small.aggregate(by=["g"], s=sum_("v"), m=avg("v"), c=count("v")), ""
        yield f"sums of NULLs of {type}", flow.filter(col("g") == 7).aggregate(by=["g"], s=sum_("v"), a=avg("v")), ""
        if type.startswith("float"):
            infinite = flow.filter((col("v") > 1) & (col("v") <= lit(math.inf).cast(type)))
            yield f"sums of infinity, of {type}", infinite.aggregate(by=["g"], s=sum_("v"), m=avg("v")), ""
            yield f"sums of NaN, of {type}", flow.filter(col("v") > 1).aggregate(s=sum_("v"), m=avg("v")), ""
        yield f"a sum for each {type}", small.aggregate(by=["v"], s=sum_("n"), d=stddev("n")), ""
    largest = table(lab, "int64").filter(col("v") > 2**62)
    yield "a sum that fits no int64", largest.aggregate(by=["v"], s=sum_("v")), "overflow"
    least64 = table(lab, "int64").filter(col("v") < -(2**62))
    yield "a sum below every int64", least64.aggregate(s=sum_("v")), "overflow"
    yield "of many rows", many(lab).aggregate(by=["g"], s=sum_("v"), n=count(), lo=min_("n")), ""
    yield "of many rows, all", many(lab).aggregate(s=sum_("v"), c=count("v"), n=count(), hi=max_("n")), ""


def _sorts(lab: Lab) -> Found:
    for type in EDGES:
        flow = table(lab, type)
        yield f"{type}, then rows", flow.sort("v", "n"), ""
        yield f"{type} descending, then rows descending", flow.sort(col("v").desc(), col("n").desc()), ""
        yield f"{type}, NULLs first", flow.sort(col("v").asc(nulls_first=True), "n"), ""
        yield f"{type} alone", flow.sort(col("v").desc()), ""
        yield f"first {type}", flow.top(4, col("v").desc(), "n", offset=1), ""
        yield f"first {type}, NULLs first", flow.top(4, col("v").asc(nulls_first=True), "n"), ""
        yield f"first {type} of equal groups", flow.top(7, "g", col("v").desc()), ""
        yield f"first {type} of none", flow.top(0, "v", "n"), ""
    yield "many rows", many(lab).sort(col("v").desc(), "n"), ""
    yield "the first of many rows", many(lab).top(100, col("v"), col("n").desc()), ""
    yield "no rows", _none(many(lab)).sort("v", "n"), ""


def _distincts(lab: Lab) -> Found:
    for type in EDGES:
        yield f"{type}", table(lab, type).select("v").distinct(), ""
        yield f"{type} and a group", table(lab, type).select("g", "v").distinct(), ""
    yield "of many rows", many(lab).select("g").distinct(), ""


def _windows(lab: Lab) -> Found:
    for type in EDGES:
        flow = table(lab, type)
        functions = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "min", "max", "count", "lag"]
        functions += ["first_value", "last_value", "nth_value"]
        if type.startswith(("int", "decimal")) and type not in ("int64", "decimal(38, 6)"):
            functions += ["sum", "avg"]
        yield f"over {type}", Dataflow(_window(flow.root, functions)), ""
        yield f"sliding over {type}", Dataflow(_window(flow.root, functions, frame=Frame("groups", -1, 1))), ""
        yield f"by {type}", Dataflow(_window(flow.root, ["row_number", "rank"], by=1)), ""
    yield "over many rows", Dataflow(_window(many(lab).root, ["rank", "sum", "count_star"])), ""


def _window(node: Operator, functions: list[str], by: int = 0, frame: Frame = UP_TO_ROW) -> Operator:
    """Functions of v in the order of v and n, of the rows that share column `by`."""
    calls = []
    for name in functions:
        arguments: tuple[Expression, ...] = ()
        if name not in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "count_star"):
            arguments = (column(node.schema, 1), *((ONE,) if name in ("lag", "nth_value") else ()))
        type = window_type(name, tuple(a.type for a in arguments))
        calls.append(WindowFunction(name, arguments, type, f"w_{name}"))
    order = (SortKey(column(node.schema, 1)), SortKey(column(node.schema, 2)))
    return Window(node, (column(node.schema, by),), order, tuple(calls), frame)


def _rest(lab: Lab) -> Found:
    for type in ("int64", "string", "float64", "decimal(7, 2)"):
        flow = table(lab, type)
        yield f"two parts of {type}", flow.filter(col("g") < 2).union_all(flow.filter(col("g") >= 2)), ""
        yield f"some rows of {type}", flow.limit(5), ""
    numbers = table(lab, "int32")
    yield "a skyline", numbers.filter(col("v").is_not_null()).skyline(col("v").desc(), "n"), ""
    for type in ("int64", "string"):
        flow = table(lab, type)
        yield f"{type} twice", flow.union_all(flow), ""
