"""Asks a server of Presto or Trino whose service loses a part at each phase of a job, and clients that lose interest:

    python -m tests.support.server_faults_run FOLDER LIB {Presto|Trino} WORKERS

FOLDER has catalog.json (schema main) and plugin/, LIB the server's jars. With WORKERS beside the server (0: none) each
result is received by SPLITS of them, and one of these may be lost, too. What became of each query goes to stdout as
JSON, by the trial's name; as "late" the victims and answers where all rows had been sent when the fault came. In a
network namespace of its own (`presto.in_a_network`).
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumpgate.hosts.config import local_hosts
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service import embedded
from jumpgate.testing.leaks import wait_until
from tests.support.faults import END_TIMEOUT_S, PHASES, Fault, kill, sabotaged, watched
from tests.support.presto_run import ENGINES, PRESTO, URL, Cluster, Engine, answers, running

#: of the service, by server: networks are their own, but the user's file with a service's token goes by its address
SERVICE_PORTS = {"Presto": 17411, "Trino": 17412}
#: a worker's log line for that
RETRIED = "a job is run again"
#: seconds after which a server forgets a client that does not ask, or a worker that does not answer
FORGOTTEN_S = 10

#: receivers of each result, where there are workers
SPLITS = 4

#: one job: rand() stays with the server, to which all rows are sent
STREAM = "SELECT count(*), sum(k), sum(length(s)) FROM (SELECT k, s, rand() r FROM faults) WHERE r >= 0"
#: a small result
AGGREGATE = "SELECT k % 7, count(*), max(s) FROM faults GROUP BY 1"
#: more than all buffers on its way hold
LARGE = "SELECT a.k, a.s, b.k FROM faults a JOIN few b ON a.one = b.one"
FEW = f"SELECT k FROM (SELECT k, rand() r FROM ({LARGE}) t(k, s, n)) WHERE r >= 0 LIMIT 5"

#: an instance exists while it is executed
FAULTS = [
    *(Fault(victim, phase) for victim in ("service", "agent") for phase in PHASES),
    Fault("instance", "stream"),
]
LOST_WORKERS = [Fault("worker", phase) for phase in PHASES]
#: most often before a row has come
EARLY = Fault("instance", "execute")
#: of a fault that may come when the job has passed the phase
TRIES = 20


class Outcome(NamedTuple):
    """Rows, or the text of the error. retries: as the server counts them; jobs: how they ended, the newest first;
    receivers: how many the result of each had."""

    answer: Any
    retries: int
    jobs: list[str]
    receivers: list[int]


def query_of(fault: Fault) -> str:
    return AGGREGATE if fault.phase == "commit" else STREAM


def main(folder: Path, lib: Path, engine: Engine, workers: int) -> None:
    port = SERVICE_PORTS[engine.name]
    address = f"127.0.0.1:{port}"
    patience = dict.fromkeys(("query.client.timeout", "query.remote-task.max-error-duration"), f"{FORGOTTEN_S}s")
    session = f"jumpgate.splits={SPLITS}" if workers else ""
    with contextlib.ExitStack() as stack:
        with service(port):
            servers = running(folder, lib, address, AGGREGATE, "", engine, patience, workers)
            trials = Trials(stack.enter_context(servers), engine, session)
        late: list[tuple[str, Outcome]] = []
        outcomes = {str(fault): trials.in_time(fault, late) for fault in FAULTS}
        outcomes[str(EARLY)] = trials.before_rows(hosts=1)
        outcomes["another host"] = trials.before_rows(hosts=2)
        outcomes["after a page"] = trials.broken_off()
        with service(port) as healthy:
            outcomes["healthy"] = outcome(healthy, *trials.asked(STREAM))
            outcomes["limit"] = outcome(healthy, *trials.asked(FEW))
            outcomes["cancelled"] = outcome(healthy, *trials.left(cancelled=True))
            outcomes["vanished"] = outcome(healthy, *trials.left(cancelled=False))
        for fault in LOST_WORKERS if workers else ():
            outcomes[str(fault)] = trials.sabotage(fault, query_of(fault))
            trials.servers.revive()
    named = {name: found._asdict() for name, found in outcomes.items()}
    json.dump({"late": [(victim, found.answer) for victim, found in late], **named}, sys.stdout)


@contextlib.contextmanager
def service(port: int) -> Iterator[embedded.Embedded]:
    made = embedded.start(local_hosts(1), port=port)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def nothing_listens() -> Iterator[None]:
    """Raise AssertionError if new sockets listen for long after the block."""
    before = listeners()
    yield
    assert wait_until(lambda: listeners() <= before, END_TIMEOUT_S), f"ports: {listeners() - before}"


class Trials(NamedTuple):
    """Queries to the servers in sessions with these properties."""

    servers: Cluster
    engine: Engine
    session: str

    def before_rows(self, hosts: int) -> Outcome:
        """Return the outcome of the first try in which the instance was killed before a row arrived, so that the job
        was run again."""
        for _ in range(TRIES):
            found = self.sabotage(EARLY, STREAM, hosts=hosts)
            if found.retries:
                break
        return found

    def in_time(self, fault: Fault, late: list[tuple[str, Outcome]]) -> Outcome:
        """Return the outcome of the first try in which the job had not sent all its rows before the fault, if rows were
        coming; `late` gets the others."""
        for _ in range(TRIES):
            found = self.sabotage(fault, query_of(fault))
            if fault.phase != "stream" or found.jobs != ["done"]:
                break
            late.append((fault.victim, found))
        return found

    def sabotage(self, fault: Fault, query: str, hosts: int = 1) -> Outcome:
        def workers() -> list[int]:
            return [node.pid for node in self.servers.nodes[1:]]

        port = SERVICE_PORTS[self.engine.name]
        with nothing_listens(), sabotaged(fault, workers, local_hosts(hosts), port) as (service, injected):
            for _ in range(TRIES):  # a server may yet have to find a service that was started again
                found = outcome(service, *self.asked(query))
                if injected:
                    return found
        raise AssertionError(f"the phase did not come: {found.answer}")

    def broken_off(self) -> Outcome:
        """Every instance is killed when the client has had a page."""
        port = SERVICE_PORTS[self.engine.name]
        with nothing_listens(), watched() as watch, service(port) as healthy:
            had = 0

            def strike(rows: int) -> None:
                nonlocal had
                if rows and not had:
                    kill([process.pid for process in watch.processes("jg ")])
                had += rows

            found = self.asked(LARGE, strike)
            assert had, "no row came"
            return outcome(healthy, *found)

    def left(self, cancelled: bool) -> tuple[list[Any], int]:
        """Asks for a large result, and for no more once there is a page."""
        for answer in answers(LARGE, self.session, self.engine):
            if "data" in answer:
                if cancelled:
                    request = urllib.request.Request(answer["nextUri"], method="DELETE")
                    urllib.request.urlopen(request).close()
                return [], 0
        raise AssertionError("no row came")

    def asked(self, query: str, heard: Callable[[int], None] = lambda rows: None) -> tuple[Any, int]:
        """Rows, or the text of the error, and how often a job was run again. heard: gets the rows of each answer."""
        rows: list[Any] = []
        found: Any = rows
        for answer in answers(query, self.session, self.engine):
            if "error" in answer:
                found = f"{answer['error']['errorName']}: {answer['error']['message']}"
            heard(len(answer.get("data", [])))
            rows += answer.get("data", [])
        return found, retries(answer["id"], self.engine)


def outcome(service: embedded.Embedded, answer: Any, again: int) -> Outcome:
    jobs = service.engine.jobs()
    assert wait_until(lambda: all(job.ended_ns for job in jobs), END_TIMEOUT_S), "a job outlives its query"
    return Outcome(answer, again, [job.state for job in jobs], [receivers(job) for job in jobs])


def receivers(job: JobRecord) -> int:
    """Return how many endpoints of its client a job sent rows to."""
    (result,) = [edge["id"] for edge in job.edges if not edge["consumers"]]
    (to,) = [edge["to"] for edge in job.explain["edges"] if edge["id"] == result]
    return len(to)


def retries(query: str, engine: Engine) -> int:
    """Return the retries that the server counted in each stage, once it knows all about the query."""
    request = urllib.request.Request(f"{URL}/v1/query/{query}", headers={f"X-{engine.name}-User": "test"})
    while True:
        with urllib.request.urlopen(request) as response:
            known = json.load(response)
        if known["finalQueryInfo"]:
            break
        time.sleep(0.1)
    if engine is PRESTO:
        metrics = known["queryStats"]["runtimeStats"]
        return sum(int(metric["sum"]) for name, metric in metrics.items() if name.endswith("jumpgateRetries"))
    metrics = [operator["connectorMetrics"] for operator in known["queryStats"]["operatorSummaries"]]
    return sum(metric["jumpgateRetries"]["total"] for metric in metrics if "jumpgateRetries" in metric)


def listeners() -> set[str]:
    """Ports at which somebody listens."""
    lines = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()]
    return {words[1].rpartition(":")[2] for words in lines if words[3] == "0A"}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), ENGINES[sys.argv[3]], int(sys.argv[4]))
