"""Tables on disk: a group-by, a join, a sort and a window at a tenth of the memory that they take, beside all of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb

import jumpgate
from bench._measure import Figure, alternate, geometric_mean, medians, remark
from jumpgate.client.sql.connection import Connection
from jumpgate.errors import JumpgateError
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded

RUNS, SECONDS_MAX = 5, 40.0
SHARE = 10
#: beside the tables, an instance holds a few blocks whatever the limit is
LIMIT_LEAST = 8 << 20
TARGETS = {"spill_right": 1.0, "spill_vs_memory": 0.5}
#: kind of state → a query with few result rows
QUERIES = {
    "group-by": "SELECT count(*) n, sum(s) s, min(s5e6) k FROM"
    " (SELECT s5e6, sum(v) s FROM facts GROUP BY s5e6) WHERE s > 10",
    "join": "SELECT count(*) n, sum(v * grade) s, min(name) m FROM facts JOIN large ON k5e6 = large.id",
    "sort": "SELECT count(*) n, sum(v) s, max(id) i FROM"
    " (SELECT v, id FROM facts ORDER BY f, id LIMIT 5000000 OFFSET 1000000)",
    "window": "SELECT count(p) n, sum(v - p) s FROM"
    " (SELECT v, lag(v) OVER (PARTITION BY k1e5 ORDER BY id) p FROM facts)",
}

Rows = list[tuple[Any, ...]]


def figures(files: Mapping[str, Path], names: Collection[str]) -> Iterator[Figure]:
    """spill_right and spill_vs_memory over these tables; only those of the `names` that are asked for."""
    service = embedded.start(local_hosts(1))
    ratios: dict[str, float] = {}
    try:
        for name, text in QUERIES.items():
            found = _ratio(name, text, files, service.address)
            if found is not None:
                ratios[name] = found
    finally:
        service.close()
    what = "group-by, join, sort and window at a tenth of their tables' memory"
    if "spill_right" in names:
        yield Figure("spill_right", len(ratios) / len(QUERIES), TARGETS["spill_right"], "higher", what)
    if "spill_vs_memory" in names and ratios:
        each = f"{what}, time with all of it ÷ time ({len(ratios)} of {len(QUERIES)})"
        yield Figure("spill_vs_memory", geometric_mean(ratios.values()), TARGETS["spill_vs_memory"], "higher", each)


def _connected(address: str, files: Mapping[str, Path], limit: int | None) -> Connection:
    connection = jumpgate.connect(address, offload="always", memory_limit_bytes=limit)
    for name, file in files.items():
        connection.register(name, file)
    return connection


def _asked(connection: Connection, text: str) -> tuple[Rows, list[dict[str, Any]]]:
    """The answer, and the counters of the instances."""
    with connection.sql(text) as answer:
        rows = [tuple(map(str, row.values())) for row in answer.to_arrow().to_pylist()]
        records = [connection.session.describe(job).record for job in answer.jobs]
    return rows, [c for record in records if record is not None for c in record["counters"].values()]


def _ratio(name: str, text: str, files: Mapping[str, Path], address: str) -> float | None:
    """Time in memory ÷ time at a tenth of it; None if that is no right answer, or needs no disk."""
    with duckdb.connect() as duck:
        for table, file in files.items():
            duck.execute(f"CREATE VIEW {table} AS FROM '{file}'")
        expected = [tuple(map(str, row)) for row in duck.execute(text).fetchall()]
    with _connected(address, files, None) as whole:
        rows, counters = _asked(whole, text)
        if rows != expected:
            raise SystemExit(f"{name}: jumpgate and duckdb differ in memory")
        held = sum(c["held_bytes"] for c in counters)
        limit = max(held // SHARE, LIMIT_LEAST)
        with _connected(address, files, limit) as limited:
            try:
                rows, counters = _asked(limited, text)
            except JumpgateError as error:
                remark(f"  {name}: {held >> 20} MiB, at {limit >> 20} MiB: {error}")
                return None
            spilled = sum(c["spilled_bytes"] for c in counters)
            if rows != expected or not spilled:
                remark(f"  {name}: at {limit >> 20} MiB {'nothing went to disk' if rows == expected else 'WRONG'}")
                return None
            contenders = {"whole": lambda: _asked(whole, text), "limited": lambda: _asked(limited, text)}
            times = medians(alternate(contenders, RUNS, SECONDS_MAX))
    ratio = times["whole"] / times["limited"]
    remark(
        f"  {name}: {ratio:.2f} ({held >> 20} MiB in {times['whole'] * 1000:.0f} ms; "
        f"{limit >> 20} MiB and {spilled >> 20} MiB on disk in {times['limited'] * 1000:.0f} ms)"
    )
    return ratio
