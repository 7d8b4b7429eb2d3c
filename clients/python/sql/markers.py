"""Question marks in SQL become $1, $2 …: only where they are markers, not in strings, quoted names and comments."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    '(?:[^']|'')*'?             # string
  | "(?:[^"]|"")*"?             # quoted name
  | --[^\n]*                    # comment to the end of the line
  | /\*                         # comment that may hold comments
  | \?
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"/\*|\*/")


def numbered(text: str) -> tuple[str, int]:
    """The text with its markers numbered, and how many there are.

    >>> numbered("SELECT '?' FROM t WHERE a = ? AND b = ? -- ?")
    ("SELECT '?' FROM t WHERE a = $1 AND b = $2 -- ?", 2)
    """
    count = position = 0
    parts = []
    while match := _TOKEN.search(text, position):
        token, end = match.group(), match.end()
        parts.append(text[position : match.start()])
        if token == "/*":
            end = _comment_end(text, end)
        elif token == "?":
            count += 1
            token = f"${count}"
        parts.append(token if token != "/*" else text[match.start() : end])
        position = end
    parts.append(text[position:])
    return "".join(parts), count


def _comment_end(text: str, position: int) -> int:
    depth = 1
    while depth and (match := _COMMENT.search(text, position)):
        depth += 1 if match.group() == "/*" else -1
        position = match.end()
    return position if not depth else len(text)
