"""Blocks of Snappy: what other writers could have written, and what none has, under sanitizers."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate.converters
from tests.support import cpp

HERE = Path(__file__).parent
CONVERTERS = Path(jumpgate.converters.__file__).parent


@pytest.fixture(scope="module")
def program() -> Path:
    sources = [HERE / "snappy_blocks.cpp", CONVERTERS / "common" / "snappy.cpp"]
    return cpp.build("snappy_blocks", sources, [*cpp.SANITIZED, "-I", str(CONVERTERS)])


def held(program: Path, blocks: Sequence[bytes]) -> list[bytes | None]:
    """What the blocks hold; None: they are none."""
    data = b"".join(struct.pack("<i", len(b)) + b for b in blocks)
    done = subprocess.run([program], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    answers: list[bytes | None] = []
    at = 0
    while at < len(done.stdout):
        (size,) = struct.unpack_from("<i", done.stdout, at)
        assert size != -2, "another answer in pieces"
        answers.append(None if size < 0 else done.stdout[at + 4 : at + 4 + size])
        at += 4 + max(size, 0)
    return answers


def varint(n: int) -> bytes:
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def literal(data: bytes, wider: int = 0) -> bytes:
    """`wider`: the bytes that the length takes, where it could be in the tag."""
    n = len(data) - 1
    bytes_ = max(wider, 0 if n < 60 else (n.bit_length() + 7) // 8)
    if not bytes_:
        return bytes([n << 2]) + data
    return bytes([(59 + bytes_) << 2]) + n.to_bytes(bytes_, "little") + data


def copy(offset: int, length: int, kind: int) -> bytes:
    if kind == 1:
        return bytes([1 | (length - 4) << 2 | offset >> 8 << 5, offset & 0xFF])
    return bytes([kind | (length - 1) << 2]) + offset.to_bytes(2 if kind == 2 else 4, "little")


def random_block(chance: random.Random, elements: int) -> tuple[bytes, bytes]:
    """A block of every kind of element, and what it holds."""
    out, block = bytearray(), bytearray()
    for _ in range(elements):
        if not out or chance.random() < 0.5:
            size = chance.choice([chance.randint(1, 16), chance.randint(1, 64), chance.randint(1, 300)])
            data = chance.randbytes(size)
            block += literal(data, chance.choice([0] * 9 + [1 + (size > 256)]))
            out += data
            continue
        kind = chance.choice([1, 1, 2, 2, 3])
        most = min(len(out), {1: 2047, 2: 65535, 3: 1 << 30}[kind])
        offset = chance.choice([most, chance.randint(1, most), min(most, chance.randint(1, 20))])
        length = chance.randint(4, 11) if kind == 1 else chance.randint(1, 64)
        block += copy(offset, length, kind)
        for _ in range(length):
            out.append(out[-offset])
    return varint(len(out)) + bytes(block), bytes(out)


def test_every_kind_of_element(program: Path) -> None:
    chance = random.Random(5)
    made = [random_block(chance, elements) for elements in [0, 1, 2, 3] * 50 + [30] * 100 + [3000] * 5]
    assert held(program, [block for block, _ in made]) == [data for _, data in made]


def test_blocks_of_the_library(program: Path) -> None:
    chance = random.Random(6)
    texts = [
        b"", b"x", b"ab" * 70_000, bytes(200_000), chance.randbytes(150_000),
        struct.pack("<20000q", *(chance.randrange(10**6) for _ in range(20_000))),
        b"".join(b"item-%d" % chance.randrange(5000) for _ in range(20_000)),
    ]  # fmt: skip
    assert held(program, [pa.compress(t, "snappy", asbytes=True) for t in texts]) == texts


def test_what_is_no_block(program: Path) -> None:
    """Each of them alone is wrong."""
    broken = [
        b"", b"\x80", b"\x80" * 6, varint(1 << 30) + literal(b"x"),  # sizes
        varint(2) + literal(b"x"), varint(1) + literal(b"xy"), varint(3) + b"\x08xy", varint(70) + b"\xf0",  # literals
        varint(5) + literal(b"x") + copy(2, 4, 1), varint(5) + literal(b"x") + copy(0, 4, 1),  # copies
        varint(4) + literal(b"x") + copy(1, 4, 1), varint(5) + literal(b"x") + copy(1, 4, 2)[:-1],
        varint(65) + literal(b"x") + copy(1 << 31, 64, 3),
    ]  # fmt: skip
    assert held(program, broken) == [None] * len(broken)


def test_damage_is_found_or_changes_values(program: Path) -> None:
    """The library is of the same opinion about each."""
    chance = random.Random(7)
    blocks, sizes = [], []
    for _ in range(1500):
        whole, data = random_block(chance, chance.choice([4, 30, 100]))
        block = bytearray(whole)
        sizes.append(len(data))
        for _ in range(chance.randint(1, 3)):
            block[chance.randrange(3, len(block))] = chance.randrange(256)
        blocks.append(bytes(block[: chance.choice([len(block), len(block), chance.randint(3, len(block))])]))
    answers = held(program, blocks)
    assert sum(a is None for a in answers) > 100 and sum(a is not None for a in answers) > 100
    for block, size, answer in zip(blocks, sizes, answers, strict=True):
        try:
            expected = pa.decompress(block, size, "snappy", asbytes=True)
        except OSError:
            expected = None
        assert answer == expected
