"""How fast this host reads each format, through accelerators and through DataFusion: measured once, kept in the cache.

One query over a generated star of two tables stands for all: a scan, a filter, a join and an aggregate.
"""

from __future__ import annotations

import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from jumpgate import errors
from jumpgate.codegen import cache
from jumpgate.dataflow.formats import Format, formats

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

RUNS = 5
FACT_ROWS, ITEMS, TINY_ROWS = 600_000, 1_000, 10
SCHEMA = {"item": "int64", "quantity": "int64", "note": "string", "price": "decimal(7, 2)"}
QUERY = (
    "SELECT category, sum(price) AS total, count(*) AS n FROM {fact} JOIN {item} ON {fact}.item = {item}.id "
    "WHERE quantity > 20 GROUP BY category"
)


@dataclass(frozen=True)
class Speeds:
    """Bytes of files a second, and what a job costs beyond that."""

    jumpgate: dict[str, float]
    client: dict[str, float]
    overhead_s: float
    measured: bool = True


def defaults() -> Speeds:
    """Before anything was measured: what two cores of a server did, for as many cores as there are here."""
    scale = len(os.sched_getaffinity(0)) / 2
    speeds = {name: format.speeds for name, format in formats().items()}
    ours = {name: s.accelerated * scale for name, s in speeds.items()}
    return Speeds(ours, {name: s.client * scale for name, s in speeds.items()}, 0.02, False)


def load() -> Speeds:
    """What was measured on this host, else the defaults; these stand for formats that came later."""
    otherwise = defaults()
    try:
        found = Speeds(**json.loads(_file().read_text()))
        ours, theirs = otherwise.jumpgate | found.jumpgate, otherwise.client | found.client
        return replace(found, jumpgate=ours, client=theirs)
    except (OSError, ValueError, TypeError):
        return otherwise


def save(speeds: Speeds) -> Path:
    """Keeps them for this host; raises BuildError where the cache cannot be written."""
    file = _file()
    cache.folder("calibration")
    staged = file.with_suffix(f".{os.getpid()}")
    with cache.explained():
        staged.write_text(json.dumps(asdict(speeds), indent=1) + "\n")
        os.replace(staged, file)
    return file


Progress = Callable[[str, int, int], None]


def measure(connection: Connection, progress: Progress = lambda what, done, total: None) -> Speeds:
    """Runs the query in every format, with and without accelerators; about a minute. Raises the jobs' errors."""
    ours: dict[str, float] = {}
    theirs: dict[str, float] = {}
    overheads = []
    with tempfile.TemporaryDirectory(prefix="jumpgate-calibrate-") as folder:
        for number, format in enumerate(formats().values()):
            progress(f"measuring {format.title}", number, len(formats()))
            names = _register(connection, Path(folder), format)
            try:
                size = (Path(folder) / f"fact{format.suffixes[0]}").stat().st_size
                tiny_ours, tiny_theirs = (_seconds(connection, names["tiny"], names["item"], m) for m in _MODES)
                full_ours, full_theirs = (_seconds(connection, names["fact"], names["item"], m) for m in _MODES)
            finally:
                for name in names.values():
                    connection.deregister(name)
            overheads.append(max(tiny_ours - tiny_theirs, 1e-3))
            ours[format.name] = size / max(full_ours - tiny_ours, 1e-4)
            theirs[format.name] = size / max(full_theirs - tiny_theirs, 1e-4)
    progress("done", len(formats()), len(formats()))
    return Speeds(ours, theirs, sorted(overheads)[len(overheads) // 2])


_MODES = ("always", "never")


def _seconds(connection: Connection, fact: str, item: str, mode: str) -> float:
    text = QUERY.format(fact=f'"{fact}"', item=f'"{item}"')
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        with connection.sql(text, offload=mode) as query:
            if query.to_arrow().num_rows == 0:
                raise errors.InternalError("calibration: the query has no rows")
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _register(connection: Connection, folder: Path, format: Format) -> dict[str, str]:
    """Writes and registers the tables of one format: kind → name."""
    generator = random.Random(1)
    names = {}
    item = {"id": range(ITEMS), "category": [f"category {i % 20}" for i in range(ITEMS)]}
    for kind, rows in (("fact", FACT_ROWS), ("tiny", TINY_ROWS), ("item", ITEMS)):
        if kind == "item":
            table, schema = pa.table(item), {"id": "int64", "category": "string"}
        else:
            table, schema = _fact(generator, rows), SCHEMA
        file = folder / f"{kind}{format.suffixes[0]}"
        format.write(table, file)
        names[kind] = f"jumpgate_calibration_{kind}"
        connection.register(names[kind], file, format=format.name, schema=schema, **format.written_options)
    return names


def _fact(generator: random.Random, rows: int) -> pa.Table:
    integers = generator.choices(range(ITEMS), k=rows)
    prices = pa.array([Decimal(p).scaleb(-2) for p in generator.choices(range(10_000), k=rows)], pa.decimal128(7, 2))
    quantities = [i % 100 for i in integers] if rows > TINY_ROWS else [50] * rows
    return pa.table(
        {"item": integers, "quantity": quantities, "note": [f"note {i * 7919}" for i in integers], "price": prices}
    )


def _file() -> Path:
    host = "".join(c if c.isalnum() else "-" for c in platform.node()) or "localhost"
    return cache.root() / "calibration" / f"{host}.json"
