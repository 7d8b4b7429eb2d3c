"""The agent of one host: stays up between jobs, holds artifacts by content, starts, watches and ends instances.

    python -m jumpgate.hosts.agent [--listen HOST:PORT]

The shared secret is the first line of standard input, never an argument; the agent ends with its standard input.
A connection owns the instances that it started: when it closes, they are killed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hmac
import json
import os
import signal
import socket
import sys
from typing import Any

from jumpgate.codegen import toolchain
from jumpgate.errors import ConfigError, InstanceFailed, InternalError, NotFound, ProtocolError
from jumpgate.hosts.wire import LINE_BYTES_MAX, Caller, encode, failure
from jumpgate.hosts.zygote import Zygote


class Running:
    """A live instance of one connection."""

    def __init__(self, name: str, pid: int, caller: Caller) -> None:
        self.name, self.pid, self.caller = name, pid, caller

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Agent:
    """Serves control connections. One zygote; it is replaced if it dies."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._zygote: Zygote | None = None
        self._starting = asyncio.Lock()
        self._connections: set[asyncio.Task[None]] = set()

    async def zygote(self) -> Zygote:
        async with self._starting:
            if self._zygote is None or not self._zygote.alive:
                runtime = await asyncio.to_thread(toolchain.runtime)
                self._zygote = Zygote(runtime.host_program)
                await self._zygote.ready
            return self._zygote

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One control connection, from hello to its end."""
        connection = Connection(self, writer)
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if await connection.hello(reader, self._token):
                await connection.serve(reader)
        except (OSError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            self._connections.discard(task)
            connection.close()

    def close(self) -> None:
        for task in self._connections:
            task.cancel()
        if self._zygote is not None:
            self._zygote.close()


class Connection:
    def __init__(self, agent: Agent, writer: asyncio.StreamWriter) -> None:
        self._agent, self._writer = agent, writer
        self._running: dict[str, Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def hello(self, reader: asyncio.StreamReader, token: str) -> bool:
        request = json.loads(await asyncio.wait_for(reader.readline(), 10) or b"{}")
        shown = str(request.get("arguments", {}).get("token", ""))
        if request.get("verb") != "hello" or not hmac.compare_digest(shown, token):
            self._writer.write(failure(int(request.get("id", 0)), ProtocolError(
                "the agent does not know this token: the service and its agents must share one secret")))
            return False
        answer = {"cores": len(os.sched_getaffinity(0)), "pid": os.getpid()}
        self._writer.write(encode({"id": request["id"], "ok": answer}))
        return True

    async def serve(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            task = asyncio.create_task(self._answer(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: dict[str, Any]) -> None:
        id = int(request.get("id", 0))
        try:
            ok = await self._do(str(request["verb"]), request.get("arguments", {}))
            self._writer.write(encode({"id": id, "ok": ok}))
        except Exception as error:  # every failure is the caller's to see; the agent keeps serving
            self._writer.write(failure(id, error))

    async def _do(self, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
        match verb:
            case "has_artifact":
                path = toolchain.artifact(str(arguments["key"]))
                return {"path": None if path is None else str(path)}
            case "compile":
                path = await asyncio.to_thread(toolchain.build_artifact, str(arguments["name"]),
                                               str(arguments["source"]), str(arguments["key"]))
                return {"path": str(path)}
            case "spawn":
                return await self._spawn(str(arguments["job"]), str(arguments["instance"]))
            case "call":
                return await self._find(arguments).caller.call(str(arguments["verb"]), **arguments.get("arguments", {}))
            case "kill":
                self._find(arguments).kill()
                return {}
        raise InternalError(f"the agent knows no verb {verb!r}")

    def _find(self, arguments: dict[str, Any]) -> Running:
        name = str(arguments["instance"])
        if name not in self._running:
            raise NotFound(f"this connection started no instance {name}", instance=name)
        return self._running[name]

    async def _spawn(self, job: str, instance: str) -> dict[str, Any]:
        name = f"{job}/{instance}"
        if name in self._running:
            raise InternalError(f"instance {name} is started already")
        zygote = await self._agent.zygote()
        pid, control = await zygote.spawn(instance)
        ended = zygote.exit_of(pid)
        reader, writer = await asyncio.open_connection(sock=control, limit=LINE_BYTES_MAX)

        def lost() -> InstanceFailed:
            return died(instance, ended.result() if ended.done() else None)

        running = Running(name, pid, Caller(reader, writer, lost, explained=ended))
        self._running[name] = running
        task = asyncio.create_task(self._watch(running, ended, zygote))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return {"pid": pid}

    async def _watch(self, running: Running, ended: asyncio.Future[tuple[int, int]], zygote: Zygote) -> None:
        """Tells the controller when an instance has ended, whatever ended it."""
        status, number = await ended
        self._running.pop(running.name, None)
        await running.caller.close()
        self._writer.write(encode({"event": "exit", "instance": running.name, "status": status, "signal": number}))

    def close(self) -> None:
        for running in self._running.values():
            running.kill()
        for task in self._tasks:
            task.cancel()
        self._writer.close()


def died(instance: str, end: tuple[int, int] | None) -> InstanceFailed:
    """The error for an instance whose process has ended, with the kernel's reason where it is known."""
    status, number = end if end is not None else (0, 0)
    if number:
        how = f"was killed by {signal.Signals(number).name}"
        if number == signal.SIGKILL:
            how += " (by hand, or by the system when memory ran out)"
    else:
        how = f"exited with status {status}" if end is not None else "closed its control connection"
    return InstanceFailed(f"instance {instance} {how}", instance=instance, signal=number or None, status=status or None)


async def _main(listen: str) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    token = (await reader.readline()).decode().strip()
    if not token:
        raise ConfigError("the agent needs the shared secret as the first line of its standard input")
    agent = Agent(token)
    host, _, port = listen.rpartition(":")
    try:
        server = await asyncio.start_server(agent.serve, host, int(port), limit=LINE_BYTES_MAX)
    except OSError as error:
        raise ConfigError(f"the agent cannot listen on {listen}: {error.strerror or error}; choose another port, or 0 for "
                          "a free one") from error
    for sock in server.sockets:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    await agent.zygote()  # so that the first job does not wait for it
    print(server.sockets[0].getsockname()[1], flush=True)
    try:
        while await reader.read(4096):
            pass
    finally:
        server.close()
        agent.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="jumpgate-agent", description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0", help="HOST:PORT; port 0 takes a free one, which is printed")
    asyncio.run(_main(parser.parse_args().listen))


if __name__ == "__main__":
    main()
