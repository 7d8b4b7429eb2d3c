"""Cuts a piece of JSON or CSV text into rows, as the readers in C++ do. For samples."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jumpgate.errors import MalformedData

_ARRAY_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{},]', re.DOTALL)
_BLANKS = " \t\r\n"


def json_rows(text: str, whole: bool) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of each row: lines, or elements if the text is one array. `whole`: the text is not cut
    at its end; otherwise the last row is left out."""
    if text.lstrip(_BLANKS).startswith("["):
        yield from _elements(text)
        return
    lines = text.split("\n")
    for number, line in enumerate(lines if whole else lines[:-1], 1):
        if line.strip(_BLANKS):
            yield number, line


def _elements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the elements of an array; one cut off by the text's end is left out."""
    depth, start = 0, text.index("[") + 1
    for token in _ARRAY_TOKENS.finditer(text, start):
        letter = token[0]
        if depth == 0 and letter in (",", "]"):
            element = text[start : token.start()]
            if letter == "," or element.strip(_BLANKS):
                leading = len(element) - len(element.lstrip(_BLANKS))
                yield text.count("\n", 0, start + leading) + 1, element.strip(_BLANKS)
            start = token.end()
            if letter == "]":
                return
        depth += (letter in ("{", "[")) - (letter in ("}", "]"))


@dataclass(frozen=True)
class CsvField:
    text: str
    quoted: bool


def csv_rows(file: str, text: str, whole: bool, options: Mapping[str, str]) -> Iterator[tuple[int, Sequence[CsvField]]]:
    """Yield (line number, fields) of each record; one that the text's end cuts is left out unless the text is `whole`.

    Raises MalformedData for wrong quotes.
    """
    delimiter, quote = options.get("delimiter", ","), options.get("quote", '"')
    end = csv_line_end(text, quote)
    if quote not in text:
        lines = text.split(end)
        for number, line in enumerate(lines[:-1] if not whole or not lines[-1] else lines, 1):
            yield number, [CsvField(field, False) for field in line.removesuffix("\r").split(delimiter)]
        return
    pattern = _field(delimiter, quote, end)
    record: list[CsvField] = []
    at = start = 0
    number = 1
    while at < len(text) or record:
        field = pattern.match(text, at)
        if field is None:
            if not whole and text.startswith(quote, at) and _unclosed(quote).fullmatch(text, at):
                return
            what = "the quotes of a field are wrong: a quote stands inside an unquoted field, or is not closed"
            raise MalformedData(f"{file}: line {number}: {what}", file=file, line=number)
        quoted, bare, behind = field.groups()
        if quoted is not None:
            record.append(CsvField(quoted.replace(quote * 2, quote), True))
        else:
            record.append(CsvField(bare if behind == delimiter else bare.removesuffix("\r"), False))
        at = field.end()
        if behind == delimiter:
            continue
        if behind or whole:
            yield number, record
        record = []
        number += text.count(end, start, at)
        start = at


def csv_line_end(text: str, quote: str) -> str:
    """Return the end of the first line: LF, also after a CR, or a CR alone."""
    quoted = False
    for i, letter in enumerate(text):
        if letter == quote:
            quoted = not quoted
        elif letter == "\n" and not quoted:
            return "\n"
        elif letter == "\r" and not quoted:
            return "\n" if text.startswith("\n", i + 1) else "\r"
    return "\n"


@functools.lru_cache(maxsize=100)
def _field(delimiter: str, quote: str, end: str) -> re.Pattern[str]:
    d, q = re.escape(delimiter), re.escape(quote)
    returned = "\r?" if end == "\n" else ""
    return re.compile(f"(?:{q}((?:[^{q}]|{q}{q})*+){q}{returned}|([^{d}{q}{end}]*+))({d}|{end}|\\Z)", re.DOTALL)


@functools.lru_cache(maxsize=100)
def _unclosed(quote: str) -> re.Pattern[str]:
    q = re.escape(quote)
    return re.compile(f"{q}(?:[^{q}]|{q}{q})*+(?:{q}\r?)?", re.DOTALL)
