"""The study's client, which runs where the service does:

    python -m jumpgate.study.paper.runner ADDRESS HOST DATA

reads a request a line and answers each with a line; both are JSON.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from jumpgate.client import col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.formats import formats
from jumpgate.errors import InternalError, JumpgateError
from jumpgate.observe.timeline import Timeline, from_record
from jumpgate.tpcds.data import path
from jumpgate.tpcds.schemas import schema

ITEM, TICKET, PRICE = "ss_item_sk", "ss_ticket_number", "ss_ext_sales_price"
FORMATS = tuple(formats())
#: what the switch does
SWITCH = "switch_aggregate"


def queries(data: Path) -> dict[str, Dataflow]:
    """The study's queries, over store_sales and item of TPC-DS."""
    sales = {format: _table(data, "store_sales", format) for format in FORMATS}
    items = _table(data, "item", "parquet")
    facts = sales["parquet"]
    return {
        "sales by item": facts.aggregate(by=[ITEM], total=sum_(PRICE), sold=count(PRICE)),
        "sales by ticket": facts.aggregate(by=[TICKET], total=sum_(PRICE), sold=count(PRICE)),
        "join": facts.join(items.select("i_item_sk", "i_category"), left_on=ITEM, right_on="i_item_sk")
        .aggregate(by=["i_category"], total=sum_(PRICE)),
        **{f"scan {format}": table.filter(col(PRICE) > 0).aggregate(sold=count(ITEM), total=sum_(PRICE))
           for format, table in sales.items()},
    }  # fmt: skip


def at_client(session: Session, data: Path) -> pa.Table:
    """Aggregate sales by item at the client; the hosts only read."""
    rows = session.run(_table(data, "store_sales", "parquet").select(ITEM, PRICE)).to_arrow()
    return rows.group_by(ITEM).aggregate([(PRICE, "sum"), (PRICE, "count")])


def answer(session: Session, run: Callable[[], pa.Table], runs: int) -> dict[str, Any]:
    """seconds: median of a run; phases: medians of those of its set-up and stages; read, rows_read and moved: bytes and
    rows of files, and bytes of edges by the accelerators at their ends, of the last run; digest: of the answer's rows
    in any order, so that ways can be compared."""
    seconds: list[float] = []
    phases: list[dict[str, float]] = []
    for _ in range(runs):
        start = time.perf_counter()
        table = run()
        seconds.append(time.perf_counter() - start)
        record = session.describe(session.jobs()[0].id).record
        assert record is not None
        timeline = from_record(record)
        phases.append({span.name: span.seconds for span in (*timeline.phases, *timeline.stages)})
    names = dict.fromkeys(name for found in phases for name in found)
    return {
        "seconds": statistics.median(seconds),
        "phases": {name: statistics.median(found.get(name, 0.0) for found in phases) for name in names},
        "read": timeline.read_bytes,
        "rows_read": sum(source.rows for source in timeline.sources),
        "moved": _moved(timeline),
        "digest": _digest(table),
    }


def _run(session: Session, flow: Dataflow) -> pa.Table:
    return session.run(flow).to_arrow()


def _table(data: Path, table: str, format: str) -> Dataflow:
    """Declare a table with its schema, so that no file is read to infer it."""
    return read(path(data, table, format), format=format, schema=schema(table))


def _digest(table: pa.Table) -> str:
    rows = sorted(map(str, zip(*(map(str, column.to_pylist()) for column in table.columns), strict=True)))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _moved(timeline: Timeline) -> dict[str, int]:
    nca = {instance.fragment: instance.nca for instance in timeline.instances}
    moved: Counter[str] = Counter()
    for edge in timeline.edges:
        if not edge.is_filter:
            moved[f"{nca.get(edge.source, edge.source)} to {nca.get(edge.target, edge.target)}"] += edge.bytes
    return dict(moved)


def main(address: str, host: str, data: str) -> None:
    folder = Path(data)
    flows: dict[str, Dataflow] = {}
    sessions: dict[tuple[str, int], Session] = {}
    for text in sys.stdin:
        request = json.loads(text)
        query, where, hosts = request["query"], request["where"], request["hosts"]
        try:
            flows = flows or queries(folder)
            if (where, hosts) not in sessions:
                prefer = (SWITCH,) if where == "switch" else ()
                sessions[where, hosts] = Session(address, host=host, prefer=prefer, parallelism=hosts, first_runs=False)
            session = sessions[where, hosts]
            run = partial(at_client, session, folder) if where == "client" else partial(_run, session, flows[query])
            said = answer(session, run, request["runs"])
        except JumpgateError as error:
            said = {"error": error.to_dict()}
        except Exception as error:
            said = {"error": InternalError(f"{type(error).__name__}: {error}").to_dict()}
        print(json.dumps(said), flush=True)
    for session in sessions.values():
        session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
