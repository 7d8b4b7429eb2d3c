"""Rigs for the conformance kit: everything in this process, or run by whoever is handed in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.operators import FORMATS, Operator
from jumpgate.errors import Cancelled
from jumpgate.nca.interface import Device, Host, JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import Generator
from jumpgate.testing.interpret import interpret

#: operators above the reads of a dataflow
OPERATORS = 5


@dataclass
class FakeInstance:
    """An instance that answers every verb as a live one would, and knows whether it was ended."""

    host: FakeHost
    name: str
    alive: bool = True

    async def call(self, verb: str, **arguments: Any) -> dict[str, Any]:
        if not self.alive:
            if verb == "destroy":
                return {}
            raise Cancelled(f"{self.name} was destroyed", instance=self.name)
        if verb == "destroy":
            self.alive = False
        return {"port": 9} if verb == "allocate" else {}


@dataclass
class FakeHost:
    """A host whose compiler and processes are made up."""

    device: Device
    artifacts: dict[str, str] = field(default_factory=dict)
    instances: list[FakeInstance] = field(default_factory=list)

    async def compile(self, name: str, source: str, key: str) -> str:
        return self.artifacts.setdefault(key, f"/nowhere/{key}.so")

    async def has_artifact(self, key: str) -> str | None:
        return self.artifacts.get(key)

    async def spawn(self, job: str, instance: str) -> FakeInstance:
        self.instances.append(FakeInstance(self, instance))
        return self.instances[-1]

    async def release(self, job: str) -> None:
        for instance in self.instances:
            instance.alive = False


class LocalRig:
    """Compiles with `registry` for `devices`. Runs plans with `runs` (by default the interpreter), and life-cycles on
    `hosts` (by default made-up ones); `watch` names what was left behind. Close it, or use it as a context."""

    def __init__(
        self, registry: Registry, devices: Sequence[Device], *,
        runs: Callable[[JobPlan, Operator], pa.Table] | None = None,
        hosts: Mapping[str, Host] | None = None,
        watch: Callable[[], Sequence[str]] | None = None,
        formats: Sequence[str] = FORMATS,
    ) -> None:
        self.registry = registry
        self.devices = tuple(devices)
        self.formats = formats
        self._runs = runs or (lambda plan, root: interpret(plan))
        self._fakes = {d.name: FakeHost(d) for d in devices}
        self._hosts = hosts
        self._watch = watch
        self._folder = tempfile.TemporaryDirectory(prefix="jumpgate-conformance-")

    def __enter__(self) -> LocalRig:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._folder.cleanup()

    def dataflow(self, seed: int) -> Operator:
        folder = Path(self._folder.name) / str(seed)
        folder.mkdir(exist_ok=True)
        return Generator(seed, folder, self.formats).dataflow(1 + seed % OPERATORS)

    def plan(self, root: Operator, prefer: str) -> JobPlan:
        return compile_dataflow(root, self.devices, self.registry, CompileOptions(prefer=(prefer,)))

    def run(self, plan: JobPlan, root: Operator) -> pa.Table:
        return self._runs(plan, root)

    def difference(self, result: pa.Table, root: Operator) -> str:
        return oracle.difference(result, root)

    def hosts(self) -> Mapping[str, Host]:
        return self._hosts if self._hosts is not None else self._fakes

    def leftovers(self) -> Sequence[str]:
        alive = [f"instance {i.name}" for h in self._fakes.values() for i in h.instances if i.alive]
        return [*alive, *(self._watch() if self._watch else ())]
