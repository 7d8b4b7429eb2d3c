"""Python and C++ write exactly the bytes of tests/golden/ntf, and read the described values back."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pyarrow as pa
import pytest
from crc32c import crc32c

from jumpgate.dataflow.types import Field, Schema, int32
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import HEADER_BYTES, Hello, Kind, StreamTotals, parse_header
from jumpgate.testing.oracle import values
from tests.support import cpp, golden

VECTORS = Path(__file__).parent / "ntf"
LAYOUTS = ("columnar", "row", "row_network", "row_aligned_4_big")
EACH = pytest.mark.parametrize(("name", "layout"), [(n, layout) for n in golden.CASES for layout in LAYOUTS])


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(cpp.build("libntf.so", cpp.ntf_sources(), (*cpp.RELEASE, "-fPIC", "-shared"))))
    loaded.jg_ntf_crc32c.restype = ctypes.c_uint32
    loaded.jg_ntf_crc32c.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    loaded.jg_ntf_free.argtypes = [ctypes.c_void_p]
    loaded.jg_ntf_convert.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p),
        ctypes.POINTER(ctypes.c_size_t), ctypes.c_char_p, ctypes.c_size_t,
    ]  # fmt: skip
    return loaded


def convert(library: ctypes.CDLL, stream: bytes, to: Descriptor, text: str | None = None) -> bytes:
    """C++ reads the stream and writes its rows in another format; raises ValueError with what it says. text: what is
    said in place of the format's own."""
    out, size, error = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.create_string_buffer(512)
    if library.jg_ntf_convert(
        stream, len(stream), (text or to.text()).encode(), to.fingerprint().encode(), out, size, error, len(error)
    ):
        raise ValueError(error.value.decode())
    try:
        return ctypes.string_at(out, size.value)
    finally:
        library.jg_ntf_free(out)


def vector(name: str, layout: str) -> bytes:
    return (VECTORS / f"{name}.{layout}.bin").read_bytes()


@pytest.mark.parametrize("name", golden.CASES)
def test_the_descriptions_are_current(name: str, request: pytest.FixtureRequest) -> None:
    path = VECTORS / f"{name}.json"
    text = json.dumps(golden.description(golden.CASES[name]), indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update-golden"):
        VECTORS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(text)


@EACH
def test_python_writes_the_vector(name: str, layout: str, request: pytest.FixtureRequest) -> None:
    case = golden.CASES[name]
    stream = golden.stream(case, case.descriptors()[layout])
    if request.config.getoption("--update-golden"):
        (VECTORS / f"{name}.{layout}.bin").write_bytes(stream)
    assert stream == vector(name, layout)


@EACH
def test_python_reads_the_vector(name: str, layout: str) -> None:
    case = golden.CASES[name]
    descriptor = case.descriptors()[layout]
    codec, totals, stream = Codec(descriptor), StreamTotals(), vector(name, layout)
    frames = list(_frames(stream))
    assert Hello.decode(frames[0][1]) == Hello(
        3, 1, golden.TOKEN, golden.JOB, golden.EDGE, descriptor.fingerprint(), descriptor.text()
    )
    assert [kind for kind, _, _ in frames] == [Kind.HELLO, *[Kind.DATA] * len(case.frames), Kind.END]
    for (_, payload, header), rows in zip(frames[1:-1], case.frames, strict=True):
        totals.check_sequence(header)
        totals.add(header.rows, header.crc)
        batch = codec.decode(pa.py_buffer(payload), header.rows)
        batch.validate(full=True)
        written = golden.batch(codec, rows)
        assert str(list(map(values, batch.columns))) == str(list(map(values, written.columns)))  # NaN is not itself
    totals.check_end(frames[-1][1])


def _frames(stream: bytes):  # type: ignore[no-untyped-def]
    at = 0
    while at < len(stream):
        header = parse_header(stream[at : at + HEADER_BYTES])
        at += HEADER_BYTES + header.length
        payload = stream[at - header.length : at]
        header.check_crc(crc32c(payload))
        yield header.kind, payload, header


@pytest.mark.parametrize("name", golden.CASES)
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_cpp_reads_each_vector_and_writes_each_other(library: ctypes.CDLL, name: str, source: str, target: str) -> None:
    """A codec that misreads a value in one layout cannot write it right in another."""
    to = golden.CASES[name].descriptors()[target]
    assert convert(library, vector(name, source), to) == vector(name, target)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("layout row", "layout diagonal", "an NTF descriptor of an unknown layout: 'diagonal'"),
        ("alignment 8", "alignment 08", "malformed line"),
        ("packed no", "packed yes", "contradict each other"),
        ("field 0", "field 00", "malformed line in an NTF descriptor: 'field 00"),
        (" i32\n", " %6932\n", "malformed line"),
        (" i32\n", " i32 \n", "malformed line"),
        (" i32\n", " i32", "malformed line|is cut"),
        ("jumpgate-ntf 1", "jumpgate-ntf 2", "not the text of an NTF descriptor of version 1"),
    ],
)
def test_cpp_takes_canonical_text_alone(library: ctypes.CDLL, before: str, after: str, words: str) -> None:
    to = Descriptor.row(Schema((Field("i32", int32),)))
    assert before in to.text()
    with pytest.raises(ValueError, match=words):
        convert(library, vector("nullable", "columnar"), to, to.text().replace(before, after))


def test_cpp_refuses_a_damaged_vector(library: ctypes.CDLL) -> None:
    stream = vector("nullable", "columnar")
    to = golden.CASES["nullable"].descriptors()["columnar"]
    with pytest.raises(ValueError, match="unreachable: the stream ends without an end frame"):
        convert(library, stream[:-52], to)
    with pytest.raises(ValueError, match="unreachable: the stream ends within a frame"):
        convert(library, stream[:-1], to)
    with pytest.raises(ValueError, match="protocol: a frame whose bytes do not match its checksum"):
        convert(library, stream[:-60] + b"\x55" + stream[-59:], to)
    with pytest.raises(ValueError, match="protocol: the formats have different columns"):
        convert(library, stream, golden.CASES["strings"].descriptors()["row"])


def test_crc32c_is_castagnolis_in_hardware_and_without(library: ctypes.CDLL) -> None:
    assert crc32c(b"123456789") == 0xE3069283
    data = bytes(i * 7 % 251 for i in range(40_000))
    for size in (0, 1, 7, 8, 9, 767, 768, 769, 12_287, 12_288, 12_289, 40_000):
        for start in range(min(size, 3) + 1):
            piece = data[start:size]
            for portable in (0, 1):
                assert library.jg_ntf_crc32c(piece, len(piece), portable) == crc32c(piece)
