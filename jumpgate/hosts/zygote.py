"""The agent's end of `jghost`: asks it to fork instances and to kill them, and hears of their ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumpgate.errors import InstanceFailed
from jumpgate.machine import is_stopped

#: bytes of an instance's name that the zygote is told, and of a whole request
NAME_BYTES_MAX, REQUEST_BYTES_MAX = 200, 4096
#: seconds between two looks at processes, and looks after which one that is stopped by a signal is ended: its job, and
#: all who need the zygote, would wait for it
LOOK_S, STOPPED_LOOKS_MAX = 1.0, 3


class End(NamedTuple):
    """How a process ended: its exit status, or the signal that killed it (0: none). `stopped`: it was killed as a
    signal had stopped it."""

    status: int
    signal: int
    stopped: bool = False


#: with the processes that watched it: nobody knows more
LOST = End(-1, 0)
#: as it was asked to
DESTROYED = End(0, 0)


class Forked(NamedTuple):
    """A new instance: its pid, our end of its control socket, and a future that is done once it has ended."""

    pid: int
    control: socket.socket
    ended: asyncio.Future[End]


#: of an instance that is being started: its pid, and the future of Forked
Answer = asyncio.Future[tuple[int, asyncio.Future[End]]]


class _Request(NamedTuple):
    """A message to the zygote. One that forks has a control socket for it, and somebody who waits for the answer."""

    message: bytes
    control: socket.socket | None = None
    answer: Answer | None = None


class Zygote:
    """One running `jghost`. Its instances end with it, and it ends with this process."""

    def __init__(self, program: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [program, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "LD_BIND_NOW": "1"},  # symbols are looked up here once, not in every instance
        )
        theirs.close()
        ours.setblocking(False)
        self._socket = ours
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[_Request] = deque()  # of hundreds that come at once, the socket takes some
        self._forking: deque[Answer] = deque()  # in the order in which they were sent
        self._ends: dict[int, asyncio.Future[End]] = {}
        self._stopped: set[int] = set()  # those that are being killed for that
        #: done once it can fork; raises InstanceFailed if it ended before
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(ours, self._receive)
        self._watching = self._loop.create_task(self._watch())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._socket.fileno() >= 0

    async def fork(self, name: str, command: Sequence[str] = ()) -> Forked:
        """Forks an instance that `ps` shows as `name`; one with a command becomes that program, and finds its control
        socket as standard input. Raises InstanceFailed."""
        if not self.alive:
            raise _ended()
        request = b"\0".join((name.encode()[:NAME_BYTES_MAX], *(part.encode() for part in command)))
        if len(request) > REQUEST_BYTES_MAX:
            raise InstanceFailed(f"cannot start instance {name}: its command is too long", instance=name)
        ours, theirs = socket.socketpair()
        answer: Answer = self._loop.create_future()
        self._send(_Request(request, theirs, answer))
        try:
            pid, ended = await answer
        except OSError as error:
            ours.close()
            raise InstanceFailed(f"cannot start instance {name}: {error.strerror}", instance=name) from error
        except BaseException:
            ours.close()
            raise
        return Forked(pid, ours, ended)

    def kill(self, pid: int) -> None:
        """Kills one of its instances, whatever that is doing; nothing happens if it has ended."""
        if self.alive:
            self._send(_Request(str(pid).encode()))

    async def _watch(self) -> None:
        """End what stays stopped, by SIGSTOP for example."""
        looks: dict[int, int] = {}
        while self.alive:
            await asyncio.sleep(LOOK_S)
            looks = {pid: looks.get(pid, 0) + 1 for pid in (self.pid, *self._ends) if is_stopped(pid)}
            for pid in [pid for pid, seen in looks.items() if seen >= STOPPED_LOOKS_MAX]:
                if pid == self.pid:
                    self._process.kill()
                else:
                    self._stopped.add(pid)
                    self.kill(pid)

    def _send(self, request: _Request) -> None:
        self._unsent.append(request)
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        """Sends what there is room for; the rest once the zygote has taken some."""
        while self._unsent:
            message, control, answer = self._unsent[0]
            try:
                socket.send_fds(self._socket, [message], [] if control is None else [control.fileno()])
                if answer is not None:
                    self._forking.append(answer)
            except BlockingIOError:
                self._loop.add_writer(self._socket, self._flush)
                return
            except OSError as error:  # it cannot have the socket; if it is gone, we hear of that
                if answer is not None:
                    _fail(answer, error)
            self._unsent.popleft()
            if control is not None:
                control.close()
        self._loop.remove_writer(self._socket)

    def _receive(self) -> None:
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        message = json.loads(data)
        if "ready" in message:
            self.ready.set_result(None)
        elif "spawned" in message:
            answer, pid = self._forking.popleft(), int(message["pid"])
            if pid < 0:
                _fail(
                    answer,
                    InstanceFailed(
                        f"the system refused to fork instance {message['spawned']}: {message['error']}",
                        instance=message["spawned"],
                    ),
                )
                return
            self._ends[pid] = ended = self._loop.create_future()
            if not answer.done():
                answer.set_result((pid, ended))
        elif "exited" in message:
            pid = int(message["exited"])
            end = End(int(message["status"]), int(message["signal"]), pid in self._stopped)
            self._stopped.discard(pid)
            self._ends.pop(pid).set_result(end)

    def _lost(self) -> None:
        self._watching.cancel()
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._socket.close()
        self._process.kill()
        self._process.wait()
        _fail(self.ready, _ended())
        for _, control, answer in self._unsent:
            if control is not None and answer is not None:
                control.close()
                self._forking.append(answer)
        for answer in self._forking:
            _fail(answer, _ended())
        for ended in self._ends.values():
            ended.set_result(LOST)
        self._unsent.clear()
        self._forking.clear()
        self._ends.clear()

    def close(self) -> None:
        """Ends it, and with it every instance."""
        if self.alive:
            self._lost()


def _ended() -> InstanceFailed:
    return InstanceFailed("the host's zygote process (jghost) has ended, and every instance with it")


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
        answer.exception()  # nobody may be waiting
