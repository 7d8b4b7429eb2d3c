"""By which of its own addresses a machine is reached by another one."""

from __future__ import annotations

import ipaddress
import socket

LOOPBACK, LOOPBACK_6 = "127.0.0.1", "::1"


def host_of(address: str) -> str:
    """The host of host:port, without brackets."""
    return address.rpartition(":")[0].strip("[]")


def joined(host: str, port: int) -> str:
    """host:port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def facing(address: str) -> str:
    """The local address from which packets to host:port leave, and to which the peer can answer; nothing is sent.

    Loopback (of the peer's family) for a peer on this machine, and 127.0.0.1 where there is no route: whoever then
    connects learns why.
    """
    if address.startswith("unix:"):
        return LOOPBACK
    try:
        (family, kind, protocol, _, peer), *_ = socket.getaddrinfo(host_of(address), 9, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(peer)
            local = str(probe.getsockname()[0])
    except OSError:
        return LOOPBACK
    if not ipaddress.ip_address(local.partition("%")[0]).is_loopback:
        return local
    return LOOPBACK_6 if family == socket.AF_INET6 else LOOPBACK


def is_loopback(address: str) -> bool:
    """Whether host:port is one that only this machine reaches."""
    try:
        return ipaddress.ip_address(host_of(address)).is_loopback
    except ValueError:
        return host_of(address) == "localhost"
