"""Programs of little work are first built without the optimiser, which would take longer than they do.

It has its turn, at its leisure, once the program has worked as long, in all jobs together.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from jumpgate.nca.interface import JobPlan

#: the option of an instance whose program may be built so
OPTION = "quick_build"
#: seconds that a job's operators are expected to take, optimised, if they turn out as much work as they may; and that
#: all jobs work before the optimiser has its turn
WORK_S_MAX = 0.02
#: programs whose work is counted
PROGRAMS_MAX = 4096
#: of its key
SUFFIX = "-quick"
#: the first header of a program is compiled ahead, and must have nothing before it
_FIRST_INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
#: functions below it are not optimised, whatever the compiler's command line says
UNOPTIMISED = """\
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize ("O0")
#endif
"""


def allowed(plan: JobPlan) -> JobPlan:
    """Return the plan; its instances have the option if all of it is known to be little work.

    $JUMPGATE_QUICK_BUILDS overrides that: "always" or "never".
    """
    wanted = os.environ.get("JUMPGATE_QUICK_BUILDS", "")
    if wanted == "never" or (wanted != "always" and not _is_little_work(plan)):
        return plan
    instances = tuple(replace(i, options=(*i.options, (OPTION, "true"))) for i in plan.instances)
    return replace(plan, instances=instances)


def _is_little_work(plan: JobPlan) -> bool:
    """Return False, too, where the work is not known."""
    if plan.figures.seconds is None:
        return False
    return sum(f.seconds * f.doubt for f in plan.figures.operators.values()) <= WORK_S_MAX


def is_allowed(options: Mapping[str, str]) -> bool:
    """Whether an instance's options say so."""
    return options.get(OPTION) == "true"


class Uses:
    """How long programs that were built quickly have worked, by the keys of the optimised ones; of those used last."""

    def __init__(self) -> None:
        self._seconds: OrderedDict[str, float] = OrderedDict()

    def add(self, key: str, seconds: float) -> None:
        """So much more work of that program."""
        self._seconds[key] = self._seconds.pop(key, 0.0) + seconds
        if len(self._seconds) > PROGRAMS_MAX:
            self._seconds.popitem(last=False)

    def are_much(self, key: str) -> bool:
        """Whether they are worth the optimiser."""
        return self._seconds.get(key, 0.0) > WORK_S_MAX


def text(optimised: str) -> str:
    """The program without optimisation."""
    include = _FIRST_INCLUDE.search(optimised)
    end = include.end() if include else 0
    return optimised[:end] + UNOPTIMISED + optimised[end:]


def key(optimised: str) -> str:
    """Of the quick build of what has that key."""
    return optimised + SUFFIX


def optimised(quick: str) -> str | None:
    """The key of which that is the key of the quick build; None where it is none."""
    return quick.removesuffix(SUFFIX) if quick.endswith(SUFFIX) else None
