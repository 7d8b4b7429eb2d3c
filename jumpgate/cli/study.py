"""`jumpgate study`: all queries of a suite in every mode, beside DuckDB; the paper's evaluation."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import job_options, json_option
from jumpgate.dataflow.formats import formats
from jumpgate.errors import ConfigError


@click.group("study")
def command() -> None:
    """Run all queries of TPC-DS or TPC-H in every mode, or the evaluation of Jumpgate's paper, and write a report."""


def _suite_command(suite: str, title: str) -> click.Command:
    text = f"""Run every query of {title} with offload = always, auto and never, and in DuckDB, and write a report.

    Answers are compared with DuckDB's. Missing data is generated first.
    """

    @click.command(suite, help=text)
    @click.option("--scale", type=float, default=1.0, show_default=True, help="1 ≈ 1 GB.")
    @click.option("--format", type=click.Choice(tuple(formats())), default="parquet", show_default=True)
    @click.option("--data", type=click.Path(path_type=Path), help="Where the files are, or go. [default: the cache]")
    @click.option("--queries", help="Numbers with commas. [default: all]")
    @click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Of each query in each mode.")
    @click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="The HTML file.")
    @job_options
    @json_option
    def run(**options: Any) -> None:
        _study(suite, **options)

    return run


command.add_command(_suite_command("tpcds", "TPC-DS"))
command.add_command(_suite_command("tpch", "TPC-H"))


def _study(
    suite: str,
    scale: float,
    format: str,
    data: Path | None,
    queries: str | None,
    runs: int,
    target: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    import jumpgate
    from jumpgate.codegen import cache
    from jumpgate.study import report, suites
    from jumpgate.study import runs as measured
    from jumpgate.tpcds.data import generate

    chosen = suites.suite(suite)
    texts = suites.chosen(chosen, queries)
    directory = data or cache.root() / suite / f"sf{scale:g}"
    other = "parquet" if formats()[format].duckdb is None else format  # which DuckDB reads
    with output.progress() as progress:
        generate(directory, scale, sorted({format, other}), progress=progress, suite=chosen)
    oracle = suites.Oracle(chosen, directory, other)
    with (
        jumpgate.connect(options.pop("address"), progress=False, **options) as connection,
        output.progress() as progress,
    ):
        suites.register(connection, chosen, directory, format)
        found = measured.study(connection, oracle, texts, runs, progress)
    oracle.close()
    study = report.Study(chosen.title, scale, format, runs, len(os.sched_getaffinity(0)), tuple(found))
    target = target or Path(f"{suite}-{format}.html")
    output.write(target, report.html(study))
    if as_json:
        output.print_json({**report.data(study), "file": str(target)})
        return
    print(
        f"{study.right} of {len(found)} answers right; {study.operators_offloaded:.1%} of the operators offloaded, "
        f"{study.operators_generated:.1%} in generated code"
    )
    rows = [
        (kind, reason, count, ", ".join(map(str, where[:10])) + (" …" if len(where) > 10 else ""))
        for kind, reason, count, where in study.kept
    ]
    output.print_table("What stayed, and why", ("operator", "reason", "count", "queries"), rows, right=("count",))
    for other in ("never", "duckdb"):
        ratio = study.ratio("always", other)
        if ratio is not None:
            print(f"speed of always over {other}: {ratio:.2f}× (geometric mean)")
    print(f"wrote {target}; open it in any browser")


@command.command("paper")
@click.option("--scale", type=float, default=0.1, show_default=True, help="Of TPC-DS; 1 ≈ 1 GB.")
@click.option("--workers", type=click.IntRange(2, 16), default=2, show_default=True, help="Hosts, of a core each.")
@click.option("--links", default="100mbit,1gbit", show_default=True, help="Speeds with commas, as tc has them.")
@click.option("--data", type=click.Path(path_type=Path), help="Where the files are, or go. [default: the cache]")
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="Of each query in each place.")
@click.option("--figures", help="Of phases, throughput, switch and places, with commas. [default: all]")
@click.option(
    "--output", "-o", "target", type=click.Path(path_type=Path), default=Path("paper.html"), show_default=True
)
@json_option
def paper(
    scale: float,
    workers: int,
    links: str,
    data: Path | None,
    runs: int,
    figures: str | None,
    target: Path,
    as_json: bool,
) -> None:
    """Repeat the evaluation of Jumpgate's paper: hosts and a software switch in network namespaces (as root, with
    iproute2), and write an HTML page."""
    from jumpgate.codegen import cache
    from jumpgate.study.paper import experiments, page
    from jumpgate.study.paper.cluster import cluster
    from jumpgate.study.paper.network import check_permitted
    from jumpgate.study.paper.runner import FORMATS
    from jumpgate.tpcds.data import generate

    speeds = [speed.strip() for speed in links.split(",")]
    if wrong := [speed for speed in speeds if not re.fullmatch(r"\d+(\.\d+)?[kmg]bit", speed)]:
        raise ConfigError(
            f"--links: '{wrong[0]}' is no speed; write numbers with kbit, mbit or gbit, as in 100mbit,1gbit"
        )
    chosen = _figures(figures, experiments.FIGURES)
    check_permitted()
    directory = (data or cache.root() / "tpcds" / f"sf{scale:g}").absolute()
    with output.progress() as progress:
        generate(directory, scale, FORMATS, ["store_sales", "item"], progress=progress)
    with output.progress() as progress, cluster(directory, workers) as machines:
        found = experiments.measure(machines, scale, speeds, runs, chosen, progress)
    output.write(target, page.html(found))
    if as_json:
        output.print_json({**page.data(found), "file": str(target)})
        return
    rows = [(c.text, c.published or "not given", c.measured, "holds" if c.holds else "does not hold")
            for c in page.claims(found)]  # fmt: skip
    output.print_table("What holds here", ("statement", "published", "here", ""), rows)
    print(f"wrote {target}; open it in any browser")


def _figures(wanted: str | None, known: Sequence[str]) -> Sequence[str]:
    chosen = known if wanted is None else [name.strip() for name in wanted.split(",")]
    if unknown := [name for name in chosen if name not in known]:
        raise ConfigError(f"--figures: there is no '{unknown[0]}'; there are {', '.join(known)}")
    return chosen
