"""The Python sender of an edge, for clients that feed a job and for tests."""

from __future__ import annotations

import contextlib
import socket
import ssl
from types import TracebackType

import pyarrow as pa
from crc32c import crc32c

from jumpgate.errors import JumpgateError, ProtocolError, Unreachable
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import (
    HEADER_BYTES,
    Hello,
    Kind,
    StreamTotals,
    decode_error,
    error_frame,
    header,
    parse_header,
)
from jumpgate.trust.edges import JobCertificate

#: the most rows of a frame, and about the most bytes
FRAME_ROWS, FRAME_BYTES = 65_536, 256 << 10


class Sender:
    """One producer's connection to one consumer. As a context manager it ends the stream, or aborts it on an exception.

    Raises Unreachable if the consumer is missing or vanishes, ProtocolError with the consumer's reason if it refuses.
    """

    def __init__(
        self,
        address: str,
        *,
        job: str,
        edge: str,
        token: str,
        descriptor: Descriptor,
        producer: int = 0,
        partition: int = 0,
        timeout_s: float = 30.0,
        certificate: JobCertificate | None = None,
    ) -> None:
        self._codec = Codec(descriptor)
        self._totals = StreamTotals()
        self._where = {"edge": edge, "peer": address}
        self._name = f"edge '{edge}': consumer {partition} at {address}"
        host, _, port = address.rpartition(":")
        hello = Hello(producer, partition, token, job, edge, descriptor.fingerprint(), descriptor.text())
        try:
            self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout_s)
        except OSError as e:
            raise Unreachable(f"{self._name}: {e}", **self._where) from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if certificate is not None:
                self._encrypt(certificate)
            self._send(hello.encode())
            self._await_accept()
            self._socket.settimeout(None)
        except BaseException:
            self._socket.close()
            raise

    def _encrypt(self, certificate: JobCertificate) -> None:
        try:
            self._socket = certificate.context(server=False).wrap_socket(self._socket)
        except ssl.SSLError as e:
            raise ProtocolError(f"{self._name}: it does not have the job's certificate: {e}", **self._where) from None
        except OSError as e:
            raise Unreachable(f"{self._name}: it did not agree on encryption: {e}", **self._where) from None

    def write(self, batch: pa.RecordBatch) -> None:
        """Send the rows, in frames of some 256 KiB."""
        rows = min(FRAME_ROWS, max(1, FRAME_BYTES * batch.num_rows // max(batch.nbytes, 1)))
        for at in range(0, batch.num_rows, rows):
            part = batch.slice(at, rows)
            payload = self._codec.encode(part)
            head = header(Kind.DATA, part.num_rows, len(payload), self._totals.frames, crc32c(payload))
            self._send(head)
            self._send(payload)
            self._totals.add(part.num_rows, int.from_bytes(head[28:], "little"))

    def finish(self) -> None:
        """Send the end frame with the totals and close."""
        self._send(self._totals.end_frame())
        self._socket.close()

    def abort(self, message: str = "the producer aborted") -> None:
        """Tell the consumer that the stream will not be completed, and close."""
        with contextlib.suppress(OSError):
            self._socket.sendall(error_frame("cancelled", message))
        self._socket.close()

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.finish()
        else:
            self.abort()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as e:
            raise self._told() or Unreachable(f"{self._name}: {e}", **self._where) from None

    def _told(self) -> JumpgateError | None:
        """Return the error that the consumer sent before it closed, if any."""
        try:
            self._await_accept()
        except ProtocolError as e:
            return e
        except JumpgateError:
            pass
        return None

    def _await_accept(self) -> None:
        try:
            answer = parse_header(self._read(HEADER_BYTES))
            payload = self._read(answer.length)
        except OSError as e:
            raise Unreachable(f"{self._name}: no answer to the greeting: {e}", **self._where) from None
        answer.check_crc(crc32c(payload))
        if answer.kind == Kind.ERROR:
            code, message = decode_error(payload)
            kind = ProtocolError if code == ProtocolError.code else Unreachable
            raise kind(f"{self._name}: it answered: {message}", **self._where)
        if answer.kind != Kind.ACCEPT:
            raise ProtocolError(f"{self._name}: it answered the greeting with {answer.kind.name}", **self._where)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise ConnectionResetError("it closed the connection")
            data += piece
        return bytes(data)
