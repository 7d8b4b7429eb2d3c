"""Text that is packed, or in another encoding: the same rows as of the plain file, or one error that names the file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
