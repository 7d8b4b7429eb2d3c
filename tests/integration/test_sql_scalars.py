"""Functions in SQL: the same values, bit by bit, where everything is offloaded and where nothing is."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import jumpgate
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.types import parse_type
from jumpgate.errors import ComputeError
from jumpgate.testing.oracle import arrow_type
from tests.support.datafusion_calls import VALUES, calls, names

DIALECT = Dialect(division_by_zero="ieee", to_integer="truncate")
#: expressions of a query: one program each
BATCH = 80
#: nanoseconds come out of date_trunc and of intervals there, which Jumpgate does not have
KEPT = ("date_trunc",)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isnan(a) and math.isnan(b) or a == b and math.copysign(1, a) == math.copysign(1, b)
    return type(a) is type(b) and bool(a == b)


def test_offloaded_functions_are_datafusions(one_host: str, tmp_path: Path) -> None:
    """Rows on which a function fails are left to the tests of its errors."""
    most = max(map(len, VALUES.values()))
    rows = list(itertools.product(range(most), repeat=2))
    columns: dict[str, list[Any]] = {}
    schema = [("row", pa.int64())]
    for k, (type, values) in enumerate(VALUES.items()):
        for place, pick in enumerate((lambda r: r[0], lambda r: r[1], sum, lambda r: r[0] + 2 * r[1])):
            columns[f"c{k}_{place}"] = [values[pick(r) % len(values)] for r in rows]
            schema.append((f"c{k}_{place}", arrow_type(parse_type(type))))
    table = pa.table({"row": range(len(rows)), **columns}, schema=pa.schema(schema))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    items = []
    for name in (n for n in names() if n not in KEPT):
        for sql, expression, types in calls(name):
            used = [f"c{list(VALUES).index(t)}_{place}" for place, t in enumerate(types)]
            good = []
            for i in range(len(rows)):
                try:
                    evaluate(expression, [columns[n][i] for n in used], DIALECT)
                    good.append(i)
                except ComputeError:
                    continue
            text = sql.format(*used)
            chosen = f"CASE WHEN row IN ({', '.join(map(str, good))}) THEN {text} END"
            items.append(text if len(good) == len(rows) else chosen)
    assert len(items) > 250
    with jumpgate.connect(one_host, dialect="datafusion") as connection:
        connection.register("t", tmp_path / "t.parquet")
        for batch in (items[i : i + BATCH] for i in range(0, len(items), BATCH)):
            query = f"SELECT row, {', '.join(f'{e} AS e{i}' for i, e in enumerate(batch))} FROM t"
            here = connection.sql(query, offload="never").to_arrow().sort_by("row")
            offloaded = connection.sql(query, offload="always")
            there = offloaded.to_arrow().sort_by("row")
            assert "Kept by the client" not in offloaded.explain()
            assert there.schema == here.schema
            for e, mine, theirs in zip(batch, there.columns[1:], here.columns[1:], strict=True):
                pairs = zip(mine.to_pylist(), theirs.to_pylist(), strict=True)
                either = e.startswith(("least", "greatest"))  # of 0.0 and -0.0, which are equal
                wrong = [(i, a, b) for i, (a, b) in enumerate(pairs) if not (same(a, b) or (either and a == b))]
                assert not wrong, f"{e}: {wrong[:3]}"


def test_rounding_floats_to_digits_is_datafusions(one_host: str) -> None:
    """In 32 bits 0.00005 is half of 0.0001, in 64 bits it is less."""
    values = pa.table({"f": pa.array([0.00005, 0.00015, 2.5], pa.float32()), "d": [3499999.9999999995, 5e5, -2.5]})
    text = "SELECT round(f, 4) AS a, round(f) AS b, round(d, -6) AS c, round(d, 1) AS d FROM t ORDER BY f"
    with jumpgate.connect(one_host, dialect="datafusion") as connection:
        connection.register("t", values)
        never, always = (connection.sql(text, offload=mode).to_arrow() for mode in ("never", "always"))
    assert always == never
    assert always["a"].to_pylist() == pa.array([0.0001, 0.0002, 2.5], pa.float32()).to_pylist()
