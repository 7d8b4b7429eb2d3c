"""The write-ahead log of transactions in the switch: append-only, with checksums, synced for several at a time.

A record is its length, its CRC-32C and its bytes. What follows a record that is torn was never acknowledged and is cut
off. worker/log.h writes, so that threads wait for the disk without Python's lock.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from crc32c import crc32c

from jumpgate.errors import ConfigError
from jumpgate.transactions import native

_HEAD = struct.Struct("<II")
RECORD_BYTES_MAX = 1 << 20


class Log:
    """`append` returns when the record is on the disk; threads that append at the same time share one sync.

    `handle` is that of C++; `file` a descriptor.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot open the log {path}: {error.strerror}", file=path) from error
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self.file)
            raise ConfigError(f"the log {path} is in use: a node is one process at a time", file=path) from error
        self.records, end = _read(path)
        os.ftruncate(self.file, end)
        self._library = native.load()
        self.handle: int | None = self._library.jgtx_log_open(self.file, end)

    def append(self, record: bytes, wait: bool = True) -> None:
        """Raises ConfigError if the disk is full or failed: from then on always, as what is there is not known.

        What nobody waits for is written, in order, with the next record that somebody waits for.
        """
        number = self._library.jgtx_log_append(self.handle, record, len(record))
        if wait:
            self.check(self._library.jgtx_log_sync(self.handle, number))

    def check(self, failure: int) -> None:
        """Raise ConfigError for an error of the operating system."""
        if failure:
            raise ConfigError(
                f"cannot write the log {self.path}: {os.strerror(failure)}. Make room, and open the database again: it "
                "recovers",
                file=self.path,
            )

    @property
    def syncs(self) -> int:
        """Return how often the disk was waited for."""
        return int(self._library.jgtx_log_syncs(self.handle))

    def clear(self) -> None:
        """Forget all records, which do not count any more, while nobody appends."""
        os.ftruncate(self.file, 0)
        self._library.jgtx_log_clear(self.handle)

    def close(self) -> None:
        """Wait for calls that go on; later ones fail."""
        handle, self.handle = self.handle, None
        self._library.jgtx_log_close(handle)
        os.close(self.file)


def read_log(path: Path) -> list[bytes]:
    """Return the whole records of a log, whoever has it open."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[bytes], int]:
    """The whole records, and where they end."""
    data = path.read_bytes() if path.exists() else b""
    found = list(_whole(data))
    return [record for record, _ in found], found[-1][1] if found else 0


def _whole(data: bytes) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at + _HEAD.size <= len(data):
        size, checksum = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + size]
        if not 0 < size <= RECORD_BYTES_MAX or len(body) < size or crc32c(body) != checksum:
            return
        at += _HEAD.size + size
        yield body, at
