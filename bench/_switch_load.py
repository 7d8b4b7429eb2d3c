"""Packets of the protocol for the programs of p4/programs, as many as a flow has: equal frames, numbered from 1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jumpgate.p4.programs import crc, render
from tests.support.switch_programs import SECRET

Words = npt.NDArray[np.uint32]
FLOW = 1
HEADER = np.frombuffer(
    bytes.fromhex("020000000002" "020000000001" "0800" "4500000000000000" "40110000" "0a000001" "0a000002")
    + (4000).to_bytes(2, "big")
    + render.UDP_PORT.to_bytes(2, "big")
    + bytes(4),
    dtype=np.uint8,
)  # fmt: skip


def packets(keys: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64], slots: int) -> npt.NDArray[np.uint8]:
    """Frames of `slots` tuples each, one a row; each tuple in the slot of its key, as a sender puts it.

    A slot that runs out of tuples ends it: a few tuples at the end are left out, so that all packets are full.
    """
    slot = (crc.hash_keys(crc.SLOT_POLYNOMIAL, keys) >> np.uint32(18)) % np.uint32(slots)
    chosen = [np.flatnonzero(slot == i) for i in range(slots)]
    count = min(map(len, chosen))
    columns = [(keys[which[:count]], values[which[:count]]) for which in chosen]
    tuples = np.zeros((count, slots, 17), dtype=np.uint8)
    for i, (key, value) in enumerate(columns):
        tuples[:, i, 1:9] = _bytes(key, ">u8")
        tuples[:, i, 9:17] = _bytes(value, ">u8")
    protocol = np.zeros((count, 16), dtype=np.uint8)
    protocol[:, 0] = 1
    protocol[:, 1] = (1 << slots) - 1
    protocol[:, 3] = FLOW
    protocol[:, 4:8] = _bytes(np.arange(1, count + 1), ">u4")
    protocol[:, 8:] = _bytes(np.full(count, SECRET), ">u8")
    header = np.tile(HEADER, (count, 1))
    size = 16 + tuples.shape[1] * tuples.shape[2]
    header[:, 16:18] = _bytes(np.full(count, 28 + size), ">u2")
    header[:, 38:40] = _bytes(np.full(count, 8 + size), ">u2")
    return np.concatenate([header, protocol, tuples.reshape(count, -1)], axis=1)


def _bytes(numbers: npt.NDArray[np.generic], kind: str) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(numbers.astype(kind)).view(np.uint8).reshape(len(numbers), -1)


def aggregate_rows(count: int, groups: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return (key, value) columns with `groups` keys, uniformly at random (the caches' worst case), and signed
    amounts."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, groups, count)
    keys = rng.integers(0, 1 << 63, groups, dtype=np.uint64)
    return keys[numbers], rng.integers(-(10**6), 10**6, count).astype(np.int64).view(np.uint64)


def distinct_rows(count: int, values: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return (key, 0) columns with `values` distinct 64-bit keys, uniformly at random."""
    rng = np.random.default_rng(2)
    keys = rng.integers(0, 1 << 63, values, dtype=np.uint64)
    return keys[rng.integers(0, values, count)], np.zeros(count, dtype=np.uint64)
