"""What a plan is expected to take, operator by operator, and what it took once it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from jumpgate.compiler.plan import Plan
from jumpgate.compiler.work import work
from jumpgate.dataflow.operators import Emit, Operator, Read, numbered
from jumpgate.nca.interface import Figures, JobFigures
from jumpgate.nca.speeds import Work, assumed, seconds_of


def figures(plan: Plan) -> JobFigures:
    """Of every operator of which enough is known, and of the job if nothing is missing."""
    found: dict[tuple[str, int], Figures] = {}
    total: float | None = {**assumed(), **plan.options.speeds}["job"]
    for instance in plan.instances:
        if instance.index:
            continue  # the same operators again
        speeds = plan.registry.get(instance.nca).operators.speeds(instance.device).of(plan.options.speeds)
        cores = max(1, instance.threads) * instance.count
        for number, node in enumerate(numbered(instance.root)):
            of_node = _figures(plan, node, speeds.seconds, cores)
            if of_node is None:
                total = None
                continue
            found[instance.fragment, number] = of_node
            total = None if total is None else total + of_node.seconds
        total = None if total is None else total + speeds.setup_s + speeds.seconds["start"]
    return JobFigures(found, total)


def _figures(plan: Plan, node: Operator, seconds: Mapping[str, float], cores: int) -> Figures | None:
    known = plan.estimator.of(node)
    mine: Work | None = {"send": known.bytes or 0.0} if isinstance(node, Emit) else work(node, plan.estimator)
    if mine is None or known.rows is None or known.bytes is None:
        return None
    bytes = plan.estimator.files(node).bytes if isinstance(node, Read) else known.bytes
    return Figures(known.rows, bytes or 0.0, plan.estimator.doubt(node), seconds_of(mine, seconds, cores), mine)


def measured(instances: Mapping[str, Mapping[str, Any]], fragment: str) -> dict[int, dict[str, float]]:
    """What the counters of a job's instances say of a fragment's operators, by number: `rows`, and of those in which
    pipelines end the `seconds` of a core that these took. The instances' figures are added up."""
    found: dict[int, Counter[str]] = {}
    for instance, counters in instances.items():
        if instance.rpartition(".")[0] != fragment:
            continue
        for number, of_operator in counters.get("operators", {}).items():
            sums = found.setdefault(int(number), Counter())
            for name, value in of_operator.items():
                if name == "busy_ns":
                    sums["seconds"] += value / 1e9
                else:
                    sums[name] += value
    return {number: dict(sums) for number, sums in found.items()}
