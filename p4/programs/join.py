"""Join: Bloom filters of one side's keys; the other side's tuples whose key is not in them are pruned.

Two passes: in the first, both sides add their keys, each to its own filter, and nothing is forwarded; in the second
each tuple is looked up in the other side's. With a small side, one pass: it adds and is forwarded; then the large one
is looked up. No false negatives, so deterministic.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key


class Bloom:
    """BF: one array of bits for each of three hashes."""

    def __init__(self, bits_per_hash: int, hashes: int = 3) -> None:
        self.mask = bits_per_hash - 1
        self.arrays = [bytearray(bits_per_hash) for _ in range(hashes)]

    def add(self, key: int) -> None:
        for which, array in enumerate(self.arrays):
            array[hash_key(which, key) & self.mask] = 1

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        return not all(array[hash_key(which, key) & self.mask] for which, array in enumerate(self.arrays))


def masks(count: int) -> list[int]:
    """`count` words of 64 bits with three bits set, spread over all C(64, 3): the entries of RBF's mask table."""
    out = []
    for i in range(count):
        bits, x = set[int](), i * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        while len(bits) < 3:
            x = (x * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            bits.add(x >> 58)
        out.append(sum(1 << b for b in bits))
    return out


class RegisterBloom:
    """RBF: one 64-bit word for a key, in which three bits are set; in one stage instead of three arrays."""

    def __init__(self, words: int, mask_count: int = 8192) -> None:
        self.mask, self.words = words - 1, [0] * words
        self.masks = masks(mask_count)

    def _place(self, key: int) -> tuple[int, int]:
        return hash_key(0, key) & self.mask, self.masks[hash_key(1, key) & (len(self.masks) - 1)]

    def add(self, key: int) -> None:
        index, bits = self._place(key)
        self.words[index] |= bits

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        index, bits = self._place(key)
        return self.words[index] & bits != bits
