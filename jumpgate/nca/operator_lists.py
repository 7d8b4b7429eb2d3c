"""What an instance is told about some of its operators: options that list them by number (operators.numbered)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: joins that may go to disk (disk_joins.py); only accelerators get it whose life-cycle has `joins_on_disk = True`
JOINS_ON_DISK = "joins_on_disk"
#: operators whose rows are kept for all who read them; only those whose life-cycle has `keeps_rows = True` get it
KEPT_ROWS = "kept_rows"


def option(name: str, numbers: Iterable[int]) -> tuple[str, str]:
    """What an instance is told."""
    return name, " ".join(map(str, sorted(numbers)))


def listed(options: Mapping[str, str], name: str) -> frozenset[int]:
    """The numbers that an instance's options list under that name."""
    return frozenset(map(int, options.get(name, "").split()))
