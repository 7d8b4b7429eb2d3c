"""Reads Arrow IPC files on every road and prints the answers as JSON: python try_it.py FOLDER"""

from __future__ import annotations

import json
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import jumpgate
from jumpgate.client import col, connect, count, read, sum_
from jumpgate.converters import probe
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.substrait import from_plan, to_plan
from jumpgate.errors import JumpgateError

ROWS = 10_000
folder = Path(sys.argv[1])
table = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "part": pa.array([i % 7 for i in range(ROWS)], pa.int8()),
        "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(ROWS)]),
        "price": pa.array([Decimal(i).scaleb(-2) for i in range(ROWS)], pa.decimal128(9, 2)),
        "wide": pa.array([None if i % 3 else Decimal(10**20 + i) for i in range(ROWS)], pa.decimal128(30, 0)),
        "half": pa.array([i / 2 for i in range(ROWS)], pa.float64()),
        "day": pa.array([date(2024, 1, 1 + i % 31) for i in range(ROWS)]),
        "at": pa.array([datetime(2024, 1, 1, i % 24) for i in range(ROWS)], pa.timestamp("us")),
        "text": pa.array([None if i % 11 == 0 else "x" * (i % 40) for i in range(ROWS)]),
        "list": pa.array([[i] for i in range(ROWS)]),
    }
)
format = formats()["arrow_ipc"]
files = [folder / f"t{variant}.arrow" for variant in range(format.variants)]
for variant, path in enumerate(files):
    format.write(table, path, part_rows=3_000, variant=variant)
plain = [name for name in table.column_names if name != "list"]
expected = table.select(plain).to_pylist()
answers: dict[str, object] = {}

query = read(files[0]).filter(col("id") >= 9_000).aggregate(by=["part"], n=count(), total=sum_("price"))
with connect() as session:
    for path in files:
        found = session.run(read(path, columns=plain)).to_pylist()
        answers[path.name] = sorted(found, key=lambda row: row["id"]) == expected
    answers["count"] = session.run(read(folder).aggregate(n=count())).to_pylist()
    answers["dataflow"] = sorted(session.run(query).to_pylist(), key=lambda row: row["part"])
    answers["plan"] = session.explain(query)
    (folder / "bad.feather").write_bytes(files[0].read_bytes()[:-20])
    for what, use in {
        "damaged": lambda: read(folder / "bad.feather"),
        "damaged, with a schema": lambda: session.run(read(folder / "bad.feather", schema={"id": "int64"})).to_pylist(),
        "of another type": lambda: session.run(read(files[0], schema={"id": "int32"})).to_pylist(),
        "without the column": lambda: session.run(read(files[0], schema={"no": "int32"})).to_pylist(),
        "of no type of ours": lambda: session.run(read(files[0], columns=["list"])).to_pylist(),
        "with an option": lambda: read(files[0], header=True),
    }.items():
        try:
            answers[what] = str(use())
        except JumpgateError as error:
            answers[what] = [type(error).__name__, error.message]
(folder / "bad.feather").unlink()
text = "SELECT part, count(*) AS n, sum(price) AS total FROM t WHERE id >= 9000 GROUP BY part ORDER BY part"
with jumpgate.connect() as connection:
    connection.register("t", files[0])
    for mode in ("never", "auto", "always"):
        answers[mode] = connection.sql(text, offload=mode).to_pylist()
    answers["offloaded"] = connection.sql(text, offload="always").split.offloaded
known = probe.estimate((str(files[0]),), "arrow_ipc")
assert known.column is not None
answers["statistics"] = [known.rows, known.column("part", read(files[0]).schema[1].type).distinct]
bare = read(files[0], schema={"id": "int64"}).root
answers["substrait"] = from_plan(to_plan(bare), {}) == bare
print(json.dumps(answers, default=str))
