"""Rounds of one fault each, at a moment of a job's life that the seed chooses: what its client gets, and what follows.

A round is survived if the job gives the right answer, or within BOUND_S of the fault one typed error that names the
host; if the same dataflow, run again with retries, is right at once without that host; and if the host is used again
once the fault is gone. Without the service a client gets one error, and finds the next one; of a client that is killed
no instance is left; whatever else is killed or stopped for a while on the service's machine costs no answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jumpgate.errors import InstanceFailed
from jumpgate.study.paper.network import line
from jumpgate.testing.leaks import wait_until
from tests.cluster.lab import QUERIES, RIGHT, Lab, agents_of, processes_of
from tests.cluster.sshd import Server

#: from a fault to the error, and what a busy machine adds
BOUND_S, BUSY_S = 5.0, 3.0
RECOVERY_S = 60.0
#: for any answer: one that takes longer will not come; for the first one, before which all is started
ANSWER_S, FIRST_S = 60.0, 600.0
#: for a compiler to begin, of which one is to be killed
COMPILER_S = 2.0
#: for which processes on the service's machine are stopped
PAUSE_S = 2.0
CACHE_BYTES = 64 << 20
#: errors that say what happened to a host
CODES = {"instance_failed", "unreachable", "timed_out", "build"}
#: of faults on the service's machine, the errors that a client may get; all others are to be answered
HERE_CODES = {"service killed": {"unreachable"}, "client killed": {"none"}}


class Round(NamedTuple):
    """What happened in one round; `wrong` is empty if it was survived."""

    seed: int
    fault: str
    host: str
    delay_s: float
    seconds: float
    outcome: str
    wrong: str
    took_s: float  #: the whole round, with the host's return

    def __str__(self) -> str:
        what = f"seed {self.seed}: {self.fault} on {self.host} after {self.delay_s:.2f} s: {self.outcome}"
        wrong = f"; NOT SURVIVED: {self.wrong}" if self.wrong else ""
        return f"{what} {self.seconds:.1f} s later, in a round of {self.took_s:.1f} s{wrong}"


class Faults:
    """A service and workers, of which one has a fault at a time."""

    def __init__(self, lab: Lab, workers: int = 3, wide: bool = False) -> None:
        """`wide`: compilers, service, client and prober are killed, too, and single processes are stopped."""
        self._lab = lab
        self._clean_up = contextlib.ExitStack()
        self.workers: dict[str, Server] = {}
        try:
            for number in range(1, workers + 1):
                self._add(f"worker{number}")
            self._serve()
            self._start_client()
            for _ in range(2):  # everything is started and compiled
                found = self._ask("medium", 0, FIRST_S)
                assert found.get("rows") == RIGHT, found
        except BaseException:
            self.close()
            raise
        self._usual_s = self._ask("medium", 0)["seconds"]
        self._shapes = 1
        self._kinds = {
            "agent killed": self._kill_agent,
            "zygote killed": self._kill_zygote,
            "instance killed": self._kill_instance,
            "host stopped": self._stop,
            "host cut off": self._cut_off,
            "disk full": self._fill_disk,
        }
        if wide:
            self._kinds |= {
                "compiler killed": self._kill_compiler,
                "compiler stopped": self._stop_compiler,
                "agent stopped": lambda server: _stopped(lambda: agents_of(server.machine)),
                "zygote stopped": lambda server: _stopped(lambda: _named(server, "jghost")),
                "instance stopped": lambda server: _stopped(lambda: _named(server, "jg ")),
                "service killed": lambda _: self._kill_service(),
                "client killed": lambda _: self._kill_client(),
                "prober killed": lambda _: self._kill_probers(),
                "service stopped": lambda _: _paused(lambda: [self._service.pid]),
                "client stopped": lambda _: _paused(lambda: [self._client.pid]),
                "prober stopped": lambda _: _paused(self._probers),
            }

    def _add(self, name: str) -> None:
        """A worker whose disk is small."""
        cache = self._lab.folder / name / "cache"
        cache.mkdir(parents=True)
        _run("mount", "-t", "tmpfs", "-o", f"size={CACHE_BYTES}", "tmpfs", cache)
        self._clean_up.callback(_run, "umount", "--lazy", cache)
        self.workers[name] = self._lab.worker(name)

    def _serve(self) -> None:
        self._service = self._lab.serve(self._lab.config(*self.workers))

    def _start_client(self) -> None:
        self._client = self._lab.here.start(
            sys.executable, QUERIES, self._service.address, self._lab.folder, "0", "-", stdin=subprocess.PIPE
        )

    def end(self) -> list[str]:
        """Ends client and service; the names of workers on which something is left."""
        assert self._client.stdin is not None
        self._client.stdin.close()
        self._service.end()
        return [name for name, worker in self.workers.items() if not wait_until(lambda w=worker: not w.left(), 30)]

    def close(self) -> None:
        """Lets go of the disks, whatever runs there."""
        self._clean_up.close()

    def round(self, seed: int) -> Round:
        """One fault."""
        chance = random.Random(seed)
        name, host = chance.choice(list(self._kinds)), chance.choice(list(self.workers))
        here = name.startswith(("service", "client", "prober"))
        delay_s = chance.uniform(0.0, 1.2 * self._usual_s)
        builds = name == "disk full" or name.startswith("compiler")  # which only a new program needs
        if builds:
            self._shapes += 1
        flow = f"new{self._shapes}" if builds else "medium"
        began, happened = time.monotonic(), [0.0]
        fault = self._kinds[name](self.workers[host])

        def strike() -> None:
            with contextlib.suppress(StopIteration):
                next(fault)
            happened[0] = time.monotonic()

        timer = threading.Timer(delay_s, strike)
        timer.start()
        found = self._ask(flow, 0)
        ended = time.monotonic()
        timer.join()
        seconds = max(0.0, ended - happened[0])
        wrong = _judge_here(found, name, seconds) if here else _judge(found, host, seconds)
        if name == "client killed" and not wait_until(lambda: not self._instances(), BOUND_S + BUSY_S):
            wrong = wrong or "instances of a client that was killed are left"
        if not wrong and not builds:
            again = self._ask("medium", 2)
            wrong = "" if again.get("rows") == RIGHT else f"run again: {again}"
        for _ in fault:  # it goes away
            pass
        wrong = wrong or self._recover()
        took_s = time.monotonic() - began
        return Round(
            seed,
            name,
            "the service's machine" if here else host,
            delay_s,
            seconds,
            found.get("error", "right"),
            wrong,
            took_s,
        )

    def _recover(self) -> str:
        deadline = time.monotonic() + RECOVERY_S
        while time.monotonic() < deadline:
            found = self._ask("short", 2)
            if found.get("rows") != RIGHT:
                return f"afterwards: {found}"
            missing = sorted(set(self.workers) - set(found["hosts"]))
            if not missing:
                return ""
            time.sleep(0.2)
        return f"not used again after {RECOVERY_S:g} s: {missing}"

    def _ask(self, flow: str, retries: int, seconds: float = ANSWER_S) -> dict[str, Any]:
        """What the client says at the end of a dataflow. One that does not end is an error of no code."""
        if self._client.poll() is not None:  # it was killed once it had answered
            self._start_client()
        assert self._client.stdin is not None
        self._client.stdin.write(f"{flow} {retries}\n")
        self._client.stdin.flush()
        said: dict[str, Any] = {}
        try:
            while not {"rows", "error"} & said.keys():
                said = json.loads(line(self._client, seconds))
        except InstanceFailed:
            self._start_client()
            said |= {"error": "none", "host": None, "message": f"nothing was heard for {seconds:g} s"}
        return said

    # ---- faults: what happens, and after `yield` how it ends ----

    def _kill_agent(self, server: Server) -> Iterator[None]:
        _kill(agents_of(server.machine))
        yield

    def _kill_zygote(self, server: Server) -> Iterator[None]:
        _kill(_named(server, "jghost"))
        yield

    def _kill_instance(self, server: Server) -> Iterator[None]:
        """As the system does for lack of memory."""
        _kill(_named(server, "jg "))
        yield

    def _kill_compiler(self, server: Server) -> Iterator[None]:
        """The first one that there is, if one comes soon."""
        wait_until(lambda: bool(_named(server, "cc1plus")), COMPILER_S)
        _kill(_named(server, "cc1plus"))
        yield

    def _stop_compiler(self, server: Server) -> Iterator[None]:
        wait_until(lambda: bool(_named(server, "cc1plus")), COMPILER_S)
        return _stopped(lambda: _named(server, "cc1plus"))

    def _kill_service(self) -> Iterator[None]:
        """Another one takes its address."""
        self._service.kill()
        self._serve()
        yield

    def _kill_client(self) -> Iterator[None]:
        client = self._client
        client.kill()
        client.wait()
        yield

    def _kill_probers(self) -> Iterator[None]:
        _kill(self._probers())
        yield

    def _probers(self) -> list[int]:
        return processes_of(self._lab.here, b"jumpgate.converters.probe_worker")

    def _instances(self) -> list[int]:
        return [pid for worker in self.workers.values() for pid in _named(worker, "jg ")]

    def _stop(self, server: Server) -> Iterator[None]:
        return _stopped(server.machine.pids)

    def _cut_off(self, server: Server) -> Iterator[None]:
        server.machine.cut_off()
        yield
        server.machine.reconnect()

    def _fill_disk(self, server: Server) -> Iterator[None]:
        filler = server.cache / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(b"\0" * 65536):
                pass
        yield
        filler.unlink()


def _judge(found: dict[str, Any], host: str, seconds: float) -> str:
    if "error" not in found:
        return "" if found["rows"] == RIGHT else f"a wrong answer: {found['rows']}"
    if found["error"] not in CODES:
        return f"an unclear error: {found}"
    if host not in (found["host"] or "") and f"'{host}'" not in found["message"]:
        return f"the error does not name {host}: {found}"
    return "" if seconds <= BOUND_S + BUSY_S else f"took {seconds:.1f} s: {found}"


def _judge_here(found: dict[str, Any], fault: str, seconds: float) -> str:
    if "error" not in found:
        return "" if found["rows"] == RIGHT else f"a wrong answer: {found['rows']}"
    if found["error"] not in HERE_CODES.get(fault, set()):
        return f"an error: {found}"
    return "" if seconds <= BOUND_S + BUSY_S else f"took {seconds:.1f} s: {found}"


def _named(server: Server, prefix: str) -> list[int]:
    found = []
    for pid in server.machine.pids():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().startswith(prefix):
                found.append(pid)
    return found


def _stopped(find: Callable[[], list[int]]) -> Iterator[None]:
    pids = find()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _paused(find: Callable[[], list[int]]) -> Iterator[None]:
    """Stop processes for a while: a client waits for a service that says nothing."""
    pause = _stopped(find)
    next(pause)
    time.sleep(PAUSE_S)
    yield from pause
    yield


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
