"""A result that the service receives: this process fetches it by its connection with the service, and opens nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from jumpgate.errors import Cancelled, JumpgateError, ProtocolError
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor


class Pulled:
    """Stands in place of a jumpgate.ntf.receive.Endpoint. pull: fetches a job's result, with typed errors."""

    #: nobody connects
    address = ""

    def __init__(self, pull: Callable[[str], Any]) -> None:
        self.bytes = 0
        self._pull = pull
        self._call: Any = None
        self._codec: Codec | None = None
        self._reason: JumpgateError | None = None
        self._closed = False

    def expect(self, *, job: str, descriptor: Descriptor, **_: object) -> None:
        """Begin to fetch the job's result."""
        self._codec = Codec(descriptor)
        self._call = self._pull(job)
        if self._closed:
            self._call.cancel()

    def close(self, reason: JumpgateError | None = None) -> None:
        """Give up: a reader gets `reason`, or Cancelled. May be called twice and from any thread."""
        self._reason = self._reason or reason
        self._closed = True
        if self._call is not None:
            self._call.cancel()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._call is None or self._codec is None:
            raise ProtocolError("expect() says which result is fetched; call it before iterating")
        pieces: list[bytes] = []
        try:
            for response in self._call:
                piece = response.payload  # a copy each time
                self.bytes += len(piece)
                pieces.append(piece)
                if sum(map(len, pieces)) < response.bytes:
                    continue
                payload = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                pieces.clear()
                yield self._codec.decode(pa.py_buffer(payload), response.rows)
        except JumpgateError:
            if self._closed:
                raise self._reason or Cancelled("the result was closed while it was read") from None
            raise
        if pieces:
            raise ProtocolError("the service ended a result amid a frame")
