"""Columns whose type Jumpgate does not have: harmless until somebody needs them, then refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import read
from jumpgate.compiler import PASSES
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.opaque_columns import opaque_columns
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.converters import footers
from jumpgate.dataflow import proto
from jumpgate.dataflow import types as t
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.expressions import Cast, ColumnRef
from jumpgate.dataflow.measures import count, max_
from jumpgate.dataflow.operators import Distinct, Filter, Operator, Project, Read, Send, Sort, SortKey, UnionAll
from jumpgate.dataflow.substrait import to_plan
from jumpgate.dataflow.unresolved import col
from jumpgate.errors import InvalidDataflow, SchemaMismatch
from jumpgate.nca.registry import Registry
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from tests.support.plans import statistics

SCHEMA = t.Schema.of(a=t.int64, l=t.opaque("list<int64>"), b=t.string, s=t.opaque("struct<x int64>", nullable=False))
READ = Read(("/t.parquet",), "parquet", SCHEMA, (0, 1, 2, 3))
LIST = ColumnRef(SCHEMA[1].type, 1, "l")
REFUSED = r"column 'l' is a list<int64>, which Jumpgate does not read \(yet\); name the columns that you need"


def passed(root: Operator) -> Operator:
    options = CompileOptions(statistics=statistics({}))
    return opaque_columns(Plan(Send(root, ()), options, (), Registry(), Estimator(options.statistics))).root.input


def test_a_type_says_what_it_is() -> None:
    type = t.opaque("list<int64>")
    assert (type.name, str(type), type.is_opaque) == ("list<int64>", "list<int64>?", True)
    assert not type.same(t.opaque("list<int32>"))
    for wrong in (lambda: t.DataType("opaque"), lambda: t.DataType("int64", description="list"), lambda: t.opaque("")):
        with pytest.raises(ValueError, match="an opaque type needs a description, and no other has one"):
            wrong()


@pytest.mark.parametrize(
    "use",
    [
        lambda d: d.select("l"),
        lambda d: d.filter(col("l").is_null()),
        lambda d: d.with_columns(x=col("l")),
        lambda d: d.sort("l"),
        lambda d: d.aggregate(by=["l"], n=count()),
        lambda d: d.aggregate(n=max_("l")),
        lambda d: d.join(d, on="l", suffix="_2"),
        lambda d: d.shuffle("l"),
        lambda d: d.distinct(),
    ],
)
def test_whoever_names_one_is_refused(use: Callable[[Dataflow], Dataflow]) -> None:
    with pytest.raises(InvalidDataflow, match=REFUSED):
        use(Dataflow(READ))


@pytest.mark.parametrize(
    "root",
    [
        Project(READ, (Cast(t.string, LIST, "error"),), ("x",)),
        Filter(READ, LIST),
        Sort(READ, (SortKey(LIST),)),
        Distinct(READ),
    ],
)
def test_a_request_that_names_one_is_refused(root: Operator) -> None:
    with pytest.raises(InvalidDataflow, match=REFUSED):
        proto.decode(proto.encode(root))


def test_requests_carry_them() -> None:
    root = Project(READ, (LIST, ColumnRef(t.int64, 0, "a")), ("l", "a"))
    assert proto.decode(proto.encode(root))[0] == root
    with pytest.raises(InvalidDataflow, match=r"read: a column of a CSV file cannot be of type list<int64>"):
        proto.decode(proto.encode(Read(("/t.csv",), "csv", SCHEMA, (0,))))


def test_what_nobody_needs_is_not_read() -> None:
    assert PASSES[0] is opaque_columns
    everything = Dataflow(READ).filter(col("a") == 1).with_columns(c=col("b"))
    narrowed = passed(everything.select("a", "c").root)
    assert [n.columns for n in narrowed.walk() if isinstance(n, Read)] == [(0, 2)]
    counted = passed(everything.union_all(everything).aggregate(n=count()).root)
    assert {n.columns for n in counted.walk() if isinstance(n, Read)} == {(0,)}
    plain = Read(READ.files, "parquet", SCHEMA, (2,))
    assert passed(plain) is plain


@pytest.mark.parametrize("root", [READ, UnionAll((READ, READ)), Read(READ.files, "parquet", SCHEMA, (1,))])
def test_a_result_holds_none(root: Operator) -> None:
    with pytest.raises(InvalidDataflow, match=REFUSED) as refused:
        passed(root)
    assert len(refused.value.problems) == len(set(root.schema.names) & {"l", "s"})


def test_other_formats_refuse_them() -> None:
    with pytest.raises(InvalidDataflow, match=r"Substrait has no list<int64>"):
        to_plan(READ)
    with pytest.raises(ValueError, match=REFUSED):
        Descriptor(SCHEMA)
    with pytest.raises(SchemaMismatch, match=r"a list<int64> has no type in Arrow here"):
        arrow_schema(SCHEMA)


def test_footers_tell_every_column_in_its_place(tmp_path: Path) -> None:
    columns = {
        "x.y": (pa.struct({"z": pa.int64(), "p.q": pa.string()}), [{"z": 1, "p.q": "a"}]),
        "x": (pa.int64(), [1]),
        "deep": (pa.list_(pa.struct({"m": pa.map_(pa.string(), pa.float64())})), [[{"m": [("k", 1.0)]}]]),
        "time": (pa.time64("us"), [1]),
        "p.q": (pa.string(), ["b"]),
    }
    data = pa.table({name: pa.array(values, type) for name, (type, values) in columns.items()})
    pq.write_table(data, tmp_path / "t.parquet")
    footer = footers.parquet_footer(str(tmp_path / "t.parquet"))
    expected = {
        "x.y": t.struct(t.Field("z", t.int64), t.Field("p.q", t.string)),
        "x": t.int64,
        "deep": t.list_(t.struct(t.Field("m", t.map_(t.string, t.float64)))),
        "time": t.time,
        "p.q": t.string,
    }
    assert footer.schema == t.Schema.of(**expected)
    assert footer.range("x") == footers.Range(1, 1, 0)
    assert footer.range("p.q") == footers.Range(b"b", b"b", 0)
    assert footer.range("time") == footers.Range(1, 1, 0)
    assert read(str(tmp_path / "t.parquet"), columns=["p.q", "x"]).schema == t.Schema.of(**{"p.q": t.string}, x=t.int64)
