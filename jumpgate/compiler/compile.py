"""Compiles a request into a job plan: runs the passes in order and verifies the plan after each."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from jumpgate import deadline
from jumpgate.compiler.describe import tree
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.explain import explain_data
from jumpgate.compiler.logical.passes import PASSES as LOGICAL
from jumpgate.compiler.mapping.passes import PASSES as MAPPING
from jumpgate.compiler.narrow import narrow_parts
from jumpgate.compiler.physical.cut import RESULT
from jumpgate.compiler.physical.passes import PASSES as PHYSICAL
from jumpgate.compiler.plan import CompileOptions, DeviceFull, PhysicalPlan, Plan
from jumpgate.compiler.verify import Verifier
from jumpgate.dataflow.operators import Operator, Send
from jumpgate.errors import CannotPlace, ConfigError
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.nca.registry import Registry

#: takes the kind of plan (plan.py) that the pass before returns
Pass = Callable[[Any], Plan]

PASSES: tuple[Pass, ...] = (*LOGICAL, *MAPPING, *PHYSICAL)


def compile_dataflow(
    root: Send | Operator, devices: Sequence[Device], registry: Registry, options: CompileOptions | None = None
) -> JobPlan:
    """Return the cheapest plan for `root` on `devices` with the accelerators of `registry`.

    A root that is not a Send delivers to `options.endpoints`. The only side effects are those of `options.statistics`.
    Raises CannotPlace with every operator that no accelerator takes, and ConfigError without devices.
    """
    options = options or CompileOptions()
    refused = [(name, "it was full, or failed, before; planned without it") for name in options.without]
    refused += [(name, "it does not answer; planned without it") for name in options.lost]
    devices = [device for device in devices if device.name not in (*options.without, *options.lost)]

    def that_fits(devices: Sequence[Device], refused: Sequence[tuple[str, str]]) -> JobPlan:
        """Compile, without the devices that turn out to be full."""
        while True:
            try:
                return _compile(root, devices, registry, options, refused)
            except DeviceFull as full:  # only the finished plan shows how many instances send to the device
                devices = [device for device in devices if device != full.device]
                refused = [*refused, (full.device.name, f"{full.reason}; planned without it")]

    def rank(plan: JobPlan) -> tuple[float, ...]:
        seconds = plan.figures.seconds
        return options.objective.rank(math.inf if seconds is None else seconds, plan.explain["cost"]["money"])

    by_all = best = that_fits(devices, refused)
    for network, part in narrow_parts(devices, by_all.figures):
        apart = (f"hosts outside {network}", f"with them it is estimated at {by_all.figures.seconds:.3g} s")
        with contextlib.suppress(CannotPlace):  # the others have its files
            best = min(best, that_fits(part, [*refused, apart]), key=rank)
    return best


def _compile(
    root: Send | Operator,
    devices: Sequence[Device],
    registry: Registry,
    options: CompileOptions,
    refused: Sequence[tuple[str, str]],
) -> JobPlan:
    """Compile once; explain shows `refused`. Raises DeviceFull."""
    if not devices and refused:
        reasons = "; ".join(f"{device}: {reason}" for device, reason in refused)
        raise CannotPlace(f"no device is left to run on ({reasons}): try again later, or add a host to jumpgate.toml")
    if not devices:
        raise ConfigError("there is no device to run on: add a host to jumpgate.toml, or use the default configuration")
    send = root if isinstance(root, Send) else Send(root, options.endpoints)
    plan = Plan(
        send, options, tuple(devices), registry, Estimator(options.statistics, options.segments), refused=tuple(refused)
    )
    verifier = Verifier(plan)
    verifier.verify(plan, "the request")
    for step in PASSES:
        deadline.check("planned")
        before, plan = plan, step(plan)
        verifier.verify(plan, step.__name__)
        if options.trace:
            shown = [] if plan.root is before.root else tree(plan.root)
            plan = replace(plan, trace=(*plan.trace, {"pass": step.__name__, "plan": shown}))
    assert isinstance(plan, PhysicalPlan)
    return JobPlan(plan.instances, plan.edges, plan.stages, RESULT, explain_data(plan), plan.figures, options.files)
