"""`jumpgate top`: the jobs of a running service that wait and run, and what they hold of its hosts."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jumpgate import words
from jumpgate.cli import output
from jumpgate.cli.jobs import address_option
from jumpgate.cli.options import credentials_options, json_option
from jumpgate.errors import NotFound

if TYPE_CHECKING:
    from jumpgate.client.session import Session

#: that are looked at
JOBS_MAX = 50
#: a job in one of these states has ended
ENDED = ("done", "failed", "cancelled")


@click.command("top")
@click.option("--interval", type=click.FloatRange(0.1), default=1.0, show_default=True, help="Seconds between looks.")
@click.option("--once", is_flag=True, help="Look once, and end.")
@address_option
@credentials_options
@json_option
def command(interval: float, once: bool, address: str, as_json: bool, **credentials: str | None) -> None:
    """Show the jobs that wait and run, and the hosts that they run on, until it is interrupted.

    A client sees its own jobs, one that administers all. JSON is printed once.
    """
    from jumpgate import client

    with client.connect(address, **credentials) as session:
        if as_json:
            output.print_json(look(session))
        elif once:
            output.console().print(*_tables(look(session)))
        else:
            _follow(session, interval)


def look(session: Session) -> dict[str, Any]:
    """Return the jobs that have not ended, the newest first, how many more there are, and the hosts that they hold."""
    current = [job for job in session.jobs() if job.state not in ENDED]
    jobs, hosts = [], dict[str, dict[str, Any]]()
    for job in current[:JOBS_MAX]:
        with contextlib.suppress(NotFound):  # it has been forgotten since
            record = session.describe(job.id).record or {}
            jobs.append(job_facts(job.state, record, time.time_ns()))
            if job.state == "running":
                add_hosts(hosts, record)
    return {"jobs": jobs, "more": len(current[JOBS_MAX:]), "hosts": [hosts[name] for name in sorted(hosts)]}


def job_facts(state: str, record: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """Return the facts of a job. Rows are those that were read from files; a second has the mean since its first
    stage began."""
    edges = {edge["id"] for edge in record["edges"]}
    sources = [source for counted in record["counters"].values() for source in counted.get("sources", ())]
    rows = sum(source.get("rows", 0) for source in sources if source.get("name") not in edges)
    began = [phase["start_ns"] for phase in record["phases"] if phase["name"].startswith("stage ")]
    seconds = (now_ns - began[0]) / 1e9 if began else 0.0
    return {
        "job": record["job"],
        "client": record["client"],
        "state": state,
        "stage": len(began),
        "stages": record["stages"],
        "seconds": max(0.0, (now_ns - record["submitted_ns"]) / 1e9),
        "rows": rows,
        "rows_per_s": rows / seconds if seconds > 0 else 0.0,
    }


def add_hosts(hosts: dict[str, dict[str, Any]], record: Mapping[str, Any]) -> None:
    """Add what a running job holds of each host, as its instances said last."""
    for instance in record["instances"]:
        name = instance["host"]
        host = hosts.setdefault(name, {"host": name, "jobs": 0, "threads": 0, "held_bytes": 0})
        host["threads"] += instance["threads"]
        host["held_bytes"] += record["counters"].get(instance["id"], {}).get("held_bytes", 0)
    for name in {instance["host"] for instance in record["instances"]}:
        hosts[name]["jobs"] += 1


def _tables(found: Mapping[str, Any]) -> Sequence[Any]:
    jobs = [
        (j["job"], j["client"], j["state"], f"{j['stage']} of {j['stages']}", words.duration(j["seconds"]),
         words.rows(j["rows"]), words.rows(round(j["rows_per_s"])))
        for j in found["jobs"]
    ]  # fmt: skip
    if found["more"]:
        jobs.append((f"and {found['more']} more", "", "", "", "", "", ""))
    hosts = [(h["host"], h["jobs"], h["threads"], words.size(h["held_bytes"])) for h in found["hosts"]]
    columns = ("job", "client", "state", "stage", "time", "rows read", "rows/s")
    return (
        output.table("", columns, jobs, right=columns[4:]),
        output.table("", ("host", "jobs", "threads", "held"), hosts, right=("jobs", "threads", "held")),
    )


def _follow(session: Session, interval: float) -> None:
    """Draw what is found until the user interrupts."""
    from rich.console import Group
    from rich.live import Live

    pause = threading.Event()
    with Live(console=output.console(), screen=True, auto_refresh=False) as live:
        while True:
            live.update(Group(*_tables(look(session))), refresh=True)
            pause.wait(interval)
