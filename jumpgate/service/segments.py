"""Segments of objects, and those that the disk of this machine has: for estimates, which choose what a store computes.

The disks of other hosts are not looked at: segments are known where all hosts are this machine.
"""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.converters import probe
from jumpgate.errors import JumpgateError
from jumpgate.nca.storage import Segments
from jumpgate.stores import chunks, objects
from jumpgate.stores.names import is_remote

#: ranges that the disk has, by object
Kept = dict[str, tuple[tuple[int, int], ...]]


def kept(files: Iterable[str]) -> Kept:
    """Return what the disk has of each object of which it has anything. Raises JumpgateError."""
    remote = [file for file in files if is_remote(file)] if chunks.bytes_max() else []
    found = {file: tuple(chunks.ranges(objects.kept_in(file))) for file in remote}
    return {file: ranges for file, ranges in found.items() if ranges}


def of(files: tuple[str, ...], format: str, names: tuple[str, ...]) -> tuple[Segments, ...]:
    """Return the segments of each file; empty if they are unknown, or the disk has none of them."""
    try:
        on_disk = kept(files)
        pieces = probe.segments(files, format, names) if on_disk else ()
    except JumpgateError:  # reading the files reports it
        return ()
    return tuple(_segments(found, on_disk.get(file, ())) for file, found in zip(files, pieces, strict=False))


def _segments(pieces: list[list[int]], kept: tuple[tuple[int, int], ...]) -> Segments:
    there = [chunks.overlap(kept, begin, end) for begin, end in pieces]
    whole = sum(bytes == end - begin for bytes, (begin, end) in zip(there, pieces, strict=True))
    return Segments(len(pieces), float(sum(end - begin for begin, end in pieces)), whole, float(sum(there)))
