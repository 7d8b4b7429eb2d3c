"""The agent's end of `jghost`: asks it to fork instances and to kill them, and hears of their ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jumpgate.errors import InstanceFailed

#: bytes of an instance's name that the zygote is told, and of a whole request
NAME_BYTES_MAX, REQUEST_BYTES_MAX = 200, 4096


class End(NamedTuple):
    """How a process ended: its exit status, or the signal that killed it (0: none)."""

    status: int
    signal: int


#: with the processes that watched it: nobody knows more
LOST = End(-1, 0)


class Forked(NamedTuple):
    """A new instance: its pid, our end of its control socket, and a future that is done once it has ended."""

    pid: int
    control: socket.socket
    ended: asyncio.Future[End]


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
        self._forking: list[asyncio.Future[tuple[int, asyncio.Future[End]]]] = []
        self._ends: dict[int, asyncio.Future[End]] = {}
        #: done once it can fork; raises InstanceFailed if it ended before
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(ours, self._receive)

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
        answer: asyncio.Future[tuple[int, asyncio.Future[End]]] = self._loop.create_future()
        try:
            # a datagram of some hundred bytes: it is taken at once, or the zygote is gone
            socket.send_fds(self._socket, [request], [theirs.fileno()])
            self._forking.append(answer)
            pid, ended = await answer
        except OSError as error:
            ours.close()
            raise InstanceFailed(f"cannot start instance {name}: {error.strerror}", instance=name) from error
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return Forked(pid, ours, ended)

    def kill(self, pid: int) -> None:
        """Kills one of its instances, whatever that is doing; nothing happens if it has ended."""
        if self.alive:
            with contextlib.suppress(OSError):
                self._socket.send(str(pid).encode())

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
            answer, pid = self._forking.pop(0), int(message["pid"])
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
            ended = self._ends.pop(int(message["exited"]))
            ended.set_result(End(int(message["status"]), int(message["signal"])))

    def _lost(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._process.kill()
        self._process.wait()
        _fail(self.ready, _ended())
        for answer in self._forking:
            _fail(answer, _ended())
        for ended in self._ends.values():
            ended.set_result(LOST)
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
