"""Rows that a table has deleted from its files, as the option `deleted` of a read: a text a file, in their order.

A text has a number for each run of deleted rows: twice the number of rows before it since the last run, plus one where
the run has several rows; then the next number is how many, less two. A number is digits of five bits, the lowest first;
a digit of 32 or more says that others follow. converters/common/deleted_rows.cpp reads the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
#: beyond the rows of any file
ROWS_MAX = 1 << 60
_VALUES = {digit: value for value, digit in enumerate(DIGITS)}


def encode(rows: Iterable[int]) -> str:
    """Return the text of rows, which ascend.

    >>> encode([]), encode([0]), encode([3, 4, 5, 100])
    ('', 'A', 'HB8F')
    """
    texts = []
    at = 0
    for first, end in _runs(rows):
        texts.append(_number(2 * (first - at) + (end > first + 1)))
        if end > first + 1:
            texts.append(_number(end - first - 2))
        at = end
    return "".join(texts)


def decode(text: str) -> Iterator[range]:
    """Yield the runs of rows of a text. Raises ValueError for one that is none."""
    numbers = _numbers(text)
    at = 0
    for number in numbers:
        first = at + number // 2
        at = first + 1
        if number % 2:
            more = next(numbers, None)
            if more is None:
                raise ValueError("it ends within a run of rows")
            at += 1 + more
        if at > ROWS_MAX:
            raise ValueError("it names rows that no file has")
        yield range(first, at)


@lru_cache(maxsize=32)
def count(value: str) -> int:
    """Return the rows that all files have lost, by the option's value. Raises ValueError."""
    return sum(len(run) for text in value.split(",") for run in decode(text))


def of_files(options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the text of each file; none without the option."""
    value = options.get("deleted")
    return () if value is None else tuple(value.split(","))


@lru_cache(maxsize=32)
def problem(value: str) -> str:
    """Return the problem of the option's value; empty if there is none."""
    try:
        count(value)
    except ValueError as error:
        return str(error)
    return ""


def _runs(rows: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = end = -1
    for row in rows:
        if row < end or row < 0 or row >= ROWS_MAX:
            raise ValueError(f"row {row} does not follow")
        if row > end:
            if end >= 0:
                yield first, end
            first = row
        end = row + 1
    if end >= 0:
        yield first, end


def _number(number: int) -> str:
    digits = []
    while number >= 32:
        digits.append(DIGITS[number & 31 | 32])
        number >>= 5
    return "".join(digits) + DIGITS[number]


def _numbers(text: str) -> Iterator[int]:
    number = shift = 0
    for digit in text:
        value = _VALUES.get(digit)
        if value is None:
            raise ValueError(f"{digit!r} is no digit")
        number |= (value & 31) << shift
        shift += 5
        if value < 32:
            yield number
            number = shift = 0
        elif shift > 60:
            raise ValueError("it has a number without an end")
    if shift:
        raise ValueError("it has a number without an end")
