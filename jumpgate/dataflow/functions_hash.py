"""Hashes of single values that other engines show to people: XXH64 and Murmur3, of which a value's hash is the next
one's seed."""

from __future__ import annotations

import struct
from collections.abc import Callable

from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import always, require
from jumpgate.dataflow.types import DataType, int32, int64

_PRIMES = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
)  # fmt: skip
_WORD, _HALF = (1 << 64) - 1, (1 << 32) - 1


def _bytes(site: Site, value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(site.types[0].width, "little", signed=True)
    return value.encode() if isinstance(value, str) else value


def _rotated(value: int, by: int, bits: int) -> int:
    return (value << by | value >> (bits - by)) & ((1 << bits) - 1)


def _xx_round(state: int, word: int) -> int:
    return _rotated((state + word * _PRIMES[1]) & _WORD, 31, 64) * _PRIMES[0] & _WORD


def _xxhash64(site: Site, value: str | bytes | int, seed: int) -> Value:
    """https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md"""
    data = _bytes(site, value)
    whole = len(data) // 32 * 32
    state = (seed + _PRIMES[4]) & _WORD
    if whole:
        lanes = [seed + _PRIMES[0] + _PRIMES[1], seed + _PRIMES[1], seed, seed - _PRIMES[0]]
        for words in struct.iter_unpack("<4Q", data[:whole]):
            lanes = [_xx_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        state = sum(_rotated(lane, by, 64) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _WORD
        for lane in lanes:
            state = ((state ^ _xx_round(0, lane)) * _PRIMES[0] + _PRIMES[3]) & _WORD
    state = (state + len(data)) & _WORD
    rest = data[whole:]
    while len(rest) >= 8:
        word = int.from_bytes(rest[:8], "little")
        state = (_rotated(state ^ _xx_round(0, word), 27, 64) * _PRIMES[0] + _PRIMES[3]) & _WORD
        rest = rest[8:]
    if len(rest) >= 4:
        state ^= int.from_bytes(rest[:4], "little") * _PRIMES[0] & _WORD
        state = (_rotated(state, 23, 64) * _PRIMES[1] + _PRIMES[2]) & _WORD
        rest = rest[4:]
    for byte in rest:
        state = _rotated(state ^ byte * _PRIMES[4] & _WORD, 11, 64) * _PRIMES[0] & _WORD
    for shift, prime in ((33, _PRIMES[1]), (29, _PRIMES[2]), (32, 1)):
        state = (state ^ state >> shift) * prime & _WORD
    return state - (1 << 64) if state >> 63 else state


def _murmur3(site: Site, value: str | bytes | int, seed: int) -> Value:
    data = _bytes(site, value)
    whole = len(data) // 4 * 4
    words = [word for (word,) in struct.iter_unpack("<I", data[:whole])]
    words += [byte - 256 & _HALF if byte > 127 else byte for byte in data[whole:]]
    state = seed & _HALF
    for word in words:
        state ^= _rotated(word * 0xCC9E2D51 & _HALF, 15, 32) * 0x1B873593 & _HALF
        state = (_rotated(state, 13, 32) * 5 + 0xE6546B64) & _HALF
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & _HALF
    return state - (1 << 32) if state >> 31 else state


def _hashed(seed: DataType) -> Callable[[Types], Types]:
    def rule(types: Types) -> Types:
        require(types[0].kind in ("string", "binary", "int32", "int64") and types[1].is_integer, types,
                f"a text, bytes, an int32 or an int64, and a seed, which is {seed.name}")  # fmt: skip
        return types[0], seed

    return rule


HASHES = (
    Function("xxhash64", "XXH64 of a text's UTF-8 bytes, of bytes, or of an integer's (the lowest first), with a seed",
             (2, 2), _hashed(int64), always(int64), _xxhash64),
    Function("murmur3", "Murmur3 of 32 bits of the same, where each byte after the last four counts as a signed word, "
             "as in Spark's hash", (2, 2), _hashed(int32), always(int32), _murmur3),
)  # fmt: skip
