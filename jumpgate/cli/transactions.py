"""`jumpgate transactions`: which rows a switch should hold, and what becomes of each transaction."""

from __future__ import annotations

from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.cli.options import json_option

TRACE = click.argument("trace", type=click.Path(path_type=Path, dir_okay=False))
ROWS = click.option(
    "--rows", type=click.IntRange(1), help="How many rows may be hot. [default: those with 4 times the mean accesses]"
)
SHOWN = 20


@click.group("transactions")
def command() -> None:
    """Plan transactions on hot rows in a switch."""


def _read(path: Path) -> str:
    from jumpgate.errors import ConfigError

    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the trace {path}: {error}", file=path) from error


@command.command("advise")
@TRACE
@ROWS
@json_option
def advise(trace: Path, rows: int | None, as_json: bool) -> None:
    """Say which rows of TRACE should be hot, and how many transactions would take one pass.

    TRACE holds SQL statements, or is PostgreSQL's log with log_statement = all.
    """
    from jumpgate.transactions.advise import advise as advise_on
    from jumpgate.transactions.advise import lay_out
    from jumpgate.transactions.trace import read_trace

    transactions = read_trace(_read(trace))
    found = advise_on(transactions, lay_out(transactions, rows or 0))
    if as_json:
        output.print_json(found.to_dict())
        return
    kinds = ", ".join(f"{found.kinds.get(kind, 0)} {kind}" for kind in ("hot", "warm", "cold"))
    print(f"{found.transactions} transactions on {found.rows} rows: {kinds}")
    print(f"{len(found.hot)} hot rows have {found.hot_share:.0%} of the accesses")
    print(f"{found.single_pass:.0%} of the hot and warm transactions take one pass")
    print(f"the most locked row is locked {found.gain:.1f} times less often")
    output.print_table(
        "",
        ("table", "key", "accesses", "array"),
        [tuple(map(str, row)) for row in found.hot[:SHOWN]],
        right=("accesses", "array"),
    )


@command.command("explain")
@TRACE
@ROWS
@json_option
def explain(trace: Path, rows: int | None, as_json: bool) -> None:
    """Say of each transaction in TRACE whether it is hot, warm or cold, and why."""
    from jumpgate.transactions.advise import explain as explain_one
    from jumpgate.transactions.advise import lay_out
    from jumpgate.transactions.trace import read_trace

    transactions = read_trace(_read(trace))
    layout = lay_out(transactions, rows or 0)
    verdicts = [explain_one(t, layout) for t in transactions]
    if as_json:
        output.print_json([{"kind": v.kind, "passes": v.passes, "reason": v.reason} for v in verdicts])
        return
    for number, verdict in enumerate(verdicts, 1):
        print(f"{number} {verdict.text()}")
