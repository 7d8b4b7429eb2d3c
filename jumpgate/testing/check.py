"""The whole conformance kit on one accelerator: in this process where it is Python, then on real hosts."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.hosts.config import Config, this_machine
from jumpgate.nca.conformance import Case, Report, check, compare
from jumpgate.nca.interface import NCA
from jumpgate.nca.lifecycle import WorkerLifecycle
from jumpgate.nca.registry import Registry
from jumpgate.service import embedded
from jumpgate.testing.in_process import InProcess
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
    samples = tuple(getattr(nca, "sample_devices", ()))  # if the configuration has no device of their kind
    if not {d.kind for d in samples} & {d.kind for d in config.devices}:
        config = replace(config, devices=(*config.devices, *samples))
    devices = (this_machine().device, *config.devices)
    report = Report(nca.name)
    if isinstance(nca.lifecycle, WorkerLifecycle):
        with (
            contextlib.closing(InProcess(nca)) as runs,
            LocalRig(registry, devices, runs=runs, own=own, formats=formats) as rig,
        ):
            report = compare(nca, rig, cases)
        if report.findings:
            return report  # real processes would show the same problem, more slowly
    with (
        contextlib.closing(embedded.start(config, registry)) as service,
        Session(service.address, prefer=(nca.name,)) as session,
        LocalRig(
            registry, devices, runs=lambda plan, root: session.run(Dataflow(root)).to_arrow(), live_hosts=agents,
            directed=directed, own=own, formats=formats,
        ) as rig,
    ):  # fmt: skip
        return check(nca, rig, cases, report)
