"""Filter: comparisons with constants become bits, a truth table over the bits decides.

Conditions that the switch cannot evaluate are taken for true where they can only make a tuple pass (for false under
NOT), so that the result is a superset. Deterministic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: a predicate's number, or an operation on formulas; None is what the switch cannot evaluate
Formula = int | None | tuple[str, "Formula"] | tuple[str, "Formula", "Formula"]


@dataclass(frozen=True)
class Range:
    """`low <= field <= high` on unsigned numbers; every comparison with a constant is one."""

    field: int
    low: int
    high: int

    def prefixes(self, bits: int = 32) -> Iterator[tuple[int, int]]:
        """The range as (value, mask) of a ternary key, at most 2 `bits` - 2 of them.

        >>> [(value, mask) for value, mask in Range(0, 1, 6).prefixes(3)]
        [(1, 7), (2, 6), (4, 6), (6, 7)]
        """
        low, full = self.low, (1 << bits) - 1
        while low <= self.high:
            size = low & -low or full + 1
            while low + size - 1 > self.high:
                size >>= 1
            yield low, full ^ (size - 1)
            low += size


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
    """Return whether a tuple passes, for each vector of so many predicates: the entries of the program's last table."""
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
