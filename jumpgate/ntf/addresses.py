"""Finds the local address at which another machine reaches this one."""

from __future__ import annotations

import ipaddress
import socket

LOOPBACK, LOOPBACK_6 = "127.0.0.1", "::1"


def host_of(address: str) -> str:
    """Return the host of host:port, without brackets."""
    return address.rpartition(":")[0].strip("[]")


def joined(host: str, port: int) -> str:
    """Return host:port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def facing(address: str) -> str:
    """Return the local address from which packets to host:port leave and to which the peer can answer; send nothing.

    Return loopback (of the peer's family) for a peer on this machine, and 127.0.0.1 if there is no route: connecting
    then reports why.
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
    """Return whether only this machine reaches host:port."""
    try:
        return ipaddress.ip_address(host_of(address)).is_loopback
    except ValueError:
        return host_of(address) == "localhost"
