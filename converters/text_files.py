"""Reads the beginning of text files for the planner, as UTF-8, whatever their encoding (readers: text/input.h)."""

from __future__ import annotations

import bz2
import codecs
import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from jumpgate.dataflow.opening import opened, size_of
from jumpgate.errors import FileUnreadable, MalformedData, SchemaMismatch

#: packer → (first bytes, suffixes); the last three are detected, but not supported
_PACKERS = {
    "gzip": (b"\x1f\x8b", (".gz", ".gzip")),
    "bzip2": (b"BZh", (".bz2",)),
    "zstd": (b"\x28\xb5\x2f\xfd", (".zst", ".zstd")),
    "xz": (b"\xfd7zXZ\0", (".xz", ".lzma")),
    "lz4": (b"\x04\x22\x4d\x18", (".lz4",)),
    "zip": (b"PK\x03\x04", (".zip",)),
}
_BZIP2_BLOCKS = (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
_CHUNK_BYTES = 64 << 10


@dataclass(frozen=True)
class Beginning:
    """`data`: the first bytes of the text, without a byte order mark; `whole`: these are all; at most `raw_bytes` of
    the file were read for them."""

    data: bytes
    whole: bool
    raw_bytes: int


def is_plain(file: str, options: Mapping[str, str]) -> bool:
    """Return whether the file's bytes are the text. Raises OSError."""
    with opened(file) as f:
        return _packer(file, f.read(16)) is None and options.get("encoding", "utf-8") == "utf-8"


def beginning(file: str, options: Mapping[str, str], size: int) -> Beginning:
    """Return about `size` bytes of text from the front.

    Raises FileUnreadable, MalformedData (cut, damaged, not in the encoding of the options) and SchemaMismatch (an
    unsupported packer).
    """
    encoding = options.get("encoding", "utf-8")
    try:
        with opened(file) as f:
            stream = _unpacked(file, f)
            data = b""
            decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(_python_name(encoding))()
            whole = False
            while not whole and len(data) <= size:
                chunk = stream.read(min(_CHUNK_BYTES, size + 1 - len(data)))
                whole = not chunk
                data += chunk if decoder is None else decoder.decode(chunk, whole).encode()
            raw = min(f.tell(), size_of(file))
    except UnicodeError as e:
        raise MalformedData(f"{file}: not valid {encoding}: {e}", file=file) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, ValueError) as e:
        raise MalformedData(f"{file}: cut or damaged: {e}", file=file) from None
    except OSError as e:
        if e.errno is None:  # from a packer
            raise MalformedData(f"{file}: cut or damaged: {e}", file=file) from None
        raise FileUnreadable(f"cannot read '{file}': {e.strerror}", file=file) from None
    if encoding == "utf-8" and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise MalformedData(f'{file}: not UTF-8: it begins as UTF-16 does; read it with encoding="utf-16"', file=file)
    return Beginning(data[:size].removeprefix(codecs.BOM_UTF8), whole and len(data) <= size, raw)


def _packer(file: str, head: bytes) -> str | None:
    for name, (magic, _) in _PACKERS.items():
        if head.startswith(magic) and (name != "bzip2" or head[4:10] in _BZIP2_BLOCKS):
            return name
    return next((name for name, (_, suffixes) in _PACKERS.items() if file.endswith(suffixes)), None)


def _unpacked(file: str, f: IO[bytes]) -> IO[bytes]:
    head = f.read(16)
    packer = _packer(file, head)
    f.seek(0)
    if packer is None:
        return f
    if packer in ("xz", "lz4", "zip"):
        raise SchemaMismatch(
            f"{file}: is packed with {packer}, which is not read yet; gzip, bzip2 and zstd are: "
            "pack it with one of them",
            file=file,
        )
    if not head.startswith(_PACKERS[packer][0]):
        raise MalformedData(f"{file}: its suffix says {packer}, its bytes are something else", file=file)
    if packer == "gzip":
        return gzip.GzipFile(fileobj=f)  # type: ignore[return-value]
    if packer == "bzip2":
        return bz2.BZ2File(f)
    import pyarrow as pa

    stream: IO[bytes] = pa.CompressedInputStream(pa.PythonFile(f, "r"), "zstd")
    return stream


def _python_name(encoding: str) -> str:
    return {"utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}.get(encoding, encoding)
