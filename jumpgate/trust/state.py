"""The user's folder of secrets: nobody else may look into it, and what is written there nobody else may read."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from jumpgate.errors import ConfigError


def root() -> Path:
    """$JUMPGATE_STATE_DIR, else ~/.jumpgate. Not necessarily there yet."""
    own = os.environ.get("JUMPGATE_STATE_DIR")
    return Path(own).expanduser().absolute() if own else Path.home() / ".jumpgate"


def folder(*names: str) -> Path:
    """A folder below root(), created if need be. Raises ConfigError where it cannot be had, or is not ours alone."""
    path = root().joinpath(*names)
    try:
        root().mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(root())
    except OSError as error:
        raise ConfigError(
            f"cannot use {path}, where secrets of this user are kept: {error.strerror}; "
            "set JUMPGATE_STATE_DIR to a folder that can be written",
            file=path,
        ) from error
    return path


def make_private(path: Path) -> None:
    """Takes a folder of ours from everybody else. Raises PermissionError where it is somebody else's."""
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError(1, f"it belongs to user {status.st_uid}, not to user {os.geteuid()}")
    if stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o700)


def write(path: Path, secret: str) -> None:
    """Replaces the file as a whole; only this user can read it."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secret)
        staged.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            staged.unlink()
        raise
