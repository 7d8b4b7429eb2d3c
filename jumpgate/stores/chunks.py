"""Ranges of objects that instances have kept on this machine's disk: their names, and their bytes for the planner.

Instances write and evict them (ncas/runtime/src/objects/chunks.h has the rules). Without strong ETags nothing is kept.
"""

from __future__ import annotations

import bisect
import hashlib
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from crc32c import crc32c

_FILE = re.compile(r"(\d+)-(\d+)")
_HEADER, _RANGE = struct.Struct("<4sI"), struct.Struct("<qq")
_MAGIC = b"jgc1"

#: where they are, and the most bytes of all; 0: none are kept
_folder, _bytes_max = Path(), 0


def configure(folder: Path, bytes_max: int) -> None:
    """Set where this process looks for chunks, and how much its jobs let each host keep."""
    global _folder, _bytes_max
    _folder, _bytes_max = folder, bytes_max


def bytes_max() -> int:
    """Return the most bytes that a host keeps; 0: none."""
    return _bytes_max


def folder_of(url: str, tag: str, size: int) -> str:
    """Return the folder of a version's chunks; empty if none are kept. Its last part is the same on each host, and has
    neither the query of a signed URL nor a name that people gave.

    >>> configure(Path("/x"), 1)
    >>> folder_of("https://h/b/k?X-Amz-Signature=1", '"t"', 9) == folder_of("https://h/b/k", '"t"', 9)
    True
    >>> folder_of("https://h/b/k", 'W/"t"', 9), configure(Path(), 0)
    ('', None)
    """
    if not _bytes_max or not tag or tag.startswith("W/"):
        return ""
    of = "\0".join((url.partition("?")[0], tag, str(size)))
    return str(_folder / hashlib.blake2b(of.encode(), digest_size=20).hexdigest())


def ranges(folder: str) -> list[tuple[int, int]]:
    """Return the ranges of a version that are kept, in order and apart from each other."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted((begin, end) for begin, end, _ in _within(Path(folder))) if folder else ():
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


def overlap(kept: Sequence[tuple[int, int]], begin: int, end: int) -> int:
    """Return how many bytes of a range are kept.

    >>> overlap([(0, 10), (20, 30)], 5, 25)
    10
    """
    first = bisect.bisect(kept, begin, key=lambda of: of[1])
    total = 0
    for low, high in kept[first:]:
        if low >= end:
            break
        total += min(high, end) - max(low, begin)
    return total


def found(folder: str, start: int, size: int) -> bytes | None:
    """Return these bytes of the version that a folder is for, if one whole chunk has them. Whoever asks has asked the
    store whether it may read this version."""
    for begin, end, path in _within(Path(folder)) if folder else ():
        if not (begin <= start and start + size <= end):
            continue
        try:
            content = path.read_bytes()
        except OSError:  # evicted
            continue
        if len(content) != _HEADER.size + end - begin:
            continue
        magic, checksum = _HEADER.unpack_from(content)
        kept = content[_HEADER.size :]
        prefix = path.parent.name.encode() + _RANGE.pack(begin, end)
        if magic == _MAGIC and checksum == crc32c(kept, crc32c(prefix)):
            return kept[start - begin : start - begin + size]
    return None


def _within(folder: Path) -> Iterator[tuple[int, int, Path]]:
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return
    for file in files:
        if match := _FILE.fullmatch(file.name):
            yield int(match[1]), int(match[2]), file
