"""An object as a file that Python's libraries read: for the planner, which looks at little of it."""

from __future__ import annotations

import io
import os
from typing import IO, cast

from jumpgate.stores import chunks, objects, web
from jumpgate.stores.objects import Grant

#: bytes of a request, where less is wanted, and of one in a row of many; a footer is mostly within the first
BLOCK_BYTES, BLOCK_BYTES_MAX = 64 << 10, 1 << 20


def opened(name: str, grant: Grant | None = None) -> IO[bytes]:
    """Open an object for reading, by a grant or as this process may. Raises FileUnreadable."""
    return cast("IO[bytes]", io.BufferedReader(_Ranges(name, grant or objects.grant(name)), BLOCK_BYTES))


def ahead(file: IO[bytes], start: int, size: int) -> None:
    """Ask for these bytes of an object with one request, before parts of them are read."""
    source = cast("io.BufferedReader", file).raw
    assert isinstance(source, _Ranges)
    source.keep(start, size)


class _Ranges(io.RawIOBase):
    """Reads by range. Keeps the block that was read last."""

    def __init__(self, name: str, grant: Grant) -> None:
        self._name, self._grant = name, grant
        self._at = 0
        self._block, self._start = b"", 0
        self._ahead = BLOCK_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._grant.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        wanted = min(len(view), max(0, self._grant.size - self._at))
        if not wanted:
            return 0
        if not (self._start <= self._at and self._at + wanted <= self._start + len(self._block)):
            self._fetch(wanted)
        offset = self._at - self._start
        view[:wanted] = self._block[offset : offset + wanted]
        self._at += wanted
        return wanted

    def _fetch(self, wanted: int) -> None:
        start = self._at
        in_a_row = bool(self._block) and start == self._start + len(self._block)
        self._ahead = min(4 * self._ahead, BLOCK_BYTES_MAX) if in_a_row else BLOCK_BYTES
        if not in_a_row and self._grant.size - start <= BLOCK_BYTES:  # a footer: what is before it is asked for next
            start = max(0, self._grant.size - BLOCK_BYTES)
        self.keep(start, min(max(wanted + self._at - start, self._ahead), self._grant.size - start))

    def keep(self, start: int, size: int) -> None:
        """Make these bytes the block that was read last."""
        kept = chunks.found(self._grant.chunks, start, size) if self._grant.is_proven else None
        self._block = web.ranged(self._name, self._grant, start, size) if kept is None else kept
        self._start = start
