"""`jumpgate simulate`: a dataflow on clusters that do not exist."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from jumpgate.cli import output, simulated_suite
from jumpgate.cli.described import Hosts
from jumpgate.cli.load import load
from jumpgate.cli.options import json_option

HOSTS = "16,64,250,1000"
#: options that only a suite has, and that none has
OF_SUITES, OF_FILES = ("scale", "queries", "data"), ("switches", "jobs", "times")


@click.command("simulate")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--hosts", help=f"How many, with commas. [default: {HOSTS}; of a suite: {simulated_suite.HOSTS}]")
@click.option("--cores", type=click.IntRange(1), default=16, show_default=True, help="Of each host.")
@click.option("--memory-gb", type=click.IntRange(1), default=64, show_default=True, help="Of each host.")
@click.option("--link-gbit", type=click.FloatRange(0.001), default=10.0, show_default=True, help="Of each host's link.")
@click.option("--disk-gb-s", type=click.FloatRange(0.001), help="Of each host's disks. [default: files are in memory]")
@click.option("--rack", type=click.IntRange(1), help="Hosts in each rack. [default: no racks]")
@click.option("--rack-gbit", type=click.FloatRange(0.001), default=40.0, show_default=True, help="Of each rack's link.")
@click.option(
    "--switches", metavar="PROGRAM", help="In each rack, and one above them: `aggregate`, `prune` … [default: none]"
)
@click.option("--prefer", multiple=True, metavar="NCA", help="Use it wherever it matches; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Submitted at once.")
@click.option("--times", type=click.FloatRange(1), default=1.0, help="Tables of so many times the rows. [default: 1]")
@click.option("--suite", type=click.Choice(("tpcds", "tpch")), help="All of its queries in place of FILE.")
@click.option("--scale", type=click.FloatRange(1), default=1000.0, show_default=True, help="Of the suite; 1 ≈ 1 GB.")
@click.option("--queries", help="Of the suite: numbers with commas. [default: all]")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Its files at any scale. [default: scale 1, in the cache]"
)
@click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="A page; of a suite also FILE.svg.")
@json_option
def command(file: Path | None, suite: str | None, **options: Any) -> None:
    """Show how long the dataflow in FILE, or the queries of a suite, would take over many hosts, and where the time
    would go.

    It is planned as for a cluster of that size. A model of the service, the hosts and their links then runs the plan,
    with the compiler's estimates, and what `jumpgate calibrate` measured here, for what each operator takes.
    """
    from jumpgate.errors import ConfigError

    if (file is None) == (suite is None):
        raise ConfigError("say what to simulate: a FILE with a dataflow, or --suite tpcds")
    other, kind = (OF_SUITES, "is of a --suite") if suite is None else (OF_FILES, "is not of a --suite")
    given = click.get_current_context().get_parameter_source
    if wrong := [name for name in other if given(name) is ParameterSource.COMMANDLINE]:
        raise ConfigError(f"--{wrong[0]} {kind}")
    alike = Hosts(**{field.name: options.pop(field.name) for field in fields(Hosts)})
    chosen = {name: value for name, value in options.items() if name not in other}
    if file is not None:
        _simulate_file(file, alike=alike, **chosen)
    elif suite is not None:
        simulated_suite.run(suite, alike=alike, **chosen)


def _simulate_file(
    file: Path,
    hosts: str | None,
    alike: Hosts,
    switches: str | None,
    prefer: tuple[str, ...],
    jobs: int,
    times: float,
    target: Path | None,
    as_json: bool,
) -> None:
    from jumpgate import words
    from jumpgate.compiler import CompileOptions
    from jumpgate.converters import probe
    from jumpgate.converters.prober import prober
    from jumpgate.errors import ConfigError
    from jumpgate.nca.registry import default_registry
    from jumpgate.ncas.switch.kind import SWITCH
    from jumpgate.service import calibration, planning
    from jumpgate.simulate import report
    from jumpgate.simulate.model import simulate
    from jumpgate.simulate.plans import ENDPOINT, group_size, grown, under_switches

    flow, dialect = load(file)
    counts = counted_hosts(hosts or HOSTS)
    registry, speeds = default_registry(), calibration.load("host")
    switch = None
    if switches is not None:
        if not alike.rack:
            raise ConfigError("--switches puts a switch into each rack: say --rack, how many hosts each has")
        at = {"p4runtime": "192.0.2.2:9559", "data": "192.0.2.2:9801"}
        switch = SWITCH.device("switch", program=switches, **at)
    options = CompileOptions(dialect=dialect, endpoints=(ENDPOINT,), look=probe.look, prefer=prefer)
    found = []
    with prober.held(), output.progress() as progress:
        for done, count in enumerate(counts):
            progress(f"{count} hosts", done, len(counts))
            size = count if switch is None else group_size(count, int(switch.offer.ports))
            groups = -(-count // size)
            devices = alike.devices(size)
            if switch is not None:
                devices = under_switches(devices, switch, int(alike.rack_gbit * 1e9))
            own = replace(options, statistics=grown(probe.estimate, times / groups))
            plan = planning.plan(flow.root, devices, registry, own)
            found.append(simulate(plan, registry, alike.cluster(), speeds, jobs, groups))
        progress("done", len(counts), len(counts))
    said = f"{alike}; {words.counted(jobs, 'job')}"
    said += f"; switches that run {switches} in racks and above" if switches else ""
    said += f"; {times:g} times the rows" if times > 1 else ""
    if target is not None:
        output.write(target, report.html(file.name, found, said))
    if as_json:
        output.print_json({"simulated": report.data(found), "file": None if target is None else str(target)})
        return
    rows = [
        (
            f.hosts, words.duration(f.seconds), words.duration(f.started_s), f.instances, f.connections, f.messages,
            f"{f.bound_by}, {f.busy[f.bound_by]:.0%}",
        )
        for f in found
    ]  # fmt: skip
    names = ("hosts", "time", "started", "instances", "connections", "messages", "busiest")
    output.print_table(said, names, rows, right=names[:-1])
    if target is not None:
        print(f"wrote {target}; open it in any browser")


def counted_hosts(text: str) -> list[int]:
    """Return numbers of hosts. Raises ConfigError."""
    from jumpgate.errors import ConfigError

    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ConfigError(f"--hosts {text}: write numbers of hosts with commas, as in 16,100,1000")
    return found
