"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

file_argument = click.argument("file", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
address_option = click.option(
    "--address", help="host:port of a running service. [default: one inside this process]", metavar="HOST:PORT"
)

progress_option = click.option(
    "--progress/--no-progress",
    default=True,
    help="Show on stderr how far a job is that takes more than a second. [default: if stderr is a terminal]",
)


def credentials_options(command: F) -> F:
    """Add the credentials that a command passes on to client.connect."""
    for option in (
        click.option("--tls", metavar="FOLDER", help="This machine's certificate, for a service on another machine."),
        click.option("--token-file", metavar="FILE", help="The token to show to a service of another user."),
    ):
        command = option(command)
    return command


def job_options(command: F) -> F:
    """Add the options of a job that a command passes on to client.connect."""
    for option in (
        click.option("--prefer", multiple=True, metavar="NCA", help="Use it wherever it matches; may be repeated."),
        click.option("--objective", type=click.Choice(("time", "cost")), default="time", help="What to save."),
        click.option("--seconds-max", type=click.FloatRange(0), default=0.0, help="No plan may be estimated longer."),
        click.option("--cost-max", type=click.FloatRange(0), default=0.0, help="No plan may be estimated dearer."),
        click.option("--timeout-ms", type=click.IntRange(0), default=0, help="Of the whole job. [default: none]"),
        click.option("--threads", type=click.IntRange(0), default=0, help="Of each instance. [default: all cores]"),
        click.option("--parallelism", type=click.IntRange(0), default=0, help="Instances of each operator."),
        click.option(
            "--wait",
            "wait_s",
            type=click.FloatRange(0),
            default=10.0,
            show_default=True,
            help="Seconds for a service that is only starting.",
        ),
        credentials_options,
        address_option,
    ):
        command = option(command)
    return command
