"""Runs the fuzz target of the NTF decoders for a bounded time: by libFuzzer, else by random mutation under ASan."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.dataflow.types import DataType, Schema, int64, string
from jumpgate.dataflow.types import decimal as decimal_
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import HEADER_BYTES, Hello, error_frame
from tests.support import cpp, fuzz, golden

HERE = Path(__file__).parent
OPTIONS = ("-max_len=65536", "-rss_limit_mb=2048")
#: that of ntf_fuzz.cpp
SCHEMA = Schema.of(
    id=int64.with_nullable(False), b=DataType("bool"), i=DataType("int8"), s=string, d=decimal_(7, 2),
    w=decimal_(38, 4), r=DataType("binary", nullable=False), f=DataType("float32"), t=DataType("date"),
    h=DataType("int16", nullable=False),
)  # fmt: skip
ROWS: tuple[golden.Row, ...] = (
    (1, True, -1, "one", -150, 10**20, b"\0\1", 1.5, 7, 9),
    (2, None, None, None, None, None, b"", None, None, -1),
    (3, False, 0, "", 0, 0, b"x" * 70, 0.0, 0, 0),
)


def seeds(folder: Path) -> None:
    """One valid input for each thing that the target reads."""
    formats = (
        Descriptor.columnar(SCHEMA),
        Descriptor.row(SCHEMA),
        Descriptor.row(SCHEMA, byte_order="big", packed=True),
        Descriptor.row(SCHEMA, byte_order="big", alignment=4),
    )
    for which, descriptor in enumerate(formats):
        codec = Codec(descriptor)
        for count in (1, 3):
            payload = codec.encode(golden.batch(codec, ROWS[:count]))
            (folder / f"frame{which}-{count}").write_bytes(bytes([which, count - 1, 0]) + payload)
    hello = Hello(0, 0, "token", "job", "e1", formats[0].fingerprint(), formats[0].text()).encode()
    case = golden.CASES["nullable"]
    for which, data in (
        (4, formats[2].text().encode()),
        (5, hello[HEADER_BYTES:]),
        (6, error_frame("protocol", "a message")[HEADER_BYTES:]),
        (7, golden.stream(case, case.descriptors()["row"])),
    ):
        (folder / f"control{which}").write_bytes(bytes([which, 0, 0]) + data)


@pytest.mark.nightly(like="tests/fuzz/test_switch_fuzz.py::test_hostile_packets_and_writes")
@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_hostile_bytes(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    seeds(corpus)
    count = len(list(corpus.iterdir()))
    sources = [HERE / "ntf_fuzz.cpp", *cpp.ntf_sources()]
    assert fuzz.fuzz("ntf", sources, HERE / "mutate_main.cpp", corpus, options=OPTIONS) > count
