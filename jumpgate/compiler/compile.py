"""Compiles a request into a job plan: runs the passes in order and verifies the plan after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from jumpgate import deadline
from jumpgate.compiler.build_quickly import build_quickly
from jumpgate.compiler.choose import choose
from jumpgate.compiler.compare import compare
from jumpgate.compiler.cut import RESULT, cut
from jumpgate.compiler.describe import tree
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.explain import explain_data
from jumpgate.compiler.figures import figures
from jumpgate.compiler.filter_edges import filter_edges
from jumpgate.compiler.first_rows import first_rows
from jumpgate.compiler.keep_rows import keep_rows
from jumpgate.compiler.limit_memory import limit_memory
from jumpgate.compiler.look_ahead import look_ahead
from jumpgate.compiler.map_operators import map_operators
from jumpgate.compiler.member_columns import member_columns
from jumpgate.compiler.normalise import normalise
from jumpgate.compiler.opaque_columns import opaque_columns
from jumpgate.compiler.order_joins import order_joins
from jumpgate.compiler.parallelise import parallelise
from jumpgate.compiler.plan import CompileOptions, DeviceFull, PhysicalPlan, Plan
from jumpgate.compiler.prune_columns import prune_columns
from jumpgate.compiler.push_filters import push_filters
from jumpgate.compiler.reduce_groups import reduce_groups
from jumpgate.compiler.reduce_outer_joins import reduce_outer_joins
from jumpgate.compiler.reduce_scans import reduce_scans
from jumpgate.compiler.semi_joins import anti_joins, semi_joins
from jumpgate.compiler.share_scans import share_scans
from jumpgate.compiler.verify import Verifier
from jumpgate.dataflow.operators import Operator, Send
from jumpgate.errors import CannotPlace, ConfigError
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.nca.registry import Registry

#: takes a kind of plan (plan.py) that the pass before returns
Pass = Callable[[Any], Plan]

#: push_filters runs again for filters that outer joins held back; prune_columns runs again to narrow the edges that
#: parallelise has made
PASSES: tuple[Pass, ...] = (
    opaque_columns,
    member_columns,
    normalise,
    push_filters,
    reduce_outer_joins,
    push_filters,
    anti_joins,
    look_ahead,
    semi_joins,
    order_joins,
    reduce_groups,
    prune_columns,
    share_scans,
    reduce_scans,
    first_rows,
    map_operators,
    compare,
    choose,
    parallelise,
    prune_columns,
    filter_edges,
    cut,
    figures,
    keep_rows,
    limit_memory,
    build_quickly,
)


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
    while True:
        try:
            return _compile(root, devices, registry, options, refused)
        except DeviceFull as full:  # only the finished plan shows how many instances send to the device
            devices = [device for device in devices if device != full.device]
            refused.append((full.device.name, f"{full.reason}; planned without it"))


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
    plan = Plan(send, options, tuple(devices), registry, Estimator(options.statistics), refused=tuple(refused))
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
