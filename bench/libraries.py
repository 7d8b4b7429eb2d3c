"""Compares the cost of code written here with that of a library.

The control protocol is JSON (read by simdjson) over lines; protobuf would be the alternative, and could save at most
all that JSON costs an instance: writing and reading the configuration of TPC-DS query 3, and one round trip to a live
instance. `protobuf_write` fills and serialises a message of the same fields, in Python.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crc32c
import simdjson
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from bench._measure import Figure, remark, report
from jumpgate.codegen import toolchain
from jumpgate.codegen.lower import lower_fragment
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Send
from jumpgate.nca.interface import JobContext
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.runtime.configuration import Artifact, configuration
from jumpgate.testing.live import agents
from tests.support import cpp, plans

LOOPS = Path(__file__).parent / "library_loops.cpp"
#: seconds of an embedded job that reads nothing, of which these are a part (bench/README.md, "core")
JOB_S = 8e-3


def microseconds(call: Callable[[], object], times: int = 300) -> float:
    """CPU time of the fastest of `times` calls."""
    taken = []
    for _ in range(times):
        start = time.thread_time()
        call()
        taken.append(time.thread_time() - start)
    return min(taken) * 1e6


def query3() -> dict[str, Any]:
    """Return the configuration of the query's instance."""
    root = Send(plans.query3(), endpoints=("127.0.0.1:7000",))
    plan = compile_dataflow(root, (plans.host("a"),), default_registry(), CompileOptions())
    (instance,) = plan.instances
    artifact = Artifact("/cache/artifacts/0123456789abcdef.so", lower_fragment(instance.root), DEFAULT, {})
    return configuration(instance, artifact, JobContext("job", "token", plan, {}))


class Schema:
    """Message types for values as JSON has them: objects become messages, their keys fields."""

    def __init__(self, sample: dict[str, Any]) -> None:
        self._file = descriptor_pb2.FileDescriptorProto(name="configuration.proto", syntax="proto3")
        self._declare("Configuration", [sample])
        pool = descriptor_pool.DescriptorPool()
        pool.Add(self._file)
        self.type = message_factory.GetMessageClass(pool.FindMessageTypeByName("Configuration"))

    def _declare(self, name: str, samples: list[dict[str, Any]]) -> None:
        message = self._file.message_type.add(name=name)
        values: dict[str, list[Any]] = {}
        for sample in samples:
            for key, value in sample.items():
                values.setdefault(key, []).append(value)
        for number, (key, found) in enumerate(values.items(), 1):
            field = message.field.add(name=key, number=number, label=field_label(found))
            items = list(leaves(found))
            if any(isinstance(i, dict) for i in items):
                self._declare(f"{name}_{key}", [i for i in items if isinstance(i, dict)])
                field.type, field.type_name = field.TYPE_MESSAGE, f".{name}_{key}"
            else:
                kinds = {str: field.TYPE_STRING, bool: field.TYPE_BOOL}
                field.type = kinds.get(type(next((i for i in items if i is not None), 0)), field.TYPE_INT64)

    def fill(self, message: Message, value: dict[str, Any]) -> None:
        """Set every field from plain values, as a sender does."""
        for key, found in value.items():
            if isinstance(found, dict):
                self.fill(getattr(message, key), found)
            elif isinstance(found, list | tuple):
                items = list(leaves(found))
                if items and isinstance(items[0], dict):
                    for item in items:
                        self.fill(getattr(message, key).add(), item)
                else:
                    getattr(message, key).extend(items)
            elif found is not None:
                setattr(message, key, found)

    def encode(self, value: dict[str, Any]) -> bytes:
        message = self.type()
        self.fill(message, value)
        return message.SerializeToString()


def leaves(values: Any) -> Iterator[Any]:
    """The items of nested lists."""
    for value in values:
        yield from leaves(value) if isinstance(value, list | tuple) else (value,)


def field_label(values: list[Any]) -> descriptor_pb2.FieldDescriptorProto.Label.ValueType:
    field = descriptor_pb2.FieldDescriptorProto
    return field.LABEL_REPEATED if isinstance(values[0], list | tuple) else field.LABEL_OPTIONAL


async def round_trip() -> float:
    """Microseconds of a `stats` of an instance, from the service through its agent and back."""
    async with agents((plans.host("a"),)) as live:
        instance = await live.hosts["a"].spawn("job", "f0.0")
        taken = []
        for _ in range(300):
            start = time.perf_counter()
            await instance.call("stats")
            taken.append(time.perf_counter() - start)
        await instance.call("destroy")
        return statistics.median(taken) * 1e6


def loops(folder: Path, configured: str) -> dict[str, float]:
    """Nanoseconds of each C++ loop's calls."""
    library = toolchain.runtime().library
    simdjson_headers = str(Path(simdjson.__file__).parent)
    program = cpp.build("library_loops", [LOOPS], (*cpp.RELEASE, "-I", simdjson_headers, str(library)))
    (folder / "configuration.json").write_text(configured)
    done = subprocess.run([program, folder / "configuration.json"], capture_output=True, text=True, check=True,
                          env={"LD_LIBRARY_PATH": f"{library.parent}:{library.parent / 'arrow'}"})  # fmt: skip
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    configured = query3()
    text = json.dumps(configured)
    schema = Schema(configured)
    encoded = schema.encode(configured)
    json_write = microseconds(lambda: json.dumps(configured))
    protobuf_write = microseconds(lambda: schema.encode(configured))
    called = asyncio.run(round_trip())
    with tempfile.TemporaryDirectory() as folder:
        found = loops(Path(folder), text)
    json_read = found["config_read"] / 1e3
    block, block_gb = b"x" * (1 << 20), (1 << 20) / 1e9
    package = microseconds(lambda: crc32c.crc32c(block))
    own_gbps, package_gbps = block_gb / found["crc32c_megabyte"] * 1e9, block_gb / package * 1e6
    remark(f"configuration: {len(text)} bytes as JSON, {len(encoded)} as protobuf")
    remark(f"written as JSON in {json_write:.1f} µs, as protobuf in {protobuf_write:.1f} µs")
    remark(f"read as JSON in {json_read:.1f} µs")
    remark(f"one call of a live instance: {called:.0f} µs")
    remark(f"CRC-32C: {own_gbps:.1f} GB/s, the package crc32c {package_gbps:.1f} GB/s")
    share = (json_write + json_read) * 1e-6 / JOB_S
    for figure in (
        Figure("control_json_share", share, 0.05, "lower", "a configuration written and read, in a job of 8 ms"),
        Figure("crc32c_vs_package", own_gbps / package_gbps, 1.0, "higher", "throughput beside the package crc32c"),
    ):
        report(figure, options.json)


if __name__ == "__main__":
    main()
