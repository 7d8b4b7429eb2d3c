"""The handshake at the receiving end of an edge: admits only its producers, on a thread of its own."""

from __future__ import annotations

import contextlib
import hmac
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from crc32c import crc32c

from jumpgate.errors import JumpgateError, ProtocolError, Unreachable
from jumpgate.ntf import liveness
from jumpgate.ntf.descriptor import Descriptor, first_difference
from jumpgate.ntf.frames import HEADER_BYTES, Hello, Kind, control_frame, error_frame, parse_header
from jumpgate.trust.edges import JobCertificate
from jumpgate.trust.tls_socket import TlsSocket

#: the most connections with an unfinished handshake; the oldest makes room for another
HANDSHAKES_MAX = 64
#: bytes of a HELLO frame that are read at once
PIECE_BYTES = 64 << 10
#: after an accept that the system refused (no descriptors left)
PAUSE_S = 0.01


@dataclass(frozen=True)
class Expected:
    """The producers that may connect. `partition` is this consumer's number among the edge's; `timeout_s` limits the
    handshake, and the wait for the other producers once the first has connected."""

    job: str
    edge: str
    token: str = field(repr=False)
    descriptor: Descriptor
    producers: int
    partition: int = 0
    timeout_s: float = 30.0
    certificate: JobCertificate | None = field(default=None, repr=False)


@dataclass(eq=False)
class _Stranger:
    """A connection that has not finished the handshake, and perhaps not agreed on encryption."""

    socket: socket.socket
    deadline: float
    greeting: bytearray = field(default_factory=bytearray)


class Greeter:
    """Performs handshakes on `listener`, which it takes over, until all producers have connected or `stop`.

    A producer is admitted whether or not the edge is being read. On the greeter's thread, `admit` gets each producer's
    number and socket; `fail` gets the error if the edge is impossible: a producer (it has the token) disagrees with the
    expectation, or others do not connect. Connections without the token are refused, and however many there are, they
    do not keep producers out.
    """

    def __init__(
        self,
        listener: socket.socket,
        expected: Expected,
        admit: Callable[[int, socket.socket], None],
        fail: Callable[[JumpgateError], None],
    ) -> None:
        self._listener, self._expected = listener, expected
        self._admit, self._fail = admit, fail
        self._strangers: list[_Stranger] = []
        self._greeted: set[int] = set()
        self._others_by: float | None = None  # deadline of all producers' handshakes
        self._stopper, self._stopped = socket.socketpair()
        listener.setblocking(False)
        self._thread = threading.Thread(target=self._run, name="jumpgate-greeter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and close every socket that it still holds before returning. From any thread, also twice."""
        with contextlib.suppress(OSError):
            self._stopper.send(b"x")
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self._stopper.close()

    def _run(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._stopped, selectors.EVENT_READ)
                selector.register(self._listener, selectors.EVENT_READ)
                self._greet_all(selector)
        except JumpgateError as error:
            self._fail(error)
        finally:
            for each in (*(s.socket for s in self._strangers), self._listener, self._stopped):
                each.close()

    def _greet_all(self, selector: selectors.BaseSelector) -> None:
        while len(self._greeted) < self._expected.producers:
            for key, _ in selector.select(self._wait_s()):
                if key.fileobj is self._stopped:
                    return
                if key.fileobj is self._listener:
                    self._accept(selector)
                elif key.data in self._strangers:  # it may have made room for another meanwhile
                    self._hear(key.data, selector)
            self._look_at_the_clock(selector)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        if len(self._strangers) >= HANDSHAKES_MAX:
            self._drop(self._strangers[0], selector)
        try:
            connection, _ = self._listener.accept()
        except OSError:
            time.sleep(PAUSE_S)
            return
        connection.setblocking(False)
        liveness.bound(connection, liveness.EDGE_S)
        if self._expected.certificate is not None:
            connection = TlsSocket(connection, self._expected.certificate.context(server=True))
        stranger = _Stranger(connection, time.monotonic() + self._expected.timeout_s)
        self._strangers.append(stranger)
        selector.register(connection, selectors.EVENT_READ, stranger)

    def _hear(self, stranger: _Stranger, selector: selectors.BaseSelector) -> None:
        """Read the bytes of a handshake that have arrived. Raises ProtocolError if a producer disagrees."""
        expected = self._expected
        try:
            if isinstance(stranger.socket, TlsSocket):
                stranger.socket.shake_hands()
            while (hello := _read_greeting(stranger)) is None:
                pass
            if not hmac.compare_digest(hello.token.encode(), expected.token.encode()) or hello.job != expected.job:
                raise ProtocolError("the job or its token is not the one that is expected here")
        except BlockingIOError:
            return
        except (ProtocolError, OSError) as error:
            if isinstance(error, ProtocolError):
                _refuse(stranger, error)
            self._drop(stranger, selector)
            return
        try:
            _agree(hello, expected, self._greeted)
        except ProtocolError as error:
            _refuse(stranger, error)
            raise
        self._greeted.add(hello.producer)
        self._others_by = self._others_by or time.monotonic() + expected.timeout_s
        self._strangers.remove(stranger)
        selector.unregister(stranger.socket)
        stranger.socket.setblocking(True)
        with contextlib.suppress(OSError):  # a closed connection is noticed when the next frame is awaited
            stranger.socket.sendall(control_frame(Kind.ACCEPT))
        self._admit(hello.producer, stranger.socket)

    def _drop(self, stranger: _Stranger, selector: selectors.BaseSelector) -> None:
        self._strangers.remove(stranger)
        selector.unregister(stranger.socket)
        stranger.socket.close()

    def _wait_s(self) -> float | None:
        """Return the seconds until the next deadline."""
        deadlines = [s.deadline for s in self._strangers[:1]]  # the oldest
        deadlines += [self._others_by] if self._others_by is not None else []
        return max(0.0, min(deadlines) - time.monotonic()) + PAUSE_S if deadlines else None

    def _look_at_the_clock(self, selector: selectors.BaseSelector) -> None:
        """Drop connections whose handshake is late. Raises Unreachable once producers are overdue."""
        now = time.monotonic()
        while self._strangers and self._strangers[0].deadline < now:
            self._drop(self._strangers[0], selector)
        missing = self._expected.producers - len(self._greeted)
        if missing and self._others_by is not None and self._others_by < now:
            raise Unreachable(
                f"edge '{self._expected.edge}': {missing} of {self._expected.producers} producers did not connect "
                f"within {self._expected.timeout_s:g} s of the first",
                edge=self._expected.edge,
            )


def _read_greeting(stranger: _Stranger) -> Hello | None:
    """Return the HELLO once it is complete. Raises OSError if the connection ended, BlockingIOError if more must
    arrive, ProtocolError on other bytes."""
    wanted = HEADER_BYTES
    if len(stranger.greeting) >= HEADER_BYTES:
        wanted += parse_header(bytes(stranger.greeting[:HEADER_BYTES])).length
    piece = stranger.socket.recv(min(wanted - len(stranger.greeting), PIECE_BYTES))
    if not piece:
        raise ConnectionResetError
    stranger.greeting += piece
    if len(stranger.greeting) < HEADER_BYTES:
        return None
    header = parse_header(bytes(stranger.greeting[:HEADER_BYTES]))
    if header.kind != Kind.HELLO:
        raise ProtocolError("the first frame is not a greeting")
    payload = bytes(stranger.greeting[HEADER_BYTES:])
    if len(payload) < header.length:
        return None
    header.check_crc(crc32c(payload))
    return Hello.decode(payload)


def _refuse(stranger: _Stranger, error: ProtocolError) -> None:
    with contextlib.suppress(OSError):
        stranger.socket.send(error_frame(error.code, error.message))


def _agree(hello: Hello, expected: Expected, greeted: set[int]) -> None:
    """Check a producer that has the token: if it disagrees it belongs to the job, so both ends fail."""
    mine = expected.descriptor
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
