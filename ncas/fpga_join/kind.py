"""The kind of device that is an FPGA card in the network: its keys in jumpgate.toml, and what it offers to plans."""

from __future__ import annotations

import ipaddress

from jumpgate.nca.device_kind import DeviceKind, Key
from jumpgate.nca.interface import Device, Offer

#: what a plan can use once of a card
TABLES = "tables"
MEMORY_BYTES = 256 << 20
#: what stands behind the card's port: the buckets in plain memory, or the RTL's model, cycle by cycle
EMULATED, VERILATED = "emulated", "verilated"
#: build sides that one visit looks into, and bytes of a row that arrives or leaves: what a datagram carries behind its
#: header (p4/PROTOCOL.md), or what the RTL's registers hold
TABLES_MAX = {EMULATED: 8, VERILATED: 4}
ROW_BYTES_MAX = {EMULATED: 1384, VERILATED: 64}
#: of a bucket, byte for byte as card/bucket.h and rtl/bucket_pkg.sv have it
BUCKET_BYTES, KEY_BYTES, SLOTS_MAX = 64, 8, 7
#: the bytes of values for which bitstreams exist; the next larger one is taken
SIGNATURES = (1, 8, 23, 55)


def _tables(value: int) -> bool:
    return 1 <= value <= max(TABLES_MAX.values())


def _is_address(value: str) -> bool:
    try:
        ipaddress.IPv4Address(value)
    except ValueError:
        return False
    return True


def _rest(value: int) -> bool:
    return value >= 0


def _seconds(value: float) -> bool:
    return value >= 0


def _offer(device: Device) -> Offer:
    return Offer(claims=(TABLES,))


def _check(device: Device) -> str:
    least = BUCKET_BYTES * int(FPGA.value(device, "tables"))
    backend, memory = FPGA.value(device, "backend"), device.memory_bytes
    if FPGA.value(device, "tables") > TABLES_MAX[backend]:
        return f'has too many tables: with backend = "{backend}" there are {TABLES_MAX[backend]} at most'
    return f"needs memory_bytes of at least {least}, or 0 for {MEMORY_BYTES}" if 0 < memory < least else ""


FPGA = DeviceKind(
    "fpga",
    "an FPGA card in the network that joins rows on their way; here a model of it, on the loopback",
    (
        Key("backend", str, "what computes", EMULATED, choices=tuple(TABLES_MAX)),
        Key("address", str, "of this machine, where it receives packets; hosts elsewhere must reach it", "127.0.0.1",
            holds=_is_address, wanted="an IP address of version 4", own=True),
        Key("tables", int, "build sides that it holds at a time; they share its memory", 4,
            holds=_tables, wanted=f"a number from 1 to {max(TABLES_MAX.values())}"),
        Key("rest_bytes", int, "of its host's memory for entries that have no room in their buckets, for each table",
            1 << 30, holds=_rest, wanted="a whole number, 0 or more", own=True),
        Key("setup_s", float, "that plans reckon with before a job begins: for a bitstream to be loaded", 0.05,
            holds=_seconds, wanted="seconds, 0 or more", own=True),
    ),
    offers=_offer,
    check=_check,
)  # fmt: skip


def slots(value_bytes: int) -> int:
    """Entries in a bucket, behind its byte of flags."""
    return min(SLOTS_MAX, (BUCKET_BYTES - 1) // (KEY_BYTES + value_bytes))


def signature(value_bytes: int) -> int | None:
    """The smallest signature for values of so many bytes; None if there is none."""
    return next((s for s in SIGNATURES if s >= value_bytes), None)


def buckets(device: Device) -> int:
    """That its memory holds."""
    return (device.memory_bytes or MEMORY_BYTES) // BUCKET_BYTES


def bucket_bits(device: Device) -> int:
    """log2 of the buckets of a table's equal share of the memory."""
    return (buckets(device) // int(FPGA.value(device, "tables"))).bit_length() - 1
