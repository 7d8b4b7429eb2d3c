"""Explain which part of a query runs where, in words and as data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.errors import JumpgateError
from jumpgate.words import counted

if TYPE_CHECKING:
    from jumpgate.client.sql.query import Query
    from jumpgate.client.sql.split import Cut


@dataclass
class Timings:
    """Seconds of a query's phases, and what it received; zero for what has not happened.

    jobs_s: until the jobs' results had arrived. rest_s: DuckDB's part. first_batch_s, total_s: since execution began.
    """

    planning_s: float = 0.0
    jobs_s: float = 0.0
    rest_s: float = 0.0
    first_batch_s: float = 0.0
    total_s: float = 0.0
    rows: int = 0
    received_bytes: int = 0


def explain_text(query: Query, analyzed: bool) -> str:
    """The plan, what goes to accelerators, what stays and why; and, if it ran, times and sizes."""
    split = query.split
    lines = [
        f"Offloaded: {split.offloaded} of {counted(split.operators, 'operator')}, in {counted(len(split.cuts), 'job')}"
    ]
    for number, cut in enumerate(split.cuts, 1):
        lines.append(f"  job {number}: {counted(cut.operators, 'operator')}")
        lines += _indented(_planned(query, cut), 4)
    if split.kept:
        lines.append("DuckDB computes the rest" if split.cuts else "DuckDB answers here")
        lines += [f"  {kept.kind}: {kept.reason}" for kept in split.kept]
    if analyzed:
        lines += _analysis(query)
    return "\n".join(lines) + "\n"


def explain_data(query: Query) -> dict[str, Any]:
    """The same for programs."""
    split, timings = query.split, query.timings
    return {
        "operators": split.operators,
        "offloaded": split.offloaded,
        "jobs": [{"operators": cut.operators, "dataflow": _tree(query, cut)} for cut in split.cuts],
        "fragments": [_fragments(query, cut) for cut in split.cuts],
        "measured": [query.session.explain_job_data(job)["fragments"] for job in query.jobs],
        "kept": [{"operator": kept.kind, "reason": kept.reason} for kept in split.kept],
        "job_ids": list(query.jobs),
        "timings": vars(timings).copy(),
    }


def _planned(query: Query, cut: Cut) -> str:
    """The job as the service plans it, with what it expects of each operator; the dataflow, if nobody takes it."""
    from jumpgate.dataflow.builder import Dataflow

    try:
        text, _, _ = query.session.explain(Dataflow(cut.operator), DUCKDB).partition("\nlost: ")
    except JumpgateError as error:
        return f"{error.message}\n{_tree(query, cut)}"
    return _with_tables(query, text.partition("\nrefused ")[0])


def _fragments(query: Query, cut: Cut) -> dict[str, Any]:
    """The fragments of a job with what is expected of their operators; none, if nobody takes it."""
    from jumpgate.dataflow.builder import Dataflow

    try:
        found: dict[str, Any] = query.session.explain_data(Dataflow(cut.operator), DUCKDB)["fragments"]
    except JumpgateError:
        return {}
    return found


def _tree(query: Query, cut: Cut) -> str:
    """The dataflow."""
    from jumpgate.dataflow.tree import tree

    return _with_tables(query, tree(cut.operator))


def _with_tables(query: Query, text: str) -> str:
    """Tables of Arrow data, which are read from files without names, by their names."""
    for path, table in query.data_files().items():
        text = text.replace(f"read parquet {os.path.basename(path)} (", f"read table {table} (")
    return text


def _analysis(query: Query) -> list[str]:
    timings = query.timings
    lines = [
        "Run",
        f"  rows {timings.rows}, received {timings.received_bytes} bytes",
        f"  planning {_ms(timings.planning_s)}, jobs {_ms(timings.jobs_s)}, rest {_ms(timings.rest_s)}, "
        f"first batch {_ms(timings.first_batch_s)}, total {_ms(timings.total_s)}",
    ]
    for number, job in enumerate(query.jobs, 1):
        lines.append(f"  job {number}: {job}")
        text, _, _ = query.session.explain_job(job).partition("\nlost: ")
        lines += _indented(_with_tables(query, text.partition("\nrefused ")[0]), 4)
    return lines


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
