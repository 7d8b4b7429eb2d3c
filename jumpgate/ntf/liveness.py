"""TCP connections to peers that may vanish: how soon a dead peer is detected."""

from __future__ import annotations

import socket

#: seconds for connections of the control plane, whose errors name the lost host
CONTROL_S = 4
#: seconds for edges: longer, so that the control plane's errors come first
EDGE_S = 5


def bound(connection: socket.socket, seconds: int) -> None:
    """End the connection if the peer is silent for `seconds`, whether we send or wait. Not for senders to a peer that
    may stop reading."""
    for level, option, value in (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds - 2),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * seconds),
    ):
        connection.setsockopt(level, option, value)
