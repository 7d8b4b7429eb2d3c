"""What a submission asks for: a dataflow as it is, or the dataflow that a Substrait plan is."""

from __future__ import annotations

from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.v1 import service_pb2 as pb


def read_request(request: pb.SubmitRequest) -> tuple[Operator, Dialect]:
    """The operators below a Send and the dialect; raises InvalidDataflow, and ConfigError without the `sql` extra."""
    if request.WhichOneof("request") == "substrait":
        return _substrait(request.substrait)
    return proto.decode(request.dataflow)


def _substrait(request: pb.SubstraitRequest) -> tuple[Operator, Dialect]:
    try:
        from jumpgate.dataflow import substrait  # an extra: loaded for the first plan
    except ImportError as error:
        raise ConfigError(f"this service reads no Substrait plans: {error}. Run pip install 'jumpgate[sql]'") from None
    if not request.HasField("send"):
        raise InvalidDataflow("the request has no `send`: it says where the result goes")
    tables = {name: proto.decode(table)[0] for name, table in request.tables.items()}
    message = proto.encode(substrait.from_plan(request.plan, tables))
    root = len(message.operators) - 1
    message.operators.add(inputs=[root], send=request.send)
    message.dialect.CopyFrom(request.dialect)
    return proto.decode(message)
