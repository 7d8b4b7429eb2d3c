"""A text with pieces changed, and where each place of the new text was in the original."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from jumpgate.client.sql.tokens import place

#: where a change starts and ends in a text, and what comes in its place
Change = tuple[int, int, str]


@dataclass(frozen=True)
class Rewritten:
    """A text and the one that it was made from. edits: of each change, where it starts in the new text, how long it is
    there, where it starts in the original, and how long it was there; in the order of the text."""

    text: str
    original: str
    edits: tuple[tuple[int, int, int, int], ...] = field(default=(), repr=False)

    @property
    def changed(self) -> bool:
        return bool(self.edits)

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the original of a place in the new text; what was inserted is where it was inserted."""
        if not self.edits:
            return line, column
        position = 0
        for _ in range(line - 1):
            position = self.text.find("\n", position) + 1
        return place(self.original, self._original(min(position + column - 1, len(self.text))))

    def _original(self, position: int) -> int:
        index = bisect_right(self.edits, position, key=lambda edit: edit[0]) - 1
        if index < 0:
            return position
        start, length, original, original_length = self.edits[index]
        return (
            original + max(original_length + position - start - length, 0) if position >= start + length else original
        )


def changed(text: str, changes: Iterable[Change]) -> Rewritten:
    """The text with the changes, which do not overlap; the same object if there are none."""
    pieces, edits, position, length = [], [], 0, 0
    for start, end, piece in sorted(changes, key=lambda change: change[:2]):
        pieces += [text[position:start], piece]
        length += start - position
        edits.append((length, len(piece), start, end - start))
        length += len(piece)
        position = end
    if not edits:
        return Rewritten(text, text)
    pieces.append(text[position:])
    return Rewritten("".join(pieces), text, tuple(edits))
