"""Everything at ::1 alone: the service, agents with their edges, the client, and a software switch."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jumpgate.client
import jumpgate.p4.programs
from jumpgate.client import read, sum_
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.errors import ConfigError, InternalError
from jumpgate.hosts.config import load
from jumpgate.ncas.switch.client import MODIFY
from jumpgate.ncas.switch.driver import SwitchDriver
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ntf.addresses import facing
from jumpgate.ntf.receive import Endpoint
from jumpgate.p4.switch.stand_ins import StandIn
from jumpgate.p4.switch.switch import PortSpec, Switch
from tests.support import jvm
from tests.support import switch_by_hand as by_hand

MAIN = "from jumpgate.cli.main import main; main()"


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        probe.bind(("::1", 0))
        return True
    return False


pytestmark = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6 loopback")


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[str]:
    """Two agents at ::1, started as an operator does it, as jumpgate.toml has them."""
    token = tmp_path / "token"
    token.write_text("secret\n")
    text = ""
    with contextlib.ExitStack() as stack:
        for number in (1, 2):
            command = [sys.executable, "-m", "jumpgate.hosts.agent", "--listen", "[::1]:0", "--token-file", str(token)]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(process.terminate)
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["port"]
            text += f'[[host]]\nname = "worker{number}"\nagent = "[::1]:{port}"\ntoken_file = "{token}"\n'
        yield text


@contextlib.contextmanager
def serving(config: Path) -> Iterator[str]:
    """The address of `jumpgate serve` at ::1."""
    command = [sys.executable, "-c", MAIN, "serve", "--host", "::1", "--port", "0", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().removeprefix("serving on ").partition(";")[0]
        finally:
            process.terminate()


def test_a_query_over_two_hosts(agents: str, tmp_path: Path) -> None:
    config = tmp_path / "jumpgate.toml"
    config.write_text(agents)
    assert dict(load(config).hosts[0].device.properties) == {"data_bind": "::1", "data_address": "::1"}
    for part in range(4):
        pq.write_table(pa.table({"k": [part, part + 1] * 1000, "x": range(2000)}), tmp_path / f"{part}.parquet")
    flow = read(str(tmp_path / "*.parquet")).aggregate(s=sum_("x"), by="k").sort("k")
    with serving(config) as address:
        assert address.startswith("[::1]:")
        with jumpgate.client.connect(address) as session:
            result = session.run(flow)
            rows = result.to_pylist()
            record = session.describe(result.job).record
    even, odd = sum(range(0, 2000, 2)), sum(range(1, 2000, 2))
    assert [tuple(row.values()) for row in rows] == [(0, even), *((k, even + odd) for k in (1, 2, 3)), (4, odd)]
    assert record is not None
    assert {i["host"] for i in record["instances"]} == {"worker1", "worker2"}


def test_a_java_client(agents: str, tmp_path: Path) -> None:
    (tmp_path / "jumpgate.toml").write_text(agents)
    pq.write_table(pa.table({"x": range(2000)}), tmp_path / "a.parquet")
    send = Send(read(str(tmp_path / "a.parquet")).aggregate(s=sum_("x")).root, ("",))
    (tmp_path / "request").write_bytes(proto.encode(send).SerializeToString())
    command = jvm.java("io.jumpgate.client.RunMain", "-Xmx256m")
    with serving(tmp_path / "jumpgate.toml") as address:
        words = [*command, address, str(tmp_path / "request"), "0", "::1"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *frames, end = map(json.loads, done.stdout.splitlines())
    assert end == {"done": True}
    assert [row for frame in frames for row in frame["rows"]] == [[str(sum(range(2000)))]]


@pytest.fixture
def switch() -> Iterator[str]:
    """A software switch at ::1, as jumpgate.toml has it."""
    program = Path(jumpgate.p4.programs.__file__).with_name("aggregate.p4")
    words = ["--profile", "none", "--port", "1=[::1]:0,as=9801", "--p4runtime", "[::1]:0", "--until-eof"]
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "switch", "run", str(program), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        data = process.stdout.readline().removeprefix("port 1: ").strip()
        port = process.stdout.readline().removeprefix("P4Runtime: port ").partition(",")[0]
        yield (
            f'[[device]]\nname = "tor"\nkind = "switch"\nprogram = "aggregate"\np4runtime = "[::1]:{port}"\n'
            f'data = "{data}"\n'
        )
        process.stdin.close()


def test_a_query_through_a_switch(agents: str, switch: str, tmp_path: Path) -> None:
    config = tmp_path / "jumpgate.toml"
    config.write_text(agents + switch)
    for part in range(4):
        pq.write_table(pa.table({"k": [*range(1000)] * 4, "x": range(4000)}), tmp_path / f"{part}.parquet")
    flow = read(str(tmp_path / "*.parquet")).aggregate(s=sum_("x"), by="k").sort("k")
    with serving(config) as address, jumpgate.client.connect(address, prefer=("switch_aggregate",)) as session:
        result = session.run(flow)
        assert [tuple(row.values()) for row in result.to_pylist()] == [(k, 16 * k + 4 * 6000) for k in range(1000)]
        record = session.describe(result.job).record
    assert record is not None
    (tor,) = (i for i in record["instances"] if i["host"] == "tor")
    assert tor["nca"] == "switch_aggregate"


def test_stand_ins_that_cannot_be() -> None:
    async def main() -> None:
        driver = await SwitchDriver.reach(SWITCH.device("tor", program="aggregate"))
        try:
            with pytest.raises(ConfigError, match="receives packets at an IPv4 address, and a host of the job at ::1"):
                await driver.stand_in(ipaddress.IPv6Address("::1"))
            host = StandIn(ipaddress.IPv4Address("10.0.0.1"), ipaddress.IPv6Address("::1"))
            with pytest.raises(InternalError, match=r"10\.0\.0\.1 is not one of 240\.0\.0\.0/8"):
                await driver.client.write(MODIFY, [host])
        finally:
            await driver.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1=::1:9801", "an IPv6 address is written in brackets"),
        ("1=[127.0.0.1]:9801", "an IPv6 address is written in brackets"),
        ("1=[::1]x:9801", "does not appear to be"),
        ("1=localhost:9801", "does not appear to be"),
    ],
)
def test_ports_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        PortSpec.parse(text)


@pytest.mark.parametrize("data", ["::1:9801", "[127.0.0.1]:9801", "tor:9801", "[::1]", "[::1]:0"])
def test_data_addresses_that_are_none(data: str) -> None:
    with pytest.raises(ConfigError, match="ADDRESS:PORT with a numeric address"):
        SWITCH.device("tor", program="aggregate", p4runtime="tor:9559", data=data)


def test_an_ipv6_peer_of_an_ipv4_port() -> None:
    with Switch(by_hand.program()) as switch, pytest.raises(ConfigError, match="takes a port with an IPv6 address"):
        switch.add_port(PortSpec.parse("1=127.0.0.1:0/[::1]:9801"))


def test_results_arrive_at_names_of_either_family(monkeypatch: pytest.MonkeyPatch) -> None:
    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: known("::1" if host == "six" else host, *a, **k))
    for host, address in (("six", "[::1]"), ("::1", "[::1]"), ("127.0.0.1", "127.0.0.1")):
        with Endpoint.open(host) as endpoint:
            assert endpoint.address.rpartition(":")[0] == address
    assert facing("six:80") == facing("[::1]:80") == "::1"
