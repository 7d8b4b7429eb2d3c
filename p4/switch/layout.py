"""The structs of include/jgsw/program.h and of the C interface (src/api.cpp), as ctypes sees them."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterator
from typing import Any

MATCHES = ("exact", "ternary", "lpm", "range")


class Field(c.Structure):
    _fields_ = (("name", c.c_char_p), ("bits", c.c_uint32))


class KeyField(c.Structure):
    _fields_ = (("name", c.c_char_p), ("bits", c.c_uint32), ("match", c.c_uint8))


class Action(c.Structure):
    _fields_ = (
        ("name", c.c_char_p),
        ("id", c.c_uint32),
        ("parameters", c.POINTER(Field)),
        ("parameter_count", c.c_uint32),
    )


class TableInfo(c.Structure):
    _fields_ = (
        ("name", c.c_char_p), ("id", c.c_uint32), ("keys", c.POINTER(KeyField)), ("key_count", c.c_uint32),
        ("actions", c.POINTER(Action)), ("action_count", c.c_uint32), ("size", c.c_uint32),
        ("default_action", c.c_uint32), ("default_data", c.POINTER(c.c_uint64)), ("default_is_const", c.c_bool),
        ("rows", c.c_void_p), ("row_count", c.c_uint32),
    )  # fmt: skip


class RegisterInfo(c.Structure):
    _fields_ = (
        ("name", c.c_char_p), ("id", c.c_uint32), ("size", c.c_uint32), ("table", c.c_int32), ("fields", Field * 2),
        ("field_count", c.c_uint32), ("field_bytes", c.c_uint32), ("initial", c.c_uint64 * 2),
        ("home", c.c_uint32), ("offset", c.c_uint32), ("stride", c.c_uint32),
    )  # fmt: skip


class CounterInfo(c.Structure):
    _fields_ = (
        ("name", c.c_char_p), ("id", c.c_uint32), ("size", c.c_uint32), ("table", c.c_int32), ("kind", c.c_uint8),
    )  # fmt: skip


class MeterInfo(c.Structure):
    _fields_ = (
        ("name", c.c_char_p), ("id", c.c_uint32), ("size", c.c_uint32), ("table", c.c_int32), ("kind", c.c_uint8),
    )  # fmt: skip


class DigestInfo(c.Structure):
    _fields_ = (("name", c.c_char_p), ("id", c.c_uint32), ("fields", c.POINTER(Field)), ("field_count", c.c_uint32))


class Program(c.Structure):
    _fields_ = (
        ("contract", c.c_uint32), ("name", c.c_char_p),
        ("tables", c.POINTER(TableInfo)), ("table_count", c.c_uint32),
        ("registers", c.POINTER(RegisterInfo)), ("register_count", c.c_uint32),
        ("counters", c.POINTER(CounterInfo)), ("counter_count", c.c_uint32),
        ("digests", c.POINTER(DigestInfo)), ("digest_count", c.c_uint32),
        ("ingress", c.c_void_p), ("egress", c.c_void_p),
        ("meters", c.POINTER(MeterInfo)), ("meter_count", c.c_uint32),
    )  # fmt: skip


class CounterCell(c.Structure):
    _fields_ = (("packets", c.c_uint64), ("bytes", c.c_uint64))


class MeterConfig(c.Structure):
    _fields_ = (
        ("committed_rate", c.c_uint64), ("committed_burst", c.c_uint64), ("peak_rate", c.c_uint64),
        ("peak_burst", c.c_uint64), ("set", c.c_bool),
    )  # fmt: skip


class Numbers(c.Structure):
    """A struct of 64-bit counts."""

    def as_dict(self) -> dict[str, int]:
        return {str(field[0]): int(getattr(self, field[0])) for field in self._fields_}


class Counts(Numbers):
    """`Counts` of src/pipe.h."""

    _fields_ = tuple(
        (name, c.c_uint64)
        for name in (
            "ingress_passes", "sent", "recirculated", "resubmitted", "mirrored", "replicated", "to_controller",
            "digests",
            "dropped_by_program", "no_destination", "malformed", "oversized", "no_buffer", "loop_full",
            "controller_full", "no_such_port", "no_mirror_session", "no_multicast_group",
        )
    )  # fmt: skip


class PortCounts(Numbers):
    """`PortCounts` of src/port.h."""

    _fields_ = tuple(
        (name, c.c_uint64)
        for name in (
            "received", "received_bytes", "sent", "sent_bytes", "truncated", "receive_errors", "send_errors",
            "send_blocked", "no_peer",
        )
    )  # fmt: skip


def words(bits: int) -> int:
    """How many 64-bit words a field takes."""
    return (bits + 63) // 64


def pack(values: list[int], widths: list[int]) -> Any:
    """Fields as an array of words, each in words of its own, the least significant first."""
    flat = [
        value >> (64 * w) & (2**64 - 1) for value, bits in zip(values, widths, strict=True) for w in range(words(bits))
    ]
    return (c.c_uint64 * max(1, len(flat)))(*flat)


def unpack(array: Any, widths: list[int]) -> list[int]:
    """The inverse of `pack`."""

    def fields() -> Iterator[int]:
        at = 0
        for bits in widths:
            count = words(bits)
            yield sum(int(array[at + w]) << (64 * w) for w in range(count))
            at += count

    return list(fields())
