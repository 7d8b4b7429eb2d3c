"""Asks for soundex from a dataflow, in SQL and by Substrait; prints the answers and where SQL ran as JSON.

python try_it.py NAMES.parquet
"""

import json
import sys

import jumpgate
from jumpgate.client import read
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.substrait import from_plan, to_plan
from jumpgate.dataflow.unresolved import col, f

names = read(sys.argv[1])
coded = names.select(name=col("name"), code=f.soundex(col("name")))
answers = {}
with Session() as session:
    answers["dataflow"] = session.run(coded).to_arrow().to_pylist()
    plan = to_plan(coded.root, {"names": names.root})
    again = Dataflow(from_plan(plan.SerializeToString(), {"names": names.root}))
    answers["substrait"] = session.run(again).to_arrow().to_pylist()
with jumpgate.connect() as connection:
    connection.register("names", sys.argv[1])
    for offload in ("always", "never"):
        query = connection.sql("SELECT name, soundex(name) AS code FROM names", offload=offload)
        answers[offload] = query.to_arrow().to_pylist()
        answers[f"{offload} offloads"] = bool(query.split.offloaded)
print(json.dumps(answers))
