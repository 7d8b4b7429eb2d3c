"""Question marks in SQL become $1, $2 …: only where they are markers, not in strings, quoted names and comments."""

from __future__ import annotations

from jumpgate.client.sql.tokens import tokens


def numbered(text: str) -> tuple[str, int]:
    """The text with its markers numbered, and how many there are.

    >>> numbered("SELECT '?' FROM t WHERE a = ? AND b = ? -- ?")
    ("SELECT '?' FROM t WHERE a = $1 AND b = $2 -- ?", 2)
    """
    count = 0
    parts = []
    for token in tokens(text):
        if token.text == "?":
            count += 1
            parts.append(f"${count}")
        else:
            parts.append(token.text)
    return "".join(parts), count
