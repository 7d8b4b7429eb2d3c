"""Machines with certificates: what somebody sees who listens in their network, and what strangers get."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import col, read
from jumpgate.codegen import toolchain
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.study.paper.network import Machine, Network, line, permitted
from jumpgate.trust import certificates, tokens
from tests.support import jvm

pytestmark = pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2")
QUERIES = Path(__file__).with_name("queries.py")
ROWS = 200_000
#: is in the rows, and nowhere else; not compressed by any layout of an edge
MARK = "the plaintext of a row"
#: prints one JSON line once it listens, and one with what it found of its arguments when its input ends
LISTENER = """
import json, select, socket, sys
heard = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
found, tail = {text: 0 for text in sys.argv[1:]}, b""
print(json.dumps("listening"), flush=True)
packets = 0
while True:
    ready, _, _ = select.select([heard, sys.stdin], [], [])
    if heard in ready:
        data = heard.recv(1 << 18)
        packets += 1
        for text in found:
            found[text] += text.encode() in data
    elif not sys.stdin.read(1):
        break
print(json.dumps({"packets": packets, **found}), flush=True)
"""


class Cluster:
    """A service, two workers with an agent each, and a client."""

    def __init__(self, network: Network, folder: Path, encrypted: bool) -> None:
        self.network, self.folder, self.encrypted = network, folder, encrypted
        self.service, self.client, *workers = (network.machine() for _ in range(4))
        pq.write_table(
            pa.table({"k": [i % 2 for i in range(ROWS)], "x": range(ROWS), "t": [f"{MARK} {i}" for i in range(ROWS)]}),
            folder / "t.parquet",
            row_group_size=ROWS // 8,
        )
        authority = folder / "certs"
        certificates.init(authority)
        for machine, name in zip((self.service, self.client, *workers), ("service", "client", "w1", "w2"), strict=True):
            certificates.issue(authority, name, [machine.address])
        self.agent_token, self.client_token = tokens.new(), tokens.new()
        (folder / "agent.token").write_text(self.agent_token)
        (folder / "client.token").write_text(self.client_token)
        text = "" if not encrypted else f'[tls]\nfolder = "{authority}/service"\n'
        text += f'[[client]]\nname = "c"\ntoken_file = "{folder}/client.token"\nroots = ["{folder}"]\n'
        for name, worker in zip(("w1", "w2"), workers, strict=True):
            command = ["-m", "jumpgate.hosts.agent", "--listen", f"{worker.address}:0"]
            command += ["--token-file", str(folder / "agent.token")]
            command += ["--tls", f"{authority}/{name}"] if encrypted else []
            port = json.loads(line(worker.python(*command)))["port"]
            text += f'[[host]]\nname = "{name}"\nagent = "{worker.address}:{port}"\ncores = 1\n'
            text += f'token_file = "{folder}/agent.token"\n'
        (folder / "jumpgate.toml").write_text(text)
        serve = ["serve", "--host", self.service.address, "--config", str(folder / "jumpgate.toml")]
        serve += [] if encrypted else ["--trusted-network"]
        line(self.service.python("-c", "from jumpgate.cli.main import main; main()", *serve))

    def ask(self, machine: Machine, **shown: str) -> dict[str, Any]:
        """What the dataflow `texts` gives to a client there, with these credentials."""
        environment = [f"{name}={value}" for name, value in shown.items()]
        arguments = (QUERIES, f"{self.service.address}:7411", self.folder, "0", "texts")
        process = machine.start("env", *environment, sys.executable, *map(str, arguments))
        first: dict[str, Any] = json.loads(line(process))
        if "started" not in first:
            return first
        answer: dict[str, Any] = json.loads(line(process))
        return answer

    def ask_java(self, machine: Machine, **shown: str) -> tuple[list[str], dict[str, Any]]:
        """Texts of some rows, and what became of the job, as a program on the JVM gets them there."""
        flow = read(str(self.folder / "t.parquet")).filter(col("x") < 1000).select("t")
        request = self.folder / "request"
        request.write_bytes(proto.encode(Send(flow.root, ("",))).SerializeToString())
        command = jvm.java("io.jumpgate.client.RunMain")
        environment = [f"{name}={value}" for name, value in shown.items()]
        words = (f"{self.service.address}:7411", request, "0", machine.address)
        process = machine.start("env", *environment, *command, *words)
        *frames, end = map(json.loads, process.communicate(timeout=120)[0].splitlines())
        return [row[0] for frame in frames for row in frame["rows"]], end

    @property
    def credentials(self) -> dict[str, str]:
        token = {"JUMPGATE_TOKEN_FILE": f"{self.folder}/client.token"}
        return token | ({"JUMPGATE_TLS": f"{self.folder}/certs/client"} if self.encrypted else {})


@pytest.fixture(params=(True, False), ids=("encrypted", "plain"))
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    toolchain.runtime()  # before anybody's time is limited
    network = Network()
    try:
        yield Cluster(network, tmp_path, request.param)
    finally:
        network.close()


def test_who_listens_in_the_network_reads_neither_rows_nor_secrets(cluster: Cluster) -> None:
    """And would, where the operator says that the network is to be trusted; only the agents' secret is never sent."""
    command = ["ip", "netns", "exec", cluster.network.bridge, sys.executable, "-c", LISTENER]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*command, MARK, cluster.client_token, cluster.agent_token], stdin=pipe, stdout=pipe, text=True
    ) as listener:
        assert line(listener) == '"listening"\n'
        answer = cluster.ask(cluster.client, **cluster.credentials)
        heard = json.loads(listener.communicate("", timeout=60)[0])
    assert answer["rows"] == [[ROWS]] and answer["hosts"] == ["w1", "w2"], answer
    assert heard["packets"] > 100
    assert (heard[MARK] > 0, heard[cluster.client_token] > 0) == (not cluster.encrypted,) * 2
    assert heard[cluster.agent_token] == 0


@pytest.mark.parametrize("cluster", [True], indirect=True, ids=["encrypted"])
def test_strangers_get_nothing(cluster: Cluster) -> None:
    """A certificate without a token, a token without a certificate, and certificates of another authority."""
    other = cluster.folder / "other"
    certificates.init(other)
    certificates.issue(other, "client", [cluster.client.address])
    token = {"JUMPGATE_TOKEN_FILE": f"{cluster.folder}/client.token"}
    mine = {"JUMPGATE_TLS": f"{cluster.folder}/certs/client"}
    nowhere = {"JUMPGATE_STATE_DIR": str(cluster.folder / "nobody")}
    for shown, code in (
        (mine | nowhere, "unauthenticated"),
        (token, "unreachable"),
        (token | {"JUMPGATE_TLS": f"{other}/client"}, "unreachable"),
    ):
        assert cluster.ask(cluster.client, **shown)["error"] == code
    assert cluster.ask(cluster.client, **mine, **token)["rows"] == [[ROWS]]


@pytest.mark.timeout(900)  # Maven may have to build it first
@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven builds the client for the JVM")
@pytest.mark.parametrize("cluster", [True], indirect=True, ids=["encrypted"])
def test_a_client_on_the_jvm(cluster: Cluster) -> None:
    texts, end = cluster.ask_java(cluster.client, **cluster.credentials)
    assert end == {"done": True}
    assert sorted(texts) == sorted(f"{MARK} {i}" for i in range(1000))
    token = {"JUMPGATE_TOKEN_FILE": f"{cluster.folder}/client.token"}
    nobody = {"JUMPGATE_STATE_DIR": str(cluster.folder / "nobody")}
    for shown, code in (
        (token, "unreachable"),
        ({"JUMPGATE_TLS": f"{cluster.folder}/certs/client"} | nobody, "unauthenticated"),
        (token | {"JUMPGATE_TLS": str(cluster.folder)}, "config"),
    ):
        texts, end = cluster.ask_java(cluster.client, **shown)
        assert (texts, end["code"]) == ([], code)
