"""Files that the nodes of a database share: a base, a log of each, and a lock of two modes.

The base is what the registers held when nobody had a transaction on the way. It has an epoch; of the logs only records
of that epoch count, so replacing the base by one of the next epoch empties all logs at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jumpgate.errors import ConfigError


class Folder:
    """The files of database `number` in a folder that all its nodes reach."""

    def __init__(self, folder: Path, number: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.prefix = folder, f"transactions-{number}"

    def log(self, node: int) -> Path:
        return self.path / f"{self.prefix}.{node}.log"

    def logs(self) -> dict[int, Path]:
        """Return all nodes' logs."""
        return {int(path.suffixes[-2][1:]): path for path in sorted(self.path.glob(f"{self.prefix}.*.log"))}

    @property
    def base(self) -> Path:
        return self.path / f"{self.prefix}.base"

    def read(self) -> dict[str, Any] | None:
        """Return the base, if there is one. Raises ConfigError."""
        try:
            found = json.loads(self.base.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read {self.base}: {error}", file=self.base) from error
        return dict(found)

    def write(self, base: dict[str, Any]) -> None:
        """Replace the base, which has the workers' secrets, all or nothing. Raises ConfigError."""
        made = self.base.with_suffix(".new")
        try:
            made.unlink(missing_ok=True)
            with open(os.open(made, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(json.dumps(base, separators=(",", ":")).encode())
                file.flush()
                os.fsync(file.fileno())
            made.replace(self.base)
            folder = os.open(self.path, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        except OSError as error:
            raise ConfigError(f"cannot write {self.base}: {error.strerror}. Make room", file=self.base) from error

    def stamp(self) -> tuple[int, int]:
        """Return what differs once the base is replaced."""
        found = self.base.stat()
        return found.st_ino, found.st_mtime_ns

    def latch(self) -> Latch:
        return Latch(self.path / f"{self.prefix}.lock", self.path / f"{self.prefix}.gate")


class Latch:
    """Held by many that share it or by one alone, in any processes; a process that ends gives it up.

    Not for several threads. Whoever wants it alone closes the gate, so that those who share it do not starve it.
    """

    def __init__(self, lock: Path, gate: Path) -> None:
        self._files = [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for path in (lock, gate)]

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        lock, gate = self._files
        fcntl.flock(gate, fcntl.LOCK_SH)
        fcntl.flock(lock, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        lock, gate = self._files
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
            fcntl.flock(gate, fcntl.LOCK_UN)

    def close(self) -> None:
        for file in self._files:
            os.close(file)
