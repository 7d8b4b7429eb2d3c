"""The write-ahead log of transactions in the switch: append-only, with checksums, synced for several at a time.

A record is its length, its CRC-32C and JSON. What follows a record that is torn was never acknowledged and is cut off.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crc32c import crc32c

from jumpgate.errors import ConfigError

_HEAD = struct.Struct("<II")
RECORD_BYTES_MAX = 1 << 20


@dataclass
class _Batch:
    """Records that one sync brings to the disk. The first thread that waits for one leads: it syncs for all."""

    records: list[bytes] = field(default_factory=list)
    has_leader: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    failure: ConfigError | None = None


class Log:
    """`append` returns when the record is on the disk; threads that append at the same time share one sync."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot open the log {path}: {error.strerror}", file=path) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise ConfigError(f"the log {path} is in use: a node is one process at a time", file=path) from error
        self.records, end = _read(path)
        os.ftruncate(self._file, end)
        self._end = end
        self._batch = _Batch()
        self._lock = threading.Lock()  # of the batch
        self._turn = threading.Lock()  # to write and sync
        self._failure: ConfigError | None = None

    def append(self, record: dict[str, Any], wait: bool = True) -> None:
        """Raises ConfigError if the disk is full or failed: from then on always, as what is there is not known.

        What nobody waits for is written, in order, with the next record that somebody waits for.
        """
        body = json.dumps(record, separators=(",", ":")).encode()
        with self._lock:
            if self._failure is not None:
                raise self._failure
            batch = self._batch
            batch.records.append(_HEAD.pack(len(body), crc32c(body)) + body)
            leads, batch.has_leader = wait and not batch.has_leader, batch.has_leader or wait
        if leads:
            self._sync(batch)
        elif wait:
            batch.ended.wait()
            if batch.failure is not None:
                raise batch.failure

    def _write(self, data: bytes) -> None:
        done = os.pwrite(self._file, data, self._end)
        while done < len(data):
            done += os.pwrite(self._file, data[done:], self._end + done)

    def _sync(self, batch: _Batch) -> None:
        """Brings a batch to the disk, with what others append until its turn comes."""
        with self._turn:
            with self._lock:
                self._batch = _Batch()
            failure: ConfigError | None = self._failure or self._failed("it was broken off")
            try:
                if self._failure is not None:
                    raise self._failure
                data = b"".join(batch.records)
                self._write(data)
                self._end += len(data)
                os.fdatasync(self._file)
                failure = None
            except OSError as error:
                failure = self._failed(error.strerror or str(error))
                raise failure from error
            finally:
                self._failure = batch.failure = failure
                batch.ended.set()

    def _failed(self, reason: str) -> ConfigError:
        return ConfigError(
            f"cannot write the log {self.path}: {reason}. Make room, and open the database again: it recovers",
            file=self.path,
        )

    def clear(self) -> None:
        """Forget all records, which do not count any more, while nobody appends."""
        os.ftruncate(self._file, 0)
        self._end, self._batch = 0, _Batch()

    def close(self) -> None:
        if self._failure is None:
            with contextlib.suppress(OSError):  # nobody was told that it is there
                self._write(b"".join(self._batch.records))
        os.close(self._file)


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the whole records of a log, whoever has it open."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole records, and where they end."""
    data = path.read_bytes() if path.exists() else b""
    found = list(_whole(data))
    return [record for record, _ in found], found[-1][1] if found else 0


def _whole(data: bytes) -> Iterator[tuple[dict[str, Any], int]]:
    at = 0
    while at + _HEAD.size <= len(data):
        size, checksum = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + size]
        if not 0 < size <= RECORD_BYTES_MAX or len(body) < size or crc32c(body) != checksum:
            return
        at += _HEAD.size + size
        yield json.loads(body), at
