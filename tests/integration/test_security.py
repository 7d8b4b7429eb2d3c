"""Each line of the threat model (docs/security.md) that concerns one machine: what other users and strangers get."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from finsy.proto import U128, p4r, p4r_grpc

from jumpgate.client import col, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Send
from jumpgate.dataflow.types import Schema, int64
from jumpgate.errors import (
    ConfigError,
    JumpgateError,
    ProtocolError,
    SchemaMismatch,
    Unauthenticated,
    Unreachable,
)
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import Config, TlsConfig, local_hosts
from jumpgate.nca.interface import Device
from jumpgate.nca.registry import Registry
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.receive import Endpoint
from jumpgate.ntf.send import Sender
from jumpgate.p4.switch import device as p4_device
from jumpgate.p4.switch import p4runtime
from jumpgate.service import embedded, server
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import certificates, tls, tokens
from jumpgate.trust import proof as proofs
from jumpgate.trust.edges import JobCertificate
from jumpgate.v1 import service_pb2 as pb
from jumpgate.v1.service_pb2_grpc import JumpgateStub

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root to start it")


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that every user of the machine may enter and read, as pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="jumpgate-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(imports: str, program: str, *arguments: object) -> dict[str, Any]:
    """What a Python program of another user, with no more than its own rights, prints as JSON. It becomes that user
    once it has loaded what may be for root's eyes only."""
    become = f"import os; os.setgroups([]); os.setresgid(*[{NOBODY}] * 3); os.setresuid(*[{NOBODY}] * 3)"
    done = subprocess.run(
        [sys.executable, "-c", f"import json, sys\n{imports}\n{become}\n{program}", *map(str, arguments)],
        env={**os.environ, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


READS = """
def tried(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path, "rb").read().decode("latin1")
    except PermissionError:
        return "denied"
print(json.dumps({path: tried(path) for path in sys.argv[1:]}))
"""
CLIENT = "import encodings.idna; from jumpgate.client.session import Session; from jumpgate.errors import JumpgateError"
CONNECTS = """
try:
    with Session(sys.argv[1]) as session:
        print(json.dumps({"jobs": len(session.jobs())}))
except JumpgateError as error:
    print(json.dumps({"code": error.code, "message": error.message}))
"""


@root_only
def test_another_user_of_the_machine_gets_nothing(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the token, nor what was built, nor an answer of the service."""
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(shared_folder / "state"))
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(shared_folder / "cache"))
    service = embedded.start(local_hosts(1))
    try:
        with Session(service.address) as session:
            assert session.jobs() == []  # this user is let in by the token that it finds
        token = shared_folder / "state" / "services" / service.address
        toolchain.cache.folder("artifacts")
        assert token.stat().st_mode & 0o777 == 0o600
        for folder in (shared_folder / "state", token.parent, shared_folder / "cache"):
            assert folder.stat().st_mode & 0o777 == 0o700
        asked = [shared_folder / "state", token, shared_folder / "cache", shared_folder / "cache" / "artifacts"]
        assert as_nobody("", READS, *asked) == {str(path): "denied" for path in asked}
        found = as_nobody(CLIENT, CONNECTS, service.address)
    finally:
        service.close()
    assert found["code"] == "unauthenticated"
    assert "wants a token: connect as the user who started it, or with token_file" in found["message"]
    assert not token.exists()


def test_a_session_knows_the_token_of_a_service_that_starts_later_or_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Session(f"127.0.0.1:{port}") as session:
        for _ in range(2):
            service = embedded.start(local_hosts(1), port=port)
            try:
                assert service.address == session.address
                assert wait_until(lambda: answers(session), 20.0)
            finally:
                service.close()


def answers(session: Session) -> bool:
    """Whether the service does; after it was away, a connection is tried anew now and then. Raises Unauthenticated."""
    try:
        return session.jobs() == []
    except Unreachable:
        return False


def test_every_call_wants_the_token() -> None:
    service = embedded.start(local_hosts(1))
    calls = {
        "Submit": pb.SubmitRequest(), "Execute": pb.ExecuteRequest(), "Cancel": pb.CancelRequest(),
        "Describe": pb.DescribeRequest(job_id="latest"), "List": pb.ListRequest(), "Explain": pb.ExplainRequest(),
        "Prepare": pb.PrepareRequest(), "Look": pb.LookRequest(), "Run": pb.RunRequest(),
            "Pull": pb.PullRequest(), "Devices": pb.DevicesRequest(),
        "OpenGroup": pb.OpenGroupRequest(), "Receive": iter([pb.ReceiveRequest()]),
    }  # fmt: skip
    try:
        assert {m.name for m in pb.DESCRIPTOR.services_by_name["Jumpgate"].methods} == set(calls)
        with grpc.insecure_channel(service.address) as channel:
            stub = JumpgateStub(channel)  # type: ignore[no-untyped-call]
            for name, request in calls.items():
                for metadata in ((), tokens.metadata("wrong"), (("authorization", "Basic x"),)):
                    with pytest.raises(grpc.RpcError) as refused:
                        answer = getattr(stub, name)(request, metadata=metadata, timeout=30)
                        list(answer) if name in ("Execute", "Run", "Pull", "Receive") else answer
                    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED, name
    finally:
        service.close()


def test_a_wrong_token_file_is_a_typed_error(tmp_path: Path) -> None:
    service = embedded.start(local_hosts(1))
    file = tmp_path / "token"
    try:
        with pytest.raises(ConfigError, match="cannot read the token_file of this client"):
            Session(service.address, token_file=file)
        file.write_text("wrong\n")
        with (
            Session(service.address, token_file=file) as session,
            pytest.raises(Unauthenticated, match="does not know this token: .* JUMPGATE_TOKEN_FILE"),
        ):
            session.jobs()
    finally:
        service.close()


def test_who_takes_a_dead_services_port_learns_no_token_that_is_of_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(tmp_path))
    old = tokens.Published("127.0.0.1:7411")
    new = tokens.Published("127.0.0.1:7411")
    assert old.token != new.token
    old.withdraw()
    assert tokens.find("127.0.0.1:7411") == new.token
    # who listens at ::1 is not taken for who listens at 127.0.0.1
    assert (tokens.target("localhost:7411"), tokens.for_service("localhost:7411")) == ("127.0.0.1:7411", new.token)
    assert (tokens.target("[::1]:7411"), tokens.for_service("[::1]:7411")) == ("[::1]:7411", None)
    assert [tokens.target(address) for address in ("worker1:7411", "worker1")] == ["worker1:7411", "worker1"]
    (tmp_path / "services" / "127.0.0.1:1").write_text(f"left\n{2**22 + 1}\n")  # no process has this number
    tokens.Published("127.0.0.1:2")
    assert tokens.find("127.0.0.1:1") is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104
def test_others_are_not_served_without_certificates_and_tokens(host: str, tmp_path: Path) -> None:
    async def refused(config: Config, missing: str) -> None:
        with pytest.raises(ConfigError, match=rf"no {missing}: docs/security.md .* --trusted-network serves without"):
            await server.serve(config, Registry(), host)

    asyncio.run(refused(local_hosts(1), r"\[tls\]"))
    asyncio.run(refused(replace(local_hosts(1), tls=TlsConfig(str(tmp_path))), r"a \[\[client\]\]"))


# ---- agents ----


def test_whoever_pretends_to_be_an_agent_does_not_learn_its_token() -> None:
    """Nor does what is said to it open the agent: the proof is for its challenge alone."""
    heard = bytearray()

    def pretend(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            heard.extend(connection.recv(65536))
            answer = {"challenge": proofs.challenge(), "proof": proofs.proof("guess", "agent", "a", "b")}
            connection.sendall(json.dumps({"id": 1, "ok": answer}).encode() + b"\n")
            heard.extend(connection.recv(65536))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        impostor = threading.Thread(target=pretend, args=(listener,))
        impostor.start()
        with pytest.raises(ProtocolError, match="does not know the token"):
            asyncio.run(AgentHost.connect(Device("w", "host", 1, 1), *listener.getsockname(), "the secret"))
        impostor.join(30)
    assert b"challenge" in heard and b"the secret" not in heard
    assert b"prove" not in heard  # nothing is proved to who has proved nothing


@pytest.mark.parametrize("case", ["another challenge", "the agent's own proof", "no hello"])
def test_a_proof_is_of_use_once(case: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    command = [sys.executable, "-m", "jumpgate.hosts.agent", "--token-file", str(token)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        try:
            port = json.loads(agent.stdout.readline())["port"]
            with socket.create_connection(("127.0.0.1", port), 30) as connection:
                lines = connection.makefile("rw")

                def ask(verb: str, **arguments: str) -> dict[str, Any]:
                    lines.write(json.dumps({"id": 1, "verb": verb, "arguments": arguments}) + "\n")
                    lines.flush()
                    answer: dict[str, Any] = json.loads(lines.readline())
                    return answer

                shown = {"challenge": "0", "proof": ""} if case == "no hello" else ask("hello", challenge="c")["ok"]
                theirs = shown["challenge"]
                false = {
                    "another challenge": proofs.proof("secret", "service", theirs, "d"),
                    "the agent's own proof": shown["proof"],
                    "no hello": proofs.proof("secret", "service", theirs, "c"),
                }
                refusal = ask("prove", proof=false[case])
                assert refusal["error"]["code"] == "protocol" and "share one secret" in refusal["error"]["message"]
                assert lines.readline() == ""  # and is hung up on
        finally:
            agent.terminate()


# ---- what is executed ----


def test_a_program_that_was_replaced_in_the_cache_is_not_loaded(own_cache: Path, tmp_path: Path) -> None:
    """It is built again; so is one whose seal is that of another program."""
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    flows = [read(str(tmp_path / "t.parquet")).aggregate(s=sum_(column)) for column in (col("a"), col("a") * col("a"))]
    right = [[{"s": 6}], [{"s": 14}]]

    def answers() -> list[Any]:
        service = embedded.start(local_hosts(1))
        try:
            with Session(service.address) as session:
                return [session.run(flow).to_pylist() for flow in flows]
        finally:
            service.close()

    assert answers() == right
    one, two = sorted((own_cache / "artifacts").glob("*/*.so"))
    contents = one.read_bytes(), two.read_bytes()
    for path, content in zip((one, two), reversed(contents), strict=True):
        path.write_bytes(content)
    assert answers() == right
    assert (one.read_bytes(), two.read_bytes()) == contents
    one.write_bytes(contents[1])
    shutil.copy(two.with_name(two.name + ".seal"), one.with_name(one.name + ".seal"))
    assert answers() == right
    assert one.read_bytes() == contents[0]


def test_programs_that_were_removed_are_built_again(own_cache: Path, tmp_path: Path) -> None:
    """By the service that has used them, too."""
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    flow = read(str(tmp_path / "t.parquet")).aggregate(s=sum_("a"))
    service = embedded.start(local_hosts(1))
    try:
        with Session(service.address) as session:
            for _ in range(3):
                assert session.run(flow).to_pylist() == [{"s": 6}]
                shutil.rmtree(own_cache / "artifacts")
    finally:
        service.close()


def test_a_runtime_that_was_replaced_is_not_used(tmp_path: Path) -> None:
    home = toolchain.runtime().library.parent
    copy = tmp_path / home.name
    shutil.copytree(home, copy, symlinks=True)
    assert toolchain.seal.is_sealed(copy)
    for file in (copy / "jghost", next((copy / "include").rglob("*.h"))):
        content = file.read_bytes()
        file.write_bytes(content + b"\n")
        assert not toolchain.seal.is_sealed(copy)
        file.write_bytes(content)
    (copy / "include" / "more.h").write_text("")
    assert not toolchain.seal.is_sealed(copy)


@root_only
def test_a_cache_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, NOBODY, NOBODY)
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(other))
    with pytest.raises(JumpgateError, match="belongs to user 65534.*JUMPGATE_CACHE_DIR"):
        toolchain.cache.folder("artifacts")
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(other))
    with pytest.raises(ConfigError, match="belongs to user 65534.*JUMPGATE_STATE_DIR"):
        tokens.Published("127.0.0.1:1")


# ---- encrypted edges ----


@pytest.fixture(scope="module")
def tls_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    authority = tmp_path_factory.mktemp("certs")
    certificates.init(authority)
    return certificates.issue(authority, "here", ["127.0.0.1"])


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("prefer", [(), ("engine",)], ids=["C++", "Python"])
def test_answers_over_encrypted_edges_are_the_same(prefer: tuple[str, ...], tls_folder: Path, tmp_path: Path) -> None:
    """Between instances, in both directions of a shuffle, and to the client; of long rows and of many."""
    rows = 300_000
    table = pa.table(
        {"k": [i % 1000 for i in range(rows)], "x": range(rows), "t": ["é" * (i % 50) for i in range(rows)]}
    )
    for part in range(4):
        pq.write_table(table.slice(part * rows // 4, rows // 4), tmp_path / f"{part}.parquet")
    files = read(str(tmp_path / "*.parquet"))
    flows = (
        files.select(k=col("k"), x=col("x"), t=col("t")).sort("x"),
        files.aggregate(s=sum_("x"), by="k").sort("k"),
        files.join(files.aggregate(s=sum_("x"), by="k").select(j=col("k"), s=col("s")), left_on="k", right_on="j")
        .aggregate(n=sum_("s"), by="t").sort("t"),
    )  # fmt: skip
    found = []
    for encryption in (None, TlsConfig(str(tls_folder))):
        service = embedded.start(replace(local_hosts(2), tls=encryption))
        try:
            with Session(service.address, parallelism=2, prefer=prefer) as session:
                results = [session.run(flow) for flow in flows]
                found.append([result.to_arrow() for result in results])
                records = [session.describe(result.job).record or {} for result in results]
        finally:
            service.close()
        used = {instance["nca"] for record in records for instance in record["instances"]}
        assert set(prefer) <= used
    plain, encrypted = found
    assert encrypted == plain
    assert plain[0].num_rows == rows


def test_a_stage_that_fails_while_the_next_ones_edge_shakes_hands_says_why(tls_folder: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2, 3]}), tmp_path / "t.parquet")
    (tmp_path / "bad.json").write_text('{"j": 1}\n{"j": "one"}\n')
    bad = read(str(tmp_path / "bad.json"), schema={"j": "int64"}).aggregate(by="j")
    flow = read(str(tmp_path / "t.parquet")).join(bad, left_on="k", right_on="j")
    service = embedded.start(replace(local_hosts(1), tls=TlsConfig(str(tls_folder))))
    try:
        with Session(service.address, parallelism=1) as session:
            for _ in range(10):
                with pytest.raises(SchemaMismatch) as failed:
                    session.run(flow).to_arrow()
                assert failed.value.fields["stage"] == "1"
    finally:
        service.close()


BATCH = pa.record_batch({"a": pa.array([1, 2, 3], pa.int64())})
DESCRIPTOR = Descriptor.columnar(Schema.of(a=int64))
EDGE = {"job": "j", "edge": "e1", "token": "secret"}


@contextlib.contextmanager
def expecting(certificate: JobCertificate | None) -> Iterator[Endpoint]:
    with Endpoint.open() as endpoint:
        endpoint.expect(**EDGE, descriptor=DESCRIPTOR, producers=1, certificate=certificate, timeout_s=10)
        yield endpoint


def test_only_the_jobs_certificate_opens_an_encrypted_edge(tls_folder: Path) -> None:
    """The token alone does not, nor another job's certificate, nor a machine's."""
    mine, others = certificates.for_job(), certificates.for_job()
    machine = JobCertificate((tls_folder / tls.CERTIFICATE).read_text(), (tls_folder / tls.KEY).read_text())
    with expecting(mine) as endpoint:
        for shown in (None, others, machine):
            with pytest.raises((ProtocolError, Unreachable)):
                Sender(endpoint.address, **EDGE, descriptor=DESCRIPTOR, certificate=shown, timeout_s=10)
        with Sender(endpoint.address, **EDGE, descriptor=DESCRIPTOR, certificate=mine) as sender:
            sender.write(BATCH)
        assert list(endpoint) == [BATCH]


def test_nothing_is_sent_to_a_consumer_without_the_jobs_certificate() -> None:
    for consumers in (None, certificates.for_job()):
        with expecting(consumers) as endpoint, pytest.raises((ProtocolError, Unreachable)):
            Sender(endpoint.address, **EDGE, descriptor=DESCRIPTOR, certificate=certificates.for_job(), timeout_s=10)


def test_an_instance_sends_nothing_to_a_client_without_the_jobs_certificate(tls_folder: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "t.parquet")
    service = embedded.start(replace(local_hosts(1), tls=TlsConfig(str(tls_folder))))
    metadata = tokens.metadata(tokens.find(service.address))
    try:
        with grpc.insecure_channel(service.address) as channel, Endpoint.open() as endpoint:
            stub = JumpgateStub(channel)  # type: ignore[no-untyped-call]
            root = read(str(tmp_path / "t.parquet")).root
            request = pb.SubmitRequest(dataflow=proto.encode(Send(root, (endpoint.address,)), DEFAULT))
            job = stub.Submit(request, metadata=metadata)
            assert job.certificate.startswith("-----BEGIN CERTIFICATE") and "PRIVATE KEY" in job.key
            endpoint.expect(
                job=job.job_id, edge=job.edge, token=job.token, descriptor=Descriptor.from_proto(job.format),
                producers=1, certificate=certificates.for_job(),
            )  # fmt: skip
            with pytest.raises(grpc.RpcError) as failed:
                list(stub.Execute(pb.ExecuteRequest(job_id=job.job_id), metadata=metadata, timeout=60))
    finally:
        service.close()
    assert "does not have the job's certificate" in failed.value.details()


def test_certificates_that_cannot_be_used_say_so(tls_folder: Path, tmp_path: Path) -> None:
    for name in (tls.CA, tls.CERTIFICATE, tls.KEY):
        shutil.copy(tls_folder / name, tmp_path)
    (tmp_path / tls.KEY).chmod(0o640)
    with pytest.raises(ConfigError, match=r"others may read .*key\.pem: chmod 600 it"):
        tls.Identity.load(tmp_path)
    (tmp_path / tls.KEY).chmod(0o600)
    (tmp_path / tls.CERTIFICATE).write_text((tls_folder / tls.CA).read_text())
    with pytest.raises(ConfigError, match="cannot be used"):
        tls.Identity.load(tmp_path)
    (tmp_path / tls.CA).unlink()
    with pytest.raises(ConfigError, match=r"ca\.pem: .*`jumpgate certs issue` writes one"):
        tls.Identity.load(tmp_path)
    with pytest.raises(ConfigError, match="has an authority already"):
        certificates.init(tls_folder.parent)
    with pytest.raises(ConfigError, match="`jumpgate certs init` makes one"):
        certificates.issue(tmp_path, "w", [])
    with pytest.raises(ConfigError, match="is no name for a folder"):
        certificates.issue(tls_folder.parent, "../w", [])


@pytest.mark.parametrize(("days", "said"), [(-1, "is not valid before"), (2, "expired on")])
def test_certificates_of_another_time_say_so(
    days: int, said: str, tls_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return datetime.datetime.now(tz) + datetime.timedelta(days=days * certificates.CA_DAYS)

    monkeypatch.setattr(tls, "datetime", SimpleNamespace(datetime=Then, UTC=datetime.UTC))
    with pytest.raises(ConfigError, match=said):
        tls.Identity.load(tls_folder)


# ---- the software switch ----


def test_a_stranger_does_not_control_the_software_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However high its election id, and whatever it calls; the user who started it does, by the token that is found."""
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(tmp_path))
    device = p4_device.Device([], 64)
    served = p4runtime.Server(device, "127.0.0.1:0")
    address = f"127.0.0.1:{served.port}"
    hello = p4r.StreamMessageRequest(
        arbitration=p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(2**127))
    )
    try:
        with grpc.insecure_channel(address) as channel:
            stub = p4r_grpc.P4RuntimeStub(channel)
            calls = {
                "Write": p4r.WriteRequest(device_id=1), "Read": p4r.ReadRequest(device_id=1),
                "SetForwardingPipelineConfig": p4r.SetForwardingPipelineConfigRequest(device_id=1),
                "GetForwardingPipelineConfig": p4r.GetForwardingPipelineConfigRequest(device_id=1),
                "Capabilities": p4r.CapabilitiesRequest(), "StreamChannel": iter([hello]),
            }  # fmt: skip
            for name, request in calls.items():
                with pytest.raises(grpc.RpcError) as refused:
                    answer = getattr(stub, name)(request, timeout=30)
                    list(answer) if name in ("Read", "StreamChannel") else answer
                assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED, name
            shown = tokens.metadata(tokens.find(address))
            assert stub.Capabilities(p4r.CapabilitiesRequest(), metadata=shown).p4runtime_api_version
            stream = stub.StreamChannel(iter([hello]), metadata=shown, timeout=30)
            assert next(stream).arbitration.status.code == 0  # primary: nobody else is
    finally:
        served.close()
        device.close()
    assert tokens.find(address) is None
