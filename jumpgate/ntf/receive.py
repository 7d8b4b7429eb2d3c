"""The Python end of an edge: a listening socket that turns producers' frames into Arrow record batches."""

from __future__ import annotations

import contextlib
import functools
import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from crc32c import crc32c

from jumpgate.errors import Cancelled, JumpgateError, ProtocolError, Unreachable
from jumpgate.ntf.addresses import joined
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import HEADER_BYTES, Header, Kind, StreamTotals, decode_error, parse_header
from jumpgate.ntf.greet import HANDSHAKES_MAX, Expected, Greeter
from jumpgate.trust.edges import JobCertificate
from jumpgate.trust.tls_socket import TlsSocket

#: a frame is read in pieces of this size, so that they are in the cache for the checksum
PIECE_BYTES = 1 << 20
#: the receive buffer, where the system allows it; otherwise the system's own tuning beats a small window
WINDOW_BYTES = 4 << 20
#: seconds to wait for the rest of a frame
STALL_S = 30


@dataclass
class _Stream:
    """One producer's connection."""

    socket: socket.socket
    producer: int
    totals: StreamTotals = field(default_factory=StreamTotals)
    wake_bytes: int = 1

    @property
    def has_pending(self) -> bool:
        """Return whether bytes are buffered that no selector reports."""
        return isinstance(self.socket, TlsSocket) and self.socket.has_pending

    def wake_at(self, size: int) -> None:
        """Wake the reader only once `size` bytes have arrived: waking up for each segment halves the throughput."""
        if size != self.wake_bytes and not isinstance(self.socket, TlsSocket):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size)
            self.wake_bytes = size


class Endpoint:
    """Receives one edge. Open it, tell it what to expect, then iterate; close() from any thread ends a blocked reader.

    Producers are admitted as they connect, also while nobody iterates; their data waits in the connection. Iteration
    waits for the first producer without a limit (the job's control channel knows whether one will come; call close() if
    not). It ends after the last producer's end frame; it raises ProtocolError if bytes or totals disagree, Unreachable
    if a producer vanishes, aborts, or does not come though another did.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        host, port = listener.getsockname()[:2]
        #: host:port for producers
        self.address = joined(host, port)
        self._waker, self._woken = socket.socketpair()
        self._lock = threading.RLock()  # a finalizer may call close() at any point
        self._streams: list[_Stream] = []
        self._arrived: list[_Stream] = []  # not yet seen by the reader
        self._expected: Expected | None = None
        self._greeter: Greeter | None = None
        self._codec: Codec | None = None
        self._reason: JumpgateError | None = None
        self._closed = False
        self._reading = False
        #: rows and bytes (with headers) received so far
        self.rows = 0
        self.bytes = 0

    @classmethod
    def open(cls, host: str = "127.0.0.1", port: int = 0) -> Endpoint:
        """Listen. Raises Unreachable if the address is not available."""
        try:
            (family, _, _, _, where), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            listener = socket.create_server(where[:2], family=family, backlog=HANDSHAKES_MAX)
        except OSError as e:
            raise Unreachable(f"cannot listen at {joined(host, port)}: {e.strerror}", host=host, port=port) from None
        if _receive_bytes_max() >= WINDOW_BYTES:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
        return cls(listener)

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
        certificate: JobCertificate | None = None,
    ) -> None:
        """Set who will connect, and admit them from now on; see jumpgate.ntf.greet.Expected."""
        self._expected = Expected(job, edge, token, descriptor, producers, partition, timeout_s, certificate)
        self._codec = Codec(descriptor)
        with self._lock:
            self._raise_if_closed(self._expected)
            self._greeter = Greeter(self._listener, self._expected, self._admit, self.close)

    def close(self, reason: JumpgateError | None = None) -> None:
        """Close every socket; a reader gets `reason`, or Cancelled. May be called twice, from any thread."""
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
        self._stop_greeting()

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
                yield from self._receive(expected, selector)
        finally:
            with self._lock:
                self._reading, self._closed = False, True
                self._release()
            self._stop_greeting()

    def _receive(self, expected: Expected, selector: selectors.BaseSelector) -> Iterator[pa.RecordBatch]:
        ended = 0
        while ended < expected.producers:
            ready = selector.select()
            self._raise_if_closed(expected)
            for key, _ in ready:
                stream = key.data
                if stream is None:
                    self._take_arrived(selector)
                    continue
                while (batch := self._read_frame(stream, expected)) is not None:
                    yield batch
                    self._raise_if_closed(expected)
                    if not stream.has_pending:
                        break
                if batch is None:
                    selector.unregister(stream.socket)
                    self._drop(stream)
                    ended += 1

    # connections

    def _admit(self, producer: int, connection: socket.socket) -> None:
        """Pass a producer's connection from the greeter to the reader."""
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", STALL_S, 0))
        stream = _Stream(connection, producer)
        with self._lock:
            if self._closed:
                connection.close()
                return
            self._streams.append(stream)
            self._arrived.append(stream)
            self._waker.send(b"x")

    def _take_arrived(self, selector: selectors.BaseSelector) -> None:
        with self._lock:
            self._woken.recv(4096)
            arrived, self._arrived = self._arrived, []
        for stream in arrived:
            selector.register(stream.socket, selectors.EVENT_READ, stream)

    def _drop(self, stream: _Stream) -> None:
        with self._lock:
            self._streams.remove(stream)
        stream.socket.close()

    # frames

    def _read_frame(self, stream: _Stream, expected: Expected) -> pa.RecordBatch | None:
        """Return one frame as a batch; None at the stream's end."""
        where = {"edge": expected.edge, "producer": stream.producer}
        try:
            raw = bytearray(HEADER_BYTES)
            self._read(stream, memoryview(raw))
            header = parse_header(bytes(raw))
            buffer = pa.allocate_buffer(header.length)
            header.check_crc(self._read(stream, memoryview(buffer)))
            self.bytes += HEADER_BYTES + header.length
            return self._understand(stream, header, buffer)
        except (ProtocolError, Unreachable) as e:
            self._raise_if_closed(expected)
            message = f"edge '{expected.edge}': producer {stream.producer}: {e.message}"
            raise type(e)(message, **where) from None
        except (EOFError, OSError) as e:
            self._raise_if_closed(expected)
            stalled = isinstance(e, BlockingIOError)
            what = f"sent nothing for {STALL_S} s amid a frame" if stalled else "vanished before the end of its stream"
            raise Unreachable(f"edge '{expected.edge}': producer {stream.producer} {what}", **where) from None

    def _understand(self, stream: _Stream, header: Header, payload: pa.Buffer) -> pa.RecordBatch | None:
        match header.kind:
            case Kind.DATA:
                stream.totals.check_sequence(header)
                batch = self._decode(payload, header.rows)
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

    def _decode(self, payload: pa.Buffer, rows: int) -> Any:
        assert self._codec is not None
        return self._codec.decode(payload, rows)

    def _read(self, stream: _Stream, into: memoryview) -> int:
        """Fill the memory and return its CRC-32C."""
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

    # the end

    def _raise_if_closed(self, expected: Expected) -> None:
        if self._closed:
            raise self._reason or Cancelled(f"edge '{expected.edge}' was closed while it was read", edge=expected.edge)

    def _release(self) -> None:
        for stream in self._streams:
            stream.socket.close()
        self._streams.clear()
        for each in (self._waker, self._woken):
            each.close()

    def _stop_greeting(self) -> None:
        """Stop listening. Without our lock: the greeter's thread may be waiting for it."""
        if self._greeter is not None:
            self._greeter.stop()
        else:
            self._listener.close()


@functools.cache
def _receive_bytes_max() -> int:
    """Return the largest receive buffer that a program may ask for; 0 if unknown."""
    try:
        return int(Path("/proc/sys/net/core/rmem_max").read_text())
    except (OSError, ValueError):
        return 0
