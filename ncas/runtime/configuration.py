"""Makes the configuration of an instance (docs/protocol.md).

Most of it is the same for all instances of a fragment: that part is made and encoded once, with gaps for the rest
(jumpgate/nca/shared.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from jumpgate.codegen.program import EdgeSource, FileSource, Program
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.types import Field
from jumpgate.errors import FileChanged
from jumpgate.nca.interface import Edge, InstancePlan, JobContext
from jumpgate.nca.shared import Gap, Template
from jumpgate.nca.transport import TCP
from jumpgate.ntf.addresses import host_of
from jumpgate.ntf.descriptor import type_text
from jumpgate.stores import chunks, latency, objects, placement, settings
from jumpgate.stores.names import is_priced, is_remote

#: the most siblings that an instance asks for shares of a scan, before it leaves the rest to them
ASKED_MAX = 16
#: frames of the result grow to this size: each costs the client's end a while, whatever it holds
RESULT_FRAME_BYTES = 2 << 20


@dataclass(frozen=True)
class Artifact:
    """A built program and its configuration; `readers`: libraries for formats that the runtime does not read."""

    path: str
    program: Program
    dialect: Dialect
    readers: Mapping[str, str]

    @cached_property
    def told(self) -> dict[str, Any]:
        """Return the part of a configuration that is the same for every job."""
        return {"artifact": self.path, "params": self.program.params, "program": _program(self.program)}

    @cached_property
    def sources_told(self) -> list[dict[str, Any]]:
        """Return the part of each source that is the same for every job."""
        return [
            _read(source, self.readers.get(source.format, "")) if isinstance(source, FileSource) else {"kind": "edge"}
            for source in self.program.sources
        ]

    @cached_property
    def reads_own_files(self) -> bool:
        """Return whether hosts read files of their own."""
        return any(isinstance(s, FileSource) and "" not in s.hosts for s in self.program.sources)


def configuration(instance: InstancePlan, artifact: Artifact, context: JobContext) -> dict[str, Any]:
    """Return the instance's configuration in full."""
    return _template(instance, artifact, context).filled(instance)  # type: ignore[no-any-return]


def shared_configuration(instance: InstancePlan, artifact: Artifact, context: JobContext) -> dict[str, Any]:
    """Return the configuration by reference to the part that the fragment's instances share (context.shared)."""
    device = instance.device.name
    place = device if artifact.reads_own_files else device in context.here
    key = (instance.fragment, artifact.path, instance.threads, place, *artifact.readers.items())
    return context.shared(key, lambda: _template(instance, artifact, context), instance)


def _template(first: InstancePlan, artifact: Artifact, context: JobContext) -> Template:
    """Return the configuration shared by the fragment's instances that are like this one."""
    program = artifact.program
    sources = [
        told | (_files(f"scan{number}", source, first, context) if isinstance(source, FileSource)
                else _incoming(source, context))
        for number, (source, told) in enumerate(zip(program.sources, artifact.sources_told, strict=True))
    ]  # fmt: skip
    return Template(
        {
            "job": context.job,
            **context.secrets(),
            "instance": Gap(attrgetter("id")),
            "threads": first.threads,
            "memory_limit_bytes": first.memory_limit_bytes,
            "yields": context.yields,
            **artifact.told,
            "sources": sources,
            "sinks": [_outgoing(edge, context) for edge in program.sinks],
        }
    )


def _program(program: Program) -> dict[str, Any]:
    def parameter(index: int) -> int:
        return int(program.params[index]["value"])

    tables = []
    for t in program.tables:
        table: dict[str, Any] = {"has_keys": t.keys > 0, "is_expanded": t.is_expanded, "on_disk": t.on_disk}
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
    """Return whether siblings may request a share of files from the instance."""
    scans = (s for s in program.sources if isinstance(s, FileSource))
    return instance.count > 1 and any(len(_readers_of(scan, instance, context)) > 1 for scan in scans)


def _readers_of(source: FileSource, instance: InstancePlan, context: JobContext) -> Sequence[InstancePlan]:
    """Return the instances that share the same files, this one included."""
    is_local = "" not in source.hosts  # each host reads its own
    return context.plan.siblings[instance.fragment, instance.device.name if is_local else ""]


def _place(instance: InstancePlan, siblings: Sequence[InstancePlan]) -> int:
    """Return the instance's number among the siblings."""
    index = instance.index
    if index < len(siblings) and siblings[index].id == instance.id:  # siblings are all of its fragment, maybe many
        return index
    return next(number for number, sibling in enumerate(siblings) if sibling.id == instance.id)


def _read(source: FileSource, reader: str) -> dict[str, Any]:
    """Return the fixed configuration of a file reader."""
    return {
        "kind": "files",
        "name": source.name,
        "format": source.format,
        "reader": reader,
        "file_columns": columns(source.file_schema),
        "positions": source.positions,
        "early": source.early,
        "options": dict(source.options),
        "bounds": [{"column": c, "op": op, "value": v} for c, op, v in source.bounds],
        **({} if source.wishes is None else {"wishes": [{"count": c, "extremes": e} for c, e in source.wishes]}),
    }


def _files(scan: str, source: FileSource, first: InstancePlan, context: JobContext) -> dict[str, Any]:
    siblings = _readers_of(source, first, context)
    files = list(source.files)
    remote = [file for file in files if is_remote(file)]
    known = [() if is_remote(file) else context.plan.files.get(file, ()) for file in files]
    if "" not in source.hosts:
        files = source.hosts.get(first.device.name, [])
        known = [()] * len(files)
    shares = {
        "scan": scan,
        "parts": 2 * sum(i.threads for i in siblings),
        "timeout_ms": context.timeout_ms,
        "peers": Gap(lambda i: _asked(siblings, _place(i, siblings), context)),
    }
    return {
        "files": files,
        **(
            {"objects": [granted(file, context) for file in remote], "cache_bytes": chunks.bytes_max()}
            if remote
            else {}
        ),
        "states": known if first.device.name in context.here else [state[:1] for state in known],
        "owners": _owners(files, siblings, context),
        "share_index": Gap(lambda i: _place(i, siblings)) if len(siblings) > 1 else 0,
        "share_count": len(siblings),
        **({"shares": shares} if len(siblings) > 1 else {}),
    }


def _owners(files: Sequence[str], siblings: Sequence[InstancePlan], context: JobContext) -> list[list[int]]:
    """Return for each file which sibling's host has which part of it; nothing if that is known of none."""
    if len(siblings) < 2 or not any(map(placement.is_told, files)):
        return []
    versions = {file: state.inode for file, state in context.plan.files.items()}
    hosts = [{i.device.name, host_of(context.addresses.get(i.id, ""))} for i in siblings]
    found = placement.owners(files, versions, hosts)
    return [found.get(file, []) for file in files] if found else []


def granted(file: str, context: JobContext) -> dict[str, Any]:
    """Return what reads an object for the life of a job, in the version that was planned for. The URL and the header
    are secrets."""
    grant = objects.grant(file)
    planned = context.plan.files.get(file)
    if planned is not None and planned.inode != objects.number(grant.tag, grant.modified):
        raise FileChanged(f"file '{file}' was replaced while a query read it: run the query again", file=file)
    request_s, bytes_per_s = latency.link(file)
    store = settings.store_of(file)
    return {
        "file": file,
        "url": grant.url,
        "authorization": grant.authorization,
        "tag": grant.tag,
        "modified": grant.modified,
        "size": grant.size,
        "chunks": os.path.basename(grant.chunks),
        "proven": grant.is_proven,
        "request_s": request_s,
        "byte_s": 1 / bytes_per_s,
        "request_price": store.price_requests / 1e3 * is_priced(file),
        "insecure": store.insecure,
    }


def _asked(siblings: Sequence[InstancePlan], index: int, context: JobContext) -> list[str]:
    """Return the siblings that an instance asks for shares of a scan: those after it, in a ring
    (edges/scan_shares.cpp)."""
    ring = (*siblings[index + 1 : index + 1 + ASKED_MAX], *siblings[: min(index, ASKED_MAX)])
    return [context.addresses[i.id] for i in ring[:ASKED_MAX]]


def _incoming(source: EdgeSource, context: JobContext) -> dict[str, Any]:
    edge = context.plan.edge(source.edge)
    if edge.partitioning.kind == "paired":  # as if the two were alone
        return {"producers": 1, **_edge(edge, 0, context)}
    return {"producers": len(edge.producers), **_edge(edge, Gap(attrgetter("index")), context)}


def _outgoing(id: str, context: JobContext) -> dict[str, Any]:
    edge, places = context.plan.edge(id), context.plan.edge(id).places
    if edge.partitioning.kind == "paired":
        peers = context.peers(edge)
        alone = {"partitioning": "single", "peers": Gap(lambda i: [peers[places[i.id]]])}
        return {**_edge(edge, 0, context), **alone}
    to = {"peers": context.peers(edge)} if edge.transport.channel == TCP.channel else {}
    heavy = {"heavy": edge.partitioning.heavy, "copied": edge.partitioning.copied} if edge.partitioning.heavy else {}
    frames = {"frame_bytes_max": RESULT_FRAME_BYTES} if id == context.plan.result else {}
    index = Gap(lambda i: places[i.id])
    return {**_edge(edge, index, context), **to, "partitioning": edge.partitioning.kind, **heavy, **frames}


def _edge(edge: Edge, index: Gap | int, context: JobContext) -> dict[str, Any]:
    """Return the configuration of an end of an edge. `index` is its number; `end` holds what the edge's channel must
    know there, as a device announced."""
    ends = context.ends.get(edge.id, {})
    return {
        "edge": edge.id,
        "ntf": edge.ntf.text(),
        "fingerprint": edge.ntf.fingerprint(),
        "timeout_ms": context.timeout_ms,
        "channel": edge.transport.channel,
        "index": index,
        "end": Gap(lambda i: ends.get(i.id, {})) if ends else {},
    }


def columns(schema: Iterable[Field]) -> list[dict[str, Any]]:
    """COLUMN of docs/protocol.md for each field."""
    return [
        {
            "name": f.name,
            "type": f.type.kind + "?" * f.type.nullable if f.type.is_nested else type_text(f.type),
            **({"parts": columns(f.type.parts)} if f.type.is_nested else {}),
            **({"path": f.path} if f.path else {}),
        }
        for f in schema
    ]
