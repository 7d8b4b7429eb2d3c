"""Text that is packed, or in another encoding: the same rows as of the plain file, or one error that names the file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.errors import MalformedData, SchemaMismatch
from tests.support import probe

SCHEMA = Schema((Field("a", parse_type("int64?")), Field("b", parse_type("string?"))))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def blocks(data: bytes, size: int = 0xFF00) -> bytes:
    """The text as BGZF: members of gzip that say how long they are, and an empty one at the end."""
    made = []
    for begin in range(0, len(data) + size, size):
        text = data[begin : begin + size]
        deflated = zlib.compress(text, wbits=-15)
        head = struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(deflated) + 25)
        made.append(head + deflated + struct.pack("<II", zlib.crc32(text), len(text)))
    return b"".join(made)


def frames(data: bytes, size: int = 300_000) -> bytes:
    """The text as frames of zstd that say how long they are, with something to pass over between them."""
    passed = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    return passed.join(pa.compress(data[i : i + size], "zstd", asbytes=True) for i in range(0, len(data), size))


def seekable(data: bytes, size: int = 300_000) -> bytes:
    """The text as frames of zstd that do not say how long they are, and a table of these at the end."""
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    packed = []
    for part in parts:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as out:
            for i in range(0, len(part), 100_000):
                out.write(part[i : i + 100_000])
        packed.append(sink.getvalue().to_pybytes())
    table = b"".join(struct.pack("<2I", len(p), len(t)) for p, t in zip(packed, parts, strict=True))
    table += struct.pack("<IBI", len(parts), 0, 0x8F92EAB1)
    return b"".join(packed) + struct.pack("<2I", 0x184D2A5E, len(table)) + table


#: of text whose parts can be unpacked by themselves
PARTED: dict[str, Callable[[bytes], bytes]] = {"gz": blocks, "zst": frames}


def scan(format: str, path: Path | list[Path], **how: Any) -> probe.Scan:
    return probe.scan(format, [str(p) for p in (path if isinstance(path, list) else [path])], SCHEMA, **how)


def text(format: str, count: int, first: int = 0) -> bytes:
    rows = range(first, first + count)
    if format == "json":
        return "".join(f'{{"a":{i},"b":"wörd {i * 7919}"}}\n' for i in rows).encode()
    return ("a,b\n" + "".join(f"{i},wörd {i * 7919}\n" for i in rows)).encode()


def expected(count: int) -> list[tuple[int, bytes]]:
    return [(i, f"wörd {i * 7919}".encode()) for i in range(count)]


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("count", [0, 1, 60_000])
def test_packed(tmp_path: Path, format: str, packer: str, count: int) -> None:
    """Found by the first bytes, whatever the file is called; one part, for whoever has it."""
    data = PACKERS[packer](text(format, count))
    for name in (f"t.{format}.{packer}", f"t.{format}"):
        (tmp_path / name).write_bytes(data)
        found = scan(format, tmp_path / name, threads=2)
        assert list(zip(*found.columns, strict=True)) == expected(count)
    assert count < 1000 or 0 < found.bytes < len(text(format, count)), "bytes of the file are counted"
    shares = [scan(format, tmp_path / f"t.{format}", share=(i, 3), threads=2) for i in range(3)]
    assert sorted(v for s in shares for v in s.columns[0]) == list(range(count))


@pytest.mark.parametrize("packer", PACKERS)
def test_members_behind_one_another(tmp_path: Path, packer: str) -> None:
    """As `cat a.gz b.gz` and parallel packers make them; a record may go over their border."""
    whole = text("json", 5000)
    rng = random.Random(packer)
    cuts = [0, *sorted(rng.sample(range(len(whole)), 9)), len(whole)]
    parts = [PACKERS[packer](whole[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
    (tmp_path / "t.json").write_bytes(b"".join(parts))
    assert list(zip(*scan("json", tmp_path / "t.json").columns, strict=True)) == expected(5000)


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("packer", PACKERS)
def test_cut_and_damaged(tmp_path: Path, format: str, packer: str) -> None:
    """Never a part of the rows; with on_error=skip neither."""
    data = PACKERS[packer](text(format, 20_000))
    path = tmp_path / f"t.{format}.{packer}"
    for keep in (0, 1, 9, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:keep])
        for options in ({}, {"on_error": "skip"}):
            with pytest.raises(MalformedData, match=r"cut or damaged|its bytes are something else") as e:
                scan(format, path, options=options)
            assert e.value.fields == {"file": str(path)}
    rng = random.Random(packer)
    for _ in range(30):  # each of these has checksums, of zstd in its blocks' structure alone
        broken = bytearray(data)
        broken[rng.randrange(len(data) // 3, len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(broken))
        try:
            found = scan(format, path)
        except (MalformedData, SchemaMismatch) as error:
            assert str(path) in str(error)
        else:
            assert packer == "zst" or list(zip(*found.columns, strict=True)) == expected(20_000)


def test_errors_inside(tmp_path: Path) -> None:
    """Lines and bytes are those of the text."""
    for format, bad in (("json", '{"a" 1}\n'), ("csv", "1,2,3\n")):
        good = text(format, 50_000)
        (tmp_path / "t").write_bytes(gzip.compress(good + bad.encode() + text(format, 10).removeprefix(b"a,b\n")))
        with pytest.raises(MalformedData, match=rf"line {good.count(10) + 1} \(byte {len(good)}\)"):
            scan(format, tmp_path / "t", select=lambda _: [])
        found = scan(format, tmp_path / "t", select=lambda _: [], options={"on_error": "skip"})
        assert (found.rows, found.skipped_rows) == (50_010, 1)


@pytest.mark.parametrize(("name", "data"), [
    ("xz", lzma.compress(b"a,b\n1,x\n")), ("zip", b"PK\x03\x04" + bytes(30)), ("lz4", b"\x04\x22\x4d\x18" + bytes(30)),
])  # fmt: skip
def test_other_packers_are_refused_by_name(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    (tmp_path / f"t.csv.{name}").write_bytes(b"a,b\n1,x\n")
    for path in (tmp_path / "t.csv", tmp_path / f"t.csv.{name}"):
        with pytest.raises(SchemaMismatch, match=f"is packed with {name}, which is not read yet; gzip, bzip2 and zstd"):
            scan("csv", path)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16le", "utf-16be", "latin-1"])
@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path: Path, encoding: str, format: str, packed: bool) -> None:
    count = 50_000
    plain = text(format, count).decode()
    row = ["😀€\ud7ff\ue000", '{"a":-1,"b":"%s"}\n', "-1,%s\n"]
    if encoding != "latin-1":
        plain += row[1 if format == "json" else 2] % row[0]
    mark = "\ufeff" if encoding in ("utf-16le", "utf-16be") else ""
    raw = (mark + plain).encode(encoding)
    (tmp_path / "t").write_bytes(gzip.compress(raw) if packed else raw)
    found = scan(format, tmp_path / "t", options={"encoding": encoding}, threads=2)
    more = [] if encoding == "latin-1" else [(-1, row[0].encode())]
    assert list(zip(*found.columns, strict=True)) == expected(count) + more
    if encoding == "utf-16":
        with pytest.raises(MalformedData, match='it begins as UTF-16 does; read it with encoding="utf-16"'):
            scan(format, tmp_path / "t")


@pytest.mark.parametrize("raw", ["\ud83d".encode("utf-16-le", "surrogatepass"), b"x",
                                 "\ude00x".encode("utf-16-le", "surrogatepass")])  # fmt: skip
def test_not_utf16(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "t").write_bytes("a,b\n1,x\n2,".encode("utf-16-le") + raw)
    with pytest.raises(MalformedData, match="surrogate pair|ends within a character"):
        scan("csv", tmp_path / "t", options={"encoding": "utf-16le"})


def test_packed_beside_plain(tmp_path: Path) -> None:
    """Files of one read may differ in how they are written."""
    paths = []
    for i, name in enumerate(["gz", "", "zst", "array"]):
        data = text("json", 1000, i * 1000)
        if name == "array":
            data = b"[" + b",".join(data.splitlines()) + b"]"
        paths.append(tmp_path / f"{i}.json")
        paths[-1].write_bytes(PACKERS[name](data) if name in PACKERS else data)
    assert list(zip(*scan("json", paths).columns, strict=True)) == expected(4000)


@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize("pack", [blocks, frames, seekable])
def test_in_parts(tmp_path: Path, format: str, pack: Callable[[bytes], bytes]) -> None:
    """Several threads and instances have rows of one file, each row once."""
    count, long = 60_000, "x" * 300
    row = '{{"a":{},"b":"' + long + '"}}\n' if format == "json" else "{}," + long + "\n"
    whole = ("" if format == "json" else "a,b\n") + "".join(map(row.format, range(count)))
    (tmp_path / "t").write_bytes(pack(whole.encode()))
    assert scan(format, tmp_path / "t").columns[0] == list(range(count))
    found = scan(format, tmp_path / "t", threads=2)
    assert sorted(found.columns[0]) == list(range(count)) and set(found.columns[1]) == {long.encode()}
    shares = [scan(format, tmp_path / "t", share=(i, 2)) for i in range(2)]
    assert all(share.rows for share in shares)
    assert sorted(v for share in shares for v in share.columns[0]) == list(range(count))


@pytest.mark.parametrize("packer", PARTED)
def test_parts_that_end_anywhere(tmp_path: Path, packer: str) -> None:
    """At the end of a line, and beside it; a line is longer than several parts, and the last part is empty."""
    sizes = [1_100_000, 1_100_001, 1_100_002, 20, 3_500_000, 1_100_003]
    lines = [f'{{"a":{i},"b":"{"x" * size}"}}\n'.encode() for i, size in enumerate(sizes)]
    whole, edges = b"".join(lines), [sum(map(len, lines[:i])) for i in range(1, len(lines))]
    for off in (-1, 0, 1):
        cuts = [0, *(edge + off for edge in edges), edges[3] + 2_000_000, len(whole), len(whole)]
        cuts.sort()
        parts = [whole[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
        (tmp_path / "t").write_bytes(b"".join(map(blocks if packer == "gz" else PACKERS["zst"], parts)))
        found = sorted(zip(*scan("json", tmp_path / "t", threads=2).columns, strict=True))
        assert [(a, len(b)) for a, b in found] == list(enumerate(sizes))


@pytest.mark.parametrize("packer", PARTED)
def test_damaged_parts(tmp_path: Path, packer: str) -> None:
    """A length that is not true, a frame that is cut, and bytes that differ: an error, or what was written."""
    whole = text("json", 60_000)
    data = PARTED[packer](whole)
    path = tmp_path / "t"
    rng = random.Random(packer)
    places = [*range(4, 20), len(data) - 1, len(data) - 30, *(rng.randrange(len(data)) for _ in range(30))]
    for place in places:
        broken = bytearray(data)
        broken[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(broken))
        try:
            found = scan("json", path, threads=2)
        except (MalformedData, SchemaMismatch) as error:
            assert str(path) in str(error)
        else:
            assert packer == "zst" or sorted(zip(*found.columns, strict=True)) == expected(60_000)
    for keep in (len(data) // 2, len(data) - 40):
        path.write_bytes(data[:keep])
        with pytest.raises(MalformedData, match="cut or damaged"):
            scan("json", path, threads=2)


def test_a_length_that_is_not_true(tmp_path: Path) -> None:
    data = bytearray(frames(text("json", 60_000)))
    data[5] += 1  # of the first frame's text
    (tmp_path / "t").write_bytes(bytes(data))
    with pytest.raises(MalformedData, match="cut or damaged zstd"):
        scan("json", tmp_path / "t")
    data = bytearray(seekable(text("json", 60_000)))
    data[-9 - 4] ^= 1  # of the last frame's text, in the table
    (tmp_path / "t").write_bytes(bytes(data))
    with pytest.raises(MalformedData, match="cut or damaged zstd"):
        scan("json", tmp_path / "t")
    data[-9 - 8] ^= 1  # a table that does not fit: the frames are read without it
    (tmp_path / "t").write_bytes(bytes(data))
    assert scan("json", tmp_path / "t").columns[0] == list(range(60_000))


@pytest.mark.parametrize("packer", PARTED)
def test_errors_inside_parts(tmp_path: Path, packer: str) -> None:
    good = text("csv", 100_000)
    more = text("csv", 100_000).removeprefix(b"a,b\n")
    (tmp_path / "t").write_bytes(PARTED[packer](good + b"1,2,3\n" + more))
    with pytest.raises(MalformedData, match=rf"line {good.count(10) + 1} \(byte {len(good)}\)"):
        scan("csv", tmp_path / "t", select=lambda _: [], threads=2)
    array = b"[" + b",".join(text("json", 90_000).splitlines()) + b"]"
    (tmp_path / "t").write_bytes(PARTED[packer](array))
    assert list(zip(*scan("json", tmp_path / "t", threads=2).columns, strict=True)) == expected(90_000)


@pytest.mark.parametrize("packer", ["gz", "zst"])
@pytest.mark.parametrize("format", ["csv", "json"])
def test_duckdb_has_the_same(tmp_path: Path, format: str, packer: str) -> None:
    quoted = "".join(f'{i},"x, ""{i}""\n{i}"\n' for i in range(60_000))
    data = text("json", 60_000) if format == "json" else f"a,b\n{quoted}".encode()
    for name, pack in (("whole", PACKERS[packer]), ("parts", PARTED[packer])):
        path = tmp_path / f"{name}.{format}.{packer}"
        path.write_bytes(pack(data))
        reader = f"read_{format}('{path}', columns = {{'a': 'BIGINT', 'b': 'VARCHAR'}})"
        with duckdb.connect() as duck:
            rows = duck.execute(f"SELECT a, b FROM {reader} ORDER BY a").fetchall()
        found = sorted(zip(*scan(format, path, threads=2).columns, strict=True))
        assert [(a, b.decode()) for a, b in found] == rows
