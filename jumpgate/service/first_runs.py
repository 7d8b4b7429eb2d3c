"""First runs: a job whose programs are not built runs on accelerators that start at once, while they are built."""

from __future__ import annotations

import asyncio
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jumpgate.dataflow.request import Request
from jumpgate.errors import Cancelled, JumpgateError, TimedOut
from jumpgate.nca.interface import JobPlan
from jumpgate.service.plans import Key, key_of

#: requests whose first runs were refused or failed, and jobs that are first runs, of which so many are remembered
REMEMBERED_MAX = 1000
#: a job of more hosts is so large that it waits for its programs
HOSTS_MAX = 8


def wanted() -> bool:
    """Return False where $JUMPGATE_FIRST_RUNS says "build": every job waits for its programs."""
    return os.environ.get("JUMPGATE_FIRST_RUNS", "") != "build"


class FirstRuns:
    """Chooses between a request's plan and one that starts at once. Thread-safe.

    find: plans a request for accelerators that start at once. Raises JumpgateError.
    """

    def __init__(self, find: Callable[[Request], JobPlan]) -> None:
        self._find = find
        self._jobs: OrderedDict[str, tuple[Key, JobPlan]] = OrderedDict()
        self._refused: OrderedDict[Key, str] = OrderedDict()
        self._lock = threading.Lock()

    def applies(self, request: Request, plan: JobPlan) -> bool:
        """Return whether a job may be a first run: its client leaves that open, and it is for few hosts."""
        options = request.options
        if not wanted() or options.prefer or options.wait_for_programs:
            return False
        return len({i.device.name for i in plan.instances}) <= HOSTS_MAX

    async def plan(self, request: Request, plan: JobPlan, build_s: float) -> tuple[JobPlan | None, str]:
        """Return the plan that starts at once, None for `plan`, whose programs are built in about build_s (inf: they
        cannot be); and the reason. No reason: there was no choice."""
        if not build_s:
            return None, ""
        with self._lock:
            refused = self._refused.get(key_of(request), "")
        if refused:
            return None, refused
        try:
            first = await asyncio.to_thread(self._find, request)
        except JumpgateError as error:
            reason = error.message.splitlines()[-1]  # of the operators that nobody takes the one on top
            self.refuse(request, reason)
            return None, reason
        told = f"{', '.join(first.explain['ncas'])} runs it at once"
        if first.figures.seconds is not None and plan.figures.seconds is not None:
            first_s, built_s = first.figures.seconds, build_s + plan.figures.seconds
            if first_s > built_s:
                return None, f"{told} in {first_s:.2g} s, slower than programs that are built first, {built_s:.2g} s"
        until = "cannot be built" if math.isinf(build_s) else f"are built in about {build_s:.2g} s"
        return first, f"{told}; its programs {until}"

    def refuse(self, request: Request, reason: str) -> None:
        """Note that the request has no first run: it cannot, or one has failed."""
        with self._lock:
            _keep(self._refused, key_of(request), reason)

    def submitted(self, job: str, request: Request, plan: JobPlan) -> None:
        """Note that the job is a first run of the request, in place of the plan."""
        with self._lock:
            _keep(self._jobs, job, (key_of(request), plan))

    def failed(self, job: str, error: JumpgateError) -> None:
        """Note that the job failed: if it was a first run, the next one waits for the programs, which may not fail."""
        with self._lock:
            if job in self._jobs and not isinstance(error, Cancelled | TimedOut):
                _keep(self._refused, self._jobs[job][0], f"it failed: {error.message}")

    def ended(self, job: str) -> JobPlan | None:
        """Return the plan in whose place the job was a first run, if it was: nothing keeps its programs from being
        built any more."""
        with self._lock:
            _, plan = self._jobs.pop(job, (None, None))
            return plan


def explained(plan: JobPlan, reason: str) -> JobPlan:
    """Return the plan whose explanation gives the reason why it is, or is no first run."""
    return replace(plan, explain={**plan.explain, "first_run": reason}) if reason else plan


def _keep(known: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    if len(known) > REMEMBERED_MAX:
        known.popitem(last=False)
