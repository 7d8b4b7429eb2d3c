"""The control plane's framing: one JSON object a line, requests with an id, answers with the same id."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jumpgate import errors
from jumpgate.errors import JumpgateError, ProtocolError, Unreachable
from jumpgate.ntf import liveness

#: a configuration names files: many, but not endlessly many
LINE_BYTES_MAX = 256 << 20
#: what somebody may send who has not shown the token yet
HELLO_BYTES_MAX = 4096
#: how long a caller waits, after its peer is gone, for the reason
EXPLANATION_WAIT_S = 1.0
_ENCODER = json.JSONEncoder(separators=(",", ":"))


class Lines(asyncio.Protocol):
    """One end of a connection. `on_message` gets each object as it arrives; `on_lost` is called once, at the end.

    A line that is too long or not a JSON object ends the connection: the other end is not one of ours.
    """

    def __init__(
        self,
        on_message: Callable[[dict[str, Any]], None],
        on_lost: Callable[[], None] = lambda: None,
        line_bytes_max: int = LINE_BYTES_MAX,
        on_made: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_message, self._on_lost, self._on_made = on_message, on_lost, on_made
        self.line_bytes_max = line_bytes_max
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._held: list[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family != socket.AF_UNIX:
            liveness.bound(sock, liveness.CONTROL_S)
        self._on_made()

    def data_received(self, data: bytes) -> None:
        searched = len(self._buffer)
        self._buffer += data
        begin = 0
        while (end := self._buffer.find(b"\n", max(begin, searched))) >= 0:
            if end - begin > self.line_bytes_max:
                self.abort()
                return
            line = self._buffer[begin:end]
            begin = end + 1
            try:
                message = json.loads(line.decode())
            except (ValueError, RecursionError):
                message = None
            if not isinstance(message, dict):
                self.abort()
                return
            self._on_message(message)
        del self._buffer[:begin]
        if len(self._buffer) > self.line_bytes_max:
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._on_lost()

    @property
    def peer(self) -> str:
        """The other end's address without its port, "" of one on this machine's own sockets."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return str(name[0]) if isinstance(name, tuple) else ""

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    def send(self, message: dict[str, Any], **encoded: bytes) -> None:
        """Queues the message, with more members that are JSON already; nothing happens once the connection has
        ended."""
        if self._transport is None:
            return
        parts = [_ENCODER.encode(message)[:-1].encode()]
        parts += (b',"%b":%b' % (name.encode(), text) for name, text in encoded.items())
        line = b"%b}\n" % b"".join(parts)
        if self._held is not None:
            self._held.append(line)
        else:
            self._transport.write(line)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Send the block's messages at its end, at once: the other end need not wake up for each message."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            if self._transport is not None:
                self._transport.write(b"".join(held))

    def close(self) -> None:
        """Ends the connection once what was sent is out."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        self._buffer.clear()
        if self._transport is not None:
            self._transport.abort()


#: what an error that was answered means to who asked
Meaning = Callable[[JumpgateError], JumpgateError]


class Caller:
    """The calling end of a connection: numbered requests, answers awaited by number, in any order.

    `lost` makes the error that pending and later calls raise once the connection has ended; `explained`, if given, is
    done when the reason of an end is known: `lost` is asked after it, or after a second. `on_event` receives messages
    that answer no request. `lines` is the protocol of the connection. Every request is answered once, so who gives up
    waiting leaves nothing behind for long.
    """

    def __init__(
        self,
        lost: Callable[[], JumpgateError],
        on_event: Callable[[dict[str, Any]], None] = lambda _: None,
        explained: asyncio.Future[Any] | None = None,
    ) -> None:
        self._lost, self._on_event, self._explained = lost, on_event, explained
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._pending: dict[int, tuple[asyncio.Future[dict[str, Any]], Meaning]] = {}
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.heard = 0  #: messages that have come
        self.lines = Lines(self._receive, self._disconnected)

    def send(self, verb: str, arguments: Mapping[str, Any] | None = None) -> None:
        """One request whose answer nobody waits for."""
        self.lines.send({"id": next(self._ids), "verb": verb, "arguments": arguments or {}})

    def call(self, verb: str, /, **arguments: Any) -> asyncio.Future[dict[str, Any]]:
        """One request, and its answer to come: the typed error that was answered, or the one that `lost` makes."""
        return self.ask(verb, arguments)

    def ask(
        self, verb: str, arguments: Mapping[str, Any] | bytes, meaning: Meaning = lambda error: error
    ) -> asyncio.Future[dict[str, Any]]:
        """A call whose arguments may be JSON already."""
        return self.begin(verb, arguments, (meaning,))[0]

    def begin(
        self, verb: str, arguments: Mapping[str, Any] | bytes, meanings: Sequence[Meaning], **encoded: bytes
    ) -> list[asyncio.Future[dict[str, Any]]]:
        """One request that is answered several times, under its own number and those after it, in any order. encoded:
        more members of the message, which are JSON already."""
        ids = [next(self._ids) for _ in meanings]
        answers: list[asyncio.Future[dict[str, Any]]] = [self._loop.create_future() for _ in ids]
        if self.closed.done():
            for answer in answers:
                _refuse(answer, self._lost())
            return answers
        self._pending.update(zip(ids, zip(answers, meanings, strict=True), strict=True))
        request: dict[str, Any] = {"id": ids[0], "verb": verb}
        if isinstance(arguments, bytes):
            self.lines.send(request, arguments=arguments, **encoded)
        else:
            self.lines.send({**request, "arguments": arguments}, **encoded)
        return answers

    def _receive(self, message: dict[str, Any]) -> None:
        self.heard += 1
        if "event" in message:
            self._on_event(message)
            return
        answer, meaning = self._pending.pop(message.get("id", 0), (None, None))
        if answer is None or meaning is None or answer.done():
            return
        if "error" in message:
            _refuse(answer, meaning(errors.from_dict(message["error"])))
        else:
            answer.set_result(message.get("ok", {}))

    def _disconnected(self) -> None:
        if self._explained is None or self._explained.done():
            self._end()
            return
        self._loop.call_later(EXPLANATION_WAIT_S, self._end)
        self._explained.add_done_callback(lambda _: self._end())

    def _end(self) -> None:
        if self.closed.done():
            return
        self.closed.set_result(None)
        pending, self._pending = self._pending, {}
        for answer, _ in pending.values():
            if not answer.done():
                _refuse(answer, self._lost())

    def close(self) -> None:
        self.lines.close()


def _refuse(answer: asyncio.Future[dict[str, Any]], error: JumpgateError) -> None:
    answer.set_exception(error)
    answer.exception()  # its caller may be gone


def failure(error: BaseException) -> dict[str, Any]:
    """An error as an answer carries it; what is not a JumpgateError is a mistake of ours."""
    if not isinstance(error, JumpgateError):
        error = errors.InternalError(f"{type(error).__name__}: {error}")
    return error.to_dict()


def _reason(error: ssl.SSLError) -> str:
    """Return the fault of a certificate, or of a handshake, in words."""
    return getattr(error, "verify_message", "") or error.reason or str(error)


async def connect(
    host: str, port: int, lines: Lines, encryption: ssl.SSLContext | None = None, timeout_s: float = 4.0
) -> None:
    """Connects `lines` to host:port. Raises Unreachable, or ProtocolError where its certificate is not believed."""
    try:
        connecting = asyncio.get_running_loop().create_connection(lambda: lines, host, port, ssl=encryption)
        await asyncio.wait_for(connecting, timeout_s)
    except ssl.SSLError as error:
        raise ProtocolError(
            f"{host}:{port} shows no certificate that we believe: {_reason(error)}; both ends need certificates "
            "of one authority, and its own must have this name",
            address=f"{host}:{port}",
        ) from error
    except (OSError, TimeoutError) as error:
        reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise Unreachable(f"cannot reach {host}:{port}: {reason}", host=f"{host}:{port}") from error
