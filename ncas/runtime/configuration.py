"""What an instance is told before it runs: the configuration of ARCHITECTURE.md.

Most of it is the same for all instances of a fragment, or for all ends of an edge. `Shared` has that encoded once, and
what is sent for each instance refers to it (jumpgate/nca/shared.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jumpgate.codegen.program import EdgeSource, FileSource, Program
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.types import Field
from jumpgate.nca.interface import Edge, InstancePlan, JobContext
from jumpgate.nca.transport import TCP
from jumpgate.ntf.descriptor import type_text

#: siblings that an instance asks for shares of a scan, before it leaves the rest to them
ASKED_MAX = 16

#: (name, what makes it, members of the instance's own) → an object with both, or that refers to the first by its name
Share = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Artifact:
    """A built program and how to configure it; `readers`: libraries for formats that the runtime does not read."""

    path: str
    program: Program
    dialect: Dialect
    readers: Mapping[str, str]


def whole(name: str, make: Callable[[], dict[str, Any]], **own: Any) -> dict[str, Any]:
    """Shares nothing (Share)."""
    return {**make(), **own}


def configuration(
    instance: InstancePlan, artifact: Artifact, context: JobContext, share: Share = whole
) -> dict[str, Any]:
    """The instance's configuration; what others have, too, as `share` would have it."""
    program, fragment = artifact.program, instance.fragment
    sources: list[dict[str, Any]] = []
    for number, source in enumerate(program.sources):
        if isinstance(source, FileSource):
            reader = artifact.readers.get(source.format, "")
            sources.append(
                _files(f"{fragment} scan{number}", f"scan{number}", source, instance, context, reader, share)
            )
        else:
            sources.append(_incoming(source, instance, context, share))
    return share(
        f"{fragment} {artifact.path} {instance.threads}",
        lambda: {
            "job": context.job,
            **context.secrets(),
            "threads": instance.threads,
            "memory_limit_bytes": int(dict(instance.options).get("memory_limit_bytes", "0")),
            "artifact": artifact.path,
            "params": program.params,
            "program": _program(program),
        },
        instance=instance.id,
        sources=sources,
        sinks=[_outgoing(edge, instance, context, share) for edge in program.sinks],
    )


def _program(program: Program) -> dict[str, Any]:
    def parameter(index: int) -> int:
        return int(program.params[index]["value"])

    tables = []
    for t in program.tables:
        flags = {"has_keys": t.keys > 0, "is_expanded": t.is_expanded, "on_disk": t.on_disk}
        table: dict[str, Any] = {"kind": t.kind, **flags}
        if t.limit is not None and t.offset is not None:
            table |= {"limit": parameter(t.limit), "offset": parameter(t.offset)}
        tables.append(table)
    pipelines = [
        {
            "stage": p.stage,
            "name": p.name,
            "source_kind": p.source[0],
            "source": p.source[1],
            "build": p.build,
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


def is_shared(program: Program, instance: InstancePlan, context: JobContext) -> bool:
    """Whether siblings may ask the instance for a share of files."""
    scans = (s for s in program.sources if isinstance(s, FileSource))
    return instance.count > 1 and any(len(_readers_of(scan, instance, context)) > 1 for scan in scans)


def _readers_of(source: FileSource, instance: InstancePlan, context: JobContext) -> Sequence[InstancePlan]:
    """The instances that read the same files as this one, itself among them: each a share."""
    if dict(instance.options).get("replicated_reads") == "true":
        return [instance]
    is_local = "" not in source.hosts  # each host reads its own
    return context.plan.siblings[instance.fragment, instance.device.name if is_local else ""]


def _place(instance: InstancePlan, siblings: Sequence[InstancePlan]) -> int:
    """Its number among them."""
    index = instance.index
    if (
        index < len(siblings) and siblings[index].id == instance.id
    ):  # among all of its fragment, of which there are many
        return index
    return next(number for number, sibling in enumerate(siblings) if sibling.id == instance.id)


def _files(
    name: str, scan: str, source: FileSource, instance: InstancePlan, context: JobContext, reader: str, share: Share
) -> dict[str, Any]:
    device = instance.device.name
    siblings = _readers_of(source, instance, context)
    index = _place(instance, siblings)
    is_here = device in context.here

    def make() -> dict[str, Any]:
        known = [context.plan.files.get(file, ()) for file in source.files]
        files = list(source.files)
        if "" not in source.hosts:
            files = source.hosts.get(device, [])
            known = [()] * len(files)
        return {
            "kind": "files",
            "name": source.name,
            "format": source.format,
            "reader": reader,
            "files": files,
            "states": known if is_here else [state[:1] for state in known],
            "file_columns": columns(source.file_schema),
            "positions": source.positions,
            "early": source.early,
            "options": dict(source.options),
            "share_count": len(siblings),
            "bounds": [{"column": c, "op": op, "value": v} for c, op, v in source.bounds],
        }

    def waits() -> dict[str, Any]:
        return {"scan": scan, "parts": 2 * sum(i.threads for i in siblings), "timeout_ms": context.timeout_ms}

    own: dict[str, Any] = {"share_index": index}
    alone = len(siblings) < instance.count  # with files of this host
    if len(siblings) > 1:
        own["shares"] = share(f"{name} {device if alone else ''} shares", waits, peers=_asked(siblings, index, context))
    return share(f"{name} {device if alone else is_here} {reader}", make, **own)


def _asked(siblings: Sequence[InstancePlan], index: int, context: JobContext) -> list[str]:
    """Whom an instance asks for shares of a scan: those after it, in a ring (edges/scan_shares.cpp)."""
    ring = (*siblings[index + 1 : index + 1 + ASKED_MAX], *siblings[: min(index, ASKED_MAX)])
    return [context.addresses[i.id] for i in ring[:ASKED_MAX]]


def _incoming(source: EdgeSource, instance: InstancePlan, context: JobContext, share: Share) -> dict[str, Any]:
    edge = context.plan.edge(source.edge)
    paired = edge.partitioning.kind == "paired"  # as if the two were alone
    producers = 1 if paired else len(edge.producers)
    index = 0 if paired else instance.index
    common = {"kind": "edge", "producers": producers}
    return share(
        f"{edge.id} arrives", lambda: {**common, **_edge(edge, context)}, **_end(edge, index, instance, context)
    )


def _outgoing(id: str, instance: InstancePlan, context: JobContext, share: Share) -> dict[str, Any]:
    edge = context.plan.edge(id)
    index = edge.places[instance.id]
    if edge.partitioning.kind == "paired":
        peers = [context.peers(edge)[index]]
        return share(
            f"{id} leaves",
            lambda: {**_edge(edge, context), "partitioning": "single"},
            **_end(edge, 0, instance, context),
            peers=peers,
        )

    def make() -> dict[str, Any]:
        to = {"peers": context.peers(edge)} if edge.transport.channel == TCP.channel else {}
        heavy = (
            {"heavy": edge.partitioning.heavy, "copied": edge.partitioning.copied} if edge.partitioning.heavy else {}
        )
        return {**_edge(edge, context), **to, "partitioning": edge.partitioning.kind, **heavy}

    return share(f"{id} leaves", make, **_end(edge, index, instance, context))


def _edge(edge: Edge, context: JobContext) -> dict[str, Any]:
    """What both ends of an edge are told."""
    return {
        "edge": edge.id,
        "ntf": edge.ntf.text(),
        "fingerprint": edge.ntf.fingerprint(),
        "timeout_ms": context.timeout_ms,
        "channel": edge.transport.channel,
    }


def _end(edge: Edge, index: int, instance: InstancePlan, context: JobContext) -> dict[str, Any]:
    """What one end is told: its number, and what a device has said that the edge's channel must know there."""
    return {"index": index, "end": context.ends.get(edge.id, {}).get(instance.id, {})}


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
