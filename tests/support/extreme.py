"""Requests with extreme numbers, and with very many of everything, and a service that has little memory for them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
from google.protobuf.message import Message
from pyarrow import parquet

from jumpgate.client import col, connect, count, read, sum_
from jumpgate.codegen import toolchain
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.trust import tokens
from jumpgate.v1 import dataflow_pb2 as pb
from jumpgate.v1 import service_pb2
from tests.support.cgroup import MemoryGroup, memory_group

MAIN = "from jumpgate.cli.main import main; main()"
BYTES = 1 << 30
#: for any answer
ANSWER_S = 60
NUMBERS = {
    "uint32": (0, 1, 1000, 1_000_000, 2**31 - 1, 2**31, 2**32 - 1),
    "uint64": (0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1),
    "sint64": (-(2**63), -1, 2**31, 2**63 - 1),
    "int64": (-(2**63), -1, 2**31, 2**63 - 1),
    "sint32": (-(2**31), -1, 2**31 - 1),
    "int32": (-(2**31), -1, 2**31 - 1),
    "double": (float("nan"), float("inf"), -1e308, 0.0),
}


#: those that may be sent anything
VERBS = ("Submit", "Explain", "Prepare", "Look", "Describe", "Cancel", "OpenGroup", "List")


@dataclass
class Served:
    """A service of a process of its own, in a group of 1 GB."""

    process: subprocess.Popen[str]
    group: MemoryGroup
    address: str
    file: Path

    def ask(self, verb: str, message: bytes) -> str:
        """What comes of a request: "ok", or the status that it was refused with."""
        metadata = tokens.metadata(tokens.for_service(self.address))
        with grpc.insecure_channel(self.address, [("grpc.max_send_message_length", 64 << 20)]) as channel:
            call = channel.unary_unary(f"/jumpgate.v1.Jumpgate/{verb}")
            try:
                answer = call(message, metadata=metadata, timeout=ANSWER_S)
            except grpc.RpcError as error:
                return str(error.code().name)
        if verb == "Submit":
            job = service_pb2.SubmitResponse.FromString(answer).job_id
            return self.ask("Cancel", service_pb2.CancelRequest(job_id=job).SerializeToString())
        return "ok"

    def check(self) -> None:
        """It answers, and lost nobody."""
        assert self.process.poll() is None, self.process.communicate()
        assert self.group.kills == 0
        with connect(self.address) as session:
            assert session.run(read(str(self.file)).aggregate(n=count())).to_pylist() == [{"n": 1000}]


@contextmanager
def served_in(folder: Path) -> Iterator[Served]:
    """A service in a control group of 1 GB."""
    toolchain.runtime()  # not by compilers in the group
    file = folder / "t.parquet"
    parquet.write_table(pa.table({"k": [i % 7 for i in range(1000)], "s": [str(i) for i in range(1000)]}), file)
    with memory_group(BYTES) as group:
        enter = f'echo $$ > {group.procs} && exec "$@"'
        serve = [sys.executable, "-c", MAIN, "serve", "--port", "0"]
        process = subprocess.Popen(["sh", "-c", enter, "sh", *serve], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield Served(process, group, process.stdout.readline().split()[2].rstrip(";"), file)
        finally:
            process.terminate()
            process.wait(30)


def request(file: Path) -> service_pb2.SubmitRequest:
    """With most kinds of operators and of numbers."""
    table = read(str(file))
    grouped = table.filter(col("k").isin([1, 2, 3])).aggregate(by=["k"], n=count(), t=sum_("k"))
    joined = table.join(grouped.select(k2=col("k"), n=col("n")), left_on="k", right_on="k2")
    flow = joined.sort(col("n").desc(), "s").limit(10, 2)
    options = service_pb2.Options(parallelism=2, threads=1, timeout_ms=20_000, stall_timeout_ms=20_000)
    return service_pb2.SubmitRequest(dataflow=proto.encode(Send(flow.root, ("127.0.0.1:9",))), options=options)


def numbers(message: Message, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Where the message has a number, and of which type."""
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            continue
        kind = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 13: "uint32", 17: "sint32", 18: "sint64"}
        is_list = hasattr(getattr(message, field.name), "extend")
        if field.message_type is not None:
            if is_list:
                for at, part in enumerate(getattr(message, field.name)):
                    yield from numbers(part, (*path, field.name, at))
            elif message.HasField(field.name):
                yield from numbers(getattr(message, field.name), (*path, field.name))
        elif field.type in kind:
            for n in range(len(getattr(message, field.name))) if is_list else (None,):
                yield (*path, field.name, *(() if n is None else (n,))), kind[field.type]


def with_number(message: Message, path: tuple[Any, ...], value: float) -> None:
    *parents, last = path
    at: Any = message
    for name in parents:
        at = at[name] if isinstance(name, int) else getattr(at, name)
    if isinstance(last, int):
        at[last] = value
    else:
        setattr(at, last, value)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def within(kind: type[Message], name: str, content: bytes) -> bytes:
    """A field of a message that has this content, as protobuf writes it: a parser merges it with what it has."""
    return varint(kind.DESCRIPTOR.fields_by_name[name].number << 3 | 2) + varint(len(content)) + content


def many(kind: type[Message], name: str, content: bytes = b"") -> bytes:
    """A list of that content, of some 7 MB."""
    one = within(kind, name, content)
    return one * (7_000_000 // len(one))


#: very many of something, within a request: they are written as bytes, as making the messages takes long
MANY = {
    "expressions": many(pb.Dataflow, "expressions"),
    "operators": many(pb.Dataflow, "operators"),
    "inputs": within(pb.Dataflow, "operators", within(pb.Operator, "inputs", bytes(7_000_000))),
    "columns": within(
        pb.Dataflow,
        "operators",
        within(pb.Operator, "project", within(pb.Project, "expressions", bytes(7_000_000))),
    ),
    "files": within(pb.Dataflow, "operators", within(pb.Operator, "read", many(pb.Read, "files", b"/"))),
    "fields": within(
        pb.Dataflow,
        "operators",
        within(pb.Operator, "read", within(pb.Read, "file_schema", many(pb.Schema, "fields"))),
    ),
    "nested fields": within(pb.Dataflow, "expressions", within(pb.Expression, "type", many(pb.Type, "parts"))),
    "literals": within(pb.Dataflow, "expressions", within(pb.Expression, "in", many(pb.Expression.In, "options"))),
    "text": within(
        pb.Dataflow,
        "expressions",
        within(pb.Expression, "literal", within(pb.Literal, "text", b"x" * 7_000_000)),
    ),
    "endpoints": within(pb.Dataflow, "operators", within(pb.Operator, "send", many(pb.Send, "endpoints", b"h:1"))),
    "bytes": within(
        pb.Dataflow,
        "expressions",
        within(pb.Expression, "literal", within(pb.Literal, "text", b"x" * 40_000_000)),
    ),
}


def hostile(chance: random.Random, base: service_pb2.SubmitRequest) -> tuple[str, bytes]:
    """Return a verb and a request that no client would send: with extreme numbers, with very many of something (one in
    a hundred), or damaged."""
    kind = chance.random()
    if kind < 0.01:
        of = chance.choice(list(MANY))
        return "Submit", base.SerializeToString() + within(service_pb2.SubmitRequest, "dataflow", MANY[of])
    if kind < 0.6:
        asked = service_pb2.SubmitRequest()
        asked.CopyFrom(base)
        for path, type in chance.sample(list(numbers(base)), chance.randint(1, 3)):
            with_number(asked, path, chance.choice(NUMBERS[type]))
        return "Submit", asked.SerializeToString()
    data = bytearray(base.SerializeToString())
    for _ in range(chance.choice((1, 2, 8, 64))):
        at = chance.randrange(len(data))
        data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
    return chance.choice(VERBS), bytes(data)
