"""`jumpgate transactions`: which rows a switch should hold, and what becomes of each transaction."""

from __future__ import annotations

from dataclasses import asdict
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


@command.command("simulate")
@click.option("--workload", type=click.Choice(["ycsb-a", "ycsb-b", "ycsb-c", "smallbank", "tpcc"]), default="ycsb-a")
@click.option("--nodes", type=click.IntRange(1), default=8, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=20, show_default=True, help="Of each node.")
@click.option("--hot-share", type=click.FloatRange(0, 1), default=0.75, help="Of the transactions; not of tpcc.")
@click.option("--hot-rows", type=click.IntRange(1), default=50, help="Of each node; not of tpcc.")
@click.option("--remote-share", type=click.FloatRange(0, 1), default=0.2, help="Of rows on another node.")
@click.option("--warehouses", type=click.IntRange(1), default=8, help="Of tpcc.")
@click.option("--round-trip-us", type=click.FloatRange(0), default=10.0, help="Between two nodes.")
@click.option("--milliseconds", type=click.FloatRange(0.1), default=2.0, help="Of virtual time.")
@json_option
def simulate(
    workload: str, nodes: int, workers: int, hot_share: float, hot_rows: int, remote_share: float, warehouses: int,
    round_trip_us: float, milliseconds: float, as_json: bool,
) -> None:  # fmt: skip
    """Compare two-phase locking with and without hot rows in a switch, in virtual time."""
    from jumpgate.transactions.simulate import Costs, compare
    from jumpgate.transactions.workloads import Setting

    setting = Setting(nodes, hot_share, remote_share, hot_rows, warehouses)
    found = compare(workload, setting, workers, Costs(round_trip_us=round_trip_us), milliseconds / 1e3)
    if as_json:
        output.print_json({name: asdict(counts) for name, counts in found.items()})
        return
    output.print_table(
        "",
        ("", "transactions/s", "aborts each", "passes each"),
        [
            (name, f"{c.per_second:,.0f}", f"{c.aborted / max(1, c.committed):.2f}",
             f"{c.passes / c.packets:.2f}" if c.packets else "")
            for name, c in found.items()
        ],
        right=("transactions/s", "aborts each", "passes each"),
    )  # fmt: skip
