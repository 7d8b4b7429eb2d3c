"""The Python end of an edge: a listening socket whose producers' frames become Arrow record batches."""

from __future__ import annotations

import contextlib
import hmac
import selectors
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from crc32c import crc32c

from jumpgate.errors import Cancelled, JumpgateError, ProtocolError, Unreachable
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor, first_difference
from jumpgate.ntf.frames import (
    HEADER_BYTES,
    Header,
    Hello,
    Kind,
    StreamTotals,
    control_frame,
    decode_error,
    error_frame,
    parse_header,
)

#: a frame is read in pieces of this size, whose checksum is taken while they are in the cache
PIECE_BYTES = 1 << 20
#: connections that have not greeted yet, at once; the oldest makes room for another
HANDSHAKES_MAX = 64
#: a sender may be so far ahead, where the system allows it; else the system's own tuning is better than a small window
WINDOW_BYTES = 4 << 20
#: time for a greeting, and for the rest of a frame that has begun
STALL_S = 30


@dataclass(frozen=True)
class _Expected:
    job: str
    edge: str
    token: str = field(repr=False)
    codec: Codec
    producers: int
    partition: int
    timeout_s: float


@dataclass
class _Stream:
    """One connection. `producer` is None until it has greeted."""

    socket: socket.socket
    deadline: float
    producer: int | None = None
    greeting: bytearray = field(default_factory=bytearray)
    totals: StreamTotals = field(default_factory=StreamTotals)
    wake_bytes: int = 1

    def wake_at(self, size: int) -> None:
        """A reader sleeps until so many bytes are there: to be woken for each segment would halve the throughput."""
        if size != self.wake_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
            self.wake_bytes = size


class Endpoint:
    """Receives one edge. Open it, tell it what to expect, then iterate; close() from any thread ends a blocked reader.

    Iteration waits for the first producer as long as it takes (the job's control channel knows whether one will come;
    call close() when it will not), for the others `timeout_s` from then on. It ends after the last producer's end
    frame; raises ProtocolError where bytes or ends disagree, Unreachable where a producer vanishes or aborts.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._waker, self._woken = socket.socketpair()
        self._lock = threading.Lock()
        self._streams: list[_Stream] = []
        self._expected: _Expected | None = None
        self._reason: JumpgateError | None = None
        self._closed = False
        self._reading = False
        #: rows and bytes (with headers) received so far
        self.rows = 0
        self.bytes = 0

    @classmethod
    def open(cls, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Listens; raises Unreachable if the address cannot be had."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            listener = socket.create_server((host, port), family=family, backlog=HANDSHAKES_MAX)
        except OSError as e:
            raise Unreachable(f"cannot listen at {host}:{port}: {e.strerror}", host=host, port=port) from None
        if _receive_bytes_max() >= WINDOW_BYTES:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
        return cls(listener)

    @property
    def address(self) -> str:
        """host:port for producers."""
        host, port = self._listener.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def expect(
        self,
        *,
        job: str,
        edge: str,
        token: str,
        descriptor: Descriptor,
        producers: int,
        partition: int = 0,
        timeout_s: float = 30.0,
    ) -> None:
        """Says who will connect, before iterating. `partition` is this consumer's number among the edge's consumers."""
        self._expected = _Expected(job, edge, token, Codec(descriptor), producers, partition, timeout_s)

    def close(self, reason: JumpgateError | None = None) -> None:
        """Closes every socket; whoever iterates gets `reason`, or Cancelled. May be called twice, from any thread."""
        with self._lock:
            self._reason = self._reason or reason
            if self._closed:
                return
            self._closed = True
            with contextlib.suppress(OSError):
                self._waker.send(b"x")
            for stream in self._streams:
                with contextlib.suppress(OSError):
                    stream.socket.shutdown(socket.SHUT_RDWR)
            if not self._reading:
                self._release()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        expected = self._expected
        if expected is None:
            raise ProtocolError("expect() says which edge an endpoint receives; call it before iterating")
        with self._lock:
            self._raise_if_closed(expected)
            self._reading = True
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._woken, selectors.EVENT_READ)
                selector.register(self._listener, selectors.EVENT_READ)
                yield from self._receive(expected, selector)
        finally:
            with self._lock:
                self._reading, self._closed = False, True
                self._release()

    def _receive(self, expected: _Expected, selector: selectors.BaseSelector) -> Iterator[pa.RecordBatch]:
        greeted: set[int] = set()
        ended = 0
        others_by: float | None = None  # when every producer must have greeted
        while ended < expected.producers:
            ready = selector.select(self._wait_s(others_by if len(greeted) < expected.producers else None))
            self._raise_if_closed(expected)
            for key, _ in ready:
                stream = key.data
                if key.fileobj is self._listener:
                    self._accept(selector)
                elif stream is not None and stream.producer is None:
                    if self._greet(stream, expected, greeted, selector):
                        others_by = others_by or time.monotonic() + expected.timeout_s
                elif stream is not None:
                    batch = self._read_frame(stream, expected)
                    if batch is not None:
                        yield batch
                        self._raise_if_closed(expected)
                    else:
                        self._drop(stream, selector)
                        ended += 1
            self._drop_late(selector)
            if others_by and len(greeted) < expected.producers and time.monotonic() > others_by:
                missing = expected.producers - len(greeted)
                raise Unreachable(
                    f"edge '{expected.edge}': {missing} of {expected.producers} producers did not connect within "
                    f"{expected.timeout_s:g} s of the first",
                    edge=expected.edge,
                )

    # connections

    def _accept(self, selector: selectors.BaseSelector) -> None:
        strangers = [s for s in self._streams if s.producer is None]
        if len(strangers) >= HANDSHAKES_MAX:
            self._drop(strangers[0], selector)
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        stream = _Stream(connection, time.monotonic() + STALL_S)
        with self._lock:
            self._streams.append(stream)
        selector.register(connection, selectors.EVENT_READ, stream)

    def _greet(
        self, stream: _Stream, expected: _Expected, greeted: set[int], selector: selectors.BaseSelector
    ) -> bool:
        """Reads what has come of a greeting; True when a producer was accepted. A stranger is refused."""
        try:
            hello = self._read_greeting(stream)
            if hello is None:
                return False
            if not hmac.compare_digest(hello.token.encode(), expected.token.encode()) or hello.job != expected.job:
                raise ProtocolError("the job or its token is not the one that is expected here")
        except (ProtocolError, OSError) as e:
            if isinstance(e, ProtocolError):
                self._refuse(stream, e)
            self._drop(stream, selector)
            return False
        try:
            _agree(hello, expected, greeted)
        except ProtocolError as e:
            self._refuse(stream, e)
            raise
        greeted.add(hello.producer)
        stream.producer = hello.producer
        stream.socket.setblocking(True)
        stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", STALL_S, 0))
        with contextlib.suppress(OSError):  # its end will be noticed when a frame is awaited
            stream.socket.sendall(control_frame(Kind.ACCEPT))
        return True

    def _read_greeting(self, stream: _Stream) -> Hello | None:
        """The greeting once it is complete. Raises OSError if the connection ended, ProtocolError on other bytes."""
        wanted = HEADER_BYTES
        if len(stream.greeting) >= HEADER_BYTES:
            wanted += parse_header(bytes(stream.greeting[:HEADER_BYTES])).length
        try:
            piece = stream.socket.recv(min(wanted - len(stream.greeting), PIECE_BYTES))
        except BlockingIOError:
            return None
        if not piece:
            raise ConnectionResetError
        stream.greeting += piece
        if len(stream.greeting) < HEADER_BYTES:
            return None
        header = parse_header(bytes(stream.greeting[:HEADER_BYTES]))
        if header.kind != Kind.HELLO:
            raise ProtocolError("the first frame is not a greeting")
        payload = bytes(stream.greeting[HEADER_BYTES:])
        if len(payload) < header.length:
            return None
        header.check_crc(crc32c(payload))
        return Hello.decode(payload)

    def _refuse(self, stream: _Stream, error: ProtocolError) -> None:
        with contextlib.suppress(OSError):
            stream.socket.send(error_frame(error.code, error.message))

    def _drop(self, stream: _Stream, selector: selectors.BaseSelector) -> None:
        selector.unregister(stream.socket)
        with self._lock:
            self._streams.remove(stream)
        stream.socket.close()

    def _drop_late(self, selector: selectors.BaseSelector) -> None:
        """Ends connections that did not greet in time."""
        now = time.monotonic()
        for stream in [s for s in self._streams if s.producer is None and s.deadline < now]:
            self._drop(stream, selector)

    def _wait_s(self, others_by: float | None) -> float | None:
        """How long nothing may happen until a deadline must be looked at."""
        deadlines = [s.deadline for s in self._streams if s.producer is None]
        deadlines += [others_by] if others_by is not None else []
        return max(0.0, min(deadlines) - time.monotonic()) + 0.01 if deadlines else None

    # frames

    def _read_frame(self, stream: _Stream, expected: _Expected) -> pa.RecordBatch | None:
        """One frame as a batch; None when it was the stream's end."""
        where = {"edge": expected.edge, "producer": stream.producer}
        try:
            raw = bytearray(HEADER_BYTES)
            self._read(stream, memoryview(raw))
            header = parse_header(bytes(raw))
            buffer = pa.allocate_buffer(header.length)
            header.check_crc(self._read(stream, memoryview(buffer)))
            self.bytes += HEADER_BYTES + header.length
            return self._understand(stream, header, buffer, expected)
        except (ProtocolError, Unreachable) as e:
            self._raise_if_closed(expected)
            message = f"edge '{expected.edge}': producer {stream.producer}: {e.message}"
            raise type(e)(message, **where) from None
        except (EOFError, OSError) as e:
            self._raise_if_closed(expected)
            stalled = isinstance(e, BlockingIOError)
            what = f"sent nothing for {STALL_S} s amid a frame" if stalled else "vanished before the end of its stream"
            raise Unreachable(f"edge '{expected.edge}': producer {stream.producer} {what}", **where) from None

    def _understand(
        self, stream: _Stream, header: Header, payload: pa.Buffer, expected: _Expected
    ) -> pa.RecordBatch | None:
        match header.kind:
            case Kind.DATA:
                stream.totals.check_sequence(header)
                batch = expected.codec.decode(payload, header.rows)
                stream.totals.add(header.rows, header.crc)
                self.rows += header.rows
                return batch
            case Kind.END:
                stream.totals.check_sequence(header)
                stream.totals.check_end(payload.to_pybytes())
                return None
            case Kind.ERROR:
                raise Unreachable(decode_error(payload.to_pybytes())[1])
        raise ProtocolError(f"a frame of kind {header.kind.name} after the handshake")

    def _read(self, stream: _Stream, into: memoryview) -> int:
        """Fills the memory and returns its CRC-32C."""
        crc = at = 0
        while at < len(into):
            piece = into[at : at + PIECE_BYTES]
            stream.wake_at(len(piece))
            got = stream.socket.recv_into(piece, 0, socket.MSG_WAITALL)
            if got == 0:
                raise EOFError
            crc = crc32c(piece[:got], crc)
            at += got
        stream.wake_at(HEADER_BYTES)
        return crc

    def _raise_if_closed(self, expected: _Expected) -> None:
        if self._closed:
            raise self._reason or Cancelled(f"edge '{expected.edge}' was closed while it was read", edge=expected.edge)

    def _release(self) -> None:
        for stream in self._streams:
            stream.socket.close()
        self._streams.clear()
        for each in (self._listener, self._waker, self._woken):
            each.close()


def _receive_bytes_max() -> int:
    """The largest receive buffer that a program may ask for; 0 if unknown."""
    try:
        return int(Path("/proc/sys/net/core/rmem_max").read_text())
    except (OSError, ValueError):
        return 0


def _agree(hello: Hello, expected: _Expected, greeted: set[int]) -> None:
    """Past the token: whoever disagrees belongs to the job, so that both ends fail."""
    mine = expected.codec.descriptor
    problem = None
    if hello.edge != expected.edge:
        problem = f"edge '{hello.edge}' does not end here"
    elif hello.fingerprint != mine.fingerprint() or hello.text != mine.text():
        difference = first_difference(mine.text(), hello.text) or "fingerprint"
        problem = f"the ends disagree on the tuple format: {difference}"
    elif hello.partition != expected.partition:
        problem = f"partition {hello.partition} arrives at consumer {expected.partition}"
    elif not hello.producer < expected.producers:
        problem = f"producer {hello.producer} connected, {expected.producers} are expected"
    elif hello.producer in greeted:
        problem = f"producer {hello.producer} connected twice"
    if problem:
        raise ProtocolError(f"edge '{expected.edge}': {problem}", edge=expected.edge)
