"""The switch's hash functions: reflected 32-bit CRCs, whose low bits index a register.

Different polynomials are used wherever two hashes of one key must be independent: a CRC is linear, so that another
initial value alone would leave them fully correlated.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

#: polynomials, most significant first without the top bit; `0` is CRC-32/ISO-HDLC, `1` is CRC-32C
POLYNOMIALS = (0x04C11DB7, 0x1EDC6F41, 0x741B8CD7, 0x814141AB)
INITIAL = FINAL_XOR = 0xFFFFFFFF
#: the sender's choice of a slot uses another function than all rows and filters
SLOT_POLYNOMIAL = 3


@cache
def table(polynomial: int) -> tuple[int, ...]:
    """The 256 remainders of one byte, for a reflected CRC."""
    reflected = int(f"{polynomial:032b}"[::-1], 2)
    out = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (reflected if crc & 1 else 0)
        out.append(crc)
    return tuple(out)


def crc32(which: int, data: bytes) -> int:
    """The CRC with polynomial number `which` of some bytes."""
    remainders, crc = table(POLYNOMIALS[which]), INITIAL
    for byte in data:
        crc = (crc >> 8) ^ remainders[(crc ^ byte) & 0xFF]
    return crc ^ FINAL_XOR


def hash_key(which: int, key: int) -> int:
    """Hash of a 64-bit key as the switch sees it: 8 bytes in network order."""
    return crc32(which, key.to_bytes(8, "big"))


def hash_keys(which: int, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    """`hash_key` of many keys."""
    remainders = np.array(table(POLYNOMIALS[which]), dtype=np.uint32)
    crc = np.full(len(keys), INITIAL, dtype=np.uint32)
    for shift in range(56, -1, -8):
        byte = ((keys >> np.uint64(shift)) & np.uint64(0xFF)).astype(np.uint32)
        crc = (crc >> np.uint32(8)) ^ remainders[(crc ^ byte) & np.uint32(0xFF)]
    return crc ^ np.uint32(FINAL_XOR)


def slot_of(key: int, slots: int) -> int:
    """In which of a packet's slots a key travels: each slot has registers of its own.

    Slot and bucket are linear in the key's bits. These bits of the slot's hash make the map of 16-bit keys to 4 slots
    of 2^14 buckets one to one: dense surrogate keys never share a bucket.
    """
    return (hash_key(SLOT_POLYNOMIAL, key) >> 18) % slots
