"""`jumpgate jobs`: the jobs of a running service."""

from __future__ import annotations

import json
from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import credentials_options, json_option

address_option = click.option(
    "--address", default="127.0.0.1:7411", show_default=True, metavar="HOST:PORT", help="The service's."
)


@click.group("jobs")
def command() -> None:
    """The jobs of a running service, as far as its client may see them."""


@command.command("list")
@address_option
@credentials_options
@json_option
def list_(address: str, as_json: bool, **credentials: str | None) -> None:
    """Show the jobs that the service remembers, the newest first, with their states and places in the queue."""
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        jobs = [{"job": job.id, "state": job.state} for job in session.jobs()]
    if as_json:
        output.print_json({"jobs": jobs})
    else:
        output.print_table("", ("job", "state"), [tuple(job.values()) for job in jobs])


@command.command("show")
@click.argument("job", default="latest")
@address_option
@credentials_options
@json_option
def show(job: str, address: str, as_json: bool, **credentials: str | None) -> None:
    """Show who asked for JOB (default: the latest to end, here or in another service), its text, seconds by phase, and
    its plan with what ran."""
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        record = session.describe(job).record or {}
        if as_json:
            output.print_json(record)
            return
        plan = session.explain_job(record["job"])
    print("\n".join(_facts(record)))
    print(plan)


@command.command("cancel")
@click.argument("jobs", nargs=-1, required=True, metavar="JOB...")
@address_option
@credentials_options
def cancel(jobs: tuple[str, ...], address: str, **credentials: str | None) -> None:
    """End jobs, wherever they are. One that has ended already is no error."""
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        for job in jobs:
            session.cancel(job)


def _facts(record: dict[str, Any]) -> list[str]:
    """Return a line for each thing that is known; texts are quoted, so that they draw nothing."""
    error = record.get("error") or {}
    phases = {p["name"]: (p["end_ns"] - p["start_ns"]) / 1e9 for p in record["phases"] if p["end_ns"]}
    facts = {
        "job": record["job"],
        "state": record["state"],
        "client": record["client"] or "the service's own user",
        "text": json.dumps(record["text"], ensure_ascii=True) if record["text"] else "",
        "phases": ", ".join(f"{name} {seconds:.3f} s" for name, seconds in phases.items()),
        "error": json.dumps(f"{error['code']}: {error['message']}") if error else "",
    }
    return [f"{name:<8}{value}" for name, value in facts.items() if value]
