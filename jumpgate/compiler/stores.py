"""The demand of operators on stores, with the link to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from jumpgate.compiler.estimate import Estimator
from jumpgate.dataflow.operators import Operator
from jumpgate.nca.interface import Device
from jumpgate.nca.storage import Asked, LinkOf, Segments, StoreLink, by_ranges


def demands(
    operators: Iterable[Operator], asked: Asked | None, estimator: Estimator, link_of: LinkOf | None, device: Device
) -> Iterator[tuple[Asked, StoreLink]]:
    """Yield the demand of each read of objects whose sizes are known, and the link from `device`. asked: of all, where
    an accelerator says so."""
    for node in operators:
        files = estimator.files_of(node)
        link = link_of(files[0]) if link_of and files else None
        if link is None:
            continue
        link = link.beside if device.is_near(files[0]) else link
        bytes, segments = estimator.stored(node), estimator.segments(node)
        if asked is not None:
            yield replace(asked, segments=float(sum(of.count for of in segments))), link
        elif bytes is not None:
            yield _by_ranges(len(files), bytes, segments), link


def _by_ranges(files: int, bytes: float, segments: Sequence[Segments]) -> Asked:
    """Return the demand of reading so many bytes of objects by ranges, but for the segments that a disk has."""
    needed, kept = sum(of.bytes for of in segments), sum(of.kept_bytes for of in segments)
    if not needed:
        return by_ranges(files, bytes)
    found = by_ranges(sum(of.kept_bytes < of.bytes for of in segments), bytes * (1 - kept / needed))
    return replace(
        found, segments=float(sum(of.count for of in segments)), kept_segments=float(sum(of.kept for of in segments))
    )
