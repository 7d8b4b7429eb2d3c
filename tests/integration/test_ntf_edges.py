"""Edges between processes on loopback: C++ emitters and listeners with each other and with Python's two ends."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pyarrow as pa
import pytest

from jumpgate.dataflow.types import DataType, Schema, int32, int64, string
from jumpgate.dataflow.types import decimal as decimal_
from jumpgate.errors import Cancelled, JumpgateError, MalformedData, ProtocolError, Unreachable
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import HEADER_BYTES, Hello, Kind, control_frame, header, parse_header
from jumpgate.ntf.receive import Endpoint
from jumpgate.ntf.send import Sender
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import certificates
from jumpgate.trust.edges import JobCertificate
from tests.support import cpp

SCHEMA = Schema.of(
    id=int64.with_nullable(False), flag=DataType("bool"), i8=DataType("int8"), i16=DataType("int16", nullable=False),
    i32=int32, f32=DataType("float32"), f64=DataType("float64"), small=decimal_(7, 2), wide=decimal_(38, 4),
    day=DataType("date"), at=DataType("timestamp"), text=string, raw=DataType("binary", nullable=False),
)  # fmt: skip
FORMATS = {
    "columnar": Descriptor.columnar(SCHEMA),
    "row": Descriptor.row(SCHEMA),
    "row_network": Descriptor.row(SCHEMA, byte_order="big", packed=True),
}
TOKEN = "a secret"
EXACT = decimal.Context(prec=40)
HASH, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@pytest.fixture(scope="session")
def peer() -> Path:
    return cpp.build("ntf_peer", [Path(__file__).parents[1] / "cpp" / "ntf_peer.cpp", *cpp.ntf_sources()])


class Peers:
    """Starts ntf_peer processes and ends them all."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.processes: list[subprocess.Popen[str]] = []

    def _start(self, verb: str, descriptor: Descriptor, *words: object, **environment: str) -> subprocess.Popen[str]:
        path = self.folder / f"{descriptor.fingerprint()}.ntf"
        if not path.exists():  # another peer may be reading it
            path.write_text(descriptor.text())
        command = [str(self.program), verb, str(path), descriptor.fingerprint(), "e1", *map(str, words)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environment
        )
        self.processes.append(process)
        return process

    def send(
        self, descriptor: Descriptor, *peers: str, index: int = 0, partitioning: str = "single", threads: int = 2,
        rows: int | str = 10_000, token: str = TOKEN, timeout_ms: int = 30_000,
        certificate: JobCertificate | None = None, frame_bytes_max: int = 0,
    ) -> subprocess.Popen[str]:  # fmt: skip
        environment = {"NTF_PEER_TIMEOUT_MS": str(timeout_ms), "NTF_PEER_FRAME_BYTES_MAX": str(frame_bytes_max)}
        if certificate is not None:
            pem = self.folder / "job.pem"
            pem.write_text(certificate.certificate + certificate.key)
            environment["NTF_PEER_TLS"] = str(pem)
        return self._start("send", descriptor, token, index, partitioning, threads, rows, *peers, **environment)

    def receive(
        self, descriptor: Descriptor, *, index: int = 0, producers: int = 1, threads: int = 2, timeout_ms: int = 20_000
    ) -> tuple[subprocess.Popen[str], str]:
        process = self._start("receive", descriptor, TOKEN, index, producers, threads, timeout_ms)
        assert process.stdout is not None
        word, port = process.stdout.readline().split()
        assert word == "port"
        return process, f"127.0.0.1:{port}"


@pytest.fixture(scope="session")
def certificate() -> JobCertificate:
    return certificates.for_job()


@pytest.fixture
def peers(peer: Path, tmp_path: Path) -> Iterator[Peers]:
    started = Peers(peer, tmp_path)
    yield started
    for process in started.processes:
        process.kill()
        process.communicate()


def answer(process: subprocess.Popen[str]) -> str:
    """The last line that a peer says."""
    out, _ = process.communicate(timeout=60)
    return out.splitlines()[-1]


def open_early(sender: subprocess.Popen[str], line: str = "\n") -> None:
    """Has a sender open the edge that it approached; after "c" it has cancelled it."""
    assert sender.stdin is not None
    sender.stdin.write(line)
    sender.stdin.flush()


def worked(process: subprocess.Popen[str]) -> bool:
    """Whether it has burnt a fifth of a second: far more than it takes to start."""
    user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return int(user) + int(system) > os.sysconf("SC_CLK_TCK") / 5


def counted(process: subprocess.Popen[str]) -> dict[str, int]:
    words = answer(process).split()
    assert words[0] == "ok", words
    return {name: int(value) for name, value in zip(words[1::2], words[2::2], strict=True)}


def ids(producers: int, rows: int) -> list[int]:
    return [(p << 32) + i for p in range(producers) for i in range(rows)]


def expected(descriptor: Descriptor, id: int) -> dict[str, object]:
    """The row that ntf_peer makes of an id."""
    row: dict[str, object] = {}
    for c, field in enumerate(descriptor.schema):
        v = id * 31 + c
        text = f"s{v % 1000}" if v % 11 else ""
        value: object = {
            "id": lambda v: id, "flag": lambda v: bool(v & 1), "i8": lambda v: (v + 128) % 256 - 128,
            "i16": lambda v: (v + 32768) % 65536 - 32768, "i32": lambda v: (v + 2**31) % 2**32 - 2**31,
            "f32": lambda v: (v % 1000) / 4, "f64": lambda v: v / 4,
            "small": lambda v: decimal.Decimal(v % 100000).scaleb(-2),
            "wide": lambda v: decimal.Decimal(v << 40).scaleb(-4, EXACT),
            "day": lambda v: datetime.date(1970, 1, 1) + datetime.timedelta(v % 20000),
            "at": lambda v: datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=v * 1000),
            "text": lambda v, text=text: text, "raw": lambda v, text=text: text.encode(),
        }[field.name](v)  # fmt: skip
        row[field.name] = None if field.type.nullable and (id + c) % 5 == 0 else value
    return row


def batches(descriptor: Descriptor, rows: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([expected(descriptor, i) for i in rows], arrow_schema(descriptor.schema))


def endpoint(descriptor: Descriptor, producers: int = 1, **more: float) -> Endpoint:
    receiving = Endpoint.open()
    receiving.expect(job="job", edge="e1", token=TOKEN, descriptor=descriptor, producers=producers, **more)  # type: ignore[arg-type]
    return receiving


# C++ to C++


@pytest.mark.parametrize("format", FORMATS)
def test_one_producer_one_consumer(peers: Peers, format: str) -> None:
    receiver, address = peers.receive(FORMATS[format])
    sender = peers.send(FORMATS[format], address, rows=100_000)
    assert counted(sender)["rows"] == 100_000
    assert counted(receiver) == {"rows": 100_000, "ids": sum(ids(1, 100_000)), "wrong": 0}


def test_an_empty_stream_ends_at_once(peers: Peers) -> None:
    receiver, address = peers.receive(FORMATS["columnar"])
    assert counted(peers.send(FORMATS["columnar"], address, rows=0))["rows"] == 0
    assert counted(receiver) == {"rows": 0, "ids": 0, "wrong": 0}


@pytest.mark.parametrize("format", ["columnar", "row"])
def test_hash_partitioning_over_several_producers_and_consumers(peers: Peers, format: str) -> None:
    receivers = [peers.receive(FORMATS[format], index=i, producers=2) for i in range(3)]
    addresses = [address for _, address in receivers]
    senders = [peers.send(FORMATS[format], *addresses, index=i, partitioning="hash", rows=30_000) for i in range(2)]
    assert [counted(s)["rows"] for s in senders] == [30_000, 30_000]
    for index, (receiver, _) in enumerate(receivers):
        mine = [i for i in ids(2, 30_000) if (i * HASH & MASK) % 3 == index]
        assert counted(receiver) == {"rows": len(mine), "ids": sum(mine), "wrong": 0}


def test_broadcast_reaches_everybody_and_round_robin_divides(peers: Peers) -> None:
    everybody = [peers.receive(FORMATS["columnar"], index=i) for i in range(2)]
    sender = peers.send(FORMATS["columnar"], *(a for _, a in everybody), partitioning="broadcast", rows=20_000)
    assert counted(sender)["rows"] == 40_000
    for receiver, _ in everybody:
        assert counted(receiver) == {"rows": 20_000, "ids": sum(ids(1, 20_000)), "wrong": 0}
    divided = [peers.receive(FORMATS["columnar"], index=i) for i in range(2)]
    counted(peers.send(FORMATS["columnar"], *(a for _, a in divided), partitioning="round_robin", rows=20_480))
    parts = [counted(receiver) for receiver, _ in divided]
    assert [p["rows"] for p in parts] == [10_240, 10_240]
    assert sum(p["ids"] for p in parts) == sum(ids(1, 20_480))


# Python with C++


@pytest.mark.parametrize(("frame_bytes_max", "largest"), [(0, 256 << 10), (1 << 20, 1 << 20)])
def test_frames_grow_from_a_small_first_one(peers: Peers, frame_bytes_max: int, largest: int) -> None:
    descriptor = Descriptor.columnar(Schema.of(**dict.fromkeys(("id", "a", "b", "c"), int64.with_nullable(False))))
    with endpoint(descriptor) as receiving:
        peers.send(descriptor, receiving.address, threads=1, rows="200000:repeat", frame_bytes_max=frame_bytes_max)
        sizes = [batch.nbytes for batch in receiving]
    batch_bytes = 2048 * 32  # a frame ends behind one
    assert sum(sizes) == 200_000 * 32
    assert sizes[0] <= (256 << 10) + batch_bytes
    assert largest <= max(sizes) <= largest + batch_bytes
    assert sizes[:-1] == sorted(sizes[:-1])


@pytest.mark.parametrize("format", FORMATS)
def test_python_receives_what_cpp_sends(peers: Peers, format: str) -> None:
    descriptor = FORMATS[format]
    with endpoint(descriptor, producers=2) as receiving:
        senders = [peers.send(descriptor, receiving.address, index=i, rows=5_000) for i in range(2)]
        table = pa.Table.from_batches(receiving, arrow_schema(SCHEMA))
    table.validate(full=True)
    assert receiving.rows == 10_000
    assert [counted(s)["rows"] for s in senders] == [5_000, 5_000]
    got = {row["id"]: row for row in table.to_pylist()}
    assert len(got) == 10_000
    assert all(got[i] == expected(descriptor, i) for i in ids(2, 5_000))


def read_greeting(stream: IO[bytes]) -> None:
    greeting = parse_header(stream.read(HEADER_BYTES))
    assert greeting.kind == Kind.HELLO
    stream.read(greeting.length)


def test_a_sender_greets_before_it_has_anything_to_send(peers: Peers) -> None:
    descriptor = FORMATS["row"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        sender = peers.send(descriptor, f"127.0.0.1:{listener.getsockname()[1]}", rows="10:early")
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(60)
            read_greeting(stream)
            connection.sendall(control_frame(Kind.ACCEPT))
            open_early(sender)
            kinds = []
            while raw := stream.read(HEADER_BYTES):
                frame = parse_header(raw)
                stream.read(frame.length)
                kinds.append(frame.kind)
            assert kinds == [Kind.DATA, Kind.END]
    assert counted(sender)["rows"] == 10


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_sender_that_greets_early_is_in_no_hurry_until_it_opens(
    peers: Peers, certificate: JobCertificate, encrypted: bool
) -> None:
    descriptor, shown = FORMATS["row"], certificate if encrypted else None
    with Endpoint.open() as receiving:
        sender = peers.send(descriptor, receiving.address, rows="10:early", timeout_ms=200, certificate=shown)
        with pytest.raises(subprocess.TimeoutExpired):
            sender.wait(0.5)
        receiving.expect(job="job", edge="e1", token=TOKEN, descriptor=descriptor, producers=1, certificate=shown)
        assert wait_until(lambda: bool(receiving._streams))
        open_early(sender)
        assert pa.Table.from_batches(receiving, arrow_schema(SCHEMA)).num_rows == 10
    assert counted(sender)["rows"] == 10


@pytest.mark.parametrize(("line", "message"), [("\n", "it did not agree on encryption"), ("c\n", "was cancelled")])
def test_a_sender_whose_early_handshake_has_no_answer_ends_once_it_opens(
    peers: Peers, certificate: JobCertificate, line: str, message: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        sender = peers.send(FORMATS["row"], address, rows="10:early", timeout_ms=200, certificate=certificate)
        connection, _ = listener.accept()
        with connection:
            open_early(sender, line)
            assert answer(sender).endswith(message)


def test_a_sender_that_is_cancelled_before_it_is_accepted_sends_no_frame_but_its_greeting(peers: Peers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        sender = peers.send(FORMATS["row"], f"127.0.0.1:{listener.getsockname()[1]}", rows="10:early")
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(60)
            read_greeting(stream)
            open_early(sender, "c\n")
            assert stream.read() == b""
    assert answer(sender) == "error cancelled edge 'e1' was cancelled"


def test_a_sender_that_is_refused_early_says_so_when_it_opens(peers: Peers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    sender = peers.send(FORMATS["row"], address, rows="10:early")
    open_early(sender)
    assert answer(sender).startswith(f"error unreachable edge 'e1': consumer 0 at {address}: cannot connect")


@pytest.mark.parametrize("format", FORMATS)
def test_cpp_receives_what_python_sends(peers: Peers, format: str) -> None:
    descriptor = FORMATS[format]
    receiver, address = peers.receive(descriptor)
    with Sender(address, job="job", edge="e1", token=TOKEN, descriptor=descriptor) as sender:
        sender.write(batches(descriptor, list(range(3_000))))
        sender.write(batches(descriptor, list(range(3_000, 3_007))))
    assert counted(receiver) == {"rows": 3_007, "ids": sum(range(3_007)), "wrong": 0}


# disagreement


OTHER = Descriptor.columnar(Schema.of(**dict(zip(SCHEMA.names, SCHEMA.types, strict=True)) | {"i32": int64}))


def test_ends_with_different_formats_refuse_each_other(peers: Peers) -> None:
    receiver, address = peers.receive(OTHER)
    sender = peers.send(FORMATS["columnar"], address)
    difference = "the ends disagree on the tuple format: field 4: int64? i32 here, int32? i32 there"
    assert answer(sender) == (
        f"error protocol edge 'e1': consumer 0 at {address}: it answered: edge 'e1': {difference}"
    )
    assert answer(receiver) == f"error protocol edge 'e1': {difference}"
    with endpoint(OTHER) as receiving:
        sender = peers.send(FORMATS["columnar"], receiving.address)
        with pytest.raises(ProtocolError, match="field 4: int64. i32 here, int32. i32 there"):
            list(receiving)
    assert "field 4: int64? i32 here" in answer(sender)


def test_a_stranger_is_refused_and_the_edge_lives_on(peers: Peers) -> None:
    descriptor = FORMATS["columnar"]
    receiver, address = peers.receive(descriptor)
    refusal = "the job or its token is not the one that is expected here"
    assert answer(peers.send(descriptor, address, token="guessed")).endswith(refusal)
    for noise in (b"GET / HTTP/1.1\r\n\r\n" + bytes(64), b"JGTF", control_frame(Kind.HELLO, b"\xff" * 40)):
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as stranger:
            stranger.sendall(noise)
    counted(peers.send(descriptor, address, rows=10))
    assert counted(receiver)["rows"] == 10
    with endpoint(descriptor) as receiving, pytest.raises(ProtocolError, match=refusal):
        _receiving_meanwhile(
            receiving,
            lambda: Sender(receiving.address, job="job", edge="e1", token="guessed", descriptor=descriptor),
        )


def _receiving_meanwhile(receiving: Endpoint, work: Callable[[], object]) -> None:
    def drain() -> None:
        with contextlib.suppress(JumpgateError):
            list(receiving)

    thread = threading.Thread(target=drain)
    thread.start()
    try:
        work()
    finally:
        receiving.close()
        thread.join(10)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge": "e2"}, "edge 'e2' does not end here"),
        ({"producer": 1}, "producer 1 connected, 1 are expected"),
        ({"partition": 3}, "partition 3 arrives at consumer 0"),
    ],
)
def test_a_sender_at_the_wrong_place_is_told(peers: Peers, changes: dict[str, object], message: str) -> None:
    right: dict[str, object] = {"job": "job", "edge": "e1", "token": TOKEN, "descriptor": FORMATS["row"]}
    _, address = peers.receive(FORMATS["row"])
    with pytest.raises(ProtocolError, match=message):
        Sender(address, **(right | changes))  # type: ignore[arg-type]
    receiving = endpoint(FORMATS["row"])
    with pytest.raises(ProtocolError, match=message):
        _receiving_meanwhile(receiving, lambda: Sender(receiving.address, **(right | changes)))  # type: ignore[arg-type]


# failure


def test_a_killed_sender_fails_its_consumers(peers: Peers) -> None:
    descriptor = FORMATS["columnar"]
    receiver, address = peers.receive(descriptor)
    sender = peers.send(descriptor, address, rows=1 << 40)
    assert wait_until(lambda: worked(receiver))
    sender.kill()
    assert answer(receiver) == "error unreachable edge 'e1': producer 0 vanished before the end of its stream"
    with endpoint(descriptor) as receiving:
        sender = peers.send(descriptor, receiving.address, rows=1 << 40)
        with pytest.raises(Unreachable, match="edge 'e1': producer 0 vanished before the end of its stream"):
            for _ in receiving:
                sender.kill()


def test_a_killed_receiver_fails_its_producer(peers: Peers) -> None:
    receiver, address = peers.receive(FORMATS["columnar"])
    sender = peers.send(FORMATS["columnar"], address, rows=1 << 40)
    assert wait_until(lambda: worked(receiver))
    receiver.kill()
    assert answer(sender).startswith(f"error unreachable edge 'e1': consumer 0 at {address}: ")


def test_a_sender_stays_until_a_slow_consumer_has_room_for_the_rest(peers: Peers) -> None:
    descriptor = FORMATS["columnar"]
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = peers.send(descriptor, f"127.0.0.1:{listener.getsockname()[1]}", rows=1000, threads=1)
        connection, _ = listener.accept()
        with connection:
            greeting = parse_header(connection.recv(HEADER_BYTES, socket.MSG_WAITALL))
            connection.recv(greeting.length, socket.MSG_WAITALL)
            connection.sendall(control_frame(Kind.ACCEPT))
            with pytest.raises(subprocess.TimeoutExpired):  # though all of it fits into its own buffer
                sender.wait(0.5)
            while connection.recv(1 << 20):
                pass
    assert counted(sender)["rows"] == 1000


def test_a_consumer_that_leaves_before_the_end_fails_its_producer(peers: Peers) -> None:
    descriptor = FORMATS["columnar"]
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = peers.send(descriptor, f"127.0.0.1:{listener.getsockname()[1]}", rows=1000, threads=1)
        connection, _ = listener.accept()
        with connection:
            greeting = parse_header(connection.recv(HEADER_BYTES, socket.MSG_WAITALL))
            connection.recv(greeting.length, socket.MSG_WAITALL)
            connection.sendall(control_frame(Kind.ACCEPT))
            connection.recv(100)
    assert answer(sender).startswith("error unreachable edge 'e1': consumer 0 at ")


def test_a_cancelled_receiver_says_so(peers: Peers) -> None:
    receiver, _ = peers.receive(FORMATS["columnar"])
    out, _ = receiver.communicate("c", timeout=60)
    assert out.splitlines()[-1] == "error cancelled edge 'e1': cancelled"


def test_an_aborting_producer_tells_its_consumers(peers: Peers) -> None:
    descriptor = FORMATS["row"]
    receiver, address = peers.receive(descriptor)
    with pytest.raises(MalformedData), Sender(address, job="job", edge="e1", token=TOKEN, descriptor=descriptor):
        raise MalformedData("line 7")
    assert answer(receiver) == "error unreachable edge 'e1': producer 0: the producer aborted"


def test_producers_that_do_not_come(peers: Peers) -> None:
    receiver, address = peers.receive(FORMATS["row"], producers=2, timeout_ms=500)
    sender = Sender(address, job="job", edge="e1", token=TOKEN, descriptor=FORMATS["row"])
    assert answer(receiver) == "error unreachable edge 'e1': 1 of 2 producers did not connect within 500 ms"
    sender.abort()
    receiving = endpoint(FORMATS["row"], producers=2, timeout_s=0.3)
    failures: list[JumpgateError] = []

    def drain() -> None:
        try:
            list(receiving)
        except JumpgateError as e:
            failures.append(e)

    thread = threading.Thread(target=drain)
    thread.start()
    sender = Sender(receiving.address, job="job", edge="e1", token=TOKEN, descriptor=FORMATS["row"])
    thread.join(10)
    sender.abort()
    assert failures[0].message == "edge 'e1': 1 of 2 producers did not connect within 0.3 s of the first"


def test_nobody_listens(peers: Peers) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    message = f"edge 'e1': consumer 0 at {address}: "
    assert answer(peers.send(FORMATS["row"], address)) == (
        f"error unreachable {message}cannot connect to {address}: Connection refused"
    )
    with pytest.raises(Unreachable, match="Connection refused"):
        Sender(address, job="job", edge="e1", token=TOKEN, descriptor=FORMATS["row"])


def test_close_wakes_a_blocked_reader() -> None:
    for reason, kind in ((None, Cancelled), (Unreachable("the job failed"), Unreachable)):
        receiving = endpoint(FORMATS["columnar"])
        timer = threading.Timer(0.2, receiving.close, [reason])
        timer.start()
        with pytest.raises(kind):
            list(receiving)
        timer.join()
        receiving.close()


# bytes that lie


def _greeted(address: str, descriptor: Descriptor) -> socket.socket:
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)), 10)
    hello = Hello(0, 0, TOKEN, "job", "e1", descriptor.fingerprint(), descriptor.text())
    connection.sendall(hello.encode())
    return connection


def _changed(frame: bytes, at: int) -> bytes:
    return frame[:at] + bytes([frame[at] ^ 1]) + frame[at + 1 :]


LIES = {
    "checksum": (_changed(header(Kind.DATA, 1, 64, 0, 0), 28) + bytes(64), "do not match its checksum"),
    "version": (_changed(control_frame(Kind.END, bytes(20)), 4), "speaks version 0"),
    "sequence": (control_frame(Kind.END, bytes(20), 1), "frame 0 was expected, frame 1 came"),
    "rows": (control_frame(Kind.END, b"\5" + bytes(19)), "the sender counts 5 rows, 0 came"),
    "length": (header(Kind.DATA, 1, 1 << 30, 0, 0), "a frame of 1073741824 bytes; at most 268435456 are allowed"),
    "kind": (control_frame(Kind.HELLO), "after the handshake"),
    "payload": (control_frame(Kind.ERROR, b"\xff" * 9), "a malformed error frame"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_producer_ends_in_a_protocol_error(peers: Peers, lie: str) -> None:
    sent, message = LIES[lie]
    descriptor = FORMATS["columnar"]
    receiver, address = peers.receive(descriptor)
    with _greeted(address, descriptor) as connection:
        connection.sendall(sent)
        said = answer(receiver)
    assert said.startswith("error protocol edge 'e1': producer 0: ") and message in said
    with endpoint(descriptor) as receiving, _greeted(receiving.address, descriptor) as connection:
        connection.sendall(sent)
        with pytest.raises(ProtocolError, match=message):
            list(receiving)


def test_frames_stay_within_their_bound_where_rows_are_huge() -> None:
    descriptor = Descriptor.columnar(Schema.of(text=string))
    texts = ["x" * (3 << 20), None, "", "y" * (2 << 20)] * 3
    batch = pa.RecordBatch.from_arrays([pa.array(texts)], schema=arrow_schema(descriptor.schema))
    with endpoint(descriptor) as receiving:

        def send() -> None:
            with Sender(receiving.address, job="job", edge="e1", token=TOKEN, descriptor=descriptor) as sender:
                sender.write(batch)

        thread = threading.Thread(target=send)
        thread.start()
        parts = list(receiving)
        thread.join()
    assert [t for part in parts for t in part.column(0).to_pylist()] == texts
    assert max(part.num_rows for part in parts) == 1
