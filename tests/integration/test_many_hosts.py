"""Hosts of a configuration file, each with an address of its own, share a query; results find the client."""

from __future__ import annotations

import contextlib
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
from jumpgate.errors import FileUnreadable
from jumpgate.hosts.config import load
from jumpgate.ntf.addresses import facing, host_of, joined
from jumpgate.service import embedded

ADDRESSES = ("127.0.0.2", "127.0.0.3")


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Path]:
    """A configuration with an agent at each of the addresses, started as an operator does it."""
    token = tmp_path / "token"
    token.write_text("secret\n")
    text = ""
    with contextlib.ExitStack() as stack:
        for number, address in enumerate(ADDRESSES, 1):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "jumpgate.hosts.agent", "--listen", f"{address}:0", "--token-file", token],
                    stdout=subprocess.PIPE,
                )
            )
            stack.callback(process.terminate)
            assert process.stdout is not None
            port = int(process.stdout.readline().split(b":")[1].strip(b" }\n"))
            text += f'[[host]]\nname = "worker{number}"\nagent = "{address}:{port}"\ntoken_file = "{token}"\n'
        file = tmp_path / "jumpgate.toml"
        file.write_text(text)
        yield file


def test_hosts_with_addresses_of_their_own_share_a_query(config: Path, tmp_path: Path) -> None:
    for part in range(4):
        pq.write_table(pa.table({"k": [part, part + 1] * 1000, "x": range(2000)}), tmp_path / f"{part}.parquet")
    flow = read(str(tmp_path / "*.parquet")).aggregate(s=sum_("x"), by="k").sort("k")
    service = embedded.start(load(config))
    try:
        with jumpgate.client.connect(service.address) as session:
            result = session.run(flow)
            rows = result.to_pylist()
            record = session.describe(result.job).record
            said, known = session.explain_job(result.job), session.explain_job_data(result.job)
    finally:
        service.close()
    assert rows == [
        {"k": 0, "s": 999_000},
        *({"k": k, "s": 1_999_000} for k in (1, 2, 3)),
        {"k": 4, "s": 1_000_000},
    ]
    assert record is not None
    hosts = {i["host"] for i in record["instances"]}
    assert hosts == {"worker1", "worker2"}

    links = {(link["from"], link["to"]): link["bytes"] for link in known["links"]}
    assert {a for a, _ in links} <= hosts and {b for _, b in links} <= {*hosts, "client"}
    assert any(b == "client" for _, b in links) and any(b in hosts for _, b in links)
    for host in known["hosts"]:
        assert host["sent"] == sum(bytes for (a, _), bytes in links.items() if a == host["host"])
        assert host["received"] == sum(bytes for (_, b), bytes in links.items() if b == host["host"])
    for i in record["instances"]:  # of what it sent, each consumer's part is known
        for sink in record["counters"][i["id"]]["sinks"]:
            assert sum(sink.get("peer_bytes", [sink["bytes"]])) == sink["bytes"]
    assert "host worker1: sent " in said and "links: " in said


def test_a_file_that_only_some_hosts_have_is_missed_by_name(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": [1, 2]}), file)
    flow = read(str(file))
    file.rename(tmp_path / "moved.parquet")
    service = embedded.start(load(config))
    try:
        with (
            jumpgate.client.connect(service.address) as session,
            pytest.raises(FileUnreadable, match=r"host 'worker[12]': .*t\.parquet"),
        ):
            session.run(flow).to_arrow()
    finally:
        service.close()


def test_the_address_by_which_a_peer_is_reached() -> None:
    assert facing("127.0.0.9:80") == facing("localhost:80") == facing("unix:/somewhere") == "127.0.0.1"
    assert facing("no-such-host.invalid:80") == "127.0.0.1"
    assert host_of(joined("::1", 80)) == "::1"
    with (
        contextlib.suppress(OSError),  # without a route to anywhere there is nothing to compare
        contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe,
    ):
        probe.connect(("192.0.2.1", 9))
        assert facing("192.0.2.1:80") == probe.getsockname()[0]
