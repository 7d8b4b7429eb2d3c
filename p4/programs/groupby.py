"""Group-by max (min: the host complements the value): d rows x w columns of (key, greatest value forwarded).

Prunes a value that does not exceed its key's entry. Keys and values are 32 bits, one register pair an entry: of a
packet's 64-bit key the low word, so that the sender must see to it that the high ones do not tell keys apart. An
entry of key EMPTY is empty, and a key that equals it is forwarded. An entry is replaced when its row's turn comes, as
in distinct's FIFO; a stale one stays valid. Deterministic.
"""

from __future__ import annotations

from jumpgate.p4.programs.crc import hash_key

EMPTY = 1 << 31
WORD = 0xFFFFFFFF


class GroupByMax:
    """The reference of `prune` for group-by."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.turns = [0] * rows
        self.columns = columns
        self.keys = [[EMPTY] * rows for _ in range(columns)]
        self.values = [[0] * rows for _ in range(columns)]

    def process(self, key: int, value: int) -> bool:
        """True if the tuple is pruned."""
        row, stored = hash_key(0, key) & (self.rows - 1), key & WORD
        if stored == EMPTY:
            return False
        turn = self.turns[row]
        self.turns[row] = 0 if turn == self.columns - 1 else turn + 1
        for number in range(self.columns):
            keys, values = self.keys[number], self.values[number]
            if keys[row] == stored:
                if value <= values[row]:
                    return True
                values[row] = value
                return False
            if number == turn:
                keys[row], values[row] = stored, value
        return False
