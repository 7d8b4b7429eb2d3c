"""Manages child processes that read file contents for planning, so that no file can crash the planner.

One worker is warm; others are started when several threads ask at once. A worker that dies fails one request with a
typed error, and is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from jumpgate import debug
from jumpgate.converters import probe_wire as wire
from jumpgate.errors import FileUnreadable, JumpgateError, MalformedData, ProtocolError, Unreachable, from_dict
from jumpgate.stores import objects
from jumpgate.stores.names import is_remote

#: a verb (probe_worker.VERBS), files, further arguments
Question = tuple[str, tuple[str, ...], tuple[Any, ...]]

#: the most concurrent requests; others wait
WORKERS_MAX = 4
#: the most idle workers
IDLE_MAX = 2
#: seconds for a request, and more for each of its files: storage may be slow
LIMIT_S, LIMIT_FILE_S = 8.0, 0.1
#: and more where some are in a store, which may be busy
LIMIT_REMOTE_S = 60.0
#: seconds for a worker to start
START_LIMIT_S = 60.0
#: seconds for an idle worker to notice the end
END_LIMIT_S = 1.0
#: seconds beyond the limit that a worker keeps itself
PATIENCE_S = 5.0


class _Died(Exception):
    """A worker's process ended, by `signal` or with an exit status (`signal` 0)."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


#: the module that a worker runs
WORKER = "jumpgate.converters.probe_worker"


class Prober:
    """The workers of one process. Thread-safe.

    Workers live while the prober is held (`hold`, `release`); one that was started without a holder stays until the
    next last `release`, or this process ends.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._on_demand = False
        self._begin()

    def _begin(self) -> None:
        self._condition = threading.Condition()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._holders = 0
        self._generation = 0  # workers of an earlier one end when they are returned

    def hold(self) -> None:
        """Start a worker, without waiting for it, and keep workers until `release`."""
        with self._condition:
            self._holders += 1
            if not self._on_demand and not self._idle and not self._busy:
                with contextlib.suppress(OSError):  # the next request reports it
                    self._idle.append(_Worker(self._generation))

    def release(self) -> None:
        """End the workers if there is no other holder."""
        with self._condition:
            self._holders -= 1
            if self._holders > 0:
                return
        self.close()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep workers in the block."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    @contextlib.contextmanager
    def on_demand(self) -> Iterator[None]:
        """Let `hold` start no worker in the block: perhaps nothing is going to be asked."""
        before, self._on_demand = self._on_demand, True
        try:
            yield
        finally:
            self._on_demand = before

    def close(self) -> None:
        """End all workers; a later request starts one again."""
        with self._condition:
            self._generation += 1
            ending, self._idle = self._idle, []
        for worker in ending:
            worker.end()

    def forget(self) -> None:
        """Drop the parent's workers in a forked child."""
        for worker in (*self._idle, *self._busy):
            worker.hang_up()
        self._begin()

    def ask(self, verb: str, files: tuple[str, ...], *arguments: Any) -> Any:
        """Ask a worker about files (probe_worker.VERBS).

        Raises the JumpgateError that it found; MalformedData if it died; FileUnreadable if it took too long.
        """
        limit_s = self._limit_s + LIMIT_FILE_S * len(files)
        try:
            (answer,) = self._ask(limit_s, (verb, files, arguments))
        except _Died as death:
            if len(files) == 1:
                raise _error_of(death, verb, files[0], limit_s) from None
        else:
            if isinstance(answer, JumpgateError):
                raise answer
            return answer
        for file in files:  # which of them was it?
            try:
                self._ask(limit_s, (verb, (file,), arguments))
            except _Died as death:
                raise _error_of(death, verb, file, limit_s) from None
        raise MalformedData(f"one of {len(files)} files, '{files[0]}' the first, ended the process that read them")

    def ask_all(self, questions: Sequence[Question]) -> list[Any] | None:
        """Ask a worker all questions; return each answer or its JumpgateError, or None if one of them killed the
        worker: `ask` then tells which. Raises Unreachable."""
        files = {file for _, of_one, _ in questions for file in of_one}
        try:
            return self._ask(self._limit_s + LIMIT_FILE_S * len(files), *questions)
        except _Died:
            return None

    def _ask(self, limit_s: float, *questions: Question) -> list[Any]:
        """Return values, and errors that the worker found."""
        files = {file for _, of_one, _ in questions for file in of_one if is_remote(file)}
        grants = {file: objects.grant(file) for file in files}
        limit_s += LIMIT_REMOTE_S if grants else 0.0
        with self._lent() as worker:
            answers = worker.ask([questions, limit_s, grants], limit_s + PATIENCE_S)
        return [from_dict(answer["error"]) if "error" in answer else answer["ok"] for answer in answers]

    @contextlib.contextmanager
    def _lent(self) -> Iterator[_Worker]:
        """Lend a worker for one request; it ends, and is replaced, if the request fails."""
        with self._condition:
            while not self._idle and len(self._busy) >= WORKERS_MAX:
                self._condition.wait()
            worker = self._idle.pop() if self._idle else _start(self._generation)
            self._busy.add(worker)
        fine = False
        try:
            yield worker
            fine = True
        finally:
            with self._condition:
                self._busy.discard(worker)
                current = worker.generation == self._generation
                kept = fine and current and len(self._idle) < IDLE_MAX
                if kept:
                    self._idle.append(worker)
                elif current and self._holders and not self._idle:
                    with contextlib.suppress(OSError):
                        self._idle.append(_Worker(self._generation))
                self._condition.notify()
            if not kept:
                worker.end()


class _Worker:
    """One child process and our ends of its sockets, one of which only tells it that we are alive. Raises OSError if
    the system cannot start it."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._ready = False
        self._connection, theirs = socket.socketpair()
        self._life, watched = socket.socketpair()
        descriptors = theirs.fileno(), watched.fileno()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", WORKER, *map(str, descriptors)],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # the last output of aborting libraries is not for people
                stderr=None if debug.level() else subprocess.DEVNULL,
                start_new_session=True,  # the client handles an interrupt at the terminal
                env={
                    **os.environ,
                    "ARROW_DEFAULT_MEMORY_POOL": "system",  # takes no address space ahead
                    "ARROW_IO_THREADS": "1",
                    "OMP_NUM_THREADS": "1",
                    "OPENBLAS_NUM_THREADS": "1",
                },
            )
        except BaseException:
            self.hang_up()
            raise
        finally:
            theirs.close()
            watched.close()

    def ask(self, request: list[Any], timeout_s: float) -> Any:
        """Ask the worker. Raises _Died; Unreachable if the process never started."""
        if not self._ready:
            self._connection.settimeout(START_LIMIT_S)
            try:
                wire.receive(self._connection)
            except (EOFError, OSError, ProtocolError) as e:
                raise _cannot_start(e) from None
            self._ready = True
        self._connection.settimeout(timeout_s)
        try:
            wire.ask(self._connection, request)
            return wire.receive(self._connection)
        except TimeoutError:
            raise _Died(signal.SIGALRM) from None
        except (EOFError, OSError, ProtocolError):
            raise _Died(self.end()) from None

    def end(self) -> int:
        """End the worker, if it has not ended; return the signal that ended it, or 0."""
        self.hang_up()
        try:
            self._process.wait(END_LIMIT_S if self._ready else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return max(0, -self._process.returncode)

    def hang_up(self) -> None:
        self._connection.close()
        self._life.close()


def _start(generation: int) -> _Worker:
    try:
        return _Worker(generation)
    except OSError as e:
        raise _cannot_start(e) from None


def _cannot_start(error: Exception) -> Unreachable:
    detail = getattr(error, "strerror", None) or str(error) or "it ended at once"
    return Unreachable(
        f"cannot start the process that looks into files ({detail}); JUMPGATE_DEBUG=1 shows its messages"
    )


def _error_of(death: _Died, verb: str, file: str, limit_s: float) -> JumpgateError:
    what = {"schema": "its schema", "column": "its values", "selection": "its values"}.get(verb, "its size")
    if death.signal == signal.SIGALRM:
        return FileUnreadable(f"'{file}': to read {what} took longer than {limit_s:.0f} s", file=file)
    cause = signal.strsignal(death.signal) if death.signal else "it exited"
    return MalformedData(
        f"'{file}' ended the process that read {what} ({(cause or 'a signal').lower()}): it is damaged",
        file=file,
        signal=death.signal or None,
    )


#: the workers of this process
prober = Prober()
atexit.register(prober.close)
os.register_at_fork(after_in_child=prober.forget)
