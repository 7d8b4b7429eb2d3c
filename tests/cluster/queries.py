"""What the client's machine runs: a line of JSON for each dataflow that it is told to run on standard arguments.

python queries.py SERVICE FOLDER RETRIES NAME…
"""

from __future__ import annotations

import json
import sys
import time

import jumpgate.client
from jumpgate.client import col, read, sum_
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import JumpgateError


def dataflow(name: str, folder: str) -> Dataflow:
    """`short`, `texts`: as many as there are rows, or `long`: a join of 10¹¹ pairs, which nobody waits for."""
    rows = read(f"{folder}/*.parquet")
    if name == "texts":
        return rows.select(t=col("t"))
    if name == "short":
        return rows.aggregate(s=sum_("x"), by="k").sort("k")
    return rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2").aggregate(s=sum_("y"))


def main(service: str, folder: str, retries: str, *names: str) -> None:
    with jumpgate.client.connect(service, retries=int(retries)) as session:
        for name in names:
            began = time.monotonic()
            answer: dict[str, object] = {"name": name}
            try:
                result = session.run(dataflow(name, folder))
                print(json.dumps({"started": result.job}), flush=True)
                found = result.to_arrow()
                answer["rows"] = (
                    [[found.num_rows]] if name == "texts" else [list(r.values()) for r in found.to_pylist()]
                )
                record = session.describe(result.job).record
                answer["hosts"] = sorted({i["host"] for i in record["instances"]}) if record else []
            except JumpgateError as error:
                answer |= {"error": error.code, "message": error.message, "host": error.fields.get("host")}
            print(json.dumps(answer | {"seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
