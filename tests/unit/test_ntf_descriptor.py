"""The agreement of two ends: canonical text, fingerprint, differences, protobuf; and frames as pure functions."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpgate.dataflow.types import Field, Schema, decimal, int32, int64, string
from jumpgate.errors import ProtocolError
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import (
    Hello,
    Kind,
    StreamTotals,
    control_frame,
    decode_error,
    error_frame,
    header,
    parse_header,
)
from jumpgate.ntf.layout import row_layout

SCHEMA = Schema((Field("a b", int32), Field("price", decimal(7, 2)), Field("", string.with_nullable(False))))
TEXT = """jumpgate-ntf 1
layout row
byte_order big
packed yes
alignment 1
field 0 int32? a%20b
field 1 decimal(7,2)? price
field 2 string\x20
"""


def test_the_canonical_text() -> None:
    descriptor = Descriptor.row(SCHEMA, byte_order="big", packed=True)
    assert descriptor.text() == TEXT
    assert descriptor.fingerprint() == "b60767906006969b573f198b84e6fab5"
    assert Descriptor.parse(TEXT) == descriptor


@given(st.lists(st.text(st.characters(codec=None), max_size=8), max_size=5), st.sampled_from(("columnar", "row")))
def test_text_and_protobuf_are_lossless(names: list[str], layout: str) -> None:
    descriptor = Descriptor.of(Schema(tuple(Field(name, int32) for name in names)), layout)
    assert Descriptor.parse(descriptor.text()) == descriptor
    if all(name.isprintable() for name in names):  # protobuf's strings are valid UTF-8
        assert Descriptor.from_proto(descriptor.to_proto()) == descriptor


@pytest.mark.parametrize(
    "text",
    ["", "jumpgate-ntf 2\n", TEXT.replace("a%20b", "a%2") + "x", TEXT.replace("field 1", "field 7"), TEXT[:-1],
     TEXT.replace("price", "p%72ice"), TEXT.replace("alignment 1", "alignment -1")],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"NTF descriptor|malformed"):
        Descriptor.parse(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diagonal",), "unknown layout 'diagonal'; there are columnar, row"),
        (("row", "middle"), "unknown byte order 'middle'"),
        (("columnar", "big"), "columnar is little endian"),
        (("row", "big", True, 8), "alignment 8 contradicts packed=True"),
        (("row", "big", False, 3), "alignment 3 is not a power of two"),
        (("row", "big", False, 128), "alignment 128 is not a power of two up to 64"),
    ],
)
def test_contradictions_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Descriptor(SCHEMA, *arguments)  # type: ignore[arg-type]


def test_the_first_difference_names_the_field() -> None:
    mine = Descriptor.columnar(SCHEMA)
    assert mine.first_difference(mine) is None
    assert mine.first_difference(Descriptor.row(SCHEMA)) == "layout: columnar here, row there"
    other = Schema((Field("a b", int64), *SCHEMA.fields[1:]))
    assert mine.first_difference(Descriptor.columnar(other)) == "field 0: int32? a%20b here, int64? a%20b there"
    assert mine.first_difference(Descriptor.columnar(SCHEMA.select((0,)))) == (
        "field 1: decimal(7,2)? price here, nothing there"
    )


def test_a_message_that_contradicts_itself_is_refused() -> None:
    message = Descriptor.columnar(SCHEMA).to_proto()
    message.schema.fields[0].name = "other"
    with pytest.raises(ValueError, match="contradict"):
        Descriptor.from_proto(message)


def test_offsets_of_the_row_layout() -> None:
    def offsets(descriptor: Descriptor) -> tuple[list[int], int]:
        layout = row_layout(descriptor)
        return [f.offset for f in layout.fields], layout.stride

    assert offsets(Descriptor.row(SCHEMA, packed=True)) == ([1, 5, 13], 21)
    assert offsets(Descriptor.row(SCHEMA)) == ([4, 8, 16], 24)
    assert offsets(Descriptor.row(SCHEMA, alignment=2)) == ([2, 6, 14], 22)
    wide = Schema.of(a=decimal(38), b=int32)
    assert offsets(Descriptor.row(wide)) == ([8, 24], 32)
    assert offsets(Descriptor.row(wide, alignment=16)) == ([16, 32], 48)


def test_the_descriptor_needs_no_arrow() -> None:
    program = "import sys, jumpgate.ntf.descriptor; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"HTTP" + bytes(28), "not a Jumpgate tuple stream"),
        (b"JGTF\2" + bytes(27), "speaks version 2 of the tuple stream, here is version 1; install the same release"),
        (b"JGTF\1\3\1" + bytes(25), "unknown flags"),
        (b"JGTF\1\x09" + bytes(26), "unknown kind 9"),
        (header(Kind.DATA, 0, 0, 0, 0), "a frame of 0 rows; allowed are 1 to 1048576"),
        (header(Kind.END, 1, 0, 0, 0), "a frame of 1 rows"),
        (header(Kind.HELLO, 0, (1 << 20) + 1, 0, 0), "a frame of 1048577 bytes; at most 1048576 are allowed"),
    ],
)
def test_headers_that_are_refused(raw: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        parse_header(raw)


def test_greetings_and_errors_are_lossless() -> None:
    hello = Hello(1, 2, "tökén", "job", "e", "f" * 32, TEXT)
    frame = hello.encode()
    assert Hello.decode(frame[32:]) == hello
    assert "tökén" not in repr(hello)
    assert decode_error(error_frame("protocol", "no" * 4000)[32:]) == ("protocol", "no" * 2048)
    for damaged in (frame[32:-1], frame[32:] + b"x", b"", b"\xff" * 12):
        with pytest.raises(ProtocolError, match="a malformed greeting"):
            Hello.decode(damaged)
    with pytest.raises(ProtocolError, match="at most 1048576 are allowed"):
        Hello(0, 0, "t", "j", "e", "f", "x" * (1 << 20)).encode()


def test_totals_find_lost_and_changed_frames() -> None:
    sent, got = StreamTotals(), StreamTotals()
    for rows, crc in ((5, 1), (6, 2)):
        sent.add(rows, crc)
    got.add(5, 1)
    end = sent.end_frame()
    with pytest.raises(ProtocolError, match="frame 1 was expected, frame 2 came"):
        got.check_sequence(parse_header(end[:32]))
    with pytest.raises(ProtocolError, match="the sender counts 11 rows, 5 came"):
        got.check_end(end[32:])
    got.add(6, 3)
    with pytest.raises(ProtocolError, match="the end frame's totals do not match the stream"):
        got.check_end(end[32:])
    assert parse_header(control_frame(Kind.ACCEPT)).length == 0
