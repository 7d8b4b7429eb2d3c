"""The work of a plan's instances in each stage, by the compiler's estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jumpgate.compiler.estimate import stored_share
from jumpgate.dataflow.operators import Emit, Join, Operator, Receive, State, numbered
from jumpgate.errors import CannotPlace
from jumpgate.nca.interface import InstancePlan, JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.nca.speeds import Work, seconds_of


@dataclass
class Task:
    """One instance's part of a stage. Seconds are of one core: `before_s` while rows arrive, `after_s` once all have
    arrived, if the instance `holds` rows until then. read_bytes: of files. Edges by their ids."""

    before_s: float = 0.0
    after_s: float = 0.0
    read_bytes: float = 0.0
    holds: bool = False
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def tasks(plan: JobPlan, registry: Registry, measured: Mapping[str, float]) -> dict[str, dict[int, Task]]:
    """Return the tasks of each fragment's instances, which are all equal, by stage. `measured`: calibrated core
    seconds.

    Raises CannotPlace if too little is known of an operator.
    """
    found = {}
    for instance in plan.instances:
        if instance.fragment not in found:
            speeds = registry.get(instance.nca).operators.speeds(instance.device).of(measured)
            found[instance.fragment] = _of(plan, instance, speeds.seconds)
    return found


def sent_bytes(plan: JobPlan) -> dict[str, float]:
    """Return the bytes of each edge's rows, each counted once."""
    found = {}
    for instance in plan.instances:
        figures = plan.figures.operators.get((instance.fragment, 0))
        if not instance.index and figures is not None:
            found[instance.output] = figures.bytes
        for sent in instance.filters:  # keys that travel are small beside rows, or would not be sent
            found[sent.edge] = 64.0 * sent.blocks or 16e3
    return found


def _of(plan: JobPlan, instance: InstancePlan, seconds: Mapping[str, float]) -> dict[int, Task]:
    stages = _stages(instance)
    found: dict[int, Task] = {}
    nodes = numbered(instance.root)
    held = _above_a_hold(nodes)
    for number, node in enumerate(nodes):
        task = found.setdefault(stages[id(node)], Task())
        if isinstance(node, Receive):
            task.inputs.append(node.edge)
            continue
        figures = plan.figures.operators.get((instance.fragment, number))
        if figures is None:
            raise CannotPlace(
                f"cannot simulate {node.kind} of fragment {instance.fragment}: how many rows reach it is not known. "
                "Statistics come from the files: are they there?",
                operator=node.kind,
            )
        spent = seconds_of(figures.work, seconds) / instance.count
        task.read_bytes += _read_bytes(figures.work) * stored_share(node) / instance.count
        if id(node) in held:
            task.after_s += spent
        else:
            task.before_s += spent
        if isinstance(node, Emit):
            task.outputs.append(instance.output)
            task.holds = id(node) in held
    for sent in instance.filters:
        found.setdefault(sent.stage, Task()).outputs.append(sent.edge)
    return found


def _read_bytes(work: Work) -> float:
    """Return the bytes of files among an operator's work."""
    return sum(amount for name, amount in work.items() if name.startswith("scan ") and name.endswith(" byte"))


def _stages(instance: InstancePlan) -> dict[int, int]:
    """Return the stage of each node, by identity: a join's build side is complete a stage before the join begins."""
    of_edge = dict(zip(instance.inputs, instance.input_stages, strict=True))
    need: dict[int, int] = {}

    def below(node: Operator) -> int:
        if id(node) not in need:
            if isinstance(node, Receive):
                stage = of_edge[node.edge]
            elif isinstance(node, Join):
                stage = max(below(node.probe), 1 + below(node.build))
            else:
                stage = max((below(i) for i in node.inputs), default=1)
            need[id(node)] = stage
        return need[id(node)]

    found = {id(instance.root): instance.stage}
    below(instance.root)
    for node in numbered(instance.root):
        mine = found.get(id(node), need[id(node)])
        for child in node.inputs:
            stage = need[id(child)] if isinstance(node, Join) and child is node.build else mine
            found[id(child)] = min(stage, found.get(id(child), stage))
    return found


def _above_a_hold(nodes: list[Operator]) -> set[int]:
    """Return the identities of nodes that receive rows only once a node below them, which holds rows, has all of its
    input."""
    found: set[int] = set()
    for node in reversed(nodes):
        below = (node.probe,) if isinstance(node, Join) else node.inputs
        if any(id(i) in found or i.state is State.ROWS for i in below):
            found.add(id(node))
    return found
