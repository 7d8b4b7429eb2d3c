"""Everything at ::1 alone: the service, agents with their edges, the client, and a software switch."""

from __future__ import annotations

import contextlib
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
from jumpgate.client import read, sum_
from jumpgate.hosts.config import load
from jumpgate.ntf.addresses import facing
from jumpgate.ntf.receive import Endpoint

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


def test_results_arrive_at_names_of_either_family(monkeypatch: pytest.MonkeyPatch) -> None:
    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: known("::1" if host == "six" else host, *a, **k))
    for host, address in (("six", "[::1]"), ("::1", "[::1]"), ("127.0.0.1", "127.0.0.1")):
        with Endpoint.open(host) as endpoint:
            assert endpoint.address.rpartition(":")[0] == address
    assert facing("six:80") == facing("[::1]:80") == "::1"
