"""The agent's end of `jghost`: asks it to fork instances, and hears of their ends."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
from pathlib import Path

from jumpgate.errors import InstanceFailed


class Zygote:
    """One running `jghost`. `exits[pid]` is done with (status, signal) when that instance has ended."""

    def __init__(self, program: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen([program, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                         stdin=subprocess.DEVNULL)
        theirs.close()
        ours.setblocking(False)
        self._socket = ours
        self._loop = asyncio.get_running_loop()
        self._spawning: list[asyncio.Future[int]] = []
        self._exits: dict[int, asyncio.Future[tuple[int, int]]] = {}
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(ours, self._receive)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._socket.fileno() >= 0

    def exit_of(self, pid: int) -> asyncio.Future[tuple[int, int]]:
        return self._exits.setdefault(pid, self._loop.create_future())

    async def spawn(self, name: str) -> tuple[int, socket.socket]:
        """Forks an instance; returns its pid and our end of its control socket."""
        if not self.alive:
            raise InstanceFailed("the host's zygote process has ended; restart its agent", instance=name)
        ours, theirs = socket.socketpair()
        answer: asyncio.Future[int] = self._loop.create_future()
        self._spawning.append(answer)
        try:
            socket.send_fds(self._socket, [name.encode()[:200]], [theirs.fileno()])
        except OSError as error:
            self._spawning.remove(answer)
            ours.close()
            raise InstanceFailed(f"cannot start instance {name}: {error}", instance=name) from error
        finally:
            theirs.close()
        try:
            pid = await answer
        except BaseException:
            ours.close()
            raise
        if pid < 0:
            ours.close()
            raise InstanceFailed(f"the system refused to fork instance {name}: too many processes or too little memory",
                                 instance=name)
        return pid, ours

    def _receive(self) -> None:
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._ended()
            return
        message = json.loads(data)
        if "ready" in message and not self.ready.done():
            self.ready.set_result(None)
        elif "spawned" in message:
            answer = self._spawning.pop(0)
            if not answer.done():
                answer.set_result(int(message["pid"]))
        elif "exited" in message:
            ended = self.exit_of(int(message["exited"]))
            if not ended.done():
                ended.set_result((int(message["status"]), int(message["signal"])))

    def _ended(self) -> None:
        self._loop.remove_reader(self._socket)
        self._socket.close()
        error = InstanceFailed("the host's zygote process has ended; restart its agent")
        for answer in [*self._spawning, self.ready]:
            if not answer.done():
                answer.set_exception(error)
                answer.exception()
        for ended in self._exits.values():
            if not ended.done():
                ended.set_result((-1, signal.SIGKILL))
        self._process.wait()

    def close(self) -> None:
        """Ends the zygote, and with it every instance."""
        if self.alive:
            self._loop.remove_reader(self._socket)
            self._socket.close()
        self._process.kill()
        self._process.wait()
