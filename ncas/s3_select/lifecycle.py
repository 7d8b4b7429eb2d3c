"""The life-cycle: a worker process on the instance's host, configured with what it asks and what reads its objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from jumpgate.dataflow.operators import Aggregate, Prune, Receive, Sort
from jumpgate.nca.interface import InstanceHandle, InstancePlan, JobContext
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.ncas.runtime.configuration import granted
from jumpgate.ncas.s3_select import dialects, intervals, sql
from jumpgate.ncas.s3_select.intervals import Seek
from jumpgate.ncas.s3_select.shapes import Keys, Part, part_of
from jumpgate.ncas.s3_select.terms import fields_of, met
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.stores import indexes, objects, settings
from jumpgate.stores.indexes import Index, Interval
from jumpgate.stores.names import is_remote


class SelectLifecycle(WorkerLifecycle):
    """Each of several siblings asks about its share of the objects."""

    module = "jumpgate.ncas.s3_select.worker"

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        body = instance.root.inputs[0]
        part = part_of(body.input if isinstance(body, Prune) else body)
        assert part is not None
        told = {"columns": part.read.schema.names, "where": sql.where(part), **_task(part, instance.settings)}
        if isinstance(instance.settings, Seek):
            told |= {**_text(part), "task": "sought", "index": instance.settings.index}
            told["intervals"] = _intervals(part, instance.settings.column)
        elif part.read.format != "parquet":
            told = {**_text(part), **told}
        told["filters"] = [_arriving(keys) for keys in part.filters]
        told["hashes"] = dialects.of(part.read.files).substring
        return {**told, "files": part.read.files[instance.index :: instance.count]}

    async def configure(
        self, handle: InstanceHandle, instance: InstancePlan, artifact: dict[str, Any], context: JobContext
    ) -> None:
        """The URLs are secrets: they are made for the job, and are no part of the artifact."""
        files = artifact["files"]
        may_ask = all(settings.store_of(file).select for file in files)
        found = [{**granted(file, context), "select": objects.selecting(file) if may_ask else ""} for file in files]
        if index := indexes.get(artifact.get("index", "")):
            for one in found:
                one["table"] = _table(index, one)
        needed = None if instance.asked is None else instance.asked.scanned_bytes / len(files) / instance.count
        for one in found:
            bytes = one["size"] if needed is None else min(one["size"], needed)
            one["ranged_s"] = one["request_s"] + bytes * one["byte_s"]
        rest = {key: value for key, value in artifact.items() if key != "files"}
        await super().configure(handle, instance, {**rest, "objects": found, "prices": _prices(files[0])}, context)


def _intervals(part: Part, column: int) -> list[Interval] | None:
    assert part.where is not None
    return intervals.intervals(part.where, column, part.read.schema[column].type)


def _table(index: Index, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what reads the index table of an object; None if it is not of the version that the job reads."""
    table = index.tables.get(told["file"])
    if table is None or (table.tag, table.size) != (told["tag"], told["size"]):
        return None
    found = {"place": table.place, "header": table.header, "size": table.size}
    if is_remote(table.place):
        found["grant"] = asdict(objects.version(table.place, table.place_tag, table.place_size))
    return found


def _arriving(keys: Keys) -> dict[str, Any]:
    assert isinstance(keys.source, Receive)
    return {"edge": keys.source.edge, "columns": keys.columns}


def _text(part: Part) -> dict[str, Any]:
    """Return what the worker does with each object of text."""
    read = part.read
    superset = sql.superset(part, dialects.of(read.files))
    return {
        "dialect": settings.store_of(read.files[0]).select_dialect,
        "form": asdict(superset.form),
        "types": Descriptor.of(read.schema, "columnar").text(),
        "superset": sql.condition(part, superset),
    }


def _task(part: Part, sampled: int | None) -> dict[str, Any]:
    """Return what the worker does with each object (worker.TASKS)."""
    names = part.read.schema.names
    match part.root:
        case Sort(keys=(key, *_), limit=int() as limit, offset=offset):
            order = {"key": part.column(key.expression), "descending": key.descending, "nulls_first": key.nulls_first}
            return {"task": "top", "shown": names, **order, "most": offset + limit, "sampled": sampled}
        case Aggregate() as root:
            of = [None if m.argument is None else part.column(m.argument) for m in root.measures]
            numbers = {n: part.read.schema[names.index(n)].type.is_integer for n in of if n is not None}
            measures = [[m.function, name] for m, name in zip(root.measures, of, strict=True)]
            keys = [part.column(key) for key in root.keys]
            cases = dialects.of(part.read.files).cases
            told = {"keys": keys, "measures": measures, "arguments": numbers, "cases": cases}
            if part.read.format != "parquet":
                told |= {"integers": sorted(fields_of(part).integers), "met": met(part)}
            return {"task": "groups" if keys else "totals", **told}
    task = "rows" if part.read.format == "parquet" else "fields"
    return {"task": task, "shown": [names[i] for i in part.columns]}


def _prices(file: str) -> dict[str, float]:
    store = settings.store_of(file)
    return {
        "scanned_bytes": store.price_scanned / 1e9,
        "charged_bytes": store.price_returned / 1e9,
        "requests": store.price_requests / 1e3,
    }
