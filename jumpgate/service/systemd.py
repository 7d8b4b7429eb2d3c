"""Messages to systemd from a service that it has started as a unit of `Type=notify`."""

from __future__ import annotations

import contextlib
import os
import socket


def address() -> str:
    """Return where systemd listens, "" if it does not; no process that is started later sees that."""
    return os.environ.pop("NOTIFY_SOCKET", "")


def notify(address: str, state: str) -> None:
    """Say `READY=1` or `STOPPING=1` there; a systemd that is gone hears nothing."""
    if not address:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.connect("\0" + address[1:] if address.startswith("@") else address)
        channel.send(state.encode())
