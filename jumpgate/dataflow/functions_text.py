"""Functions of text beyond SQL's oldest: positions and lengths count code points, and text is never longer than
`TEXT_BYTES_MAX`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from jumpgate.dataflow import reference
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import all_of, always, exactly, require
from jumpgate.dataflow.types import DataType, bool_, int64, string
from jumpgate.errors import ComputeError

#: the longest text that repeat, lpad, rpad and replace may make (also in ncas/runtime/src/functions/scalars.h)
TEXT_BYTES_MAX = 1 << 28
#: what Unicode's simple case folding makes equal to an ASCII letter: the Kelvin sign and the long s
_FOLDED = {0x212A: "k", 0x17F: "s"}


def _folded(text: str) -> str:
    """Return the text with ASCII letters, and characters that fold to one, in lower case."""
    return "".join(c.lower() if c.isascii() else c for c in text.translate(_FOLDED))


def _ilike(site: Site, text: str, pattern: str, escape: str | None = None) -> Value:
    return reference.like(site, _folded(text), _folded(pattern), None if escape is None else _folded(escape))


def ilike_literals(pattern: Value, escape: Value = None) -> None:
    if not str(pattern).isascii():
        raise TypeMismatch("ilike: the pattern may only have ASCII characters")
    if escape is not None and (str(escape).isalpha() or not str(escape).isascii()):
        raise TypeMismatch("ilike: the escape is an ASCII character that is not a letter")
    reference.like_literals("ilike", pattern, escape)


def bounded(text: str, times: int = 1) -> str:
    """Repeat the text; raise ComputeError if the result is too long."""
    if len(text.encode()) * times > TEXT_BYTES_MAX:
        raise ComputeError(f"text of more than {TEXT_BYTES_MAX >> 20} MiB")
    return text * times


def _left(site: Site, text: str, n: int) -> Value:
    return text[:n]


def _right(site: Site, text: str, n: int) -> Value:
    return text[-n:] if n else ""


def _padding(text: str, n: int, fill: str) -> str:
    missing = max(0, n - len(text))
    if not fill or not missing:
        return ""
    if missing > TEXT_BYTES_MAX:
        raise ComputeError(f"text of more than {TEXT_BYTES_MAX >> 20} MiB")
    padding = (fill * (missing // len(fill) + 1))[:missing]
    bounded(text + padding)
    return padding


def _lpad(site: Site, text: str, n: int, fill: str = " ") -> Value:
    return _padding(text, n, fill) + text[: max(0, n)]


def _rpad(site: Site, text: str, n: int, fill: str = " ") -> Value:
    return text[: max(0, n)] + _padding(text, n, fill)


def _repeat(site: Site, text: str, n: int) -> Value:
    return bounded(text, max(0, n)) if text else ""


def _replace(site: Site, text: str, part: str, by: str) -> Value:
    return bounded(text.replace(part, by)) if part else text


def _position(site: Site, text: str, part: str) -> Value:
    return text.find(part) + 1


def _split_part(site: Site, text: str, separator: str, n: int) -> Value:
    if n == 0:
        raise ComputeError("split_part: parts are counted from 1, or from -1 backwards")
    parts = text.split(separator) if separator else [text]
    index = n - 1 if n > 0 else len(parts) + n
    return parts[index] if 0 <= index < len(parts) else ""


def _initcap(site: Site, text: str) -> Value:
    if not text.isascii():
        raise ComputeError("initcap of text that is not ASCII is not supported")
    return "".join(c.lower() if before.isalnum() else c.upper() for before, c in zip(" " + text, text, strict=False))


def _chr(site: Site, code: int) -> Value:
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ComputeError(f"chr: {code} is not a Unicode character")
    return chr(code)


def _ascii(site: Site, text: str) -> Value:
    return ord(text[0]) if text else 0


def _concat_ws(site: Site, separator: str | None, *texts: str | None) -> Value:
    return None if separator is None else separator.join(t for t in texts if t is not None)


def _translate(site: Site, text: str, old: str, new: str) -> Value:
    table: dict[int, str | None] = {}
    for i, c in enumerate(old):
        table.setdefault(ord(c), new[i] if i < len(new) else None)
    return bounded(text.translate(table))


def _text_or_bytes(types: Types) -> Types:
    require(types[0].kind in ("string", "binary"), types, "a text or bytes")
    return types


def _digest(name: str, bits: int) -> Function:
    def body(site: Site, value: str | bytes) -> str:
        data = value.encode() if isinstance(value, str) else value
        return hashlib.new(name, data, usedforsecurity=False).hexdigest()

    return Function(name, f"the digest of {bits} bits, in hex digits, of a text's UTF-8 bytes, or of bytes", (1, 1),
                    _text_or_bytes, always(string), body, cpp=f"jg_{name}(t, {{0}})")  # fmt: skip


def _as_separator(types: Types, values: tuple[Value, ...]) -> DataType:
    return string.with_nullable(types[0].nullable)


def _text_only(
    name: str, doc: str, count: int, result: DataType, body: Callable[..., Value], cpp: str, **properties: Any
) -> Function:
    return Function(name, doc, (count, count), all_of(string), always(result), body, cpp=cpp, **properties)


_COUNTED, _PADDED = exactly(string, int64), exactly(string, int64, string)

TEXT = (
    Function("ilike", "like, but ASCII letters match in either case; the pattern is ASCII", (2, 3), all_of(string),
             always(bool_), _ilike, literals=(1, 2), literal_rule=ilike_literals, selectivity=0.1),
    Function("left", "the first n code points; of a negative n all but the last -n", (2, 2), _COUNTED, always(string),
             _left, cpp="jg_left({0}, {1})", substrait=("left",)),
    Function("right", "the last n code points; of a negative n all but the first -n", (2, 2), _COUNTED, always(string),
             _right, cpp="jg_right({0}, {1})", substrait=("right",)),
    Function("lpad", "n code points: a with a fill (a space) repeated before it, or a's first n", (2, 3), _PADDED,
             always(string), _lpad, fails=True, substrait=("lpad",)),
    Function("rpad", "n code points: a with a fill (a space) repeated after it, or a's first n", (2, 3), _PADDED,
             always(string), _rpad, fails=True, substrait=("rpad",)),
    Function("repeat", "a, n times", (2, 2), _COUNTED, always(string), _repeat, fails=True,
             cpp="jg_repeat(t, {0}, {1}, &{out})", substrait=("repeat",)),
    _text_only("replace", "a with every b (none overlap; no empty one) replaced by c", 3, string, _replace,
               "jg_replace(t, {0}, {1}, {2}, &{out})", fails=True, substrait=("replace",)),
    _text_only("reverse", "the code points backwards", 1, string, lambda site, text: text[::-1], "jg_reverse(t, {0})",
               substrait=("reverse",)),
    _text_only("position", "where b first occurs in a, from 1; 0: nowhere", 2, int64, _position,
               "jg_position({0}, {1})", substrait=("strpos",)),
    Function("split_part", "the n-th part of a between separators b, from -1 backwards; empty where there is none; of "
             "n = 0 an error (`compute`)", (3, 3), exactly(string, string, int64), always(string), _split_part,
             fails=True, cpp="jg_split_part({0}, {1}, {2}, &{out})"),
    _text_only("initcap", "ASCII letters after letters and digits in lower case, others in upper case; text with a "
               "byte above 127 is an error (`compute`)", 1, string, _initcap, "jg_initcap(t, {0}, &{out})", fails=True),
    Function("chr", "the code point of that number; an error (`compute`) where there is none", (1, 1), exactly(int64),
             always(string), _chr, fails=True, cpp="jg_chr(t, {0}, &{out})"),
    _text_only("ascii", "number of the first code point, 0 of empty text", 1, int64, _ascii, "jg_ascii({0})",
               ),
    Function("concat_ws", "all arguments but the first that are not NULL, joined by the first", (2, None),
             all_of(string), _as_separator, _concat_ws, strict=False),
    _text_only("octet_length", "number of bytes of the UTF-8 text", 1, int64, lambda site, text: len(text.encode()),
               "(int64_t){0}.size", substrait=("octet_length",)),
    _digest("md5", 128),
    _digest("sha1", 160),
    _digest("sha256", 256),
    _text_only("translate", "a with each code point of b (its first occurrence) replaced by c's at that place, or "
               "dropped where c ends before it", 3, string, _translate, "jg_translate(t, {0}, {1}, {2}, &{out})",
               fails=True),
)  # fmt: skip
