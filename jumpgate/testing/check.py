"""The whole conformance kit on one accelerator: in this process where it is Python, then on real hosts."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import Config, this_machine
from jumpgate.nca.conformance import Case, NotUsed, Report, check, compare
from jumpgate.nca.interface import NCA, BringsDevices, JobPlan, Place, PlacesData
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.registry import Registry
from jumpgate.service import embedded
from jumpgate.stores import settings
from jumpgate.testing.in_process import InProcess
from jumpgate.testing.leaks import Held
from jumpgate.testing.live import agents
from jumpgate.testing.rig import LocalRig


def check_nca(
    nca: NCA,
    registry: Registry,
    config: Config,
    cases: int = 50,
    directed: int | None = 8,
    own: Sequence[Case] = (),
    formats: Sequence[str] | None = None,
) -> Report:
    """Run all parts of the kit and return the report. `directed`: the number of directed dataflows of each operator to
    run on real processes, where each may need a program of its own; in this process all run. `own` are run in both.
    `formats`: the file formats of random dataflows, by default all."""
    samples = nca.sample_devices if isinstance(nca, BringsDevices) else ()
    if not {d.kind for d in samples} & {d.kind for d in config.devices}:
        config = replace(config, devices=(*config.devices, *samples))
    devices = (this_machine().device, *config.devices)
    with placed(nca, config) as (config, place):
        report = Report(nca.name)
        if isinstance(nca.lifecycle, WorkerLifecycle):
            with (
                contextlib.closing(InProcess(nca)) as here,
                LocalRig(registry, devices, runs=here, own=own, formats=formats, place=place) as rig,
            ):
                report = compare(nca, rig, cases)
            if report.findings:
                return report  # real processes would show the same problem, more slowly
        with (
            contextlib.closing(Held()) as held,
            contextlib.closing(embedded.start(config, registry)) as service,
            contextlib.closing(Through(service.address, nca.name)) as runs,
            LocalRig(
                registry, devices, runs=runs, live_hosts=agents, directed=directed, own=own, formats=formats,
                held=held, place=place,
            ) as rig,
        ):  # fmt: skip
            return check(nca, rig, cases, report)


@contextlib.contextmanager
def placed(nca: NCA, config: Config) -> Iterator[tuple[Config, Place | None]]:
    """Yield the configuration with the stores of an accelerator that places its data, and the place."""
    if not isinstance(nca, PlacesData):
        yield config, None
        return
    with tempfile.TemporaryDirectory(prefix="jumpgate-placed-") as folder, nca.placing(Path(folder)) as place:
        found = replace(config, stores=(*config.stores, *(settings.parse(table) for table in place.stores)))
        settings.configure(found.stores)
        try:
            yield found, place
        finally:
            settings.configure(config.stores)


class Through:
    """Runs plans through a service (LocalRig's `runs`), where `prefer` is used wherever it matches. Close it."""

    def __init__(self, address: str, prefer: str) -> None:
        self._address, self._prefer = address, prefer
        self._sessions: dict[int, Session] = {}

    def __call__(self, plan: JobPlan, case: Case) -> pa.Table:
        """Return the result. Raises NotUsed if the service planned without the accelerator in the end."""
        if case.parallelism not in self._sessions:
            self._sessions[case.parallelism] = Session(
                self._address, prefer=(self._prefer,), parallelism=case.parallelism if case.parallelism > 1 else 0
            )
        session = self._sessions[case.parallelism]
        result = session.run(Dataflow(case.root), case.dialect)
        table = result.to_arrow()
        record = session.describe(result.job).record or {}
        used = {instance["nca"] for instance in record.get("instances", ())}
        if self._prefer not in used:
            raise NotUsed(f"it was not used in the end: the plan that ran has {', '.join(sorted(used))} alone")
        return table

    def close(self) -> None:
        """Close the sessions."""
        for session in self._sessions.values():
            session.close()
