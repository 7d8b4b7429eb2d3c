"""Filter: comparisons with constants become bits, a truth table over the bits decides.

Conditions that the switch cannot evaluate are taken for true where they can only make a tuple pass (for false under
NOT), so that the result is a superset. Deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: a predicate's number, or an operation on formulas; None is what the switch cannot evaluate
Formula = int | None | tuple[str, "Formula"] | tuple[str, "Formula", "Formula"]


@dataclass(frozen=True)
class Range:
    """`low <= field <= high` on unsigned numbers; every comparison with a constant is one."""

    field: int
    low: int
    high: int


def holds(formula: Formula, bits: int, unknown: bool = True) -> bool:
    """The formula's value for a bit vector, an unknown predicate counting as `unknown`."""
    if formula is None:
        return unknown
    if isinstance(formula, int):
        return bool(bits >> formula & 1)
    if formula[0] == "not":
        return not holds(formula[1], bits, not unknown)
    if len(formula) != 3 or formula[0] not in ("and", "or"):
        raise ValueError(f"no formula: {formula!r}")
    left, right = holds(formula[1], bits, unknown), holds(formula[2], bits, unknown)
    return (left and right) if formula[0] == "and" else (left or right)


def truth_table(formula: Formula, predicates: int) -> list[bool]:
    """Whether a tuple passes, for each vector of so many predicates: the entries of the program's last table."""
    return [holds(formula, bits) for bits in range(1 << predicates)]


class Filter:
    """Prunes a tuple whose predicates the truth table refuses."""

    def __init__(self, predicates: Sequence[Range], formula: Formula) -> None:
        self.predicates = tuple(predicates)
        self.passes = truth_table(formula, len(predicates))

    def process(self, fields: Sequence[int]) -> bool:
        """True if the tuple is pruned."""
        bits = sum(1 << i for i, p in enumerate(self.predicates) if p.low <= fields[p.field] <= p.high)
        return not self.passes[bits]
