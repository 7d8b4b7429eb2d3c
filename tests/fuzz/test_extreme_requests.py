"""Requests with extreme numbers, and with very many of everything, at a service that has 1 GB."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pyarrow as pa
import pytest
from google.protobuf.message import Message
from pyarrow import parquet

from jumpgate.client import col, connect, count, read, sum_
from jumpgate.codegen import toolchain
from jumpgate.dataflow import proto
from jumpgate.dataflow.operators import Send
from jumpgate.trust import tokens
from jumpgate.v1 import dataflow_pb2, service_pb2
from jumpgate.v1.service_pb2_grpc import JumpgateStub
from tests.support import fuzz
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


@dataclass
class Served:
    """A service of a process of its own, in a group of 1 GB."""

    process: subprocess.Popen[str]
    group: MemoryGroup
    address: str
    file: Path

    @property
    def stub(self) -> JumpgateStub:
        channel = grpc.insecure_channel(self.address, [("grpc.max_send_message_length", 64 << 20)])
        return JumpgateStub(channel)  # type: ignore[no-untyped-call]

    def ask(self, verb: str, message: Message) -> str:
        """What comes of a request: "ok", or the status that it was refused with."""
        metadata = tokens.metadata(tokens.for_service(self.address, None, None))
        try:
            answer = getattr(self.stub, verb)(message, metadata=metadata, timeout=ANSWER_S)
            if verb == "Submit":
                self.ask("Cancel", service_pb2.CancelRequest(job_id=answer.job_id))
            return "ok"
        except grpc.RpcError as error:
            return str(error.code().name)

    def check(self) -> None:
        """It answers, and lost nobody."""
        assert self.process.poll() is None, self.process.communicate()
        assert self.group.kills == 0
        with connect(self.address) as session:
            assert session.run(read(str(self.file)).aggregate(n=count())).to_pylist() == [{"n": 1000}]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    toolchain.runtime()  # not by compilers in the group
    folder = tmp_path_factory.mktemp("extreme")
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
        is_list = field.label == field.LABEL_REPEATED
        if field.message_type is not None:
            if is_list:
                for n, part in enumerate(getattr(message, field.name)):
                    yield from numbers(part, (*path, field.name, n))
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


def test_extreme_numbers_end_no_service(served: Served) -> None:
    """A random choice of where and which; all options with all numbers."""
    base = request(served.file)
    found = list(numbers(base))
    chosen = [(path, value) for path, kind in found if path[0] == "options" for value in NUMBERS[kind]]
    others = [(path, value) for path, kind in found if path[0] != "options" for value in NUMBERS[kind]]
    chosen += random.Random(fuzz.SEED).sample(others, 60)
    for path, value in chosen:
        asked = service_pb2.SubmitRequest()
        asked.CopyFrom(base)
        with_number(asked, path, value)
        said = served.ask("Submit", asked)
        assert said in ("ok", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "DEADLINE_EXCEEDED"), (path, value, said)
    served.check()


def _many(kind: str, base: service_pb2.SubmitRequest) -> Message:
    """A request with very many of something, in some 15 MB."""
    asked = service_pb2.SubmitRequest()
    asked.CopyFrom(base)
    flow = asked.dataflow
    match kind:
        case "expressions":
            flow.expressions.extend([dataflow_pb2.Expression()] * 7_000_000)
        case "operators":
            flow.operators.extend([dataflow_pb2.Operator()] * 7_000_000)
        case "inputs":
            flow.operators.add(inputs=[0] * 14_000_000, union_all=dataflow_pb2.UnionAll())
        case "columns":
            flow.operators.add(inputs=[0], project=dataflow_pb2.Project(expressions=[0] * 14_000_000))
        case "files":
            flow.operators[0].read.files.extend(["/"] * 4_000_000)
        case "fields":
            flow.operators[0].read.file_schema.fields.extend([dataflow_pb2.Field()] * 7_000_000)
        case "nested fields":
            fields = [dataflow_pb2.Field()] * 7_000_000
            flow.operators[0].read.file_schema.fields[0].type.parts.extend(fields)
        case "literals":
            options = [dataflow_pb2.Literal()] * 7_000_000
            flow.expressions.append(dataflow_pb2.Expression(**{"in": dataflow_pb2.Expression.In(options=options)}))
        case "text":
            flow.expressions.append(dataflow_pb2.Expression(literal=dataflow_pb2.Literal(text="x" * 15_000_000)))
        case "endpoints":
            flow.operators[-1].send.endpoints.extend(["h:1"] * 2_000_000)
        case "bytes":
            flow.expressions.append(dataflow_pb2.Expression(literal=dataflow_pb2.Literal(text="x" * 40_000_000)))
    return asked


KINDS = (
    "expressions", "operators", "inputs", "columns", "files", "fields", "nested fields", "literals", "text",
    "endpoints", "bytes",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_very_many_of_anything_end_no_service(kind: str, served: Served) -> None:
    said = served.ask("Submit", _many(kind, request(served.file)))
    assert said == ("RESOURCE_EXHAUSTED" if kind == "bytes" else "INVALID_ARGUMENT")
    served.check()


def test_a_refusal_says_how_many_there_may_be(served: Served) -> None:
    asked = request(served.file)
    asked.options.parallelism = 2**31 - 1
    metadata = tokens.metadata(tokens.for_service(served.address, None, None))
    with pytest.raises(grpc.RpcError) as refused:
        served.stub.Submit(asked, metadata=metadata)
    most = max(64, 4 * len(os.sched_getaffinity(0)))
    assert refused.value.details() == (
        f"the request is too large: parallelism is 2147483647, at most {most}; "
        "[service] of jumpgate.toml sets the limit"
    )
