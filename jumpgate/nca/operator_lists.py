"""Instance options that list operators by number (operators.numbered)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: joins that may spill (disk_joins.py); only for life-cycles that are JoinsOnDisk
JOINS_ON_DISK = "joins_on_disk"
#: operators whose rows are kept for all consumers; only for life-cycles that are KeepsRows
KEPT_ROWS = "kept_rows"


def option(name: str, numbers: Iterable[int]) -> tuple[str, str]:
    """Return the option that lists these numbers."""
    return name, " ".join(map(str, sorted(numbers)))


def listed(options: Mapping[str, str], name: str) -> frozenset[int]:
    """Return the numbers that the options list under that name."""
    return frozenset(map(int, options.get(name, "").split()))
