"""References of the functions of Bloom filters (bloom.py): the bits that a hash sets, and tests for them."""

from __future__ import annotations

from jumpgate.dataflow.reference import Site

WORDS, WORD_BITS = 4, 64
#: bits of the hash that choose a bit of a word
POSITION_BITS = 6
_HASH = (1 << 64) - 1


def block(site: Site, hash: int, blocks: int) -> int:
    """Choose the block by the bits that do not choose bits of words."""
    return ((hash & _HASH) >> WORDS * POSITION_BITS) % blocks


def word(site: Site, hash: int, index: int) -> int:
    value = 1 << _position(hash, index)
    return value - (1 << WORD_BITS) if value >> WORD_BITS - 1 else value


def holds(site: Site, hash: int, *words: int) -> bool:
    return all(w >> _position(hash, i) & 1 for i, w in enumerate(words))


def _position(hash: int, index: int) -> int:
    return hash >> POSITION_BITS * index & WORD_BITS - 1
