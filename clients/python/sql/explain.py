"""Explain which part of a query runs where, in words and as data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.errors import JumpgateError
from jumpgate.words import counted

if TYPE_CHECKING:
    from jumpgate.client.sql.plan import Cut, Plan
    from jumpgate.client.sql.workspace import Workspace


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


def explain_text(plan: Plan, workspace: Workspace, jobs: Sequence[str] = (), timings: Timings | None = None) -> str:
    """Explain what goes to accelerators, what stays and why; timings: of a run, which is shown with its jobs."""
    split = plan.split
    lines = [
        f"Offloaded: {split.offloaded} of {counted(split.operators, 'operator')}, in {counted(len(split.cuts), 'job')}"
    ]
    for number, cut in enumerate(split.cuts, 1):
        lines.append(f"  job {number}: {counted(cut.operators, 'operator')}")
        lines += _indented(_planned(cut, workspace), 4)
    if split.kept:
        lines.append("DuckDB computes the rest" if split.cuts else "DuckDB answers here")
        lines += [f"  {kept.kind}: {kept.reason}" for kept in split.kept]
    if timings is not None:
        lines += _analysis(jobs, timings, workspace)
    return "\n".join(lines) + "\n"


def explain_data(plan: Plan, workspace: Workspace, jobs: Sequence[str], timings: Timings) -> dict[str, Any]:
    """The same for programs."""
    split = plan.split
    return {
        "operators": split.operators,
        "offloaded": split.offloaded,
        "jobs": [{"operators": cut.operators, "dataflow": _tree(cut, workspace)} for cut in split.cuts],
        "fragments": [_fragments(cut, workspace) for cut in split.cuts],
        "measured": [workspace.session.explain_job_data(job)["fragments"] for job in jobs],
        "kept": [{"operator": kept.kind, "reason": kept.reason} for kept in split.kept],
        "job_ids": list(jobs),
        "timings": vars(timings).copy(),
    }


def _planned(cut: Cut, workspace: Workspace) -> str:
    """The job as the service plans it, with what it expects of each operator; the dataflow, if nobody takes it."""
    from jumpgate.dataflow.builder import Dataflow

    try:
        text = workspace.session.explain(Dataflow(cut.operator), DUCKDB)
    except JumpgateError as error:
        return f"{error.message}\n{_tree(cut, workspace)}"
    return _shown(text, workspace)


def _fragments(cut: Cut, workspace: Workspace) -> dict[str, Any]:
    """The fragments of a job with what is expected of their operators; none, if nobody takes it."""
    from jumpgate.dataflow.builder import Dataflow

    try:
        found: dict[str, Any] = workspace.session.explain_data(Dataflow(cut.operator), DUCKDB)["fragments"]
    except JumpgateError:
        return {}
    return found


def _tree(cut: Cut, workspace: Workspace) -> str:
    """The dataflow."""
    from jumpgate.dataflow.tree import tree

    return _with_tables(tree(cut.operator), workspace)


def _shown(text: str, workspace: Workspace) -> str:
    """The service's account of a job without the candidates that it did not take."""
    return _with_tables(text.partition("\nlost: ")[0].partition("\nrefused ")[0], workspace)


def _with_tables(text: str, workspace: Workspace) -> str:
    """Tables of Arrow data, which are read from files without names, by their names."""
    for path, table in workspace.data.names().items():
        text = text.replace(f"read parquet {os.path.basename(path)} (", f"read table {table} (")
    return text


def _analysis(jobs: Sequence[str], timings: Timings, workspace: Workspace) -> list[str]:
    lines = [
        "Run",
        f"  rows {timings.rows}, received {timings.received_bytes} bytes",
        f"  planning {_ms(timings.planning_s)}, jobs {_ms(timings.jobs_s)}, rest {_ms(timings.rest_s)}, "
        f"first batch {_ms(timings.first_batch_s)}, total {_ms(timings.total_s)}",
    ]
    for number, job in enumerate(jobs, 1):
        lines.append(f"  job {number}: {job}")
        lines += _indented(_shown(workspace.session.explain_job(job), workspace), 4)
    return lines


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _indented(text: str, by: int = 2) -> list[str]:
    return [" " * by + line for line in text.splitlines()]
