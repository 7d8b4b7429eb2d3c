"""Programs of little work are first built without the optimiser, which would take longer than they do.

It has its turn, at its leisure, once the jobs that use the program are much work together.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from jumpgate.nca.interface import JobPlan

#: the option of an instance whose program may be built so: the seconds that its job is expected to work, optimised
OPTION = "quick_build"
#: that a job works if it turns out as much work as it may, and all jobs together before the optimiser has its turn
WORK_S_MAX = 0.02
#: programs whose jobs are counted
PROGRAMS_MAX = 4096
#: of a program's text: its functions are not optimised, whatever the compiler's command line says
HEAD = """\
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize ("O0")
#endif
"""


def allowed(plan: JobPlan) -> JobPlan:
    """The plan; its instances have the option if all of it is known to be little work, unless $JUMPGATE_QUICK_BUILDS is
    0."""
    if os.environ.get("JUMPGATE_QUICK_BUILDS") == "0" or plan.figures.seconds is None:
        return plan
    operators = plan.figures.operators.values()
    if sum(f.seconds * f.doubt for f in operators) > WORK_S_MAX:
        return plan
    expected = (OPTION, f"{sum(f.seconds for f in operators):.9f}")
    instances = tuple(replace(i, options=(*i.options, expected)) for i in plan.instances)
    return replace(plan, instances=instances)


def is_allowed(options: Mapping[str, str]) -> bool:
    """Whether an instance's options say so."""
    return OPTION in options


class Uses:
    """How much work the jobs were, by their programs' keys; of those used last."""

    def __init__(self) -> None:
        self._work_s: OrderedDict[str, float] = OrderedDict()

    def is_much(self, key: str, options: Mapping[str, str]) -> bool:
        """Counts one more use; whether it and those before it are worth the optimiser."""
        self._work_s[key] = self._work_s.pop(key, 0.0) + float(options[OPTION])
        if len(self._work_s) > PROGRAMS_MAX:
            self._work_s.popitem(last=False)
        return self._work_s[key] > WORK_S_MAX


def key(optimised: str) -> str:
    """Of the quick build of what has that key."""
    return f"{optimised}-quick"
