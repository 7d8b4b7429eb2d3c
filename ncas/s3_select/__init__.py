"""S3 Select as an accelerator: the store reads Parquet, filters, and sends the columns that are asked for.

`__init__` declares what it takes, `sql` writes the store's SQL, `lifecycle` starts and configures instances, `worker`
is the instance. A store takes part where `select = true` in its `[[store]]` says so (docs/object-stores.md).
"""

from __future__ import annotations

from functools import cached_property

from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.operators import Filter, Operator, Project, Read
from jumpgate.nca.interface import Answer, Completeness, Device, Estimates, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.storage import Asked
from jumpgate.nca.transport import TCP, Transport
from jumpgate.ncas.s3_select.sql import refusal
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.stores import settings
from jumpgate.stores.names import is_s3

#: the time to start a Python process; the operators' work is the store's (asked)
SPEEDS = Speeds(setup_s=0.5, factor=0.0)
#: core seconds of a byte of an answer, and bytes of a value as text beside those that it has in memory
TEXT_S, TEXT_BYTES = 1e-8, 8


class S3Select:
    """Filters and columns of Parquet objects, computed by their store."""

    name = "s3_select"

    @property
    def operators(self) -> S3Select:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.s3_select.lifecycle import SelectLifecycle

        return SelectLifecycle()

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        return Unsupported("S3 Select reads objects, and nothing from other accelerators", "edge")

    def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
        return self.match_estimated(node, device, dialect, None)

    def match_estimated(
        self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates | None
    ) -> Match | Unsupported | None:
        if device.kind != "host":
            return None
        found = chain(node)
        if found is None or not all(map(is_s3, found[1].files)):
            return None
        operators, read = found
        if not all(settings.store_of(file).select for file in read.files):
            return Unsupported("a store computes only where select = true in its [[store]]", "store", "Set it there.")
        if no := refusal(operators, read):
            return no
        asked = None if estimates is None else demand(node, read, estimates)
        return Match(self.name, (*operators, read), Completeness.FULL, node.schema, asked=asked)

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        return Descriptor.of(match.schema, layout), TCP

    def speeds(self, device: Device) -> Speeds:
        return SPEEDS


def chain(node: Operator) -> tuple[tuple[Operator, ...], Read] | None:
    """Return the operators above a read, a filter or a projection over one, and the read."""
    last = node.input if isinstance(node, Project) else node
    if not isinstance(last, Filter) or not isinstance(last.input, Read):
        return None
    return ((last,) if last is node else (node, last)), last.input


def demand(node: Operator, read: Read, estimates: Estimates) -> Asked | None:
    """Return what the store is asked for the rows of `node`; None if their number is unknown."""
    scanned, bytes, rows = estimates.stored(read), estimates.of(node).bytes, estimates.of(node).rows
    if scanned is None or bytes is None or rows is None:
        return None
    returned = bytes + rows * len(node.schema) * TEXT_BYTES
    requests = 2.0 * len(read.files)  # each is asked for its version when its rows are complete
    return Asked(requests, returned, scanned, returned, returned * TEXT_S)


S3_SELECT = S3Select()
