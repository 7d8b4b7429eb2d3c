"""Requests to run a dataflow, as clients make them and the service plans them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property

from jumpgate import extras
from jumpgate.dataflow import proto
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.objective import TIME, Objective
from jumpgate.dataflow.operators import Operator
from jumpgate.errors import InvalidDataflow
from jumpgate.stores.credentials import Credentials, Secret, checked
from jumpgate.v1 import dataflow_pb2
from jumpgate.v1 import service_pb2 as pb

#: the largest values of a message's uint32 and uint64
UINT32_MAX, UINT64_MAX = (1 << 32) - 1, (1 << 64) - 1


@dataclass(frozen=True)
class RunOptions:
    """A request's options (service.proto); 0 = default. Raises InvalidDataflow for numbers that are none of them."""

    parallelism: int = 0
    threads: int = 0
    timeout_ms: int = 0
    stall_timeout_ms: int = 0
    memory_limit_bytes: int = 0
    prefer: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    objective: Objective = Objective()
    wait_for_programs: bool = False

    def __post_init__(self) -> None:
        """Check the numbers."""
        for field in fields(self)[:5]:
            value, most = getattr(self, field.name), UINT64_MAX if field.name.endswith("bytes") else UINT32_MAX
            if not (isinstance(value, int) and 0 <= value <= most):
                raise InvalidDataflow(f"{field.name} is {value!r}; it is a whole number from 0 to {most}")

    @classmethod
    def of(cls, message: pb.Options) -> RunOptions:
        """Return the options of a message."""
        return cls(
            message.parallelism, message.threads, message.timeout_ms, message.stall_timeout_ms,
            message.memory_limit_bytes, tuple(message.prefer), tuple(message.without),
            Objective(message.objective or TIME, message.seconds_max or math.inf, message.cost_max or math.inf),
            message.wait_for_programs,
        )  # fmt: skip

    def message(self) -> pb.Options:
        """Return the message that has them."""
        bounds = {
            name: most for name in ("seconds_max", "cost_max") if (most := getattr(self.objective, name)) != math.inf
        }
        return pb.Options(
            parallelism=self.parallelism, threads=self.threads, timeout_ms=self.timeout_ms,
            stall_timeout_ms=self.stall_timeout_ms, memory_limit_bytes=self.memory_limit_bytes, prefer=self.prefer,
            without=self.without, objective=self.objective.least, wait_for_programs=self.wait_for_programs, **bounds,
        )  # fmt: skip


class Flow:
    """A dataflow with its dialect, encoded and decoded at most once. Where its root is a Send, the endpoints are blank:
    a Request has them."""

    def __init__(
        self,
        message: dataflow_pb2.Dataflow | pb.SubstraitRequest,
        decoded: tuple[Operator, Dialect] | None = None,
    ) -> None:
        self.message = message
        self.within: object = None  #: limits that it has been found to keep
        if decoded is not None:
            self.decoded = decoded

    @classmethod
    def of(cls, root: Operator, dialect: Dialect) -> Flow:
        """Return the flow of a decoded dataflow, whose endpoints are blank."""
        return cls(proto.encode(root, dialect), (root, dialect))

    @cached_property
    def key(self) -> tuple[bool, bytes]:
        """Return what equal flows have in common, and others have not."""
        message = self.message
        return isinstance(message, pb.SubstraitRequest), message.SerializeToString(deterministic=True)

    @cached_property
    def decoded(self) -> tuple[Operator, Dialect]:
        """Return the operators and their dialect. Raises InvalidDataflow, and NotInstalled for a Substrait plan without
        the `sql` extra."""
        if isinstance(self.message, pb.SubstraitRequest):
            return _substrait(self.message)
        return proto.decode(self.message)


@dataclass(frozen=True)
class Request:
    """A flow, the endpoints that its Send delivers to, and options. text: what a person wrote, for reports.
    credentials: what reads its stores; None: what the service lends."""

    flow: Flow
    endpoints: tuple[str, ...] = ()
    options: RunOptions = RunOptions()
    text: str = ""
    credentials: Credentials | None = None

    @classmethod
    def of(cls, message: pb.SubmitRequest | pb.ExplainRequest | pb.PrepareRequest) -> Request:
        """Return a message's request, and take over what it holds. Raises InvalidDataflow for credentials that are
        none."""
        flow: dataflow_pb2.Dataflow | pb.SubstraitRequest = message.dataflow
        text = ""
        if isinstance(message, pb.SubmitRequest):
            text = message.text
            if message.WhichOneof("request") == "substrait":
                flow = message.substrait
        brought = brought_by(message.credentials)
        return cls(Flow(flow), _taken(flow), RunOptions.of(message.options), text, brought)

    @property
    def size(self) -> int:
        """Return the bytes of the request as a message, but for its options."""
        return self.flow.message.ByteSize() + len(self.text.encode())

    def message(self) -> pb.SubmitRequest:
        """Return the message that has it."""
        asked = pb.SubmitRequest(
            options=self.options.message(), text=self.text, credentials=messages_of(self.credentials)
        )
        if isinstance(self.flow.message, pb.SubstraitRequest):
            asked.substrait.CopyFrom(self.flow.message)
            asked.substrait.send.endpoints[:] = self.endpoints
        else:
            asked.dataflow.CopyFrom(self.flow.message)
            if self.endpoints:
                asked.dataflow.operators[-1].send.endpoints[:] = self.endpoints
        return asked

    def without(self, device: str) -> Request:
        """Return the request for plans that leave the device alone."""
        return replace(self, options=replace(self.options, without=(*self.options.without, device)))


def brought_by(messages: Iterable[pb.StoreCredentials]) -> Credentials | None:
    """Return the credentials in a message; None if it has none. Raises InvalidDataflow."""
    names = [known.name for known in fields(Secret)]
    return checked(Secret(**{name: getattr(message, name) for name in names}) for message in messages)


def messages_of(brought: Credentials | None) -> list[pb.StoreCredentials]:
    """Return the messages that have the credentials."""
    return [] if brought is None else [pb.StoreCredentials(**asdict(secret)) for secret in brought.secrets]


def _taken(flow: dataflow_pb2.Dataflow | pb.SubstraitRequest) -> tuple[str, ...]:
    """Return the endpoints of a message, and leave blanks there."""
    if isinstance(flow, pb.SubstraitRequest):
        send = flow.send
    elif flow.operators and flow.operators[-1].WhichOneof("kind") == "send":
        send = flow.operators[-1].send
    else:
        return ()
    endpoints = tuple(send.endpoints)
    send.endpoints[:] = [""] * len(endpoints)
    return endpoints


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
