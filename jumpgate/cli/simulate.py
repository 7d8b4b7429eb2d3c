"""`jumpgate simulate`: a dataflow on clusters that do not exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.cli.load import load
from jumpgate.cli.options import file_argument, json_option


@click.command("simulate")
@file_argument
@click.option("--hosts", default="16,64,250,1000", show_default=True, help="How many, with commas.")
@click.option("--cores", type=click.IntRange(1), default=16, show_default=True, help="Of each host.")
@click.option("--memory-gb", type=click.IntRange(1), default=64, show_default=True, help="Of each host.")
@click.option("--link-gbit", type=click.FloatRange(0.001), default=10.0, show_default=True, help="Of each host's link.")
@click.option("--rack", type=click.IntRange(1), help="Hosts in each rack. [default: no racks]")
@click.option("--rack-gbit", type=click.FloatRange(0.001), default=40.0, show_default=True, help="Of each rack's link.")
@click.option(
    "--switches", metavar="PROGRAM", help="In each rack, and one above them: `aggregate`, `prune` … [default: none]"
)
@click.option("--prefer", multiple=True, metavar="NCA", help="Use it wherever it matches; may be repeated.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Submitted at once.")
@click.option("--times", type=click.FloatRange(1), default=1.0, help="Tables of so many times the rows. [default: 1]")
@click.option("--output", "-o", "target", type=click.Path(path_type=Path), help="An HTML page.")
@json_option
def command(
    file: Path,
    hosts: str,
    cores: int,
    memory_gb: int,
    link_gbit: float,
    rack: int | None,
    rack_gbit: float,
    switches: str | None,
    prefer: tuple[str, ...],
    jobs: int,
    times: float,
    target: Path | None,
    as_json: bool,
) -> None:
    """Show how long the dataflow in FILE would take over many hosts, and where the time would go.

    It is planned as for a cluster of that size. A model of the service, the hosts and their links then runs the plan,
    with the compiler's estimates, and what `jumpgate calibrate` measured here, for what each operator takes.
    """
    from jumpgate import words
    from jumpgate.compiler import CompileOptions
    from jumpgate.converters import probe
    from jumpgate.converters.prober import prober
    from jumpgate.errors import ConfigError, FileUnreadable
    from jumpgate.nca.registry import default_registry
    from jumpgate.ncas.switch.kind import SWITCH
    from jumpgate.service import calibration, planning
    from jumpgate.simulate import report
    from jumpgate.simulate.model import Cluster, simulate
    from jumpgate.simulate.plans import ENDPOINT, group_size, grown, under_switches
    from jumpgate.simulate.plans import hosts as alike

    flow, dialect = load(file)
    counts = _counts(hosts)
    registry, speeds = default_registry(), calibration.load("host")
    switch = None
    if switches is not None:
        if not rack:
            raise ConfigError("--switches puts a switch into each rack: say --rack, how many hosts each has")
        at = {"p4runtime": "192.0.2.2:9559", "data": "192.0.2.2:9801"}
        switch = SWITCH.device("switch", program=switches, **at)
    options = CompileOptions(dialect=dialect, endpoints=(ENDPOINT,), look=probe.look, prefer=prefer)
    cluster = Cluster(link_bytes_s=link_gbit * 1e9 / 8)
    found = []
    with prober.held(), output.progress() as progress:
        for done, count in enumerate(counts):
            progress(f"{count} hosts", done, len(counts))
            size = count if switch is None else group_size(count, int(switch.offer.ports))
            groups = -(-count // size)
            devices = alike(size, cores, memory_gb << 30, int(link_gbit * 1e9), rack or 0, int(rack_gbit * 1e9))
            if switch is not None:
                devices = under_switches(devices, switch, int(rack_gbit * 1e9))
            own = replace(options, statistics=grown(probe.estimate, times / groups))
            plan = planning.plan(flow.root, devices, registry, own)
            found.append(simulate(plan, registry, cluster, speeds, jobs, groups))
        progress("done", len(counts), len(counts))
    said = f"hosts of {cores} cores with links of {link_gbit:g} Gb/s; {words.counted(jobs, 'job')}"
    said += f"; racks of {words.counted(rack, 'host')} with links of {rack_gbit:g} Gb/s" if rack else ""
    said += f"; switches that run {switches} in racks and above" if switches else ""
    said += f"; {times:g} times the rows" if times > 1 else ""
    if target is not None:
        try:
            target.write_text(report.html(file.name, found, said), encoding="utf-8")
        except OSError as error:
            raise FileUnreadable(f"cannot write {target}: {error.strerror}", file=target) from error
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


def _counts(text: str) -> list[int]:
    from jumpgate.errors import ConfigError

    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ConfigError(f"--hosts {text}: write numbers of hosts with commas, as in 16,100,1000")
    return found
