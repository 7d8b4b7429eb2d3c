"""The most that one request may ask for, whoever sends it: checked before anything is built from it.

Every number here sizes something: processes, threads, Python objects, generated code. jumpgate.toml raises or lowers a
limit for everybody in [service], and lowers it for one client in [[client]].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jumpgate.dataflow.request import Request
from jumpgate.errors import CannotPlace, Forbidden, InvalidDataflow, JumpgateError
from jumpgate.hosts.config import LIMITS
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.v1 import dataflow_pb2
from jumpgate.v1 import service_pb2 as pb

#: of a request as it arrives, unless `request_bytes` of [service] says otherwise; parsed, it may take 24 times as much
#: memory
MESSAGE_BYTES_MAX = 8 << 20
#: of what a person wrote, which reports show; the rest is cut off
TEXT_CHARACTERS_MAX = 1 << 20
#: instances of an operator, and threads of an instance, for each core that there is; few cores count as many
SHARES_PER_CORE, CORES_MIN = 4, 16
#: instances of one job for each core of the hosts
INSTANCES_PER_CORE = 32


@dataclass(frozen=True)
class Limits:
    """parallelism, threads: of the options. instances: of one job. endpoints: of its result. operators, expressions: of
    the dataflow. columns: of any list that an operator has. files: of one read. literals, literal_bytes: of the
    dataflow."""

    parallelism: int
    threads: int
    instances: int
    endpoints: int = 1024
    operators: int = 2000
    expressions: int = 200_000
    columns: int = 65_535
    files: int = 100_000
    literals: int = 200_000
    literal_bytes: int = 4 << 20
    client: str = ""

    @classmethod
    def of(cls, hosts: tuple[Device, ...], configured: Mapping[str, int]) -> Limits:
        """For everybody: by the hosts' cores, but for what is configured."""
        cores = [device.cores for device in hosts]
        least = SHARES_PER_CORE * CORES_MIN
        found = cls(
            max(least, SHARES_PER_CORE * sum(cores)),
            max(least, SHARES_PER_CORE * max(cores, default=0)),
            INSTANCES_PER_CORE * max(CORES_MIN, sum(cores)),
        )
        changed: dict[str, Any] = {name: configured[name] for name in LIMITS if configured.get(name)}
        return replace(found, **changed)

    def lowered(self, client: str, configured: Mapping[str, int]) -> Limits:
        """For one client; 0: as everybody's."""
        lower: dict[str, Any] = {
            name: min(configured[name], getattr(self, name)) for name in LIMITS if configured.get(name)
        }
        return replace(self, client=client, **lower)

    def check(self, request: Request) -> None:
        """Raises InvalidDataflow, or Forbidden for a client with limits of its own."""
        self._within("parallelism", request.options.parallelism)
        self._within("threads", request.options.threads)
        self._within("endpoints", len(request.endpoints))
        if request.flow.within == self:
            return
        flow = request.flow.message
        if isinstance(flow, pb.SubstraitRequest):
            self._within("operators", len(flow.tables))
            for table in flow.tables.values():
                self.check_dataflow(table)
        else:
            self.check_dataflow(flow)
        request.flow.within = self

    def check_files(self, count: int) -> None:
        """The same for paths that are to be looked at."""
        self._within("files", count)

    def check_dataflow(self, message: dataflow_pb2.Dataflow) -> None:
        """The same for a dataflow. What is listed in it takes a byte of the message at least, so a message of few bytes
        has not too much of that."""
        is_small = message.ByteSize() <= min(getattr(self, name) for name in _LISTED)
        self._within("operators", len(message.operators))
        self._within("expressions", len(message.expressions))
        for operator in message.operators:
            self._within("operators", len(operator.inputs))
            kind = operator.WhichOneof("kind")
            if kind == "send" or (kind is not None and not is_small):
                self._check_lists(getattr(operator, kind))
        if not is_small:
            self._check_expressions(message)

    def _check_lists(self, operator: Any) -> None:
        """The lists of one operator, which are read one entry after the other."""
        for field, value in operator.ListFields():
            if hasattr(value, "extend") or hasattr(value, "items"):
                self._within(field.name if field.name in ("files", "endpoints") else "columns", len(value))
        if isinstance(operator, dataflow_pb2.Read):
            self._within("columns", sum(1 + _parts(f.type) for f in operator.file_schema.fields))

    def _check_expressions(self, message: dataflow_pb2.Dataflow) -> None:
        literals = literal_bytes = parts = 0
        for expression in message.expressions:
            parts += _parts(expression.type)
            for literal in _literals(expression):
                literals += 1
                literal_bytes += len(literal.text) + len(literal.data) + len(literal.decimal)
        self._within("columns", parts)
        self._within("literals", literals)
        self._within("literal_bytes", literal_bytes)

    def check_plan(self, plan: JobPlan) -> None:
        """Raises CannotPlace for a job of too many processes."""
        if len(plan.instances) > self.instances:
            raise CannotPlace(
                f"the job would have {len(plan.instances)} instances, and may have {self.instances} on these hosts: "
                "lower parallelism, or raise `instances` in [service] of jumpgate.toml"
            )

    def _within(self, name: str, value: int) -> None:
        most = getattr(self, name)
        if value > most:
            raise self._error(f"{_WORDS.get(name, name)} {value}, at most {most}")

    def _error(self, what: str) -> JumpgateError:
        if self.client:
            return Forbidden(f"client '{self.client}' may not ask for this: {what}", client=self.client)
        return InvalidDataflow(f"the request is too large: {what}; [service] of jumpgate.toml sets the limit")


#: of operators but the send, and of expressions
_LISTED = ("columns", "files", "literals", "literal_bytes")
_WORDS = {
    "parallelism": "parallelism is",
    "threads": "threads is",
    "literal_bytes": "bytes of literals:",
    "endpoints": "endpoints:",
    "operators": "operators:",
    "expressions": "expressions:",
    "columns": "columns or keys of an operator:",
    "files": "files of a read:",
    "literals": "literals:",
}


def _literals(expression: dataflow_pb2.Expression) -> Iterator[dataflow_pb2.Literal]:
    kind = expression.WhichOneof("kind")
    if kind == "literal":
        yield expression.literal
    elif kind == "in":
        yield from getattr(expression, "in").options


def _parts(type: dataflow_pb2.Type) -> int:
    """The fields of a nested type, at any depth (a parser lets few levels pass)."""
    return sum(1 + _parts(part.type) for part in type.parts) if type.parts else 0
