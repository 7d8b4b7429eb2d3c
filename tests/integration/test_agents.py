"""Agents: who may talk to them, what they start, and what is left when they or their controllers end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from socket import IPPROTO_TCP, TCP_CORK

import pytest

from jumpgate import errors
from jumpgate.codegen import toolchain
from jumpgate.hosts import client, wire
from jumpgate.hosts.agent import UNPROVEN_OF_PEER_MAX, Agent, Connection
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.instances import SPARES
from jumpgate.hosts.local import LocalAgent
from jumpgate.hosts.zygote import Zygote
from jumpgate.nca.interface import Device
from jumpgate.nca.shared import Shared, Template
from jumpgate.testing.leaks import Process, Watch, wait_until
from jumpgate.trust import versions

DEVICE = Device("here")
#: for what takes no time
PATIENCE_S = 20.0


@contextlib.asynccontextmanager
async def by_hand(
    program: Path, folder: Path, *arguments: str, start: tuple[str, str] = ("-m", "jumpgate.hosts.agent")
) -> AsyncIterator[tuple[int, subprocess.Popen[bytes]]]:
    """An agent with the token "secret", as an operator starts it; its port and process."""
    (folder / "token").write_text("secret\n")
    command = [
        sys.executable,
        *start,
        "--token-file",
        str(folder / "token"),
        "--host-program",
        str(program),
        *arguments,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    assert process.stdout is not None
    try:
        line = await asyncio.to_thread(process.stdout.readline)
        yield int(line.split(b":")[1].strip(b" }\n")), process
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def names(processes: list[Process]) -> list[str]:
    return sorted(p.name for p in processes)


def test_two_connections_share_an_agent_and_each_owns_its_instances(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            one, two = [await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret") for _ in range(2)]
            mine = await two.spawn("job", "b")
            for instance in (mine, await one.spawn("job", "a")):
                await instance.call("stats")  # it runs, and so has its name
            assert names(watch.processes("jg ")) == ["jg a", "jg b"], "ps shows instances by name"
            await one.close()
            assert await asyncio.to_thread(wait_until, lambda: names(watch.processes("jg ")) == ["jg b"])
            assert (await mine.call("stats"))["pid"] == mine.pid
            await two.close()
            assert await asyncio.to_thread(wait_until, lambda: not watch.processes("jg "))

    asyncio.run(run())


@pytest.mark.parametrize("token", ["wrong", "", "gehe\N{LATIN SMALL LETTER I WITH DIAERESIS}m", "secret\0"])
def test_a_wrong_token_is_refused_with_a_clear_error(
    scripted_host: Path, watch: Watch, tmp_path: Path, token: str
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            with pytest.raises(errors.ProtocolError, match="host 'here': .* share one secret"):
                await AgentHost.connect(DEVICE, "127.0.0.1", port, token)
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            await host.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "sent",
    [
        b'{"verb": "spawn", "id": 1, "arguments": {"job": "j", "instance": "i"}}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"7\n",
        b'{"verb": "hello", "arguments": 5}\n',
        b"x" * (wire.HELLO_BYTES_MAX + 1),
    ],
)
def test_strangers_are_disconnected_and_the_agent_goes_on(
    scripted_host: Path, watch: Watch, tmp_path: Path, sent: bytes
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            answer = b""
            with contextlib.suppress(ConnectionError):
                answer = await asyncio.wait_for(reader.read(), 10)
            assert answer == b"" or b'"code":"protocol"' in answer
            writer.close()
            assert watch.processes("jg ") == []
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            await host.close()

    asyncio.run(run())


def test_wrong_requests_are_answered_and_the_connection_goes_on(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            caller = host._caller
            with pytest.raises(errors.InternalError, match="knows no verb 'sing'"):
                await caller.call("sing")
            with pytest.raises(errors.InternalError, match="KeyError"):
                await caller.call("spawn")
            with pytest.raises(errors.NotFound, match="no instance job/x"):
                await caller.call("call", instance="job/x", verb="stats")
            instance = await host.spawn("job", "x")
            with pytest.raises(errors.InternalError, match="started already"):
                await caller.call("spawn", job="job", instance="x")
            with pytest.raises(errors.InternalError, match="unknown verb sing"):
                await instance.call("sing")
            with pytest.raises(errors.InternalError, match="execute names no stage"):
                await instance.call("execute")
            await instance.call("configure", stages={"1": {"do": "wait"}})
            running = asyncio.create_task(instance.call("execute", stage=1))
            await asyncio.sleep(0)  # it is sent
            for wrong in (1, 3):
                with pytest.raises(errors.InternalError, match=f"execute of stage {wrong} after stage 1"):
                    await instance.call("execute", stage=wrong)
            follows = asyncio.create_task(instance.call("execute", stage=2))
            await instance.call("stats")
            assert not follows.done()
            await instance.call("cancel")
            with pytest.raises(errors.Cancelled):
                await running
            with pytest.raises(errors.Cancelled, match="an earlier stage failed"):
                await follows
            assert await instance.call("destroy") == {}
            assert await instance.call("destroy") == {}, "twice"
            with pytest.raises(errors.InstanceFailed, match="exited with status 0"):
                await instance.call("stats")
            await host.close()

    asyncio.run(run())


def test_release_ends_what_is_left_of_a_job_and_nothing_else(scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            stopped = await host.spawn("one", "a")
            os.kill(stopped.pid, signal.SIGSTOP)
            kept = await host.spawn("two", "b")
            await kept.call("stats")
            starting = [asyncio.create_task(host.spawn("one", f"c{n}")) for n in range(5)]
            await asyncio.sleep(0)
            await host.release("one")
            assert names(watch.processes("jg ")) == ["jg b"]
            await asyncio.gather(*starting, return_exceptions=True)
            await host.release("one")
            await kept.call("stats")
            await host.close()

    asyncio.run(run())


def test_instances_are_started_configured_and_told_to_run_together(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            nothing = {"script": {"do": "nothing"}}
            started = await host.start("job", {"a": nothing, "c": nothing})
            handles = [started[0][0], host.instance("job", "b"), started[1][0]]
            assert names(watch.processes("jg ")) == ["jg a", "jg c"]
            shared = Shared()

            def told(step: str) -> dict[str, object]:
                return shared(step, lambda: Template({"stages": {"1": {"do": step}}}), None)

            configured, (answers,) = host.begin(
                handles, [told("nothing"), told("wait"), told("nothing")], shared, stages=(1,)
            )
            await configured
            assert [h.id for h in handles] == ["a", "b", "c"] and len({h.pid for h in handles} - {0}) == 3
            assert names(watch.processes("jg ")) == ["jg a", "jg b", "jg c"]
            first, waits, third = (asyncio.ensure_future(answer) for answer in answers)
            async with asyncio.timeout(60):
                await asyncio.gather(first, third)
            assert not waits.done(), "each answers by itself"
            os.kill(handles[1].pid, signal.SIGKILL)
            with pytest.raises(errors.InstanceFailed, match="instance b was killed by SIGKILL"):
                await waits
            late = host.each(handles[1:], "stats")
            with pytest.raises(errors.InstanceFailed, match="instance b was killed by SIGKILL"):
                await late[0]
            await late[1]
            with pytest.raises(errors.InstanceFailed, match="instance b was killed by SIGKILL"):
                await host.begin(handles, [told("nothing")] * 3, shared, stages=())[0]
            with pytest.raises(errors.InternalError, match="KeyError"):
                await host._caller.call("each", instances=["job/a"])
            os.kill(handles[0].pid, signal.SIGSTOP)  # it does not end by itself
            await host.release("job")
            assert not watch.processes("jg ")
            assert [h.ended.result().signal for h in handles] == [signal.SIGKILL, signal.SIGKILL, 0]
            await host.close()

    asyncio.run(run())


def test_instances_are_processes_that_waited_and_the_dead_among_them_are_left_out(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    def spares() -> list[int]:
        return [p.pid for p in watch.processes("jgspare")]

    def is_full() -> bool:
        return len(spares()) == SPARES

    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            assert await asyncio.to_thread(wait_until, is_full)
            waiting = set(spares())
            first = await host.spawn("job", "a")
            assert first.pid in waiting
            assert await asyncio.to_thread(wait_until, lambda: first.pid not in spares())  # it has its name
            assert await asyncio.to_thread(wait_until, is_full), "another one waits in its place"
            for pid in spares():
                os.kill(pid, signal.SIGKILL)
            assert await asyncio.to_thread(wait_until, lambda: not spares())
            await first.call("stats")  # by now the agent has heard of it
            second = await host.spawn("job", "b")
            await second.call("stats")
            assert names(watch.processes("jg ")) == ["jg a", "jg b"]
            await second.call("destroy")
            assert await asyncio.to_thread(wait_until, is_full)
            await host.close()

    asyncio.run(run())


def test_more_instances_than_the_zygote_takes_at_once(scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            started = await host.start("job", {str(number): {"script": {"do": "nothing"}} for number in range(400)})
            for handle, _ in started:
                os.kill(handle.pid, signal.SIGSTOP)  # each has to be killed
            await host.release("job")
            assert {handle.ended.result().signal for handle, _ in started} == {signal.SIGKILL}
            assert not watch.processes("jg ")
            await host.close()

    asyncio.run(run())


def test_what_goes_wrong_with_one_of_several_instances_names_it(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            good = {"script": {"do": "nothing"}}
            bad = {"script": {"do": "fail", "code": "config", "message": "no such port", "after_ms": 0}}
            with pytest.raises(errors.ConfigError, match="no such port") as refused:
                await host.start("one", {"a": good, "b": bad, "c": good})
            assert refused.value.fields["instance"] == "b"
            await host.release("one")
            assert not watch.processes("jg ")
            two = [handle for handle, _ in await host.start("two", {"a": good, "b": good})]
            with pytest.raises(errors.ConfigError, match="no such port") as refused:
                await host.begin(two, [good, bad], Shared(), stages=(1,))[0]
            assert refused.value.fields["instance"] == "b"
            configured, answers = host.begin(two, [{"$": "unheard of"}] * 2, Shared(), stages=(1, 2))
            again = {"job": "two", "start": ["a"], "configurations": {"a": good}, "stages": [1]}
            entered = host._caller.begin("begin", again, [lambda error: error] * 2)
            async with asyncio.timeout(60):
                for answer in (configured, *answers[0], *answers[1]):
                    with pytest.raises(errors.InternalError, match="KeyError"):
                        await answer
                for answer in entered:
                    with pytest.raises(errors.InternalError, match="two/a is started already"):
                        await answer
            await host.release("two")
            await host.close()

    asyncio.run(run())


def test_a_release_that_arrives_with_the_start_ends_what_is_started(
    scripted_host: Path, watch: Watch, tmp_path: Path
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            assert host._caller.lines._transport is not None
            sock = host._caller.lines._transport.get_extra_info("socket")
            sock.setsockopt(IPPROTO_TCP, TCP_CORK, 1)
            nothing = {"script": {"do": "nothing"}}
            starting = asyncio.create_task(host.start("job", {"a": nothing, "b": nothing}))
            releasing = asyncio.create_task(host.release("job"))
            await asyncio.sleep(0)
            sock.setsockopt(IPPROTO_TCP, TCP_CORK, 0)  # both are one packet
            async with asyncio.timeout(60):
                await releasing
                with pytest.raises(errors.Cancelled, match="job job was released while its instance [ab] started"):
                    await starting
            await host.start("next", {"c": nothing})  # by now the others would run
            assert names(watch.processes("jg ")) == ["jg c"]
            await host.release("next")
            await host.close()

    asyncio.run(run())


def test_a_destroy_that_is_given_up_harms_nobody(scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            given_up, other = [await host.spawn("job", id) for id in ("a", "b")]
            for instance in (given_up, other):
                await instance.call("stats")  # it runs, and so has its name
            zygote = min(watch.processes("jghost"), key=lambda p: p.pid)  # the others become spares
            os.kill(zygote.pid, signal.SIGSTOP)  # the end of an instance is not reported
            destroying = asyncio.create_task(given_up.call("destroy"))
            assert await asyncio.to_thread(wait_until, lambda: names(watch.processes("jg ")) == ["jg b"])
            await asyncio.sleep(0.1)  # it has its answer, and waits for the end
            assert not destroying.done()
            destroying.cancel()
            await asyncio.wait((destroying,))
            os.kill(zygote.pid, signal.SIGCONT)
            async with asyncio.timeout(30):
                assert await asyncio.shield(given_up.ended) == (0, 0, False)
            assert (await other.call("stats"))["pid"] == other.pid
            await host.close()

    asyncio.run(run())


def test_an_agent_told_to_terminate_ends_its_instances(scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, process):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            instance = await host.spawn("job", "a")
            process.send_signal(signal.SIGTERM)
            with pytest.raises(errors.InstanceFailed):
                await instance.call("execute", stage=1)
                await asyncio.wait_for(instance.ended, 10)
                await instance.call("stats")
            assert await asyncio.to_thread(process.wait, 10) == 0
            assert await asyncio.to_thread(wait_until, lambda: not watch.processes())
            await host.release("job")
            await host.close()

    asyncio.run(run())


@pytest.mark.parametrize("what", ["instance", "zygote"])
def test_what_stays_stopped_is_ended(what: str, scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, process):
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            instance = await host.spawn("job", "a")
            zygote = int(Path(f"/proc/{instance.pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(instance.pid if what == "instance" else zygote, signal.SIGSTOP)
            await asyncio.wait_for(instance.ended, 20)
            with pytest.raises(errors.InstanceFailed) as failed:
                await instance.call("stats")
            said = "was stopped by a signal, and ended by its host's agent" if what == "instance" else "was lost"
            assert said in failed.value.message
            again = await host.spawn("job", "b")
            assert (await again.call("stats"))["pid"] == again.pid
            await host.release("job")
            await host.close()

    asyncio.run(run())


def test_several_agents_work_side_by_side(scripted_host: Path, watch: Watch) -> None:
    async def run() -> None:
        agents = await asyncio.gather(*(LocalAgent.start(Device(f"h{n}"), scripted_host) for n in range(4)))
        instances = await asyncio.gather(*(a.host.spawn("job", f"i{n}") for n, a in enumerate(agents)))
        assert len({i.pid for i in instances}) == 4
        assert [(await i.call("stats"))["pid"] for i in instances] == [i.pid for i in instances]
        for agent in agents:
            await agent.host.close()
            agent.stop()
            agent.stop()

    asyncio.run(run())


def test_a_taken_port_is_an_error_with_the_way_out(scripted_host: Path, watch: Watch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [
            sys.executable,
            "-m",
            "jumpgate.hosts.agent",
            "--listen",
            address,
            "--host-program",
            str(scripted_host),
        ]
        done = subprocess.run(command, input=b"secret\n", capture_output=True, timeout=60)
    assert done.returncode == 1
    assert f"cannot listen on {address}: ".encode() in done.stdout and b"choose another port" in done.stdout


def test_an_agent_is_asked_again_for_a_program_that_it_has_not_spoken_of_for_long(
    scripted_host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which marks it as used, so that it is not evicted."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path))

    async def run() -> None:
        agent = await LocalAgent.start(DEVICE, scripted_host)
        host, path = agent.host, toolchain.keep_artifact("k", b"a program")
        try:
            assert await host.has_artifact("k") == host.known("k") == str(path)
            os.utime(path, (1_000_000, 1_000_000))
            assert await host.has_artifact("k") == str(path) and path.stat().st_mtime == 1_000_000
            monkeypatch.setattr(client, "KNOWN_S", 0.0)
            assert host.known("k") is None
            assert await host.has_artifact("k") == str(path) and path.stat().st_mtime > 1_000_000
            await host.close()
        finally:
            agent.stop()

    asyncio.run(run())


def test_what_keeps_an_agent_from_starting_is_its_controllers_error(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / "jghost").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "jghost").chmod(0o755)
    with pytest.raises(errors.InstanceFailed, match="zygote process"):
        asyncio.run(LocalAgent.start(DEVICE, tmp_path / "jghost"))


def test_agents_end_with_the_process_that_started_them(scripted_host: Path, watch: Watch) -> None:
    program = (
        "import asyncio, os, sys, time; from pathlib import Path\n"
        "from jumpgate.hosts.local import LocalAgent; from jumpgate.nca.interface import Device\n"
        "async def run():\n"
        "    agent = await LocalAgent.start(Device('here'), Path(sys.argv[1]))\n"
        "    await agent.host.spawn('job', 'a')\n"
        "    if os.fork() == 0:\n"  # holds every pipe of its parent open
        "        time.sleep(600)\n"
        "    print('up', flush=True)\n"
        "    time.sleep(600)\n"
        "asyncio.run(run())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(scripted_host)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    up = ["jg a", "jghost", *["jgspare"] * SPARES]
    assert wait_until(lambda: names(watch.processes("jg")) == up)
    children = [p.pid for p in watch.processes("python")]
    process.kill()
    process.wait()
    assert wait_until(lambda: not watch.processes("jg")), "instances and zygotes are gone"
    assert wait_until(lambda: len(watch.processes("python")) == 1), "the agent, too; only the fork is left"
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.stdout.close()


def test_an_unreachable_agent_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(errors.Unreachable, match=f"cannot reach 127.0.0.1:{port}: "):
        asyncio.run(AgentHost.connect(DEVICE, "127.0.0.1", port, "secret"))


def test_an_agent_answers_while_it_builds_its_runtime(
    scripted_host: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a new host: what needs the runtime waits for it, everything else does not."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path))

    async def run() -> None:
        agent, built = Agent("secret"), asyncio.Event()

        async def zygote() -> Zygote:
            await built.wait()
            return await Agent.zygote(agent)

        agent._host_program, agent.zygote = scripted_host, zygote  # type: ignore[method-assign]
        server = await asyncio.get_running_loop().create_server(lambda: Connection(agent).lines, "127.0.0.1", 0)
        try:
            host = await AgentHost.connect(DEVICE, "127.0.0.1", server.sockets[0].getsockname()[1], "secret")
            spawning = asyncio.create_task(host.spawn("j1", "f0.0"))
            assert await host.has_artifact("unknown") is None
            await host.release("j1")
            assert not spawning.done()
            built.set()
            with pytest.raises(errors.Cancelled, match="job j1 was released while its instance f0.0 started"):
                await spawning
            await host.spawn("j2", "f0.0")
            await host.release("j2")
            await host.close()
        finally:
            server.close()
            agent.close()

    asyncio.run(run())
    assert not (tmp_path / "runtime").exists(), "nobody built it to answer"


def test_builds_that_wait_when_an_agent_ends_are_not_begun() -> None:
    """A compiler that begins after the agent has ended the others would be waited for."""

    async def body() -> None:
        agent, release, begun = Agent("t"), threading.Event(), []

        def build(name: str) -> None:
            begun.append(name)
            release.wait(2 * PATIENCE_S)

        builds = [asyncio.create_task(agent.build(functools.partial(build, "waited for")))]
        builds += [
            asyncio.create_task(agent.build(functools.partial(build, n), at_leisure=True)) for n in ("now", "later")
        ]
        assert await asyncio.to_thread(wait_until, lambda: len(begun) == 2)
        closing = asyncio.create_task(asyncio.to_thread(agent.close))
        try:
            await asyncio.wait_for(asyncio.wait([builds[2]]), PATIENCE_S)
            assert builds[2].cancelled()
        finally:
            release.set()
            await closing
            await asyncio.gather(*builds, return_exceptions=True)
        assert sorted(begun) == ["now", "waited for"]

    asyncio.run(body())


STRANGE = {
    "nested": b"[" * 100_000 + b"\n",
    "nested, but short": b"[" * 4000 + b"\n",
    "a lone surrogate": b'{"id": 1, "verb": "hello", "arguments": {"challenge": "\\ud800"}}\n',
    "no text": b'{"id": 1, "verb": "hello", "arguments": {"challenge": "\xff"}}\n',
    "a list": b'{"id": [], "verb": {}, "arguments": []}\n',
    "a proof that is a list": b'{"verb": "hello", "arguments": {"challenge": "c"}}\n{"verb": "prove", "arguments": '
    b'{"proof": ["\\ud800"]}}\n',
    "a number of many digits": b'{"id": ' + b"9" * 4050 + b"}\n",
    "no end": b"x" * 100_000,
}


def test_what_strangers_send_ends_their_connection_in_a_line(
    scripted_host: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, _):
            for case, sent in STRANGE.items():
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                with contextlib.suppress(ConnectionError):
                    await asyncio.wait_for(reader.read(), 5)  # not b"" where it was answered first
                writer.close()
                assert "Traceback" not in (said := capfd.readouterr().err), case
                assert said.count("\n") <= 1, (case, said)
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            await host.close()

    asyncio.run(run())


def test_silent_strangers_keep_nobody_out(scripted_host: Path, tmp_path: Path) -> None:
    """Not even where an agent may have only so many files open."""

    async def run() -> None:
        async with by_hand(scripted_host, tmp_path) as (port, agent):
            resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (100, 100))
            strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
            host = await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")
            gone = [reader for reader, _ in strangers if reader.at_eof() or reader.exception()]
            assert len(gone) >= 300 - UNPROVEN_OF_PEER_MAX
            await host.close()
            for _, writer in strangers:
                writer.close()

    asyncio.run(run())


@pytest.mark.parametrize("version", ["0.0.1", "99.0.0", None])
def test_an_agent_of_another_version_is_refused_in_words(
    scripted_host: Path, tmp_path: Path, version: str | None
) -> None:
    """What it is asked for next could mean something else to it."""
    assert not versions.AGENTS.serves(version)
    other = f"import jumpgate; jumpgate.__version__ = {version!r}; from jumpgate.hosts.agent import main; main()"

    async def run() -> None:
        async with by_hand(scripted_host, tmp_path, start=("-c", other)) as (port, _):
            with pytest.raises(errors.ProtocolError, match=f"'here' is of Jumpgate {version}, .*one version on both"):
                await AgentHost.connect(DEVICE, "127.0.0.1", port, "secret")

    asyncio.run(run())
