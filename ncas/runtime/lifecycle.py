"""The life-cycle of generated programs: lower, generate, build, and run instances through their host's agent."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate import errors
from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.program import EdgeSource, FileSource, LimitStep, Pipeline, ProbeStep, Program
from jumpgate.codegen.render import render, shape_key
from jumpgate.dataflow import located
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.types import Field
from jumpgate.nca.interface import Edge, Host, InstanceHandle, InstancePlan, JobContext
from jumpgate.nca.transport import TCP
from jumpgate.ntf.addresses import LOOPBACK, joined
from jumpgate.ntf.descriptor import type_text

#: fragments that a life-cycle remembers
LOWERED_MAX = 256
#: siblings that an instance asks for shares of a scan, before it leaves the rest to them
ASKED_MAX = 16


@dataclass(frozen=True)
class Artifact:
    """A built program and how to configure it; `readers`: libraries for formats that the runtime does not read."""

    path: str
    program: Program
    dialect: Dialect
    readers: Mapping[str, str]


@dataclass
class Live:
    """A live instance, and the program that it was configured to run."""

    instance: InstanceHandle
    artifact: Artifact | None = None


class SoftwareLifecycle:
    """compile → allocate → configure → execute (once a stage) → destroy, each on the instance's host."""

    queues_stages = True

    def __init__(self) -> None:
        #: the fragments lowered last, by identity (the root is kept alive): plans of repeated requests share theirs
        self._lowered: OrderedDict[int, tuple[Operator, Program, Dialect, str]] = OrderedDict()

    def _lower(self, instance: InstancePlan) -> tuple[Program, Dialect, str]:
        """The fragment's program, its dialect and its key."""
        if id(instance.root) not in self._lowered:
            stages = dict(zip(instance.inputs, instance.input_stages, strict=False))
            program = lower_fragment(instance.root, stages, instance.stage, instance.filters)
            dialect = _dialect(instance)
            if (last := max((p.stage for p in program.pipelines), default=0)) > instance.stage:
                raise errors.InternalError(
                    f"{instance.id} sends in stage {instance.stage}, its program in stage {last}"
                )
            self._lowered[id(instance.root)] = instance.root, program, dialect, shape_key(program, dialect)
            if len(self._lowered) > LOWERED_MAX:
                self._lowered.popitem(last=False)
        return self._lowered[id(instance.root)][1:]

    async def compile(self, instance: InstancePlan, host: Host) -> Artifact:
        program, dialect, key = self._lower(instance)
        path = await host.has_artifact(key)
        if path is None:
            source = (await asyncio.to_thread(render, program, dialect)).text
            path = await host.compile(instance.fragment, source, key)
        return Artifact(path, program, dialect, await _readers(program, host))

    def _shares(self, instance: InstancePlan, context: JobContext) -> bool:
        """Whether siblings may ask it for a share of files."""
        scans = (s for s in self._lower(instance)[0].sources if isinstance(s, FileSource))
        return instance.count > 1 and any(len(_readers_of(scan, instance, context)) > 1 for scan in scans)

    async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
        handle = await context.hosts[instance.device.name].spawn(context.job, instance.id)
        ends = (*instance.inputs, *([instance.output] if instance.output else []))
        channels = {e: context.plan.edge(e).transport.channel for e in ends}
        own = {edge: channel for edge, channel in channels.items() if channel != TCP.channel}
        if instance.inputs or own or self._shares(instance, context):  # else there is nothing to listen for
            properties = dict(instance.device.properties)
            more = {"ends": own} if own else {}
            answer = await handle.call("allocate", bind=properties.get("data_bind", LOOPBACK), **more)
            address = str(properties.get("data_address", LOOPBACK))
            context.addresses[instance.id] = joined(address, answer["port"])
            for edge in own:
                context.sockets[instance.id, edge] = joined(address, answer["ends"][edge])
        return Live(handle)

    async def configure(self, handle: Live, instance: InstancePlan, artifact: Artifact, context: JobContext) -> None:
        handle.artifact = artifact
        await handle.instance.call("configure", **configuration(instance, artifact, context))

    async def execute(self, handle: Live, stage: int) -> dict[str, Any]:
        try:
            counters = await handle.instance.call("execute", stage=stage)
        except errors.ComputeError as error:
            raise explained(error, handle.artifact) from None
        return counters if handle.artifact is None else by_operator(counters, handle.artifact.program)

    async def stats(self, handle: Live) -> dict[str, Any]:
        return await handle.instance.call("stats")

    async def destroy(self, handle: Live) -> None:
        await handle.instance.call("destroy")


async def _readers(program: Program, host: Host) -> dict[str, str]:
    """Builds what reads the program's files on the host, where the runtime does not: format → library."""
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
    """The error with the expression's text in place of its number."""
    site = error.fields.pop("site", None)
    if artifact is None or site is None or int(str(site)) < 0:
        return error
    expression = render(artifact.program, artifact.dialect).fallible[int(str(site))]
    return type(error)(f"{error.message}, in {expression}", expression=expression, **error.fields)


def by_operator(counters: dict[str, Any], program: Program) -> dict[str, Any]:
    """The counters with `operators`: of each of the instance's operators, by its number, the `rows` that it handed on
    (`skipping`: without those that a later one needed not) and the time of the pipelines whose rows ended in it."""
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
    """Up to which step rows may be missing that a later step would have dropped."""
    limits = [i + 1 for i, s in enumerate(pipeline.steps) if isinstance(s, LimitStep)]
    kind, source = pipeline.source
    is_read_whole = not counters["sources"][source]["pruned_bytes"] if kind == "files" else True
    if is_read_whole and counters["pipelines"][pipeline.id]["entered"][0]:  # a build without rows needs no others
        return max(limits, default=0)
    tables = {f.table for f in pipeline.filters}
    probes = [i + 1 for i, s in enumerate(pipeline.steps) if isinstance(s, ProbeStep) and s.table in tables]
    return max((*limits, *probes, 1))


def configuration(instance: InstancePlan, artifact: Artifact, context: JobContext) -> dict[str, Any]:
    """The instance's configuration (ARCHITECTURE.md)."""
    program = artifact.program
    sources: list[dict[str, Any]] = []
    for number, source in enumerate(program.sources):
        if isinstance(source, FileSource):
            reader = artifact.readers.get(source.format, "")
            sources.append(_files(f"scan{number}", source, instance, context, reader))
        else:
            sources.append(_incoming(source, instance, context))
    return {
        "job": context.job,
        "instance": instance.id,
        **context.secrets(),
        "threads": instance.threads,
        "memory_limit_bytes": int(dict(instance.options).get("memory_limit_bytes", "0")),
        "artifact": artifact.path,
        "params": program.params,
        "sources": sources,
        "sinks": [_outgoing(edge, instance, context) for edge in program.sinks],
        "program": _program(program),
    }


def _program(program: Program) -> dict[str, Any]:
    def parameter(index: int) -> int:
        return int(program.params[index]["value"])

    tables = []
    for t in program.tables:
        table: dict[str, Any] = {"kind": t.kind, "has_keys": t.keys > 0, "is_expanded": t.is_expanded}
        if t.limit is not None and t.offset is not None:
            table |= {"limit": parameter(t.limit), "offset": parameter(t.offset)}
        tables.append(table)
    pipelines = [
        {
            "stage": p.stage,
            "name": p.name,
            "source_kind": p.source[0],
            "source": p.source[1],
            "ordered": p.source[0] == "drain" and program.tables[p.source[1]].is_ordered,
            "feeds": p.feeds,
            "needs": p.needs,
            "after": p.after,
            "sinks": p.emits,
        }
        for p in program.pipelines
    ]
    limits = [{"count": parameter(c), "offset": parameter(o)} for c, o in program.limits]
    return {"tables": tables, "pipelines": pipelines, "limits": limits}


def _readers_of(source: FileSource, instance: InstancePlan, context: JobContext) -> Sequence[InstancePlan]:
    """The instances that read the same files as this one, itself among them: each a share."""
    if dict(instance.options).get("replicated_reads") == "true":
        return [instance]
    is_local = "" not in located.hosts(source.files)  # each host reads its own
    return context.plan.siblings[instance.fragment, instance.device.name if is_local else ""]


def _files(scan: str, source: FileSource, instance: InstancePlan, context: JobContext, reader: str) -> dict[str, Any]:
    known = [context.plan.files.get(file, ()) for file in source.files]
    files = list(source.files)
    by_host = located.hosts(files)
    if "" not in by_host:
        files = by_host.get(instance.device.name, [])
        known = [()] * len(files)
    siblings = _readers_of(source, instance, context)
    index = siblings.index(instance)
    return {
        "kind": "files",
        "name": source.name,
        "format": source.format,
        "reader": reader,
        "files": files,
        "states": known if instance.device.name in context.here else [state[:1] for state in known],
        "file_columns": columns(source.file_schema),
        "positions": source.positions,
        "early": source.early,
        "options": dict(source.options),
        "share_index": index,
        "share_count": len(siblings),
        **({"shares": _shared(scan, siblings, index, context)} if len(siblings) > 1 else {}),
        "bounds": [{"column": c, "op": op, "value": v} for c, op, v in source.bounds],
    }


def _shared(scan: str, siblings: Sequence[InstancePlan], index: int, context: JobContext) -> dict[str, Any]:
    """Whom an instance asks for shares of a scan, and in how many parts each thread finds two."""
    ring = (*siblings[index + 1 :], *siblings[:index])
    return {
        "scan": scan,
        "peers": [context.addresses[i.id] for i in ring[:ASKED_MAX]],
        "parts": 2 * sum(i.threads for i in siblings),
        "timeout_ms": context.timeout_ms,
    }


def _edge(edge: Edge, index: int, context: JobContext) -> dict[str, Any]:
    return {
        "edge": edge.id,
        "index": index,
        "ntf": edge.ntf.text(),
        "fingerprint": edge.ntf.fingerprint(),
        "timeout_ms": context.timeout_ms,
    }


def _incoming(source: EdgeSource, instance: InstancePlan, context: JobContext) -> dict[str, Any]:
    edge = context.plan.edge(source.edge)
    if edge.partitioning.kind == "paired":  # as if the two were alone
        return {"kind": "edge", **_end(edge, 0, instance, context), "producers": 1}
    return {"kind": "edge", **_end(edge, instance.index, instance, context), "producers": len(edge.producers)}


def _outgoing(id: str, instance: InstancePlan, context: JobContext) -> dict[str, Any]:
    edge = context.plan.edge(id)
    index = edge.places[instance.id]
    if edge.partitioning.kind == "paired":
        sink = _end(edge, 0, instance, context)
        return {**sink, "peers": [context.peers(edge)[index]], "partitioning": "single"}
    sink = _end(edge, index, instance, context)
    if edge.transport.channel == TCP.channel:
        sink["peers"] = context.peers(edge)
    return {**sink, "partitioning": edge.partitioning.kind}


def _end(edge: Edge, index: int, instance: InstancePlan, context: JobContext) -> dict[str, Any]:
    """One end of an edge, with what a device has said that its channel must know there."""
    end = context.ends.get(edge.id, {}).get(instance.id, {})
    return {**_edge(edge, index, context), "channel": edge.transport.channel, "end": end}


def columns(schema: Iterable[Field]) -> list[dict[str, Any]]:
    """COLUMN of ARCHITECTURE.md for each field."""
    return [
        {
            "name": f.name,
            "type": f.type.kind + "?" * f.type.nullable if f.type.is_nested else type_text(f.type),
            **({"parts": columns(f.type.parts)} if f.type.is_nested else {}),
            **({"path": f.path} if f.path else {}),
        }
        for f in schema
    ]


def _dialect(instance: InstancePlan) -> Dialect:
    prefix = "dialect."
    chosen = {name[len(prefix) :]: value for name, value in instance.options if name.startswith(prefix)}
    return Dialect(**chosen) if chosen else DEFAULT
