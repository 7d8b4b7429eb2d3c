"""Distinct: a cache of d rows x w columns of 64-bit keys; a tuple whose key is found is pruned.

A register is empty while it holds 0, so keys are stored xor `salt`, a number that no key has; a key that equals it
all the same is forwarded. Deterministic with exact keys; with fingerprints wrong as rarely as
`sizing.fingerprint_bits` says.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key


class Lru:
    """Least recently used: a key enters column 0 and pushes the others on, up to the column in which it was found.

    Each column is two registers (high, low word), each of which swaps its word for the arriving one.
    """

    def __init__(self, rows: int, columns: int, salt: int = 1 << 63) -> None:
        self.rows, self.columns, self.salt = rows, columns, salt
        self.cells = [[0] * rows for _ in range(columns)]

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        row, carried = hash_key(0, key) & (self.rows - 1), key ^ self.salt
        wanted = carried
        if not wanted:
            return False
        for column in self.cells:
            column[row], carried = carried, column[row]
            if carried == wanted:
                return True
        return False


class Fifo:
    """First in, first out: each row's turn says which column the next key overwrites; the others only compare.

    One access to a register in a pass leaves no way to look first and write afterwards, so the turn advances with every
    tuple, and a column that comes after the one whose turn it is may hold a second copy. Both only cost room.
    Each column is one register pair: half of LRU's ALUs.
    """

    def __init__(self, rows: int, columns: int, salt: int = 1 << 63) -> None:
        self.rows, self.columns, self.salt = rows, columns, salt
        self.turns = [0] * rows
        self.cells = [[0] * rows for _ in range(columns)]

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        row, wanted = hash_key(0, key) & (self.rows - 1), key ^ self.salt
        if not wanted:
            return False
        turn = self.turns[row]
        self.turns[row] = 0 if turn == self.columns - 1 else turn + 1
        for number, column in enumerate(self.cells):
            if column[row] == wanted:
                return True
            if number == turn:
                column[row] = wanted
        return False
