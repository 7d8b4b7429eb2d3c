"""Hybrid reads (FlexPushdownDB, VLDB 2021): objects whose segments are on a disk are read here, and the store computes
over the others."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.compiler.estimate import Estimator
from jumpgate.dataflow.operators import Aggregate, Filter, Operator, Project, Read, UnionAll


def hybrid(node: Operator, estimator: Estimator) -> tuple[Operator, Operator] | None:
    """Return a filtered read, or an aggregate of one, as the union of two, and the first of these: over the files of
    which a disk has at least half of what is needed, and over the others. None for another shape, or if there are not
    both."""
    if isinstance(node, Aggregate):
        if node.phase != "full" or not all(m.declaration.has_parts for m in node.measures):
            return None
        below = _halves(node.input, estimator)
        partial = tuple(replace(node, input=half, phase="partial") for half in below)
        return (node.final_phase(UnionAll(partial)), partial[0]) if partial else None
    halves = _halves(node, estimator)
    return (UnionAll(halves), halves[0]) if halves else None


def _halves(node: Operator, estimator: Estimator) -> tuple[Operator, ...]:
    """Return a filtered read over the files on the disk and over the others; nothing if there are not both."""
    if isinstance(node, Filter | Project):
        return tuple(replace(node, input=half) for half in _halves(node.input, estimator))
    if not isinstance(node, Read) or len(node.files) < 2:
        return ()
    segments = estimator.segments(node)
    kept = {file for file, of in zip(node.files, segments, strict=False) if of.are_kept}
    if not 0 < len(kept) < len(node.files):
        return ()
    halves = ([file for file in node.files if (file in kept) == is_kept] for is_kept in (True, False))
    return tuple(replace(node, files=tuple(files)) for files in halves)
