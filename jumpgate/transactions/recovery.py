"""Finds the state of a switch that was lost from the write-ahead log (P4DB, section 6.3).

Transactions whose numbers are known are replayed in their order. A number that is missing between them belongs to a
transaction that was sent and whose answer was not logged. Which one of those it is, the results of the later ones tell:
they must come out as they were. Where they do not tell, any order is right, as nobody has seen the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jumpgate.errors import InternalError
from jumpgate.p4.programs.transactions import Instruction, Reference

Cells = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Sent:
    """A transaction in the log; `gid` is 0 and there are no results if its answer was not logged."""

    id: int
    instructions: tuple[Instruction, ...]
    gid: int = 0
    results: tuple[int, ...] = ()


def replay(before: Mapping[tuple[int, int], int], gid: int, sent: Sequence[Sent]) -> tuple[Cells, dict[int, Sent]]:
    """The cells after all that was sent, and each transaction with its number and results, by id.

    `before` are the cells when the last number was `gid`. Transactions whose fate nothing tells are executed last.
    Raises InternalError if no order explains the results.
    """
    known = {s.gid: s for s in sent if s.gid}
    unknown = [s for s in sent if not s.gid]
    last = max(known, default=gid)
    gaps = [number for number in range(gid + 1, last + 1) if number not in known]
    if len(gaps) > len(unknown):
        raise InternalError(
            f"the log lacks {len(gaps) - len(unknown)} of the transactions {gid + 1} to {last}: it is not this switch's"
        )
    found = _explain(_reference(before, gid), known, tuple(unknown), last)
    if found is None:
        raise InternalError(f"no order of the transactions after {gid} explains the results in the log")
    reference, done, left = found
    for s in left:
        done = (*done, _run(reference, s))
    return reference.cells, {s.id: s for s in done}


def _reference(before: Mapping[tuple[int, int], int], gid: int) -> Reference:
    reference = Reference()
    reference.cells, reference.gid = dict(before), gid
    return reference


def _run(reference: Reference, s: Sent) -> Sent:
    results = tuple(reference.run(s.instructions))
    return Sent(s.id, s.instructions, reference.gid, results)


def _explain(
    reference: Reference, known: Mapping[int, Sent], unknown: tuple[Sent, ...], last: int
) -> tuple[Reference, tuple[Sent, ...], tuple[Sent, ...]] | None:
    """Replays up to `last`; tries each unknown transaction at each gap, depth first, until all results agree."""
    open_: list[tuple[Reference, tuple[Sent, ...], tuple[Sent, ...]]] = [(reference, (), unknown)]
    while open_:
        at, done, left = open_.pop()
        agrees = True
        while at.gid < last and agrees:
            following = known.get(at.gid + 1)
            if following is None:
                break
            ran = _run(at, following)
            agrees = ran.results == following.results
            done = (*done, ran)
        if not agrees:
            continue
        if at.gid == last:
            return at, done, left
        for i in reversed(range(len(left))):
            branch = _reference(at.cells, at.gid)
            open_.append((branch, (*done, _run(branch, left[i])), left[:i] + left[i + 1 :]))
    return None
