"""Programs of little work are first built without the optimiser, which would take longer than they do."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from jumpgate.nca.interface import JobPlan

#: the option of an instance whose program may be built so
OPTION = "quick_build"
#: seconds that a job's operators are expected to take, optimised, if they turn out as much work as they may
WORK_S_MAX = 0.02
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
    if sum(f.seconds * f.doubt for f in plan.figures.operators.values()) > WORK_S_MAX:
        return plan
    instances = tuple(replace(i, options=(*i.options, (OPTION, "true"))) for i in plan.instances)
    return replace(plan, instances=instances)


def is_allowed(options: Mapping[str, str]) -> bool:
    """Whether an instance's options say so."""
    return options.get(OPTION) == "true"


def key(optimised: str) -> str:
    """Of the quick build of what has that key."""
    return f"{optimised}-quick"
