"""Aggregates and first rows of CSV and JSON Lines objects that a store computes are DuckDB's; what it may take for
another value is computed here."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from jumpgate.client import Dataflow, avg, col, count, max_, min_, read, sum_
from jumpgate.compiler.explain import explain_text
from jumpgate.dataflow.unresolved import Unresolved
from jumpgate.errors import MalformedData
from jumpgate.nca.storage import Asked
from jumpgate.ncas import s3_select
from jumpgate.testing.oracle import assert_same
from tests.support.select_double import SelectDouble
from tests.support.select_lab import SelectLab, lab

TYPES = {"k": "int64", "v": "int32", "s": "string"}
CONDITIONS: dict[str, Unresolved | None] = {
    "all rows": None,
    "integers": (col("v") > 3) & (col("v") != 12),
    "what is not": ~((col("v") <= 3) | (col("s") == "a")),
    "lists": col("v").isin([1, 5, 7]) | ~col("s").isin(["a", "it's"]),
    "NULL": col("s").is_null() | (col("v").is_null() & col("k").is_not_null()),
    "no NULL": ~col("v").is_null() & (col("s") != "b"),
    "nothing": col("v") > 10**6,
}  # fmt: skip
MEASURES = {
    "n": count(), "nv": count("v"), "ns": count("s"), "t": sum_("v"), "a": avg("v"), "l": min_("v"), "h": max_("k"),
}  # fmt: skip
PROVEN = "CAST(CAST("


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), aws="aws", minio="minio", filters="filters", hadro="hadro") as found:
        rng = random.Random(5)
        for bucket in ("aws", "minio", "hadro"):
            for part in range(3):
                rows = rows_of(rng, part * 400)
                lines = ["k,v,s", *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
                (found.folder / bucket / f"{part}.csv").write_text("\n".join(lines) + "\n")
                (found.folder / bucket / f"{part}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        yield found


@pytest.fixture(autouse=True)
def double(objects: SelectLab) -> Iterator[SelectDouble]:
    objects.store.select = found = SelectDouble()
    yield found
    objects.store.requests.clear()


def rows_of(rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Return rows of which the first has no NULL, as the double finds its types there."""

    def some(value: object) -> object:
        return None if rng.random() < 0.1 else value

    rows = [
        {
            "k": some(rng.choice([1, 1, 1, 2, 3, rng.randrange(50)])),
            "v": some(rng.randrange(-20, 20)),
            "s": some(rng.choice(["a", "a", "b", "it's", "rare" + str(rng.randrange(40))])),
        }
        for _ in range(count)
    ]
    return [{"k": 1, "v": 5, "s": "a"}, *rows] if rows else []


def table(bucket: str, kind: str) -> Dataflow:
    first = 0 if (bucket, kind) == ("aws", "csv") else 1  # others find no columns in nothing
    return read([f"s3://{bucket}/{part}.{kind}" for part in range(first, 3)], schema=TYPES)


def check(objects: SelectLab, flow: Dataflow, about: str) -> None:
    """Compare with DuckDB, where the store computed without a look into the objects."""
    plan = objects.plan(flow)
    assert any(i.nca == "s3_select" for i in plan.instances), explain_text(plan.explain)
    objects.store.requests.clear()
    try:
        objects.check(flow, plan)
    except Exception as error:
        raise AssertionError(about) from error
    assert objects.selects() > 0
    assert not [r for method, _, r in objects.store.requests if method == "GET" and r != "bytes=0-0"]


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize("by", [[], ["s"], ["k"], ["k", "s"]], ids=str)
def test_aggregates(
    objects: SelectLab, double: SelectDouble, kind: str, by: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3_select, "_for_rows", lambda *_: Asked(1e9, 1e12))  # aggregates are always better than rows
    for about, condition in CONDITIONS.items():
        flow = table("aws", kind)
        flow = flow if condition is None else flow.filter(condition)
        double.statements.clear()
        check(objects, flow.aggregate(by=by, **MEASURES), about)
        assert any(PROVEN in statement for statement in double.statements)
        if by and about != "nothing":
            assert any("CASE WHEN" in s and " = " in s and "SUM(" in s for s in double.statements)


@pytest.mark.parametrize("bucket", ["aws", "minio", "hadro"])
@pytest.mark.parametrize("kind", ["csv", "json"])
def test_first_rows(objects: SelectLab, double: SelectDouble, bucket: str, kind: str) -> None:
    if bucket == "hadro":
        objects.store.select = None
    flows = table(bucket, kind), table(bucket, kind).filter((col("s") != "a") & (col("v") < 15))
    for flow in flows:
        for key in (col("v").desc(), col("v"), col("v").asc(nulls_first=True), "k"):
            for rows in (1, 40):
                check(objects, flow.top(rows, key, "k", "s", "v"), f"{key}, {rows}")


def test_a_threshold_leaves_rows_out(objects: SelectLab, double: SelectDouble) -> None:
    lines = "".join(f"{n},{n * 7919 % 10_007},x\n" for n in range(10_000))
    (objects.folder / "aws/many.csv").write_text("k,v,s\n" + lines)
    found = objects.check(read("s3://aws/many.csv", schema=TYPES).top(3, "v", "k", "s"))
    assert found["v"].to_pylist() == [0, 1, 2] and double.rows < 3000


@pytest.mark.parametrize(
    ("odd", "plain"), [("+5", "5"), ("5.0", "5"), ("1e1", "10"), (" 7", "7"), ("007", "7"), ("-0", "0")]
)
def test_integers_in_another_notation(objects: SelectLab, double: SelectDouble, odd: str, plain: str) -> None:
    """A store would refuse them, or take them for others: these objects are read by ranges."""
    for name, text in (("odd", odd), ("plain", plain)):
        (objects.folder / f"aws/{name}.csv").write_text(f"k,v,s\n1,{text},a\n2,3,b\n3,,c\n")
    for by in ([], ["s"], ["v"]):
        one, other = (
            read(f"s3://aws/{name}.csv", schema=TYPES).aggregate(by=by, **MEASURES) for name in ("odd", "plain")
        )
        assert_same(objects.run(one), objects.here(other.root))
        assert PROVEN in double.statements[-1]


def test_text_that_is_no_integer_is_an_error(objects: SelectLab) -> None:
    (objects.folder / "aws/wrong.csv").write_text("k,v,s\n1,2.7,a\n2,3,b\n")
    for by in ([], ["s"]):
        flow = read("s3://aws/wrong.csv", schema=TYPES).aggregate(by=by, **MEASURES)
        with pytest.raises(MalformedData):
            objects.run(flow)


def test_sums_that_no_double_holds_are_computed_here(objects: SelectLab) -> None:
    (objects.folder / "aws/large.csv").write_text(f"k,v,s\n{2**53},1,a\n{2**53 + 1},1,a\n{2**62},1,b\n")
    flow = read("s3://aws/large.csv", schema=TYPES)
    for by in ([], ["s"], ["k"]):
        objects.check(flow.aggregate(by=by, n=count(), t=sum_("k"), h=max_("k")))


def test_null_texts(objects: SelectLab) -> None:
    (objects.folder / "aws/na.csv").write_text("k,v,s\n1,NA,x\n1,,NA\n2,7,\n,8,x\nNA,9,\n")
    (objects.folder / "aws/na.json").write_text(
        '{"k": 1, "s": "x"}\n{"k": 1}\n{"k": 2, "v": 7, "s": ""}\n{"v": 8, "s": "x"}\n{"v": 9, "s": ""}\n'
    )
    flows = read("s3://aws/na.csv", schema=TYPES, null="NA"), read("s3://aws/na.json", schema=TYPES)
    for by in ([], ["s"], ["k"]):
        one, other = (flow.aggregate(by=by, **MEASURES) for flow in flows)
        assert_same(objects.run(one), objects.here(other.root))


def test_aggregates_that_are_not_pushed(objects: SelectLab) -> None:
    def said(flow: Dataflow) -> str:
        return explain_text(objects.plan(flow).explain)

    assert "has no CASE, which tells NULL from other text" in said(table("minio", "csv").aggregate(n=count("v")))
    ordered = table("aws", "csv").filter(col("s") > "b").aggregate(n=count())
    assert "over text in another way" in said(ordered)
    large = table("aws", "csv").filter(col("k") > 2**53).aggregate(n=count())
    assert "over text in another way" in said(large)
    (objects.folder / "aws/d.csv").write_text("k,d\n1,2024-01-01\n")
    days = read("s3://aws/d.csv", schema={"k": "int64", "d": "date"}).aggregate(n=count("d"))
    assert "may take the text of 'd' for another date" in said(days)
    (objects.folder / "filters/0.csv").write_text("k,v,s\n1,2,a\n")
    assert "knows no numbers in text" in said(read("s3://filters/0.csv", schema=TYPES).top(1, "v"))
