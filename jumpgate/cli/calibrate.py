"""`jumpgate calibrate`: measures how fast this machine does each kind of work, for plans and offload = auto."""

from __future__ import annotations

from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import job_options, json_option


@click.command("calibrate")
@job_options
@json_option
def command(as_json: bool, **options: Any) -> None:
    """Measure how fast this machine reads, joins, groups and sorts, in accelerators and in DuckDB: half a minute.

    The figures are kept in the cache. Plans are costed with them, and `offload = auto` decides by them.
    """
    import jumpgate
    from jumpgate.client.sql import calibrate
    from jumpgate.service import calibration

    with (
        jumpgate.connect(options.pop("address"), progress=False, **options) as connection,
        output.progress() as progress,
    ):
        seconds = calibrate.measure(connection, progress)
    file = calibration.save(seconds)
    if as_json:
        output.print_json({"cores": calibration.cores(), "seconds": seconds, "file": str(file)})
        return
    kinds = sorted({*seconds["host"], *seconds["duckdb"]})
    rows = [
        (kind, *(_shown(calibration.unit_seconds(kind, seconds[who])) for who in calibration.WHO)) for kind in kinds
    ]
    output.print_table(
        "seconds of a core for a unit of work", ("work", "accelerators", "DuckDB"), rows,
        right=("accelerators", "DuckDB"),
    )  # fmt: skip
    print(f"kept in {file}")


def _shown(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"
