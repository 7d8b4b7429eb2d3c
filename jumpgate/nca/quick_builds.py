"""Builds programs of little work without the optimiser first, which would take longer than their work.

The optimised build follows in the background once the program has worked that long in all jobs together.
"""

from __future__ import annotations

import os
from collections import OrderedDict

#: the most seconds that a job's operators may take, optimised, by the high end of their estimates; and the work of all
#: jobs that starts the optimised build
WORK_S_MAX = 0.02
#: the most programs whose work is counted
PROGRAMS_MAX = 4096
#: the first line of a program that the compiler does not optimise
UNOPTIMISED = "// not optimised\n"
#: suffix of a quick build's key
SUFFIX = "-quick"


def wanted() -> bool | None:
    """Return what $JUMPGATE_QUICK_BUILDS says: True for "always", False for "never", else None."""
    return {"always": True, "never": False}.get(os.environ.get("JUMPGATE_QUICK_BUILDS", ""))


class Uses:
    """The work of quickly built programs, by the keys of the optimised ones; least recently used ones are forgotten."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()

    def add(self, key: str, seconds: float) -> None:
        """Add the work of a program."""
        self._seconds[key] = self._seconds.pop(key, 0.0) + seconds
        if len(self._seconds) > PROGRAMS_MAX:
            self._seconds.popitem(last=False)

    def are_much(self, key: str) -> bool:
        """Return whether the program has worked enough to be optimised."""
        return self._seconds.get(key, 0.0) > WORK_S_MAX


def text(optimised: str) -> str:
    """Return the program's text without optimisation."""
    return UNOPTIMISED + optimised


def key(optimised: str) -> str:
    """Return the key of the quick build of the program with that key."""
    return optimised + SUFFIX


def optimised(quick: str) -> str | None:
    """Return the optimised program's key for a quick build's key, or None for any other key."""
    return quick.removesuffix(SUFFIX) if quick.endswith(SUFFIX) else None
