"""`jumpgate report`: a job's timeline as HTML, or in the terminal."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import address_option, credentials_options, json_option


@click.command("report")
@click.argument("job", default="latest")
@click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="The HTML file. [default: JOB.html]")
@click.option("--text", "as_text", is_flag=True, help="Print the timeline instead.")
@address_option
@credentials_options
@json_option
def command(
    job: str, target: Path | None, as_text: bool, address: str | None, as_json: bool, **credentials: str | None
) -> None:
    """Write the timeline of JOB (default: the latest) as a self-contained HTML page."""
    from jumpgate.observe import report, text, timeline

    record = _record(job, address, **credentials)
    if as_json:
        output.print_json(record)
        return
    drawn = timeline.from_record(record)
    if as_text:
        console = output.console()
        console.print(text.timeline(drawn, console.width))
        return
    target = target or Path(f"{drawn.job}.html")
    output.write(target, report.html(drawn))
    print(f"wrote {target}; open it in any browser")


def _record(job: str, address: str | None, **credentials: str | None) -> dict[str, Any]:
    """Return the record from the service at `address`, else from those that this machine's jobs left."""
    if address is None:
        from jumpgate.orchestrator.record import load
        from jumpgate.service.engine import records_folder

        return asdict(load(job, records_folder()))
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        return session.describe(job).record or {}
