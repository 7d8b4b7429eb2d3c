"""`jumpgate run`: runs a dataflow and prints or saves its result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output, result
from jumpgate.cli.load import load
from jumpgate.cli.options import file_argument, job_options, json_option, progress_option


@click.command("run")
@file_argument
@job_options
@click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="Save as .parquet, .csv or .arrow.")
@click.option("--explain", "explained", is_flag=True, help="Also print the plan and the timeline, on stderr.")
@progress_option
@json_option
def command(file: Path, target: Path | None, explained: bool, as_json: bool, **options: Any) -> None:
    """Run the dataflow in FILE and print its result.

    FILE is a Python file that defines `dataflow`, or a request in protobuf's JSON form.
    """
    from jumpgate import client

    if target is not None:
        result.check_target(target)
    dataflow, dialect = load(file)
    with client.connect(options.pop("address"), **options) as session:
        if explained:
            print(session.explain(dataflow, dialect), file=sys.stderr)
        answer = session.run(dataflow, dialect, text=file.read_text() if file.suffix == ".py" else "")
        table = answer.to_arrow()
        if explained:
            from jumpgate.observe import text, timeline

            record = session.describe(answer.job).record
            assert record is not None
            console = output.console(stderr=True)
            console.print(text.timeline(timeline.from_record(record), console.width))
    if target is not None:
        result.save(table, target)
    if as_json:
        rows = {"file": str(target)} if target else {"result": table.to_pylist()}
        output.print_json({"job": answer.job, "columns": table.column_names, "rows": table.num_rows, **rows})
    elif target is not None:
        print(f"wrote {table.num_rows} rows to {target}")
    else:
        result.show(table)
