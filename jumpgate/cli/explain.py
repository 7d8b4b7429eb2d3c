"""`jumpgate explain`: the plan of a dataflow, and the reasons for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.load import load
from jumpgate.cli.options import file_argument, job_options, json_option


@click.command("explain")
@file_argument
@job_options
@click.option("--verbose", "-v", is_flag=True, help="Also the plan after each pass of the compiler.")
@json_option
def command(file: Path, verbose: bool, as_json: bool, **options: Any) -> None:
    """Show how the dataflow in FILE would be run, and why. Nothing is compiled or run."""
    from jumpgate import client

    dataflow, dialect = load(file)
    with client.connect(options.pop("address"), **options) as session:
        if as_json:
            output.print_json(session.explain_data(dataflow, dialect, verbose=verbose))
        else:
            print(session.explain(dataflow, dialect, verbose=verbose), end="")
