"""TCP connections to peers that may vanish: how soon one that its system no longer answers for is gone."""

from __future__ import annotations

import socket

#: of the connections of the control plane, whose errors name the host that is lost
CONTROL_S = 4
#: of edges, which notice it later, so that those errors come first
EDGE_S = 5


def bound(connection: socket.socket, seconds: int) -> None:
    """Ends the connection so soon, whether we send or wait. Not for who sends to a peer that may stop reading."""
    for level, option, value in (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, seconds - 2),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * seconds),
    ):
        connection.setsockopt(level, option, value)
