"""Tokens: a service makes one when it starts, and clients of the same user find it by the service's address.

The file STATE/services/HOST:PORT (jumpgate/trust/state.py) has the token in its first line and the service's process
in its second. Who listens at an address after its service has gone learns a token that nobody accepts any more.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
from pathlib import Path

from jumpgate.errors import ConfigError
from jumpgate.trust import state

#: what clients show a file's token in, as gRPC metadata
HEADER = "authorization"
SCHEME = "Bearer "
LOOPBACK = {"localhost": "127.0.0.1", "0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104


def new() -> str:
    return secrets.token_urlsafe(32)


def read(path: str | Path, whose: str) -> str:
    """The token in a file that somebody names. Raises ConfigError: it cannot be read, or is empty."""
    try:
        token = Path(path).expanduser().read_text().strip()
    except OSError as error:
        raise ConfigError(f"cannot read the token_file of {whose}, {path}: {error.strerror}", file=path) from error
    if not token:
        raise ConfigError(f"the token file {path} of {whose} is empty: put a secret into it", file=path)
    return token


def local(address: str) -> str | None:
    """host:port as a service on this machine is called; None for one elsewhere. `localhost` is 127.0.0.1, so that
    nobody who listens at ::1 is taken for the service."""
    host, colon, port = address.rpartition(":")
    if not colon:
        return None
    host = host.strip("[]")
    host = LOOPBACK.get(host, host)
    try:
        if not ipaddress.ip_address(host).is_loopback:
            return None
    except ValueError:
        return None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Published:
    """A token that clients of this user find until `withdraw`."""

    def __init__(self, address: str) -> None:
        """Raises ConfigError where it cannot be written."""
        self.token = new()
        self.path = _folder() / (local(address) or address)
        _sweep(self.path.parent)
        try:
            state.write(self.path, f"{self.token}\n{os.getpid()}\n")
        except OSError as error:
            raise ConfigError(f"cannot write the token to {self.path}: {error.strerror}", file=self.path) from error

    def withdraw(self) -> None:
        """May be called twice; leaves what a later service at this address has written."""
        with contextlib.suppress(OSError):
            if self.path.read_text().startswith(self.token):
                self.path.unlink()


def find(address: str) -> str | None:
    """The token of this user's service at host:port on this machine, or None."""
    try:
        return (state.root() / "services" / (local(address) or address)).read_text().partition("\n")[0]
    except (OSError, UnicodeDecodeError):
        return None


def target(address: str) -> str:
    """The address at which a client connects to the service at host:port: it shows the token of what it asked for."""
    return local(address) or address


def for_service(address: str, token_file: str | Path | None = None) -> str | None:
    """Return the token to show at host:port: that of `token_file`, else of $JUMPGATE_TOKEN_FILE, else of this user's
    service there. Ask for each call anew: a service that starts, or starts again, has another one. Raises
    ConfigError."""
    chosen = token_file or os.environ.get("JUMPGATE_TOKEN_FILE")
    return read(chosen, "this client") if chosen else find(address)


def metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """Return the metadata of a call that shows the token."""
    return () if token is None else ((HEADER, SCHEME + token),)


def shown(metadata: object) -> str:
    """The token in a call's metadata, or ""."""
    for key, value in metadata or ():  # type: ignore[attr-defined]
        if key == HEADER and isinstance(value, str) and value.startswith(SCHEME):
            return value.removeprefix(SCHEME)
    return ""


def _folder() -> Path:
    return state.folder("services")


def _sweep(folder: Path) -> None:
    """Removes what services left that were killed."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if not Path(f"/proc/{int(path.read_text().splitlines()[1])}").exists():
                path.unlink()
