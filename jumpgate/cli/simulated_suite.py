"""`jumpgate simulate --suite`: the queries of a suite on a cluster, and at a scale, that do not exist."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from jumpgate.cli import output

if TYPE_CHECKING:
    from jumpgate.cli.described import Hosts

HOSTS = "50"
#: the scale of the data that statistics are taken from
SCALE = 1.0


def run(
    name: str,
    scale: float,
    queries: str | None,
    data: Path | None,
    hosts: str | None,
    alike: Hosts,
    prefer: tuple[str, ...],
    target: Path | None,
    as_json: bool,
) -> None:
    """Simulate the queries and print a table. Missing data is generated first."""
    import jumpgate
    from jumpgate import words
    from jumpgate.client.duckdb.dialect import DUCKDB
    from jumpgate.codegen import cache
    from jumpgate.compiler import CompileOptions
    from jumpgate.converters import probe
    from jumpgate.converters.prober import prober
    from jumpgate.errors import ConfigError
    from jumpgate.nca.registry import default_registry
    from jumpgate.service import calibration, planning
    from jumpgate.simulate import report
    from jumpgate.simulate.plans import ENDPOINT
    from jumpgate.simulate.suite import at_scale, simulated
    from jumpgate.study import suites
    from jumpgate.tpcds.data import generate, path

    suite = suites.suite(name)
    texts = suites.chosen(suite, queries)
    if not (hosts or HOSTS).isdigit() or not int(hosts or HOSTS):
        raise ConfigError(f"--hosts {hosts}: a suite is simulated on one cluster; write one number")
    count = int(hosts or HOSTS)
    directory = data or cache.root() / name / f"sf{SCALE:g}"
    if data is None:
        with output.progress() as progress:
            generate(directory, SCALE, ["parquet"], progress=progress, suite=suite)
    files = {table: path(directory.absolute(), table, "parquet") for table in suite.tables}
    speeds, registry = calibration.load("host"), default_registry()
    devices = alike.devices(count)
    found = []
    with jumpgate.connect(progress=False) as connection, prober.held(), output.progress() as progress:
        suites.register(connection, suite, directory, "parquet")
        known = at_scale(probe.estimate, suite, files, scale)
        options = CompileOptions(
            dialect=DUCKDB, endpoints=(ENDPOINT,), statistics=known, look=probe.look, prefer=prefer
        )
        runs = simulated(
            connection, texts, lambda root: planning.plan(root, devices, registry, options), registry,
            alike.cluster(), speeds,
        )  # fmt: skip
        for query in runs:
            found.append(query)
            progress(f"query {query.query}", len(found), len(texts))
    title = f"{suite.title} at scale {scale:,.0f} over {words.counted(count, 'host')}, simulated"
    said = str(alike)
    if target is not None:
        is_picture = target.suffix == ".svg"
        output.write(target, report.picture(title, found) if is_picture else report.suite_html(title, found, said))
    if as_json:
        output.print_json({
            "suite": suite.title, "scale": scale, "hosts": count, "cluster": said, "is_calibrated": bool(speeds),
            "queries": [asdict(query) for query in found], "file": None if target is None else str(target),
        })  # fmt: skip
        return
    output.print_table(f"{title}: {said}", report.COLUMNS, map(report.row, found), right=("query", "time", "files"))
    done = [query for query in found if not query.why]
    print(f"{len(done)} of {len(found)} queries, {words.duration(sum(q.seconds for q in done))} one after the other")
    for limit, number in report.limits(found):
        print(f"{words.counted(number, 'query')}: {limit}")
    if target is not None:
        print(f"wrote {target}; open it in any browser")
