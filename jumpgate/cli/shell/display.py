"""Results as text for people: a table that fits into the terminal, a line for each value, a table of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.words import counted

#: rows of a table that are shown; of more, the first and the last
ROWS_SHOWN = 40
#: cells of a column below which it is hidden rather than cut
COLUMN_MIN = 12
CUT = "…"
HIDDEN = "·"
_DIM, _BOLD, _PLAIN = "\x1b[90m", "\x1b[1m", "\x1b[0m"


@dataclass(frozen=True)
class Shown:
    """Columns of texts, of which None is NULL; `rows` is the number of all rows, of which these may be the ends."""

    names: Sequence[str]
    types: Sequence[str]
    columns: Sequence[Sequence[str | None]]
    right: Sequence[bool]
    rows: int


def cells(text: str) -> int:
    """Cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def visible(text: str) -> str:
    """Write control characters with backslashes, so that each row stays on its line and no value moves the cursor."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if code >= 0xA0 and character not in _BREAKS:
        return character  # also the joiners of emoji and scripts
    return character if character.isprintable() else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: ends of lines and paragraphs, and what turns the direction of the text that follows
_BREAKS = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def cut(text: str, width: int) -> str:
    """
    >>> cut("abcdef", 4), cut("日本語", 5)
    ('abc…', '日本…')
    """
    if cells(text) <= width:
        return text
    kept, taken = "", 0
    for character in text:
        taken += cells(character)
        if taken > width - 1:
            break
        kept += character
    return kept + CUT


def box(shown: Shown, width: int, styled: bool) -> str:
    """A table of at most `width` cells, with the types below the names, and what is cut."""
    names, types = [*map(visible, shown.names)], [*map(visible, shown.types)]
    texts = [["NULL" if value is None else visible(value) for value in column] for column in shown.columns]
    widths = [max(map(cells, (n, t, *column))) for n, t, column in zip(names, types, texts, strict=True)]
    places, widths = _fitted(widths, width)
    gap = len(texts[0]) // 2 if texts and len(texts[0]) < shown.rows else None

    def line(left: str, between: str, end: str) -> str:
        return left + between.join("─" * (size + 2) for size in widths) + end

    def row(values: Sequence[str], align: Sequence[str], styles: Sequence[str]) -> str:
        filled = [
            f"{style}{_aligned(cut(value, size), size, how)}{_PLAIN if style else ''}"
            for value, size, how, style in zip(values, widths, align, styles, strict=True)
        ]
        return f"│ {' │ '.join(filled)} │"

    bold, dim = (_BOLD, _DIM) if styled else ("", "")
    center = ["^"] * len(places)
    how = ["^" if p is None else ">" if shown.right[p] else "<" for p in places]
    lines = [
        line("┌", "┬", "┐"),
        row([CUT if p is None else names[p] for p in places], center, [bold] * len(places)),
        row([CUT if p is None else types[p] for p in places], center, [dim] * len(places)),
        line("├", "┼", "┤"),
    ]
    for i in range(len(texts[0]) if texts else 0):
        if i == gap:
            lines.append(row([HIDDEN] * len(places), center, [dim] * len(places)))
        values = [CUT if p is None else texts[p][i] for p in places]
        lines.append(row(values, how, [dim if p is None or shown.columns[p][i] is None else "" for p in places]))
    lines.append(line("└", "┴", "┘"))
    return "\n".join(lines) + "\n" + footer(shown, sum(p is not None for p in places)) + "\n"


def footer(shown: Shown, columns_shown: int) -> str:
    """The numbers of rows and columns, and how many of them are shown.

    >>> footer(Shown(["a", "b"], [], [["1"], ["2"]], [], 9), 1)
    '9 rows (1 shown), 2 columns (1 shown)'
    """
    rows_shown = len(shown.columns[0]) if shown.columns else 0
    said = counted(shown.rows, "row") + (f" ({rows_shown} shown)" if rows_shown < shown.rows else "")
    if columns_shown < len(shown.names):
        said += f", {counted(len(shown.names), 'column')} ({columns_shown} shown)"
    return said


def lines(shown: Shown) -> str:
    """A line for each value, and an empty one between rows."""
    size = max(map(cells, shown.names), default=0)
    rows = [
        "".join(
            f"{_aligned(visible(name), size, '>')} = {'NULL' if value is None else visible(value)}\n"
            for name, value in zip(shown.names, row, strict=True)
        )
        for row in zip(*shown.columns, strict=True)
    ]
    return "\n".join(rows)


def markdown(shown: Shown) -> str:
    """A table of Markdown, with all rows."""

    def row(values: Sequence[str | None]) -> str:
        texts = ("NULL" if value is None else visible(value).replace("|", "\\|") for value in values)
        return f"| {' | '.join(texts)} |\n"

    rules = ["--:" if right else "---" for right in shown.right]
    return "".join(map(row, (shown.names, rules, *zip(*shown.columns, strict=True))))


def _fitted(widths: Sequence[int], total: int) -> tuple[list[int | None], list[int]]:
    """Return the places of the columns that are shown, None for those that are hidden, and the width of each."""
    places: list[int | None] = list(range(len(widths)))
    sizes = list(widths)
    left = (len(widths) + 1) // 2  # the first one of the right half
    while _least(sizes) > total and len(places) > 2 and (None not in places or len(places) > 3):
        if None not in places:
            places.insert(left, None)
            sizes.insert(left, 1)
        middle = places.index(None)
        gone = middle - 1 if middle >= len(places) - 1 - middle else middle + 1
        del places[gone], sizes[gone]
    spare = max(total - 3 * len(sizes) - 1, len(sizes))
    limit = max(sizes, default=0)
    while limit > 1 and sum(min(size, limit) for size in sizes) > spare:
        limit -= 1
    return places, [min(size, limit) for size in sizes]


def _least(sizes: Sequence[int]) -> int:
    """Cells of a table whose columns are cut as far as they may be."""
    return sum(min(size, COLUMN_MIN) for size in sizes) + 3 * len(sizes) + 1


def _aligned(text: str, size: int, how: str) -> str:
    spare = max(0, size - cells(text))
    if how == ">":
        return " " * spare + text
    left = spare // 2 if how == "^" else 0
    return " " * left + text + " " * (spare - left)
