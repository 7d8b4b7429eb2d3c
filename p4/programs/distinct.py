"""Distinct: a cache of d rows x w columns of 64-bit keys; a tuple whose key is found is pruned.

A cell that holds EMPTY, the least of all 64-bit integers, is empty, and a key that equals it is forwarded.
Deterministic with exact keys; with fingerprints wrong as rarely as `sizing.fingerprint_bits` says.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key

EMPTY = 1 << 63


class Lru:
    """Least recently used: a key enters column 0 and pushes the others on, up to the column in which it was found.

    Each column is two registers (high, low word), each of which swaps its word for the arriving one.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.cells = [[EMPTY] * rows for _ in range(columns)]

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        if key == EMPTY:
            return False
        row, carried = hash_key(0, key) & (self.rows - 1), key
        for column in self.cells:
            column[row], carried = carried, column[row]
            if carried == key:
                return True
        return False


class Fifo:
    """First in, first out: each row's turn says which column the next key overwrites; the others only compare.

    One access to a register in a pass leaves no way to look first and write afterwards, so the turn advances with every
    tuple, and a column that comes after the one whose turn it is may hold a second copy. Both only cost room.
    Each column is one register pair: half of LRU's ALUs.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.turns = [0] * rows
        self.cells = [[EMPTY] * rows for _ in range(columns)]

    def process(self, key: int) -> bool:
        """True if the tuple is pruned."""
        if key == EMPTY:
            return False
        row = hash_key(0, key) & (self.rows - 1)
        turn = self.turns[row]
        self.turns[row] = 0 if turn == self.columns - 1 else turn + 1
        for number, column in enumerate(self.cells):
            if column[row] == key:
                return True
            if number == turn:
                column[row] = key
        return False
