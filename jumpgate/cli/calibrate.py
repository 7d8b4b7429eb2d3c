"""`jumpgate calibrate`: measures how fast this machine reads each format, for offload = auto."""

from __future__ import annotations

from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import job_options, json_option


@click.command("calibrate")
@job_options
@json_option
def command(as_json: bool, **options: Any) -> None:
    """Measure how fast this machine reads each format, through accelerators and without: about a minute.

    The figures are kept in the cache and decide what `offload = auto` takes to accelerators.
    """
    from dataclasses import asdict

    import jumpgate
    from jumpgate.client.sql import calibrate

    with jumpgate.connect(options.pop("address"), **options) as connection, output.progress() as progress:
        speeds = calibrate.measure(connection, progress)
    file = calibrate.save(speeds)
    if as_json:
        output.print_json({**asdict(speeds), "file": str(file)})
        return
    rows = [
        (format, f"{speeds.jumpgate[format] / 1e6:.0f}", f"{speeds.client[format] / 1e6:.0f}")
        for format in speeds.jumpgate
    ]
    output.print_table(
        "MB of files a second", ("format", "accelerators", "DataFusion"), rows, right=("accelerators", "DataFusion")
    )
    print(f"overhead of a job: {1e3 * speeds.overhead_s:.1f} ms; kept in {file}")
