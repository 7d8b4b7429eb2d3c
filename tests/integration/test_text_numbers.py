"""Numbers of JSON and CSV files, of every scale and length, against Python's decimals."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from tests.support.text_files import rows, two, write

ROWS = 1000


def number(random: Random, whole_max: int, fraction_max: int) -> str:
    whole = str(random.randrange(10 ** random.randint(0, whole_max)))
    fraction = "".join(random.choices("0123456789", k=random.randint(0, fraction_max)))
    return random.choice(("", "-")) + whole + ("." + fraction if fraction else "")


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("scale", range(10))
@pytest.mark.parametrize("late", [(), (0, 1)])
def test_numbers_of_all_lengths(tmp_path: Path, format: str, scale: int, late: tuple[int, ...]) -> None:
    random = Random(scale)
    decimals = [number(random, 12 - scale, scale) if random.random() < 0.9 else "" for _ in range(ROWS)]
    integers = [number(random, 9, 0) if random.random() < 0.9 else "" for _ in range(ROWS)]
    lines = [f'{{"a":{a or "null"},"b":{b or "null"}}}' for a, b in zip(decimals, integers, strict=True)]
    if format == "csv":
        lines = ["a,b", *(f"{a},{b}" for a, b in zip(decimals, integers, strict=True))]
    path = write(tmp_path / "t", "\n".join(lines) + "\n")
    expected = [
        (int(Decimal(a).scaleb(scale)) if a else None, int(b) if b else None)
        for a, b in zip(decimals, integers, strict=True)
    ]
    assert rows(format, path, two(f"decimal(12, {scale})?", "int32?"), late=late) == expected
