"""The receiving end in Python while nobody reads it: producers are let in, strangers are not, and nothing piles up."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from jumpgate.dataflow.types import Schema, int64
from jumpgate.errors import Cancelled, ProtocolError, Unreachable
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import Kind, control_frame
from jumpgate.ntf.greet import HANDSHAKES_MAX
from jumpgate.ntf.receive import Endpoint
from jumpgate.ntf.send import Sender
from jumpgate.testing.leaks import descriptors, nothing_left, wait_until

DESCRIPTOR = Descriptor.columnar(Schema.of(x=int64))
BATCH = pa.RecordBatch.from_arrays([pa.array(range(60_000))], schema=arrow_schema(DESCRIPTOR.schema))
#: of a sender for its connection and greeting: far more than an answer takes, far less than the test waits
PROMPTLY_S = 5.0


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    threads = set(threading.enumerate())
    with nothing_left():
        yield
    assert wait_until(lambda: set(threading.enumerate()) <= threads)


def endpoint(producers: int = 1, timeout_s: float = 30.0) -> Endpoint:
    made = Endpoint.open()
    made.expect(job="job", edge="e1", token="a secret", descriptor=DESCRIPTOR, producers=producers, timeout_s=timeout_s)
    return made


def sender(receiving: Endpoint, producer: int = 0, token: str = "a secret") -> Sender:
    return Sender(receiving.address, job="job", edge="e1", token=token, descriptor=DESCRIPTOR, producer=producer,
                  timeout_s=PROMPTLY_S)  # fmt: skip


def stranger(receiving: Endpoint) -> socket.socket:
    host, _, port = receiving.address.rpartition(":")
    return socket.create_connection((host, int(port)), PROMPTLY_S)


def test_producers_are_let_in_before_anybody_reads() -> None:
    with endpoint(producers=2) as receiving:
        for producer in (1, 0):
            with sender(receiving, producer) as sending:
                sending.write(BATCH.slice(0, 10))
        assert receiving.bytes == 0
        assert sum(batch.num_rows for batch in receiving) == 20


def test_a_producer_is_let_in_while_another_is_read() -> None:
    with endpoint(producers=2) as receiving, sender(receiving, 1) as sending:
        sending.write(BATCH.slice(0, 10))
        batches = iter(receiving)
        next(batches)
        with sender(receiving, 0) as other:
            other.write(BATCH.slice(0, 5))
        assert next(batches).num_rows == 5


def test_what_is_not_read_stays_with_its_producer() -> None:
    progress = []

    def send(sending: Sender) -> None:
        with sending:
            for _ in range(200):
                sending.write(BATCH)
                progress.append(BATCH.num_rows)

    with endpoint() as receiving:
        thread = threading.Thread(target=send, args=(sender(receiving),))
        thread.start()
        assert not wait_until(lambda: not thread.is_alive(), timeout_s=0.5), "96 MB are in no buffer"
        assert len(progress) < 150 and receiving.bytes == 0
        assert sum(batch.num_rows for batch in receiving) == 200 * BATCH.num_rows
        thread.join()


def test_strangers_are_refused_and_the_edge_lives_on() -> None:
    with endpoint() as receiving:
        refusal = "it answered: the job or its token is not the one that is expected here"
        with pytest.raises(ProtocolError, match=refusal):
            sender(receiving, token="guessed")
        for noise in (b"GET / HTTP/1.1\r\n\r\n" + bytes(64), control_frame(Kind.HELLO, b"\xff" * 40)):
            with stranger(receiving) as connection, contextlib.suppress(ConnectionResetError):
                connection.sendall(noise)
                while connection.recv(4096):  # the reason, then the end
                    pass
        with sender(receiving) as sending:
            sending.write(BATCH)
        assert sum(batch.num_rows for batch in receiving) == BATCH.num_rows


def test_a_producer_that_disagrees_fails_the_edge_before_anybody_reads() -> None:
    with endpoint() as receiving:
        with pytest.raises(ProtocolError, match="producer 3 connected, 1 are expected"):
            sender(receiving, producer=3)
        with pytest.raises(ProtocolError, match="producer 3 connected, 1 are expected"):
            list(receiving)


def test_a_flood_of_connections_keeps_nobody_out() -> None:
    with endpoint() as receiving:
        before = len(descriptors())
        flood = [stranger(receiving) for _ in range(3 * HANDSHAKES_MAX)]
        with sender(receiving) as sending:
            sending.write(BATCH)
        ours = len(descriptors()) - before - len(flood)
        assert ours <= HANDSHAKES_MAX + 4
        assert sum(batch.num_rows for batch in receiving) == BATCH.num_rows
        for connection in flood:
            connection.close()


def test_who_does_not_greet_in_time_is_dropped() -> None:
    with endpoint(timeout_s=0.1) as receiving, stranger(receiving) as silent, stranger(receiving) as slow:
        slow.sendall(b"JGTF")
        assert silent.recv(1) == b"" == slow.recv(1)


def test_producers_that_do_not_come_fail_the_edge_before_anybody_reads() -> None:
    with endpoint(producers=2, timeout_s=0.1) as receiving:
        sending = sender(receiving)
        with pytest.raises(Unreachable, match="closed|reset|pipe"):
            while True:
                sending.write(BATCH)
        sending.abort()
        with pytest.raises(Unreachable, match="1 of 2 producers did not connect within 0.1 s of the first"):
            list(receiving)


@pytest.mark.parametrize("begun", [False, True])
def test_a_client_that_goes_away_ends_its_producers(begun: bool) -> None:
    failures = []

    def send(sending: Sender) -> None:
        try:
            while True:
                sending.write(BATCH)
        except Unreachable as error:
            failures.append(error)
            sending.abort()

    receiving = endpoint(producers=2)
    threads = [threading.Thread(target=send, args=(sender(receiving, producer),)) for producer in range(2)]
    for thread in threads:
        thread.start()
    batches = iter(receiving)
    if begun:
        next(batches)
    receiving.close()
    for thread in threads:
        thread.join(10)
    assert len(failures) == 2
    with pytest.raises(Cancelled, match="edge 'e1' was closed while it was read"):
        next(batches)
