"""Hostile files: damaged at random places, or made to hurt a reader. The same number and seed give the same files."""

from __future__ import annotations

import base64
import csv
import decimal
import io
import json
import os
import random
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from jumpgate.converters import writing
from jumpgate.dataflow.formats import formats

#: of each undamaged file
ROWS = 3000
#: columns of the widest files, and levels of the deepest JSON
COLUMNS, LEVELS = 10_000, 100_000
#: rows with a > LEAST are counted, all a are added up
LEAST = 1000


@dataclass(frozen=True)
class HostileFile:
    """`answer`: (rows with a > LEAST, sum of a) where the file has only one; None where any answer is possible, as in
    a format without checksums, or none."""

    path: str
    format: str
    what: str
    answer: tuple[int, int] | None = None


def hostile_files(count: int, seed: int, folder: Path) -> Iterator[HostileFile]:
    """`count` files in `folder`, each made when asked for: the peculiar ones of all formats, then damaged ones."""
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        if number < len(PECULIAR):
            yield PECULIAR[number](folder)
        else:
            yield _damaged(chance, number, folder)


# ---- damaged files ----


def _rows() -> dict[str, list[Any]]:
    chance = random.Random(7)
    return {
        "a": [chance.randrange(3 * LEAST) for _ in range(ROWS)],
        "s": [None if i % 11 == 0 else chance.choice(("", "one", "two words", "drei é")) for i in range(ROWS)],
        "x": [chance.random() for _ in range(ROWS)],
    }


@cache
def _undamaged(format: str, variant: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "undamaged"
        formats()[format].write(pa.table(_rows()), path, part_rows=ROWS // 3, variant=variant)
        return path.read_bytes()


def _damaged(chance: random.Random, number: int, folder: Path) -> HostileFile:
    format = chance.choice([name for name, format in formats().items() for _ in range(1 + format.columnar)])
    data = _undamaged(format, chance.randrange(formats()[format].variants))
    damage = chance.choice(_DAMAGES)
    path = folder / f"{number}.{format}"
    path.write_bytes(data := damage(chance, data))
    return HostileFile(str(path), format, damage.__name__.strip("_"), _answer(format, data))


def _answer(format: str, data: bytes) -> tuple[int, int] | None:
    """Return the unambiguous content of damaged text: a reader must return it or refuse."""
    try:
        text = data.decode()
        if format not in _TEXTS or "\r" in text or "\0" in text or "\ufeff" in text:
            return None
        values = _TEXTS[format](text)
    except (ValueError, LookupError, csv.Error):
        return None
    if not all(type(value) is int and abs(value) < 1 << 40 for value in values):
        return None
    return sum(value > LEAST for value in values), sum(values)


def _json_values(text: str) -> list[Any]:
    def row(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if [name for name, _ in pairs] != ["a", "s", "x"]:
            raise ValueError("another row")
        return dict(pairs)

    return [json.loads(line, object_pairs_hook=row)["a"] for line in text.split("\n") if line]


def _csv_values(text: str) -> list[Any]:
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    if header != ["a", "s", "x"] or any(len(row) != 3 or not row[0].isascii() for row in rows):
        raise ValueError("other rows")
    return [int(row[0]) if row[0].isdigit() else None for row in rows]


#: formats in which damage may leave another file that is as good
_TEXTS: dict[str, Callable[[str], list[Any]]] = {"json": _json_values, "csv": _csv_values}


def _cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def _flipped(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _flipped_footer(chance: random.Random, data: bytes) -> bytes:
    """Flip bits in the last tenth, where columnar formats have their footer."""
    start = len(data) - len(data) // 10
    return data[:start] + _flipped(chance, data[start:])


def _garbage(chance: random.Random, data: bytes) -> bytes:
    at, size = chance.randrange(len(data)), chance.choice((1, 4, 64, 1000))
    return data[:at] + chance.randbytes(size) + data[at + size :]


def _absurd_number(chance: random.Random, data: bytes) -> bytes:
    """Set all bits of a length, or of bytes that are taken for one: in the footer or anywhere."""
    at = chance.choice((len(data) - 8, len(data) - 1, chance.randrange(len(data))))
    number = chance.choice((b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 4, b"\xff" * 9 + b"\1"))
    return data[:at] + number + data[at + len(number) :]


def _repeated(chance: random.Random, data: bytes) -> bytes:
    at, size = chance.randrange(len(data)), chance.randrange(1, 500)
    return data[:at] + data[at : at + size] + data[at:]


def _missing(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + data[at + chance.randrange(1, 500) :]


_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _flipped,
    _flipped,
    _flipped_footer,
    _flipped_footer,
    _garbage,
    _absurd_number,
    _repeated,
    _missing,
)


# ---- peculiar files ----


def _file(folder: Path, name: str, data: bytes, what: str, answer: tuple[int, int] | None = None) -> HostileFile:
    path = folder / name
    path.write_bytes(data)
    return HostileFile(str(path), path.suffix[1:], what, answer)


def _empty(format: str) -> Callable[[Path], HostileFile]:
    return lambda folder: _file(folder, f"empty.{format}", b"", "no bytes at all")


def _noise(format: str) -> Callable[[Path], HostileFile]:
    return lambda folder: _file(folder, f"noise.{format}", random.Random(3).randbytes(50_000), "random bytes")


def _fifo(format: str) -> Callable[[Path], HostileFile]:
    def make(folder: Path) -> HostileFile:
        path = folder / f"fifo.{format}"
        os.mkfifo(path)
        return HostileFile(str(path), format, "a FIFO without a writer")

    return make


def _wide(format: str) -> Callable[[Path], HostileFile]:
    def make(folder: Path) -> HostileFile:
        path = folder / f"wide.{format}"
        names = ["a", *(f"c{i}" for i in range(COLUMNS - 1))]
        formats()[format].write(pa.table({name: [LEAST + 1] for name in names}), path)
        return HostileFile(str(path), format, f"{COLUMNS} columns", (1, LEAST + 1))

    return make


def _deep(opening: str) -> Callable[[Path], HostileFile]:
    line = '{"a": 1, "b": ' + opening * LEVELS + "\n"
    return lambda folder: _file(folder, f"deep{len(opening)}.json", line.encode(), f"{LEVELS} levels")


def _long_line(format: str) -> Callable[[Path], HostileFile]:
    text = {"json": b'{"a": 1, "s": "', "csv": b'a,s\n1,"'}[format]
    return lambda folder: _file(folder, f"long.{format}", text + b"x" * (4 << 20), "a text that does not end")


def _cyclic_link(folder: Path) -> HostileFile:
    path = folder / "cycle.parquet"
    path.symlink_to(path)
    return HostileFile(str(path), "parquet", "a link to itself")


def _endless(folder: Path) -> HostileFile:
    path = folder / "endless.csv"
    path.symlink_to("/dev/zero")
    return HostileFile(str(path), "csv", "a device without end")


def _no_path(folder: Path) -> HostileFile:
    return HostileFile("", "csv", "an empty path")


def _nul_path(folder: Path) -> HostileFile:
    return HostileFile(f"{folder}/a\0b.csv", "csv", "a path with a NUL")


def _too_precise(folder: Path) -> HostileFile:
    """ORC decimals of precision 39, of which libraries abort."""
    path = folder / "precise.orc"
    values = pa.array([decimal.Decimal(1)], pa.decimal128(38, 2))
    formats()["orc"].write(pa.table({"d": values, "a": [1]}), path, variant=writing.COMPRESSIONS.index("uncompressed"))
    return _file(folder, path.name, path.read_bytes().replace(b"\x28\x26", b"\x28\x27"), "precision 39", None)


def _footer_longer_than_the_file(folder: Path) -> HostileFile:
    data = _undamaged("parquet", 0)
    return _file(folder, "footer.parquet", data[:-8] + struct.pack("<I", 0x7FFFFFF0) + b"PAR1", "a footer of 2 GiB")


def _encrypted(plain_footer: bool) -> Callable[[Path], HostileFile]:
    def make(folder: Path) -> HostileFile:
        import pyarrow.parquet
        import pyarrow.parquet.encryption as pe

        class Keys(pe.KmsClient):  # type: ignore[misc]
            """Keys "wrapped" by writing them down."""

            def __init__(self, _config: Any) -> None:
                super().__init__()

            def wrap_key(self, key: bytes, _name: str) -> str:
                return base64.b64encode(key).decode()

            def unwrap_key(self, wrapped: str, _name: str) -> bytes:
                return base64.b64decode(wrapped)

        config = pe.EncryptionConfiguration("footer", column_keys={"column": ["a"]}, plaintext_footer=plain_footer)
        properties = pe.CryptoFactory(Keys).file_encryption_properties(pe.KmsConnectionConfig(), config)
        table = pa.table(_rows())
        path = folder / f"encrypted{int(plain_footer)}.parquet"
        with pyarrow.parquet.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        return HostileFile(str(path), "parquet", "encrypted" + (" columns" if plain_footer else ""))

    return make


def _undamaged_file(format: str, variant: int) -> Callable[[Path], HostileFile]:
    a = _rows()["a"]
    answer = sum(1 for value in a if value > LEAST), sum(a)
    return lambda folder: _file(folder, f"fine{variant}.{format}", _undamaged(format, variant), "undamaged", answer)


PECULIAR: tuple[Callable[[Path], HostileFile], ...] = (
    *(_undamaged_file(format, 0) for format in formats()),
    *(_empty(format) for format in formats()),
    *(_noise(format) for format in formats()),
    *(_fifo(format) for format in formats()),
    *(_wide(format) for format in ("parquet", "csv", "json")),
    *(_deep(opening) for opening in ("[", '{"b":')),
    *(_long_line(format) for format in ("csv", "json")),
    *(_encrypted(plain_footer) for plain_footer in (False, True)),
    _cyclic_link,
    _endless,
    _no_path,
    _nul_path,
    _too_precise,
    _footer_longer_than_the_file,
)
