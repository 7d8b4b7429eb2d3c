"""`jumpgate devices`: the hosts and devices of a running service."""

from __future__ import annotations

from dataclasses import asdict

import click

from jumpgate import words
from jumpgate.cli import output
from jumpgate.cli.jobs import address_option
from jumpgate.cli.options import credentials_options, json_option


@click.command("devices")
@address_option
@credentials_options
@json_option
def command(address: str, as_json: bool, **credentials: str | None) -> None:
    """Show the hosts and devices of a service, and what running jobs have of them: jobs, threads, bytes in tables.

    One is not up if it did not answer when a job last asked.
    """
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        found = session.devices()
    if as_json:
        output.print_json({"devices": [asdict(device) for device in found]})
        return
    columns = ("device", "kind", "up", "jobs", "threads", "held", "configured")
    output.print_table(
        "",
        columns,
        [
            (d.name, d.kind, "yes" if d.is_up else "no", d.jobs, f"{d.threads} of {d.cores}" if d.cores else "",
             f"{words.size(d.held_bytes)} of {words.size(d.memory_bytes)}" if d.memory_bytes else "",
             ", ".join(f"{key} {value}" for key, value in d.facts.items()))
            for d in found
        ],
        right=("jobs", "threads", "held"),
    )  # fmt: skip
