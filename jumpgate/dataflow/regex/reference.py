"""Converts a tree to a Python regular expression: the oracle of the automata."""

from __future__ import annotations

import functools
import re

from jumpgate.dataflow.regex.syntax import Chars, Either, End, Node, Repeat, Sequence, Start, parse


@functools.lru_cache(256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern for Python; raises TypeMismatch if it is unsupported."""
    return re.compile(_text(parse(pattern)))


def _text(node: Node) -> str:
    match node:
        case Chars(ranges):
            inside = "".join(rf"\U{low:08x}-\U{high:08x}" for low, high in ranges)
            return f"[{inside}]" if inside else "(?!)"
        case Start():
            return r"\A"
        case End():
            return r"\Z"
        case Sequence(items):
            return "".join(map(_text, items))
        case Either(items):
            return f"(?:{'|'.join(map(_text, items))})"
        case Repeat(item, least, most, greedy):
            return f"(?:{_text(item)}){{{least},{'' if most is None else most}}}{'' if greedy else '?'}"
    raise TypeError(f"no text for {type(node).__name__}")
