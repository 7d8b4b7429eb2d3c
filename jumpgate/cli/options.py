"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from jumpgate.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])

file_argument = click.argument("file", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
address_option = click.option(
    "--address", help="host:port of a running service. [default: one inside this process]", metavar="HOST:PORT"
)

option_option = click.option(
    "--option", "options_given", multiple=True, metavar="NAME=VALUE", help="delimiter=;, header=false, null=NA …"
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


def pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name or (not value and option == "--table"):
        raise ConfigError(f"{option} {text}: write NAME={'PATH' if option == '--table' else 'VALUE'}, as in {example}")
    return name, value


def options_read(given: tuple[str, ...]) -> dict[str, str]:
    """Options of reads by name. Raises ConfigError for one that no format has."""
    from jumpgate.dataflow.formats import formats
    from jumpgate.dataflow.resolve import suggest

    found = {}
    for text in given:
        name, value = pair(text, "--option", "delimiter=;")
        known = sorted({option.name for format in formats().values() for option in format.all_options})
        if name not in known:
            raise ConfigError(f"--option {text}: there is no such option{suggest(name, known)}")
        found[name] = value.replace("\\t", "\t")
    return found
