"""Runs the fuzz target of edges through a switch: hostile packets, under ASan and UBSan."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from jumpgate.dataflow.types import DataType, Schema, int64, string
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.p4.programs.protocol import ACK_RUN, HEADER
from tests.support import cpp, fuzz

HERE = Path(__file__).parent
#: the second format of datagram_fuzz.cpp
ROWS = Descriptor.row(
    Schema.of(i=int64.with_nullable(False), s=string, b=DataType("binary", nullable=False), f=DataType("bool")),
    byte_order="big", packed=True,
)  # fmt: skip
DATA, ACK, READ_FIRST, READ_SECOND, CLEAR = 1, 2, 3, 4, 5
#: a flow of datagram_fuzz.cpp
TOGETHER = 4


def packet(kind: int, present: int, sequence: int, body: bytes = b"", flow: int = 3) -> bytes:
    whole = HEADER.pack(kind, present, flow, sequence, 0) + body
    return bytes([len(whole)]) + whole


def seeds(folder: Path) -> None:
    """Valid conversations: tuples and buckets, rows, acknowledgements."""
    tuples = b"".join(struct.pack(">Bqq", nulls, 7 - nulls, -(2**40)) for nulls in range(4))
    firsts, seconds = struct.pack(">8I", 5, 9, 7, 8, 1, 2, 3, 4), struct.pack(">3I", 5, 2, 3)
    buckets = [packet(READ_FIRST, 5 * (i % 2), i, firsts * 2 * (i % 2)) for i in range(4)]
    buckets += [packet(READ_SECOND, 5, i, seconds * 2) for i in (1, 3)]
    buckets += [packet(CLEAR, 0, i) for i in range(4)]
    (folder / "tuples").write_bytes(b"\0" + packet(DATA, 15, 1, tuples) + packet(DATA, 2, 2, tuples[:17]) * 3)
    (folder / "buckets").write_bytes(b"\0" + b"".join(buckets))
    acks = [packet(ACK, 0, number) for number in (3, 1, 2, 2**32 - 1, 4, 5, 0)]
    late = packet(ACK_RUN, 39, 1) + packet(ACK, 0, 2**32 - 1, flow=TOGETHER) + packet(ACK, 0, 9)
    (folder / "overtaken").write_bytes(b"\0" + late)
    (folder / "acknowledgements").write_bytes(b"\0" + b"".join(acks))
    codec = Codec(ROWS)
    for which, row in enumerate([(1, "one", b"xyz", True), (2, None, b"", None)]):
        batch = pa.RecordBatch.from_arrays([pa.array([v], f.type) for v, f in zip(row, codec.schema, strict=True)],
                                           schema=codec.schema)  # fmt: skip
        (folder / f"row{which}").write_bytes(b"\1" + packet(DATA, 1, 1, tuples[:17] + codec.encode(batch)) * 2)
    (folder / "wide").write_bytes(b"\2" + packet(DATA, 1, 1, tuples[:17] + bytes(18)))


@pytest.mark.nightly(like="tests/fuzz/test_switch_fuzz.py::test_hostile_packets_and_writes")
@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_hostile_packets(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    seeds(corpus)
    tried = fuzz.fuzz(
        "datagram", [HERE / "datagram_fuzz.cpp", *cpp.datagram_sources()], HERE / "mutate_main.cpp", corpus
    )
    assert tried > 1000
