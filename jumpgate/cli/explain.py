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
@click.option("--analyze", is_flag=True, help="Run it, and show beside what was expected what it took.")
@json_option
def command(file: Path, verbose: bool, analyze: bool, as_json: bool, **options: Any) -> None:
    """Show how the dataflow in FILE would be run, and why: of each operator the rows that are expected (×/÷: the factor
    by which they may be off), their bytes and the time. Unless it is analyzed, nothing is compiled or run."""
    from jumpgate import client

    dataflow, dialect = load(file)
    with client.connect(options.pop("address"), **options) as session:
        if analyze:
            result = session.run(dataflow, dialect)
            for _ in result:
                pass
            if as_json:
                output.print_json(session.explain_job_data(result.job))
            else:
                print(session.explain_job(result.job, verbose=verbose), end="")
        elif as_json:
            output.print_json(session.explain_data(dataflow, dialect, verbose=verbose))
        else:
            print(session.explain(dataflow, dialect, verbose=verbose), end="")
