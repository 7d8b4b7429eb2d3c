"""Runs the fuzz target of the software switch: hostile packets and table writes, under ASan and UBSan."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.p4.switch import library
from tests.support import fuzz, switch_by_hand

HERE = Path(__file__).parent


def seeds(folder: Path) -> None:
    """A few rows in each table, then a packet for each operation, plain and with a payload."""
    rows = b"".join(
        bytes([table, 0, priority, 1]) + bytes([priority, 0, 0, 0, 0]) + mask + b"\x05\x00"
        for table, mask in ((0, bytes(5)), (1, b"\xff\0\0\0\0"), (2, b"\xff\xff\xff\xff\0"), (3, b"\x20\0\0\0\xff"))
        for priority in (1, 7)
    )
    setup = rows + bytes([5, 4, 3, 7, 0, 1]) + bytes([6, 4, 9, 0])
    for operation in range(16):
        for payload in (b"", b"payload"):
            frame = switch_by_hand.frame(operation, 4, 7 << 24, payload)
            packet = bytes([8, 1, 0, len(frame), 0]) + frame
            (folder / f"operation{operation}-{len(payload)}").write_bytes(setup + packet)


@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_hostile_packets_and_writes(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    seeds(corpus)
    source = library.HERE / "src"
    sources = [*sorted(path for path in source.glob("*.cpp") if path.stem != "api"), switch_by_hand.SOURCE]
    include = (*library.INCLUDES, "-I", str(source))
    tried = fuzz.fuzz("switch", [HERE / "switch_fuzz.cpp", *sources], HERE / "mutate_main.cpp", corpus, include)
    assert tried > 100
