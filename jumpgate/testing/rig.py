"""Rigs for the conformance kit: everything in this process, or run by the functions that are passed in."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.operators import Operator, Read, Window, rewrite
from jumpgate.errors import CannotPlace, InstanceFailed, InternalError, Overflow
from jumpgate.nca.conformance import Case, LiveHosts
from jumpgate.nca.interface import Device, Driver, JobPlan, Place, Reaches
from jumpgate.nca.registry import Registry
from jumpgate.service import planning
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import ALL_KINDS, KINDS, Generator
from jumpgate.testing.directed import directed
from jumpgate.testing.in_process import InProcess
from jumpgate.testing.interpret import interpret
from jumpgate.testing.leaks import Held

#: operators above the reads of a dataflow
OPERATORS = 5


@dataclass
class FakeInstance:
    """An instance that answers every verb as a live one does, knows its state, and whether it was ended."""

    name: str
    alive: bool = True
    configured: bool = False
    stage: int = 0

    async def call(self, verb: str, /, **arguments: Any) -> dict[str, Any]:
        if verb == "destroy":
            self.alive = False
            return {}
        if not self.alive:
            raise InstanceFailed(f"{self.name} has ended", instance=self.name)
        if verb == "configure":
            if self.configured:
                raise InternalError("configure was called twice", instance=self.name)
            self.configured = True
        if verb == "execute":
            if not self.configured or arguments["stage"] != self.stage + 1:
                raise InternalError(f"execute of stage {arguments['stage']} is out of order", instance=self.name)
            self.stage += 1
        if verb == "allocate":
            return {"port": 9, "ends": dict.fromkeys(arguments.get("ends", ()), 9)}
        return {}


@dataclass
class FakeHost:
    """A host with a fake compiler and fake processes."""

    device: Device
    artifacts: dict[str, str] = field(default_factory=dict)
    instances: list[FakeInstance] = field(default_factory=list)

    async def compile(self, name: str, source: str, key: str) -> str:
        return self.artifacts.setdefault(key, f"/nowhere/{key}.so")

    def compile_later(self, name: str, source: Callable[[], str], key: str) -> None:
        self.artifacts.setdefault(key, f"/nowhere/{key}.so")

    async def has_artifact(self, key: str) -> str | None:
        return self.artifacts.get(key)

    async def spawn(self, job: str, instance: str, module: str = "") -> FakeInstance:
        self.instances.append(FakeInstance(instance))
        return self.instances[-1]

    async def release(self, job: str) -> None:
        self.kill()

    def kill(self) -> None:
        """Ends all its instances."""
        for instance in self.instances:
            instance.alive = False


class FakeHosts:
    """Fake hosts of all devices (conformance.LiveHosts)."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self.hosts = {d.name: FakeHost(d) for d in devices}
        self.drivers: dict[str, Driver] = {}

    async def reach(self, lifecycle: Reaches, device: Device) -> Driver:
        """Connect to a real device: those without agents have no fake."""
        if device.name not in self.drivers:
            self.drivers[device.name] = await lifecycle.reach(device)
        return self.drivers[device.name]

    def kill(self) -> None:
        for host in self.hosts.values():
            host.kill()

    def leftovers(self) -> Sequence[str]:
        return [f"instance {i.name}" for h in self.hosts.values() for i in h.instances if i.alive]


@contextlib.asynccontextmanager
async def fake_hosts(devices: Sequence[Device]) -> AsyncIterator[FakeHosts]:
    """Fake hosts of all devices; close the drivers that were reached at the end."""
    hosts = FakeHosts(devices)
    try:
        yield hosts
    finally:
        for driver in hosts.drivers.values():
            await driver.close()


class LocalRig:
    """Compiles with `registry` for `devices`. Runs plans with `runs` (by default the interpreter), and life-cycles on
    `live_hosts` (by default fake ones; `live.agents` gives real ones). `directed`: the number of directed dataflows of
    each operator, by default all; `own` dataflows are added. `held`: counts what jobs leave behind, by default if
    they run in this process. `place`: where its files lie. Close it, or use it as a context."""

    def __init__(
        self,
        registry: Registry,
        devices: Sequence[Device],
        *,
        runs: Callable[[JobPlan, Case], pa.Table] | None = None,
        live_hosts: Callable[[Sequence[Device]], AbstractAsyncContextManager[LiveHosts]] = fake_hosts,
        directed: int | None = None,
        own: Sequence[Case] = (),
        formats: Sequence[str] | None = None,
        held: Held | None = None,
        place: Place | None = None,
    ) -> None:
        self.registry = registry
        self.devices = tuple(devices)
        self._place = place
        self.formats = formats or (place.formats if place else None) or None
        self._limit, self._own = directed, own
        self._directed: list[Case] | None = None
        self._interprets = runs is None or isinstance(runs, InProcess)
        self._computes = runs.nca.name if isinstance(runs, InProcess) else ""
        self._kinds = KINDS if self._interprets else ALL_KINDS
        self._runs = runs or (lambda plan, case: interpret(plan, case.dialect))
        self._live_hosts = live_hosts
        self._folder = tempfile.TemporaryDirectory(
            prefix="jumpgate-conformance-", dir=None if place is None else place.folder
        )
        self._own_held = Held() if held is None and self._interprets else None
        self._held = held or self._own_held

    def __enter__(self) -> LocalRig:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes the files that it made."""
        if self._own_held is not None:
            self._own_held.close()
        self._folder.cleanup()

    def directed(self) -> Iterator[Case]:
        if self._directed is None:
            found: Iterator[Case] = directed(Path(self._folder.name) / "directed", self._limit)
            found = (replace(case, root=self._named(case.root)) for case in found)
            if self._interprets and not self._computes:
                found = (case for case in found if not any(isinstance(o, Window) for o in case.root.walk()))
            self._directed = [*found, *self._own]
        return iter(self._directed)

    def dataflow(self, seed: int) -> Operator:
        folder = Path(self._folder.name) / str(seed)
        folder.mkdir(exist_ok=True)
        return self._named(Generator(seed, folder, self.formats, self._kinds).dataflow(1 + seed % OPERATORS))

    def plan(self, case: Case, prefer: str) -> JobPlan:
        options = CompileOptions(
            prefer=(prefer,),
            dialect=case.dialect,
            parallelism=case.parallelism if case.parallelism > 1 else 0,
        )
        plan = planning.plan(case.root, self.devices, self.registry, options)
        interpreted = [i for i in plan.instances if self._computes != i.nca] if self._interprets else []
        if any(isinstance(o, Window) for i in interpreted for o in i.root.walk()):
            raise CannotPlace("the interpreter knows no windows")
        return plan

    def run(self, plan: JobPlan, case: Case) -> pa.Table:
        if self._place is not None and self._interprets:  # others' reads are interpreted, by their files
            parts = (i if i.nca == self._computes else replace(i, root=self._here(i.root)) for i in plan.instances)
            plan = replace(plan, instances=tuple(parts))
        try:
            return self._runs(plan, case)
        except (OverflowError, pa.ArrowInvalid) as error:  # of the interpreter, which computes without bounds
            raise Overflow(f"a value does not fit its type: {error}") from None

    def difference(self, result: pa.Table, case: Case) -> str:
        return oracle.difference(result, self._here(case.root), case.dialect)

    def _named(self, root: Operator) -> Operator:
        """Return the dataflow with the names of its files in the place."""
        if (place := self._place) is None:
            return root
        prepared = rewrite(root, lambda node: place.prepare(node) if isinstance(node, Read) else node)
        return _over_files(prepared, place.name)

    def _here(self, root: Operator) -> Operator:
        """Return the dataflow over files, which the reference engine reads."""
        place = self._place
        return root if place is None else _over_files(root, lambda name: name.replace(place.prefix, str(place.folder)))

    def held(self) -> Mapping[str, int]:
        return {} if self._held is None else self._held.count()

    def live_hosts(self) -> AbstractAsyncContextManager[LiveHosts]:
        return self._live_hosts(self.devices)


def _over_files(root: Operator, name: Callable[[str], str]) -> Operator:
    def change(node: Operator) -> Operator:
        return replace(node, files=tuple(map(name, node.files))) if isinstance(node, Read) else node

    return rewrite(root, change)
