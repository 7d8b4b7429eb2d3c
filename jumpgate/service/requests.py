"""Reads a submission's dataflow, which it has as it is or as a Substrait plan."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jumpgate import extras
from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import InvalidDataflow
from jumpgate.v1 import service_pb2 as pb

TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def traceparent(metadata: Iterable[tuple[str, str]]) -> str:
    """Return what a call's metadata say of the client's trace; empty if they say nothing that is well formed."""
    found = dict(metadata).get("traceparent", "")
    return found if isinstance(found, str) and TRACEPARENT.fullmatch(found) else ""


def read_request(request: pb.SubmitRequest) -> tuple[Operator, Dialect]:
    """The operators below a Send and the dialect; raises InvalidDataflow, and NotInstalled without the `sql` extra."""
    if request.WhichOneof("request") == "substrait":
        return _substrait(request.substrait)
    return proto.decode(request.dataflow)


def _substrait(request: pb.SubstraitRequest) -> tuple[Operator, Dialect]:
    with extras.explained():
        from jumpgate.dataflow import substrait  # loaded for the first plan
    if not request.HasField("send"):
        raise InvalidDataflow("the request has no `send`: it says where the result goes")
    tables = {name: proto.decode(table)[0] for name, table in request.tables.items()}
    message = proto.encode(substrait.from_plan(request.plan, tables))
    root = len(message.operators) - 1
    message.operators.add(inputs=[root], send=request.send)
    message.dialect.CopyFrom(request.dialect)
    return proto.decode(message)
