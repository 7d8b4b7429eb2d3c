"""What stores compute otherwise than SQL is pushed exactly or not at all: each case beside DuckDB, with hadro."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, lit
from jumpgate.compiler.explain import explain_text
from jumpgate.dataflow.unresolved import Unresolved
from tests.support.select_lab import SelectLab, lab

WIDE = Decimal("9" * 32 + ".999999")
#: days and microseconds beyond the years that Python's dates have, too
DAYS = [0, -1, 11_016, 2_932_897, -719_163, 10_000_000, -(2**31) + 2, 2**31 - 2, None, 1]
TIMES = [0, -1, 1, 253_402_300_800_000_000, -62_135_596_800_000_001, 2**62, -(2**62), None, 946_684_800_000_000, 2]
ROWS = pa.table(
    {
        "i": pa.array(range(10), pa.int64()),
        "big": pa.array([0, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None, 1, 2], pa.int64()),
        "p": pa.array([Decimal(t) for t in ("1.50", "-0.01", "99999.99", "-99999.99", "0.00", "2.00")] + [None] * 4,
                      pa.decimal128(7, 2)),
        "w": pa.array([WIDE, WIDE.copy_negate(), Decimal("0.000001"), Decimal(-1), None, *map(Decimal, range(5))],
                      pa.decimal128(38, 6)),
        "d": pa.array(DAYS, pa.int32()).cast(pa.date32()),
        "t": pa.array(TIMES, pa.int64()).cast(pa.timestamp("us")),
        "b": pa.array([True, False, None, True, False, None, True, False, None, True]),
        "s": pa.array(["", None, "a", "A", "ab", "a ", "ü", "u\u0308", "日本", "~"]),
        "day": pa.array([-719_162, None, 2_932_896, *range(7)], pa.int32()).cast(pa.date32()),
        "time": pa.array([-62_135_596_800_000_000, 1, None, *range(7)], pa.int64()).cast(pa.timestamp("us")),
        "x": pa.array([0.0, -0.0, math.nan, math.inf, -math.inf, None, 1.5, 5e-324, -1.0, 1e300]),
    }
)  # fmt: skip
FIRST = datetime.date(1970, 1, 1)
#: conditions that are pushed where the dialect has the types, by what they are about
TYPED: dict[str, Unresolved] = {
    "decimals": (col("p") > Decimal("-0.01")) & (col("p") != Decimal("2.00")),
    "decimals of all digits": (col("w") >= WIDE) | (col("w") == Decimal("0.000001")),
    "the next decimal": col("w") < WIDE,
    "decimals in a list": col("p").isin([Decimal("1.5"), Decimal("99999.99")]),
    "dates": (col("d") >= FIRST) & (col("d") != datetime.date(2000, 2, 29)),
    "dates before the first year": col("d") < datetime.date(1, 1, 1),
    "dates in a list": ~col("d").isin([FIRST, datetime.date(1969, 12, 31)]),
    "times to the microsecond": col("t") > datetime.datetime(1970, 1, 1, 0, 0, 0, 1),
    "times before the first year": col("t") <= datetime.datetime(1, 1, 1),
    "truth": col("b"),
    "what is not true": ~col("b"),
    "truth of three values": ~(col("b") | (col("p") > Decimal("0.00"))),
    "truth as a value": (col("b") == lit(False)) | col("b").is_null(),
    "text in the order of bytes": (col("s") > "a") & (col("s") <= "ü"),
}
#: conditions that every dialect has
PLAIN: dict[str, Unresolved] = {
    "integers that no double is": (col("big") == 2**53 + 1) | (col("big") == -(2**53) - 1),
    "the greatest and the least": (col("big") >= 2**63 - 1) | (col("big") <= -(2**63)),
    "NULL is not unequal": col("s") != "a",
    "NULL in NOT": ~(col("s") == "a"),
    "empty text is not NULL": (col("s") == "") | col("s").is_null(),
    "no case, no spaces": col("s").isin(["A", "a "]),
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), typed="hadro", plain="filters") as found:
        yield found


@pytest.fixture(scope="module")
def tables(objects: SelectLab) -> dict[str, Dataflow]:
    return {bucket: objects.table(bucket, "t", ROWS) for bucket in ("typed", "plain")}


@pytest.fixture(autouse=True)
def calm(objects: SelectLab) -> Iterator[None]:
    yield
    objects.store.before = lambda number: ""
    objects.store.requests.clear()


def planned(objects: SelectLab, flow: Dataflow) -> tuple[bool, str]:
    """Return whether the store filters, and the plan as text."""
    plan = objects.plan(flow)
    return any(i.nca == "s3_select" and "filter" in i.operators for i in plan.instances), explain_text(plan.explain)


@pytest.mark.parametrize("asked", ["the store", "ranges"])
@pytest.mark.parametrize("condition", TYPED)
def test_types_that_the_dialect_has(
    objects: SelectLab, tables: dict[str, Dataflow], condition: str, asked: str
) -> None:
    flow = tables["typed"].filter(TYPED[condition]).select("i", "p", "w", "b", "s", "day", "time")
    assert planned(objects, flow)[0]
    if asked == "ranges":  # DuckDB computes the same text
        objects.store.before = lambda number: "refused" if objects.store.requests[-1][0] == "POST" else ""
    assert len(objects.check(flow)) > 0
    assert objects.selects()
    is_pushed, said = planned(objects, tables["plain"].filter(TYPED[condition]).select("i"))
    assert not is_pushed and "in another way" in said


@pytest.mark.parametrize("condition", PLAIN)
def test_integers_and_text(objects: SelectLab, tables: dict[str, Dataflow], condition: str) -> None:
    flow = tables["plain"].filter(PLAIN[condition]).select("i", "big", "s")
    assert planned(objects, flow)[0]
    assert len(objects.check(flow)) > 0
    assert objects.selects() == 2


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (col("x") > 1.0, "gives float64? of 'x' in another way"),  # NaN comes back as NULL
        (col("x").is_null(), "gives float64? of 'x' in another way"),
        (col("p").cast("decimal(9, 3)") < Decimal("1.005"), "may compute 'lt("),  # of another scale
        (col("p") < col("w"), "may compute 'lt("),
        (col("i") + 1 > 4, "may compute 'gt("),  # may overflow
        (col("s").like("a%"), "may compute 'like("),
    ],
)
def test_what_is_not_pushed(objects: SelectLab, tables: dict[str, Dataflow], condition: Any, reason: str) -> None:
    flow = tables["typed"].filter(condition).select("i")
    is_pushed, said = planned(objects, flow)
    assert not is_pushed and reason in said
    objects.check(flow)
