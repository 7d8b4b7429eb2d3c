"""The conformance kit on real agents: every accelerator here passes, and each kind of liar is found out."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.codegen import toolchain
from jumpgate.dataflow.operators import Aggregate, Filter, Limit, Operator, Project
from jumpgate.hosts.config import local_hosts
from jumpgate.nca.conformance import Case, Report, breaks, check
from jumpgate.nca.conformance.breaks import WAYS
from jumpgate.nca.conformance.kit import BROKEN_PLANS
from jumpgate.nca.interface import NCA, Completeness, Host, InstancePlan, JobContext, Match
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.nca.scaffold import scaffold
from jumpgate.ncas.runtime.configuration import Artifact
from jumpgate.ncas.runtime.lifecycle import Live, SoftwareLifecycle
from jumpgate.service import embedded
from jumpgate.testing.check import Through
from jumpgate.testing.directed import table
from jumpgate.testing.lab import Lab
from jumpgate.testing.live import agents
from jumpgate.testing.rig import LocalRig
from tests.support.fakes import FakeNCA

CASES = 60
#: for whole dataflows, each of which starts a process
WHOLE_CASES = 40
#: for liars: enough dataflows that each finds its operator
FEW = 60


@contextlib.contextmanager
def service(registry: Registry) -> Iterator[str]:
    """The address of a service on this machine that knows these accelerators."""
    service = embedded.start(local_hosts(1), registry)
    try:
        yield service.address
    finally:
        service.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    toolchain.runtime()
    with service(default_registry()) as address:
        yield address


def checked(
    nca: NCA,
    registry: Registry,
    address: str,
    cases: int,
    own: Sequence[Case] = (),
    formats: Sequence[str] | None = None,
    directed: int = 3,
) -> Report:
    """What the kit says about it, with files of these formats."""
    (host,) = local_hosts(1).hosts
    with contextlib.closing(Through(address, nca.name)) as runs:
        rig = LocalRig(
            registry, (host.device,), runs=runs, live_hosts=agents, directed=directed, own=own, formats=formats
        )
        with rig:
            return check(nca, rig, cases)


#: what is checked: an accelerator with files of a format, or of all
CHECKED = [
    ("cpp", "json"),
    ("cpp", "orc"),
    ("cpp", "parquet"),
    ("cpp", "csv"),
    ("cpp", None),
    ("engine", "parquet"),
    ("engine", None),
]
#: the operators at the ends of each one's matches; all of them must have been claimed
ENDS = {
    "cpp": {"read", "filter", "project", "join", "aggregate", "sort", "limit", "union_all"},
    "engine": {"window", "sort"},
}


def test_all_of_ours_are_checked() -> None:
    # test_network_ncas.py, test_placed_ncas.py
    elsewhere = {"switch_aggregate", "switch_prune", "fpga_join", "s3_select"}
    assert {*ENDS, *elsewhere} == set(default_registry().names)


@pytest.mark.nightly(but=("cpp-None", "engine-parquet"))
@pytest.mark.parametrize(("name", "format"), CHECKED)
def test_ours_pass(name: str, format: str | None, address: str) -> None:
    registry = default_registry()
    report = checked(registry.get(name), registry, address, CASES, formats=None if format is None else [format])
    assert report.passed, "\n".join(map(str, report.findings)) or "nothing was run"
    assert report.compared >= CASES // 4
    assert report.broken_off == BROKEN_PLANS * len(WAYS)
    assert ENDS[name] <= {match.split()[-1] for match in report.matched}


@pytest.mark.nightly(like="tests/integration/test_engine_whole.py::test_directed_dataflows")
def test_the_engine_passes_where_it_stands_in() -> None:
    """Random and directed dataflows over Parquet run as a whole in it (test_engine_whole.py has all of them)."""
    registry = default_registry().stand_ins
    with service(registry) as address:
        report = checked(registry.get("engine"), registry, address, WHOLE_CASES, formats=["parquet"], directed=4)
    assert report.passed, "\n".join(map(str, report.findings)) or "nothing was run"
    assert report.compared >= WHOLE_CASES // 4 and report.broken_off == BROKEN_PLANS * len(WAYS)


# ---- liars ----------------------------------------------------------------------------------------------------------


class Filters(FakeNCA):
    """Filters on a host, honestly: in a generated program of its own."""

    def answer(self, node: Operator) -> Match | None:
        return Match(self.name, (node,), Completeness.FULL, node.schema) if isinstance(node, Filter) else None


class Distincts(FakeNCA):
    """Claims to remove duplicates (a group-by without measures, once the compiler has normalised it)."""

    def answer(self, node: Operator) -> Match | None:
        mine = isinstance(node, Aggregate) and node.phase == "full" and not node.measures
        return Match(self.name, (node,), Completeness.FULL, node.schema) if mine else None


class Changed(SoftwareLifecycle):
    """Generates another program than the one that was matched."""

    def __init__(self, change: Callable[[Operator], Operator]) -> None:
        super().__init__()
        self._change = change

    async def compile(self, instance: InstancePlan, host: Host) -> Artifact:
        body = self._change(instance.root.inputs[0])
        return await super().compile(replace(instance, root=instance.root.with_inputs((body,))), host)


def found(nca: NCA, own: Sequence[Case] = ()) -> dict[str, str]:
    """What the kit finds, as a text for each part."""
    registry = Registry([*default_registry(), nca])
    with service(registry) as address:
        report = checked(nca, registry, address, FEW, own)
    assert not report.passed
    texts: dict[str, str] = {}
    for finding in report.findings:
        texts[finding.part] = texts.get(finding.part, "") + f"{finding}\n"
    return texts


@pytest.mark.nightly(like="tests/conformance/test_software_ncas.py::test_ours_pass")
def test_an_honest_one_passes(address: str) -> None:
    nca = Filters("honest", "host", runs=SoftwareLifecycle())
    registry = Registry([*default_registry(), nca])
    with service(registry) as own:
        report = checked(nca, registry, own, FEW)
    assert report.passed, "\n".join(map(str, report.findings))


def test_one_that_loses_a_row_is_found(address: str) -> None:
    def lose(body: Operator) -> Operator:
        return Limit(body, 1 << 62, 1)

    findings = found(Filters("loses", "host", runs=Changed(lose)))
    assert set(findings) == {"results"}, findings
    assert "rows, expected" in findings["results"]


def test_one_that_claims_what_it_does_not_do_is_found(address: str, tmp_path: Path) -> None:
    def skip(body: Operator) -> Operator:
        return Project(body.input, body.keys, body.key_names) if isinstance(body, Aggregate) else body

    # random dataflows have few group-bys without measures
    lab = Lab(None, tmp_path)  # type: ignore[arg-type]  # it runs nothing
    types = ("int32", "int64", "date", "string")
    own = [Case(f"groups of {t}", table(lab, t).aggregate(by=["v"]).root) for t in types]
    findings = found(Distincts("claims", "host", runs=Changed(skip)), own)
    assert set(findings) == {"results"}, findings
    assert "rows, expected" in findings["results"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not end need not be awaited for long."""
    monkeypatch.setattr(breaks, "LIMIT_S", 1.0)
    monkeypatch.setattr(breaks, "GONE_S", 0.2)


@pytest.mark.nightly(like="tests/conformance/test_software_ncas.py::test_one_that_keeps_a_process_of_its_own_is_found")
def test_one_that_keeps_its_instance_is_found(address: str, impatient: None) -> None:
    class Keeps(SoftwareLifecycle):
        async def destroy(self, handle: Live) -> None:
            pass

    findings = found(Filters("keeps", "host", runs=Keeps()))
    assert set(findings) == {"life-cycle"}, findings
    text = findings["life-cycle"]
    assert "destroyed after allocate: left behind: process" in text
    assert "destroyed after execute: execute does not return when its instance has ended" in text
    assert "killed after execute: left behind" not in text, "the kill has ended it"


def test_one_that_keeps_a_process_of_its_own_is_found(address: str, impatient: None) -> None:
    helpers: list[subprocess.Popen[bytes]] = []

    class Helped(SoftwareLifecycle):
        async def allocate(self, instance: InstancePlan, context: JobContext) -> Live:
            helpers.append(subprocess.Popen(["sleep", "600"]))
            return await super().allocate(instance, context)

    try:
        findings = found(Filters("helped", "host", runs=Helped()))
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()
    assert set(findings) == {"life-cycle"}, findings
    left = {f"left behind: process {helper.pid} (sleep)" for helper in helpers}
    assert any(f"destroyed after allocate: {process}" in findings["life-cycle"] for process in left)


# ---- the command ----------------------------------------------------------------------------------------------------


def jumpgate(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from jumpgate.cli.main import main; main()", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.nightly(like="tests/unit/test_conformance_kit.py::test_a_new_nca_passes_its_own_test")
def test_a_new_nca_passes_the_command(tmp_path: Path, address: str) -> None:
    """As an author does it, but for pip: the configuration names the package."""
    scaffold("my_device", tmp_path)
    (tmp_path / "jumpgate.toml").write_text('[[nca]]\nname = "my_device"\npath = "my_device:NCA"\n')
    words = ("nca", "check", "my_device", "--cases", "10", "--json")
    done = jumpgate(tmp_path, *words, PYTHONPATH=str(tmp_path / "my_device"))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] and report["findings"] == []
    assert report["compared"] > 0
    assert report["broken_off"] == BROKEN_PLANS * len(WAYS)
