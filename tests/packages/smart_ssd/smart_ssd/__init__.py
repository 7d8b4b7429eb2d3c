"""A disk that filters: it reads Parquet files, and hands out the rows that comparisons of whole numbers accept.

It stands at the leaves of plans and has no inputs. A worker on the host of its first receiver stands for its firmware.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Call, ColumnRef, Expression, Literal, conjuncts
from jumpgate.dataflow.operators import Filter, Operator, Project, Read
from jumpgate.nca.device_kind import DeviceKind, Key
from jumpgate.nca.interface import Completeness, Device, InstancePlan, LifeCycle, Match, Offer, Unsupported
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ntf.descriptor import Descriptor

COMPARISONS = ("eq", "lt", "le", "gt", "ge")


def _offer(device: Device) -> Offer:
    return Offer((("columns", KIND.value(device, "columns")),), claims=("flash",))


KIND = DeviceKind(
    "smart_ssd",
    "a disk that filters what it reads",
    (Key("columns", int, "how many it can hand out", 8), Key("folder", str, "the files that it has", required=True)),
    offers=_offer,
)


class SsdLifecycle(WorkerLifecycle):
    module = "smart_ssd.worker"

    def configuration(self, instance: InstancePlan) -> dict[str, Any]:
        found = _taken(instance.root.inputs[0])
        assert found is not None
        kept, filter, read = found
        names = list(read.schema.names)
        return {"files": list(read.files), "columns": names, "terms": list(_terms(filter)), "kept": list(kept)}


class SsdFilter:
    """Filters over Parquet files on the disk."""

    name = "ssd_filter"
    sample_devices: tuple[Device, ...] = ()

    @property
    def operators(self) -> SsdFilter:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        return SsdLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        return Unsupported("a disk reads its own files", "edge")

    def match_operations(
        self, node: Operator, device: Device, dialect: Dialect = DEFAULT
    ) -> Match | Unsupported | None:
        found = _taken(node) if device.kind == KIND.name else None
        if found is None:
            return None
        kept, filter, read = found
        folder = str(KIND.value(device, "folder"))
        if not all(file.startswith(f"{folder}/") for file in read.files):
            return Unsupported(f"it has the files below {folder}", "place")
        if read.format != "parquet" or None in _terms(filter):
            return Unsupported("the disk compares whole numbers of Parquet files with constants", "filter")
        operators = (node, read) if node is filter else (node, filter, read)
        return Match(
            self.name, operators, Completeness.FULL, node.schema,
            limits=(("columns", float(len(node.schema))),), claims=("flash",),
        )  # fmt: skip

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.columnar(match.schema), TCP

    def speeds(self, device: Device) -> Speeds:
        return Speeds(factor=0.01)


def _taken(node: Operator) -> tuple[tuple[int, ...], Filter, Read] | None:
    """The columns that are kept, the filter and the read, if a node is a filter of a read, or some columns of one."""
    columns = [*range(len(node.schema))]
    if isinstance(node, Project) and all(isinstance(e, ColumnRef) for e in node.expressions):
        columns = [e.index for e in node.expressions if isinstance(e, ColumnRef)]
        node = node.input
    if not isinstance(node, Filter) or not isinstance(node.input, Read):
        return None
    return tuple(columns), node, node.input


def _terms(node: Filter) -> Iterator[tuple[str, int, int] | None]:
    """The column, comparison and number of each term, or None."""
    for term in conjuncts(node.predicate):
        yield _term(term)


def _term(term: Expression) -> tuple[str, int, int] | None:
    if isinstance(term, Call) and term.function in COMPARISONS:
        column, value = term.args
        if isinstance(column, ColumnRef) and column.type.is_integer and isinstance(value, Literal):
            return term.function, column.index, int(value.value)
    return None


NCA = SsdFilter()
