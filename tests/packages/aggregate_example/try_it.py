"""Asks for the root mean square of groups from a dataflow, in parts too, and by Substrait; prints the answers as JSON.

python try_it.py VALUES.parquet
"""

import json
import sys

from jumpgate.client import measure, read
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.substrait import from_plan, to_plan

values = read(sys.argv[1])
grouped = values.aggregate(
    by="g",
    rms=measure("root_mean_square", "v"),
    of_decimals=measure("root_mean_square", "d"),
    distinct=measure("root_mean_square_distinct", "v"),
)
merged = values.aggregate(by="g", rms=measure("root_mean_square", "v"))
plan = to_plan(grouped.root, {"values": values.root}).SerializeToString()
answers = {}
with Session() as session:
    answers["dataflow"] = session.run(grouped).to_arrow().sort_by("g").to_pylist()
    again = Dataflow(from_plan(plan, {"values": values.root}))
    answers["substrait"] = session.run(again).to_arrow().sort_by("g").to_pylist()
with Session(parallelism=2) as session:
    answers["merged"] = session.run(merged).to_arrow().sort_by("g").to_pylist()
    answers["phases"] = [word for word in ("partial", "final") if word in str(session.explain(merged))]
print(json.dumps(answers))
