"""The life-cycle of generated programs: lower, generate, build, and run instances through their host's agent."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

from jumpgate import errors
from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.program import FileSource, LimitStep, Pipeline, ProbeStep, Program
from jumpgate.codegen.render import render, shape_key
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Operator
from jumpgate.nca import quick_builds
from jumpgate.nca.interface import Groups, HasArtifact, Host, InstanceHandle, InstancePlan, JobContext
from jumpgate.nca.transport import TCP
from jumpgate.ncas.runtime.configuration import Artifact, configuration, is_shared, shared_configuration
from jumpgate.ntf.addresses import LOOPBACK, joined

#: seconds to build a program, and for each of its operators; the same without the optimiser
BUILD_S, QUICK_BUILD_S = (0.04, 0.035), (0.03, 0.008)
#: the most fragments that a life-cycle remembers
LOWERED_MAX = 256


@dataclass
class Live:
    """A live instance, and the program that it was configured to run."""

    instance: InstanceHandle
    artifact: Artifact | None = None
    worked_s: float = 0.0  #: until the end of its last stage, by a program that was built quickly


@dataclass
class _Lowered:
    """A lowered fragment, and its artifacts by their path on hosts. `root` is kept alive, as its identity is a part of
    what it is found by."""

    root: Operator
    program: Program
    dialect: Dialect
    key: str
    artifacts: dict[str, Artifact] = field(default_factory=dict)

    def text(self) -> str:
        """Return the program in C++."""
        return render(self.program, self.dialect).text

    @cached_property
    def needs_readers(self) -> bool:
        return any(formats()[s.format].reader for s in self.program.sources if isinstance(s, FileSource))

    def artifact(self, path: str) -> Artifact:
        """Return the artifact at that path, which has no readers."""
        if path not in self.artifacts:
            self.artifacts[path] = Artifact(path, self.program, self.dialect, {})
        return self.artifacts[path]


def _depends_on(instance: InstancePlan) -> tuple[object, ...]:
    """Return what a lowered fragment depends on: the root by its identity, which is found sooner than its hash."""
    how = (instance.filters, instance.joins_on_disk, instance.kept_rows, instance.dialect)
    return id(instance.root), instance.inputs, instance.input_stages, instance.stage, *how


class SoftwareLifecycle:
    """compile → allocate → configure → execute (once a stage) → destroy, each on the instance's host."""

    queues_stages = joins_on_disk = keeps_rows = True

    def __init__(self) -> None:
        #: recently lowered fragments, by what they depend on: plans of repeated requests share their roots
        self._lowered: OrderedDict[tuple[object, ...], _Lowered] = OrderedDict()
        self._uses = quick_builds.Uses()

    def _lower(self, instance: InstancePlan) -> _Lowered:
        key = _depends_on(instance)
        if key not in self._lowered:
            stages = dict(zip(instance.inputs, instance.input_stages, strict=False))
            program = lower_fragment(
                instance.root, stages, instance.stage, instance.filters, instance.joins_on_disk, instance.kept_rows
            )
            dialect = instance.dialect
            if (last := max((p.stage for p in program.pipelines), default=0)) > instance.stage:
                raise errors.InternalError(
                    f"{instance.id} sends in stage {instance.stage}, its program in stage {last}"
                )
            self._lowered[key] = _Lowered(instance.root, program, dialect, shape_key(program, dialect))
            if len(self._lowered) > LOWERED_MAX:
                self._lowered.popitem(last=False)
        return self._lowered[key]

    async def compile(self, instance: InstancePlan, host: Host) -> Artifact:
        lowered = self._lower(instance)
        program, dialect = lowered.program, lowered.dialect
        path = await host.has_artifact(lowered.key)
        if path is None:
            if instance.quick_build:
                self._optimise_later(instance, lowered, host)
                path = await _build_quickly(instance.fragment, lowered, host)
            else:
                path = await _build(instance.fragment, lowered, host)
        return Artifact(path, program, dialect, await _readers(program, host))

    def compiled(self, instance: InstancePlan, host: Any) -> Artifact | None:
        """Return the artifact, or an acceptable quick build, if the host is known to have it."""
        lowered = self._lower(instance)
        if lowered.needs_readers:
            return None
        path = host.known(lowered.key)
        if path is None and instance.quick_build:
            path = host.known(quick_builds.key(lowered.key))
            if path is not None:
                self._optimise_later(instance, lowered, host)
        return None if path is None else lowered.artifact(path)

    async def build_seconds(self, instance: InstancePlan, has: HasArtifact) -> float:
        lowered, quick = self._lower(instance), instance.quick_build
        if await has(lowered.key) or (quick and await has(quick_builds.key(lowered.key))):
            return 0.0
        begin_s, operator_s = QUICK_BUILD_S if quick else BUILD_S
        return begin_s + operator_s * sum(1 for _ in instance.root.walk())

    def build_later(self, instance: InstancePlan, host: Host) -> None:
        lowered = self._lower(instance)
        host.compile_later(instance.fragment, lowered.text, lowered.key)

    def _optimise_later(self, instance: InstancePlan, lowered: _Lowered, host: Host) -> None:
        """Start the optimised build of a quickly built program, once it has worked enough."""
        if not quick_builds.wanted() and self._uses.are_much(lowered.key):
            host.compile_later(instance.fragment, lowered.text, lowered.key)

    def _count(self, handle: Live, artifact: Artifact, counters: dict[str, Any]) -> None:
        """Add the work of a quickly built program; counters: of all stages so far."""
        key = quick_builds.optimised(PurePath(artifact.path).stem)
        if key is not None:
            worked_s = sum(pipeline["busy_ns"] for pipeline in counters.get("pipelines", ())) / 1e9
            self._uses.add(key, worked_s - handle.worked_s)
            handle.worked_s = worked_s

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
        handle = await context.hosts[instance.device.name].spawn(context.job, instance.id)
        wanted = self._allocation(instance, context, _property(instance, "data_bind"))
        if wanted is not None:
            address = _property(instance, "data_address")
            _allocated(instance, address, await handle.call("allocate", **wanted), context)
        return Live(handle)

    async def allocate_all(self, instances: Sequence[InstancePlan], host: Groups, context: JobContext) -> list[Live]:
        bind, address = (_property(instances[0], name) for name in ("data_bind", "data_address"))
        asked = ((i, self._allocation(i, context, bind)) for i in instances)
        wanted = {i.id: allocation for i, allocation in asked if allocation is not None}
        started = dict(zip(wanted, await host.start(context.job, wanted), strict=True)) if wanted else {}
        handles = []
        for i in instances:
            if i.id in started:
                handle, answer = started[i.id]
                _allocated(i, address, answer, context)
            else:
                handle = host.instance(context.job, i.id)
            handles.append(Live(handle))
        return handles

    def _allocation(self, instance: InstancePlan, context: JobContext, bind: str) -> dict[str, Any] | None:
        """Return the request to listen; None if the instance need not listen."""
        edges = context.plan
        ends = (*instance.inputs, *([instance.output] if instance.output else []))
        own = {e: c for e in ends if (c := edges.edge(e).transport.channel) != TCP.channel}
        if not (instance.inputs or own or is_shared(self._lower(instance).program, instance, context)):
            return None
        return {"bind": bind, **({"ends": own} if own else {})}

    async def configure(self, handle: Live, instance: InstancePlan, artifact: Artifact, context: JobContext) -> None:
        handle.artifact = artifact
        await handle.instance.call("configure", **configuration(instance, artifact, context))

    def begin_all(
        self,
        handles: Sequence[Live],
        instances: Sequence[InstancePlan],
        artifacts: Sequence[Artifact],
        host: Groups,
        context: JobContext,
        stages: Sequence[int],
    ) -> tuple[Awaitable[object], list[list[Awaitable[dict[str, Any]]]]]:
        told = []
        for handle, i, artifact in zip(handles, instances, artifacts, strict=True):
            handle.artifact = artifact
            told.append(shared_configuration(i, artifact, context))
        configured, answers = host.begin([h.instance for h in handles], told, context.shared, stages)
        return configured, [[self._executed(h, a) for h, a in zip(handles, of, strict=True)] for of in answers]

    def execute_all(self, handles: Sequence[Live], host: Groups, stage: int) -> list[Awaitable[dict[str, Any]]]:
        answers = host.each([h.instance for h in handles], "execute", stage=stage)
        return [self._executed(h, answer) for h, answer in zip(handles, answers, strict=True)]

    async def execute(self, handle: Live, stage: int) -> dict[str, Any]:
        return await self._executed(handle, handle.instance.call("execute", stage=stage))

    async def _executed(self, handle: Live, answer: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        try:
            counters = await answer
        except errors.ComputeError as error:
            raise explained(error, handle.artifact) from None
        if not counters or handle.artifact is None:
            return counters
        self._count(handle, handle.artifact, counters)
        return by_operator(counters, handle.artifact.program)

    async def stats(self, handle: Live) -> dict[str, Any]:
        return await handle.instance.call("stats")

    async def destroy(self, handle: Live) -> None:
        await handle.instance.call("destroy")


async def _build(title: str, lowered: _Lowered, host: Host) -> str:
    return await host.compile(title, await asyncio.to_thread(lowered.text), lowered.key)


async def _build_quickly(title: str, lowered: _Lowered, host: Host) -> str:
    """Build without the optimiser."""
    key = quick_builds.key(lowered.key)
    path = await host.has_artifact(key)
    if path is not None:
        return path
    source = quick_builds.text(await asyncio.to_thread(lowered.text))
    try:
        return await host.compile(title, source, key)
    except errors.BuildError:  # perhaps a package's function that only an optimiser compiles
        return await _build(title, lowered, host)


def _allocated(instance: InstancePlan, address: str, answer: dict[str, Any], context: JobContext) -> None:
    context.addresses[instance.id] = joined(address, answer["port"])
    for edge, port in answer.get("ends", {}).items():
        context.sockets[instance.id, edge] = joined(address, port)


def _property(instance: InstancePlan, name: str) -> str:
    return str(dict(instance.device.properties).get(name, LOOPBACK))


async def _readers(program: Program, host: Host) -> dict[str, str]:
    """Build the readers of the program's files that the runtime lacks on the host: format → library."""
    found = {}
    for name in {source.format for source in program.sources if isinstance(source, FileSource)}:
        reader = formats()[name].reader
        if reader is not None:
            source = await asyncio.to_thread(reader.read_text, encoding="utf-8")
            key = f"reader-{name}-{hashlib.sha256(source.encode()).hexdigest()[:24]}"
            title = f"the reader of {formats()[name].title} files"
            found[name] = await host.has_artifact(key) or await host.compile(title, source, key)
    return found


def explained(error: errors.ComputeError, artifact: Artifact | None) -> errors.JumpgateError:
    """Return the error with the expression's text in place of its number."""
    site = error.fields.pop("site", None)
    if artifact is None or site is None or int(str(site)) < 0:
        return error
    expression = render(artifact.program, artifact.dialect).fallible[int(str(site))]
    return type(error)(f"{error.message}, in {expression}", expression=expression, **error.fields)


def by_operator(counters: dict[str, Any], program: Program) -> dict[str, Any]:
    """Add `operators` to the counters: for each of the instance's operators, by its number, its output `rows`
    (`skipping`: without rows that a later one did not need) and the time of the pipelines whose rows ended in it."""
    operators: dict[int, dict[str, int]] = {}
    pipelines = counters.get("pipelines", ())
    if len(pipelines) < len(program.pipelines):  # it was ended before it was configured
        return counters
    skipping = [_skips_until(p, counters) for p in program.pipelines]
    for number, pipeline, step in program.passed:
        found = operators.setdefault(number, {"rows": 0})
        found["rows"] += pipelines[pipeline]["entered"][step]
        if step < skipping[pipeline]:
            found["skipping"] = 1
    for number, pipeline in zip(program.ends, pipelines, strict=True):
        found = operators.setdefault(number, {})
        found["busy_ns"] = found.get("busy_ns", 0) + pipeline["busy_ns"]
    return {**counters, "operators": {str(number): found for number, found in sorted(operators.items())}}


def _skips_until(pipeline: Pipeline, counters: dict[str, Any]) -> int:
    """Return the last step before which rows may be missing that a later step would drop."""
    limits = [i + 1 for i, s in enumerate(pipeline.steps) if isinstance(s, LimitStep)]
    kind, source = pipeline.source
    is_read_whole = not counters["sources"][source]["pruned_bytes"] if kind == "files" else True
    if is_read_whole and counters["pipelines"][pipeline.id]["entered"][0]:  # a build without rows needs no other rows
        return max(limits, default=0)
    tables = {f.table for f in pipeline.filters}
    probes = [i + 1 for i, s in enumerate(pipeline.steps) if isinstance(s, ProbeStep) and s.table in tables]
    return max((*limits, *probes, 1))
