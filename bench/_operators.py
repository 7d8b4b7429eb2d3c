"""Figures of one service that operators watch: its page, restarts, ends, fairness, and deadlines."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench._measure import Figure, counted, remark
from jumpgate.client import Dataflow, col, connect, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.errors import JumpgateError, Unreachable
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import tokens
from jumpgate.trust.channels import channel
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub
from tests.support.served import Served, serving

ROWS = 100_000
#: jobs that a service remembers
JOBS = 1000
#: heavy jobs of another user that run or wait beside small ones
HEAVY = 12
#: for a query to end beyond its deadline
GRACE_S = 2.0
DEADLINE_S = 3.0
#: processes that are stopped, by what their command line has
PROCESSES = {"service": "jumpgate.cli.main", "agent": "jumpgate.hosts.agent", "zygote": "jghost", "instance": "jg ",
             "compiler": "cc1plus"}  # fmt: skip


def _table(folder: Path) -> Dataflow:
    file = folder / "t.parquet"
    pq.write_table(pa.table({"k": [x % 100 for x in range(ROWS)], "x": list(range(ROWS))}), file)
    return read(str(file))


def page_ready_ms(loads: int = 50) -> Figure:
    """The live page of a service with as many jobs as it remembers, from the request to its last byte."""
    taken = []
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--http", "0") as served:
        flow = _table(Path(folder)).filter(col("x") < 10)
        token = tokens.find(served.address)
        assert token is not None
        with contextlib.closing(channel(tokens.target(served.address), None, ())) as open_:
            stub = JumpgateStub(open_)  # type: ignore[no-untyped-call]
            request = pb.SubmitRequest(dataflow=proto.encode(Send(flow.root, ("127.0.0.1:9",))), text="SELECT 1")
            for _ in range(JOBS):
                stub.Submit(request, metadata=tokens.metadata(token))
        for _ in range(loads):
            asked = urllib.request.Request(served.page, headers={"Authorization": f"Bearer {token}"})
            began = time.monotonic()
            with urllib.request.urlopen(asked, timeout=60) as got:
                text = got.read().decode()
            taken.append(1000 * (time.monotonic() - began))
        shown = text.count("SELECT 1")
    remark(f"{shown} jobs on {len(text)} characters; {min(taken):.0f} to {max(taken):.0f} ms")
    return Figure("page_ready_ms", statistics.median(taken), 500.0, "lower", f"{shown} jobs, {loads} loads")


def reconnect_s(rounds: int) -> Figure:
    """The longest time until a client of a service that was killed finds the next one at its address."""
    taken = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        served = stack.enter_context(serving(Path(folder)))
        port = int(served.address.rpartition(":")[2])
        session = stack.enter_context(connect(served.address, progress=False))
        for _ in counted(range(rounds), "restarts"):
            served.stop()
            for _ in range(20):  # a channel that was asked in vain waits longer and longer
                with contextlib.suppress(Unreachable):
                    session.jobs()
                time.sleep(0.05)
            served = stack.enter_context(serving(Path(folder), port=port))
            began = time.monotonic()
            assert wait_until(lambda: _answers(session), 60)
            taken.append(time.monotonic() - began)
    return Figure("reconnect_s", max(taken), 1.0, "lower", f"the longest of {rounds} restarts")


def _answers(session: Session) -> bool:
    try:
        session.jobs()
    except Unreachable:
        return False
    return True


def drain_lost(rounds: int, clients: int = 6) -> Figure:
    """Jobs that a service had taken when it was told to end, and that failed."""
    said: Counter[str] = Counter()
    for _ in counted(range(rounds), "ends"):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "--drain-s", "60") as served:
            flow = _table(Path(folder)).aggregate(n=count())
            threads = [threading.Thread(target=_until_it_ends, args=(served, flow, said)) for _ in range(clients)]
            for thread in threads:
                thread.start()
            wait_until(lambda before=said["right"]: said["right"] > before + 3 * clients, 60)
            served.process.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join()
            served.process.wait(60)
    remark(", ".join(f"{what}: {times}" for what, times in said.items()))
    lost = sum(times for what, times in said.items() if what.startswith("lost"))
    return Figure("drain_lost", lost, 0.0, "lower", f"of {lost + said['right']} jobs, {rounds} ends of a service")


def _until_it_ends(served: Served, flow: Dataflow, said: Counter[str]) -> None:
    with connect(served.address, progress=False) as session:
        while True:
            try:
                result = session.run(flow)
            except JumpgateError as error:  # it was not taken
                said[f"refused: {error.code}"] += 1
                return
            try:
                right = result.to_pylist() == [{"n": ROWS}]
                said["right" if right else "lost: wrong"] += 1
            except JumpgateError as error:
                said[f"lost: {error.code}"] += 1


def small_p95_under_heavy(small: int) -> Figure:
    """The 95th percentile of a small job's seconds beside heavy jobs of another user, and alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = ""
        for user in ("heavy", "small"):
            (folder / user).write_text(f"the token of {user}")
            config += f'[[client]]\nname = "{user}"\ntoken_file = "{folder / user}"\nroots = ["{folder}"]\n'
        (folder / "jumpgate.toml").write_text(config)
        with serving(folder, "--config", str(folder / "jumpgate.toml")) as served:
            rows = _table(folder)
            pairs = rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2")
            quick = rows.filter(col("x") < 100).aggregate(n=count())
            with connect(served.address, token_file=folder / "small", progress=False) as session:
                _p95(session, quick, small // 10)  # until its program is built
                alone = _p95(session, quick, small)
                with _busy(served.address, folder / "heavy", pairs.aggregate(s=sum_("y"))):
                    beside = _p95(session, quick, small)
    remark(f"alone {1000 * alone:.1f} ms, beside {HEAVY} heavy jobs {1000 * beside:.1f} ms")
    return Figure("small_p95_under_heavy", beside / alone, 3.0, "lower", f"{small} jobs beside {HEAVY} of another user")


def _p95(session: Session, flow: Dataflow, times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.monotonic()
        session.run(flow).to_arrow()
        taken.append(time.monotonic() - began)
    return statistics.quantiles(taken, n=20)[-1]


@contextlib.contextmanager
def _busy(address: str, token: Path, flow: Dataflow) -> Iterator[None]:
    """Have one user's heavy jobs run and wait in the block."""
    over = threading.Event()
    with connect(address, token_file=token, progress=False) as session:

        def ask() -> None:
            while not over.is_set():
                with contextlib.suppress(JumpgateError):
                    session.run(flow).to_arrow()

        threads = [threading.Thread(target=ask) for _ in range(HEAVY)]
        for thread in threads:
            thread.start()
        assert wait_until(lambda: sum(job.state.startswith("queued") for job in session.jobs()) >= HEAVY // 2, 60)
        try:
            yield
        finally:
            over.set()
            for job in session.jobs():
                with contextlib.suppress(JumpgateError):
                    session.cancel(job.id)
    for thread in threads:
        thread.join()


def deadline_kept(rounds: int, seed: int) -> Figure:
    """The share of queries that end by their deadline and GRACE_S, whichever process is stopped meanwhile."""
    late = []
    for number in counted(range(seed, seed + rounds), "stops"):
        chance = random.Random(number)
        kind, delay = chance.choice(list(PROCESSES)), chance.uniform(0, 0.5)
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
            took, ended = _stopped(served, _table(Path(folder)), kind, delay, number)
        remark(f"seed {number}: {kind} stopped after {delay:.2f} s: {ended} after {took:.1f} s")
        if took > DEADLINE_S + GRACE_S:
            late.append(number)
    return Figure("deadline_kept", 1 - len(late) / rounds, 1.0, "higher", f"{rounds} stops from seed {seed}")


def _stopped(served: Served, rows: Dataflow, kind: str, delay: float, shape: int) -> tuple[float, str]:
    """Return the seconds of a query with a deadline, of a process that is stopped, and how it ended."""
    with connect(served.address, progress=False) as patient:
        patient.run(rows.aggregate(n=count())).to_arrow()
    pairs = rows.join(rows.select(k2=col("k"), y=col("x")), left_on="k", right_on="k2")
    x = col("y")
    for bit in f"{shape:b}" if kind == "compiler" else "":  # a program that is not built yet
        x = x + col("k") if bit == "1" else x - col("k")
    stopped: list[int] = []
    over = threading.Event()

    def stop() -> None:
        over.wait(delay)
        while not over.wait(0.01) and not stopped:
            for pid in _named(served.process, PROCESSES[kind]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    stopped.append(pid)

    stopping = threading.Thread(target=stop)
    stopping.start()
    began, ended = time.monotonic(), "right"
    try:
        with connect(served.address, timeout_ms=int(1000 * DEADLINE_S), progress=False) as session:
            try:
                session.run(pairs.aggregate(s=sum_(x))).to_arrow()
            except JumpgateError as error:
                ended = error.code
            took = time.monotonic() - began
    finally:
        over.set()
        stopping.join()
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    return took, ended if stopped else f"{ended}, nothing stopped"


def _named(root: subprocess.Popen[str], words: str) -> list[int]:
    """Return the process, or those below it, whose command has the words."""
    tree, found = [root.pid], []
    for pid in tree:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                tree += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if words in command or Path(f"/proc/{pid}/comm").read_text().startswith(words):
                found.append(pid)
    return found


def figures(rounds: int, seed: int) -> dict[str, Callable[[], Figure]]:
    """Return the figures by name; `rounds` of those that repeat something."""
    return {
        "page_ready_ms": page_ready_ms,
        "reconnect_s": lambda: reconnect_s(max(3, rounds // 25)),
        "drain_lost": lambda: drain_lost(max(3, rounds // 25)),
        "small_p95_under_heavy": lambda: small_p95_under_heavy(max(50, rounds)),
        "deadline_kept": lambda: deadline_kept(rounds, seed),
    }
