"""The kind of device that is a programmable switch: what jumpgate.toml says of one, and what it offers to plans."""

from __future__ import annotations

import ipaddress
import re

from jumpgate.nca.device_kind import DeviceKind, Key, is_address, is_numeric_address
from jumpgate.nca.interface import Device, Offer
from jumpgate.p4.programs.render import PROGRAMS, AggregateSizes

#: what a plan can use once of a switch that aggregates
BUCKETS = "buckets"


_PORT = re.compile(r"(?P<address>[0-9.]+)=(?P<port>[0-9]{1,3})/(?P<mac>[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5})")
PORTS = 512


def ports_of(text: str) -> dict[str, tuple[int, int]]:
    """The switch's port and the MAC behind it, by a host's IPv4 address. Raises ValueError."""
    found = {}
    for word in text.split():
        read = _PORT.fullmatch(word)
        if read is None or int(read["port"]) >= PORTS:
            raise ValueError(word)
        found[str(ipaddress.IPv4Address(read["address"]))] = int(read["port"]), int(read["mac"].replace(":", ""), 16)
    return found


def _are_ports(value: str) -> bool:
    try:
        return bool(ports_of(value))
    except ValueError:
        return False


def _is_probability(value: float) -> bool:
    return 0 < value <= 1


def _divides(value: int) -> bool:
    return value in (1, 2, 4, 8, 16)


def _offer(device: Device) -> Offer:
    """An algorithm's registers are one part of a plan's; each sender needs a flow. Switches that run one program with
    the same certainty form a chain."""
    sizes = PROGRAMS[program_of(device)]
    claims = (BUCKETS,) if isinstance(sizes, AggregateSizes) else sizes.algorithms
    chain = f"{program_of(device)}, right with {SWITCH.value(device, 'success'):g}"
    return Offer(claims=claims, ports=1 << sizes.flow_bits, chain=chain)


def _check(device: Device) -> str:
    if len({"p4runtime", "data"} & dict(device.properties).keys()) == 1:
        return (
            "needs p4runtime (its control port) and data (where it receives packets) together, or neither for a "
            "software switch of our own"
        )
    if {"tls", "token_file"} & dict(device.properties).keys() and SWITCH.value(device, "p4runtime") is None:
        return "needs p4runtime and data beside tls and token_file: a software switch of our own is not asked for them"
    if SWITCH.value(device, "ports") is not None and SWITCH.value(device, "data") is None:
        return "needs p4runtime and data beside ports: a software switch of our own has one port"
    return ""


SWITCH = DeviceKind(
    "switch",
    "a programmable switch, on P4Runtime",
    (
        Key("program", str, "what it runs, of p4/programs", required=True, choices=tuple(PROGRAMS)),
        Key("p4runtime", str, "its P4Runtime server; absent: a software switch of our own on this machine", own=True,
            holds=is_address, wanted="HOST:PORT"),
        Key("tls", str, "the folder of the certificate to show there; absent: P4Runtime is not encrypted", own=True),
        Key("token_file", str, "a file with the token to show there; absent: that of this user's switch", own=True),
        Key("data", str, "where it receives packets", own=True,
            holds=is_numeric_address, wanted="ADDRESS:PORT with a numeric address, [ADDRESS]:PORT if it is IPv6"),
        Key("ports", str, "where hosts are, on a switch that has several ports; absent: all behind port 1", own=True,
            holds=_are_ports, wanted="words like 10.0.0.5=132/98:03:9b:00:12:34, one for each host"),
        Key("profile", str, "the hardware whose limits its program must keep", "none", own=True),
        Key("jobs", int, "how many jobs may use an algorithm's registers at a time", 1, own=True,
            holds=_divides, wanted="a power of two up to 16"),
        Key("success", float, "the least probability of a right answer", 1.0,
            holds=_is_probability, wanted="a probability above 0, at most 1"),
    ),
    offers=_offer,
    check=_check,
)  # fmt: skip


def program_of(device: Device) -> str:
    """The program that a switch was configured to run; empty for other devices."""
    return str(SWITCH.value(device, "program") or "") if device.kind == SWITCH.name else ""
