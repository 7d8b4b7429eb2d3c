"""Numbers for people, as messages, plans and reports say them."""

from __future__ import annotations


def counted(number: int | str, thing: str) -> str:
    """Return a number with the thing counted; it may be a text already (`1.23 k`).

    >>> counted(1, "row"), counted(2, "row"), counted(0, "match"), counted(3, "query"), counted(2, "key")
    ('1 row', '2 rows', '0 matches', '3 queries', '2 keys')
    """
    if str(number) == "1":
        return f"{number} {thing}"
    if thing.endswith("y") and thing[-2] not in "aeiou":
        thing = thing[:-1] + "ies"
    else:
        thing += "es" if thing.endswith(("ch", "s", "x")) else "s"
    return f"{number} {thing}"


def size(count: float) -> str:
    """Bytes: 512 B, 1.4 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """Seconds: 250 µs, 3.2 ms, 1.45 s, 2 min 5 s."""
    if seconds == 0:
        return "0"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 100:
        return f"{seconds:.2f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def rows(count: int | None) -> str:
    """A count with thousands separated by thin spaces: 2 880 404; an unknown one: –."""
    if count is None:
        return "–"
    return f"{count:,}".replace(",", "\u202f")
