"""A scan skips what has no partner in a join further up: only where that is right, and with the same answers."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import Dataflow, col, count, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.join_types import JoinType
from jumpgate.testing.lab import ROW_GROUP_ROWS, Lab

ROWS = 6 * ROW_GROUP_ROWS


@pytest.fixture(params=["parquet", "orc"])
def skipping(request: pytest.FixtureRequest, local: Session, tmp_path: Path) -> Lab:
    """A lab whose format has statistics."""
    return Lab(local, tmp_path, request.param)


def facts(lab: Lab, type: str = "int64", value: Any = lambda i: i) -> Dataflow:
    """Rows in the order of k, in several row groups or stripes: what is skipped can be told from the counters."""
    return lab.table({"k": type, "a": "int64"}, [(value(i), i % 7) for i in range(ROWS)], files=3)


def few(lab: Lab, keys: list[Any], type: str = "int64") -> Dataflow:
    return lab.table({"k2": type, "b": "int64"}, [(k, i) for i, k in enumerate(keys)])


def pruned_bytes(lab: Lab, flow: Dataflow) -> int:
    """What the job's sources skipped; its answer is DuckDB's."""
    lab.check(flow)
    record = lab.session.describe(lab.session.jobs()[0].id).record
    assert record is not None
    return sum(s["pruned_bytes"] for c in record["counters"].values() for s in c["sources"])


@pytest.mark.parametrize("how", tuple(JoinType))
def test_only_joins_that_drop_rows_skip(skipping: Lab, how: str) -> None:
    flow = facts(skipping).join(few(skipping, [3, 5, 9]), left_on="k", right_on="k2", how=how)
    assert (pruned_bytes(skipping, flow) > 0) == (how in ("inner", "semi", "right"))


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("int32", lambda i: i - ROWS // 2),
        ("int64", lambda i: -(2**63) + i),
        ("decimal(9, 2)", lambda i: Decimal(i - 100).scaleb(-2)),
        ("date", lambda i: datetime.date(1960, 1, 1) + datetime.timedelta(days=i)),
        ("timestamp", lambda i: datetime.datetime(1969, 12, 31) + datetime.timedelta(seconds=i)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_types(skipping: Lab, type: str, value: Any) -> None:
    keys = [value(i) for i in (ROWS - 1, ROWS - 2, ROWS - 40)]
    flow = facts(skipping, type, value).join(few(skipping, [*keys, None], type), left_on="k", right_on="k2")
    without = type.startswith("decimal") or (type, skipping.format) == (
        "timestamp",
        "orc",
    )  # statistics, in these files
    assert (pruned_bytes(skipping, flow) > 0) != without


@pytest.mark.parametrize("type", ["string", "float64", "decimal(38, 2)"])
def test_other_types_are_read_whole(skipping: Lab, type: str) -> None:
    make = {"string": lambda i: f"{i:08}", "float64": float, "decimal(38, 2)": Decimal}[type]
    flow = facts(skipping, type, make).join(few(skipping, [make(3)], type), left_on="k", right_on="k2")
    assert pruned_bytes(skipping, flow) == 0


def test_keys_of_different_widths(skipping: Lab) -> None:
    flow = facts(skipping, "int32").join(few(skipping, [2**40, 7], "int64"), left_on="k", right_on="k2")
    skipping.check(flow)
    flow = facts(skipping).join(few(skipping, [7, 9], "int32"), left_on="k", right_on="k2")
    skipping.check(flow)


def test_a_build_side_without_keys_reads_nothing(skipping: Lab) -> None:
    left = facts(skipping)
    for keys in ([], [None, None]):
        skipping.check(left.join(few(skipping, keys), left_on="k", right_on="k2").aggregate(n=count()))
        record = skipping.session.describe(skipping.session.jobs()[0].id).record
        assert record is not None
        read = {s["name"]: s["rows"] for c in record["counters"].values() for s in c["sources"]}
        assert sorted(read.values())[-1] <= len(keys), read


def test_a_limit_below_the_join_counts_every_row(lab: Lab) -> None:
    """Which rows a limit takes is free, but there are as many as it says: a join may not thin them out before."""
    left = lab.table({"k": "int64", "a": "int64"}, [(5, i) for i in range(ROWS)])
    flow = left.limit(ROWS // 2).join(few(lab, [5]), left_on="k", right_on="k2")
    assert pruned_bytes(lab, flow.aggregate(n=count())) == 0


def test_several_joins_and_a_column_that_is_computed(skipping: Lab) -> None:
    left, one, two = facts(skipping), few(skipping, [10, 5000]), few(skipping, [4990, 5000, 20000])
    both = left.join(one, left_on="k", right_on="k2").join(
        two.select(k3=col("k2"), c=col("b")), left_on="k", right_on="k3"
    )
    assert pruned_bytes(skipping, both) > 0
    shifted = left.select(k=col("k") - 5, a=col("a")).join(one, left_on="k", right_on="k2")
    assert pruned_bytes(skipping, shifted) == 0  # bounds are of columns of the file


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_on_several_instances(cluster: Session, tmp_path: Path, format: str) -> None:
    """Siblings take disjoint shares of the files, whatever is skipped."""
    lab = Lab(cluster, tmp_path, format)
    flow = facts(lab).join(few(lab, [10, 11, 9000]), left_on="k", right_on="k2")
    assert pruned_bytes(lab, flow.aggregate(by=["b"], n=count(), total=sum_("k"))) > 0


@pytest.mark.parametrize("format", ["json", "csv"])
def test_formats_without_statistics(local: Session, tmp_path: Path, format: str) -> None:
    lab = Lab(local, tmp_path, format)
    left = lab.table({"k": "int64", "a": "int64"}, [(i, i) for i in range(100)])
    for keys in ([3, 5], [], [None]):
        assert pruned_bytes(lab, left.join(few(lab, keys), left_on="k", right_on="k2")) == 0
