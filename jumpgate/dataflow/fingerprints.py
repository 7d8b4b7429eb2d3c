"""The reference of function `fingerprint`: the hashes of the runtime (jg_hash_… in ncas/runtime/include/jg/kernel.h).

Not keyed and not cryptographic: chosen values can collide.
"""

from __future__ import annotations

import datetime
import decimal as pydecimal
import functools
import math
import struct
from collections.abc import Sequence

from jumpgate.dataflow.casts import of_day, unscaled
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.types import DataType

WORD = (1 << 64) - 1
NULL = 0x7F4A7C159E3779B9
NAN = 0x7FF8000000000000
_DAY_0, _TIME_0 = datetime.date(1970, 1, 1), datetime.datetime(1970, 1, 1)


def fingerprint(values: Sequence[Value], types: Sequence[DataType]) -> int:
    """Return 64 bits as a signed integer. Equal values give equal numbers: NULLs, both zeros, all NaN, and numbers of
    any width; decimals of one scale."""
    word = functools.reduce(_combined, map(_hashed, values, types))
    return word - (1 << 64) if word >> 63 else word


def _hashed(value: Value, type: DataType) -> int:
    match value:
        case None:
            return NULL
        case str():
            return _text(value.encode())
        case bytes():
            return _text(value)
        case float():
            bits = NAN if math.isnan(value) else struct.unpack("<Q", struct.pack("<d", value or 0.0))[0]
            return _integer(bits)
        case pydecimal.Decimal():
            number = unscaled(value, type.scale)
            return _mixed(number + _mixed(number >> 64))
        case datetime.datetime():
            return _integer((value - _TIME_0) // datetime.timedelta(microseconds=1))
        case datetime.time():
            return _integer(of_day(value))
        case datetime.date():
            return _integer((value - _DAY_0).days)
        case _:
            return _integer(value)


def _mixed(x: int) -> int:
    x = x * 0x9E3779B97F4A7C15 & WORD
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93 & WORD
    return x ^ x >> 32


def _integer(value: int) -> int:
    return _mixed(value + 0x632BE59BD9B4E019)


def _combined(a: int, b: int) -> int:
    return _mixed(a ^ (b + 0x9E3779B97F4A7C15 + (a << 6)) & WORD)


def _text(data: bytes) -> int:
    found = 0xA0761D6478BD642F ^ len(data)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        found = _folded(found ^ int.from_bytes(data[at : at + 8], "little"), 0xE7037ED1A0B428DB)
    if rest := data[whole:]:
        found = _folded(found ^ int.from_bytes(rest, "little"), 0x8EBC6AF09C88C6E3)
    return _mixed(found)


def _folded(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & WORD
