"""What the client's machine runs: a line of JSON for each dataflow that it is told to run.

python queries.py SERVICE FOLDER RETRIES NAME…        `-` as the last name: more come on standard input, as NAME RETRIES
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import jumpgate.client
from jumpgate.client import col, count_distinct, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.errors import JumpgateError


def dataflow(name: str, folder: str) -> Dataflow:
    """`short`, `texts`: as many as there are rows, or `medium`, of every part of which each host has a share; `new4`: a
    shape that no other number has; `exchange`: much that hosts send each other; `long`: a join of 10¹¹ pairs, which
    nobody waits for."""
    rows = read(f"{folder}/*.parquet")
    if name == "texts":
        return rows.select(t=col("t"))
    if name == "short":
        return rows.aggregate(s=sum_("x"), by="k").sort("k")
    if name == "medium":
        both = rows.join(rows.select(x2=col("x"), y=col("x")), left_on="x", right_on="x2")
        return both.aggregate(s=sum_("y"), by="k").sort("k")
    if name == "exchange":
        pairs = rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2")
        return pairs.aggregate(n=count_distinct("k"), by="y").aggregate(s=sum_("n"))
    if name.startswith("new"):
        x = col("x")
        for bit in f"{int(name[3:]):b}":
            x = x + col("k") - col("k") if bit == "1" else x - col("k") + col("k")
        return rows.select("k", x=x).aggregate(s=sum_("x"), by="k").sort("k")
    return rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2").aggregate(s=sum_("y"))


def main(service: str, folder: str, retries: str, *names: str) -> None:
    sessions: dict[int, Session] = {}
    for name, times in _asked(int(retries), *names):
        if times not in sessions:
            sessions[times] = jumpgate.client.connect(service, retries=times)
        run(sessions[times], name, folder)
    for session in sessions.values():
        session.close()


def _asked(retries: int, *names: str) -> Iterator[tuple[str, int]]:
    for name in names:
        if name != "-":
            yield name, retries
            continue
        for line in sys.stdin:
            word, times = line.split()
            yield word, int(times)


def run(session: Session, name: str, folder: str) -> None:
    began = time.monotonic()
    answer: dict[str, object] = {"name": name}
    try:
        result = session.run(dataflow(name, folder))
        print(json.dumps({"started": result.job}), flush=True)
        found = result.to_arrow()
        answer["rows"] = [[found.num_rows]] if name == "texts" else [list(r.values()) for r in found.to_pylist()]
        record = session.describe(result.job).record
        answer["hosts"] = sorted({i["host"] for i in record["instances"]}) if record else []
    except JumpgateError as error:
        answer |= {"error": error.code, "message": error.message, "host": error.fields.get("host")}
    print(json.dumps(answer | {"seconds": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
