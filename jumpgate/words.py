"""Numbers of things, as messages and plans say them."""

from __future__ import annotations


def counted(number: int | str, thing: str) -> str:
    """`1 row`, `2 rows`, `0 matches`; a number may be a text already (`1.23 k`)."""
    if str(number) != "1":
        thing += "es" if thing.endswith(("ch", "s", "x")) else "s"
    return f"{number} {thing}"
