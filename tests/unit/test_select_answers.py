"""Answers of S3 Select that are cut off or changed on their way: whole, or Broken, never a short one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from jumpgate.ncas.s3_select import asking
from jumpgate.ncas.s3_select.asking import Broken, Counted
from tests.support.select_double import message

LINES = b"".join(b'{"c0":%d,"c1":"text %d"}\n' % (i, i * i) for i in range(200))
DAMAGED = 1000


def answer() -> bytes:
    """Return an answer of several messages, between which lines are cut."""
    parts = [message("Records", LINES[start : start + 700]) for start in range(0, len(LINES), 700)]
    stats = message("Stats", b"<Stats><BytesScanned>77</BytesScanned></Stats>")
    return b"".join([*parts[:3], message("Cont", b""), *parts[3:], stats, message("End", b"")])


def received(body: bytes, monkeypatch: pytest.MonkeyPatch, chance: random.Random) -> bytes:
    """Return what is made of a body that arrives in random parts."""

    def sent(*_: object) -> Iterator[bytes]:
        start = 0
        while start < len(body):
            size = chance.randrange(1, 2000)
            yield body[start : start + size]
            start += size

    monkeypatch.setattr(asking, "_sent", sent)
    return b"".join(asking.records({"select": "", "size": 5}, "SELECT", Counted()))


def test_a_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert received(answer(), monkeypatch, random.Random(0)) == LINES


@pytest.mark.parametrize("how", ["cut", "flipped", "lost"])
def test_a_damaged_answer_is_never_taken_for_a_whole_one(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, whole, broken = random.Random(how), answer(), 0
    for _ in range(DAMAGED // 2):
        body, at = bytearray(whole), chance.randrange(len(whole))
        match how:
            case "cut":
                del body[at:]
            case "flipped":
                body[at] ^= 1 << chance.randrange(8)
            case "lost":
                del body[at : at + chance.randrange(1, 200)]
        try:
            assert received(bytes(body), monkeypatch, chance) == LINES
        except Broken:
            broken += 1
    assert broken == DAMAGED // 2


def test_an_answer_that_says_that_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = message("Records", LINES)
    for end in (b"", whole, message("Stats", b"")):
        with pytest.raises(Broken, match="cut off"):
            received(whole + end, monkeypatch, random.Random(1))
