"""The conformance kit: our accelerators pass, and each kind of mistake is found."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpgate.client import col, count, read, sum_
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Aggregate, Filter, Operator, Read
from jumpgate.errors import ConfigError
from jumpgate.nca.conformance import NotUsed, Report, breaks, check, compare, kit
from jumpgate.nca.conformance.breaks import WAYS
from jumpgate.nca.conformance.coverage import parts
from jumpgate.nca.conformance.kit import BROKEN_PLANS, REPEATS
from jumpgate.nca.interface import NCA, Device, Match, Unsupported
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.nca.scaffold import scaffold
from jumpgate.nca.speeds import Speeds
from jumpgate.testing import dataflows, oracle
from jumpgate.testing.dataflows import Generator
from jumpgate.testing.directed import table
from jumpgate.testing.lab import Lab
from jumpgate.testing.rig import LocalRig
from tests.support.fakes import SWITCH, FakeNCA, Filters, PartialNCA, PruningNCA, Runs
from tests.support.plans import host

CASES = 16
COUNT = itertools.count()


def checked(nca: NCA, cases: int = CASES) -> Report:
    others = [n for n in default_registry() if n.name != nca.name]
    with LocalRig(Registry([*others, nca]), (host("a"), SWITCH), formats=("parquet", "csv"), directed=6) as rig:
        return check(nca, rig, cases)


def test_answers_and_results_of_ours() -> None:
    report = checked(FakeLifecycle(default_registry().get("cpp")))
    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.passed
    assert report.matched
    compared = {part.split()[0] for part, times in report.parts.items() if times}
    assert {"function", "measure", "join", "literal"} <= compared
    assert report.to_dict()["parts"] == report.parts


def test_parts_of_what_is_compared(tmp_path: Path) -> None:
    rows = table(Lab(None, tmp_path), "int32")  # type: ignore[arg-type]  # it runs nothing
    both = rows.join(rows.select(w=col("v"), m=col("n")), left_on="v", right_on="w", how="left", where=col("n") < 3)
    flow = both.filter(col("v").isin([1, 2])).aggregate(by=["g"], s=sum_("n"), c=count())
    assert {p for p in parts(flow.root.walk()) if not p.startswith("function cast")} == {
        "function in", "function lt", "join left, 1 key, a condition", "literal int32", "literal int64",
        "measure count_star", "measure sum int64",
    }  # fmt: skip


class FakeLifecycle:
    """One of ours with a made-up life-cycle, as generated code is tested elsewhere."""

    def __init__(self, nca: NCA) -> None:
        self.name, self.operators, self.lifecycle = nca.name, nca.operators, Runs()


@pytest.mark.parametrize("nca", [PruningNCA(runs=Runs()), PartialNCA(runs=Runs())])
def test_partial_and_pruning_ones_pass(nca: NCA) -> None:
    report = checked(nca, 30)
    assert report.passed, "\n".join(map(str, report.findings))
    assert report.broken_off == BROKEN_PLANS * len(WAYS)


def findings(nca: NCA, cases: int = CASES) -> str:
    report = checked(nca, cases)
    assert not report.passed
    return "\n".join(map(str, report.findings))


def test_a_match_of_the_wrong_schema_is_found() -> None:
    class Wrong(Filters):
        def answer(self, node: Operator) -> Match | Unsupported | None:
            found = super().answer(node)
            return replace(found, schema=found.schema.select((0,) * 9)) if isinstance(found, Match) else found

    assert "its match would emit" in findings(Wrong("wrong", runs=Runs()))


def test_a_no_without_reason_is_found() -> None:
    class Mute(Filters):
        def answer(self, node: Operator) -> Match | Unsupported | None:
            return Unsupported("") if isinstance(node, Aggregate) else super().answer(node)

    assert "refuses aggregate without a reason" in findings(Mute("mute", runs=Runs()))


def test_a_changing_answer_is_found() -> None:
    class Moody(Filters):
        asked = 0

        def answer(self, node: Operator) -> Match | Unsupported | None:
            self.asked += 1
            return super().answer(node) if self.asked % 2 else None

    assert "answers differently about filter when asked twice" in findings(Moody("moody", runs=Runs()))


def test_an_impossible_cost_is_found() -> None:
    assert "are not times" in findings(Filters("free", speeds_of=Speeds(setup_s=-1.0), runs=Runs()))
    assert "nobody counts: juggle" in findings(Filters("odd", speeds_of=Speeds({"juggle": 1.0}), runs=Runs()))


def test_claiming_unknown_devices_is_found() -> None:
    class Everywhere(Filters):
        def match_operations(self, node: Operator, *rest: Any) -> Match | Unsupported | None:
            return self.answer(node)

    assert "claims filter on a device that it cannot know" in findings(Everywhere("everywhere", runs=Runs()))


def test_a_wrong_result_is_found() -> None:
    nca = Filters("filters", runs=Runs())
    registry = Registry([*default_registry(), nca])
    with LocalRig(registry, (host("a"), SWITCH), formats=("parquet",), directed=6) as rig:
        right = rig.run
        rig.run = lambda plan, root: right(plan, root).slice(1)  # type: ignore[method-assign]
        report = check(nca, rig, CASES)
    assert any(f.part == "results" and "rows, expected" in f.what for f in report.findings)


def test_what_is_left_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaks, "GONE_S", 0.02)

    class Leaky(Runs):
        async def destroy(self, handle: Any) -> None:
            pass

    found = findings(Filters("leaky", runs=Leaky()), 30)
    assert "destroyed after allocate: left behind: instance" in found


def test_a_driver_that_does_not_watch_is_found() -> None:
    class Driver:
        async def watch(self, job: str) -> None:
            pass

        async def release(self, job: str) -> None:
            pass

        async def close(self) -> None:
            pass

    class Reached(Runs):
        async def reach(self, device: Device) -> Driver:
            return Driver()

    assert "destroyed after execute: watch returns while a stage runs" in findings(Filters("idle", runs=Reached()), 30)


def test_a_destroy_that_fails_the_second_time_is_found() -> None:
    class Once(Runs):
        async def destroy(self, handle: Any) -> None:
            if not handle.alive:
                raise RuntimeError("gone")
            await handle.call("destroy")

    assert "destroy (the second time) raises RuntimeError: gone" in findings(Filters("once", runs=Once()), 30)


def test_a_compile_that_is_not_repeatable_is_found() -> None:
    class New(Runs):
        async def compile(self, instance: Any, host: Any) -> str:
            return f"artifact {next(COUNT)}"

    assert "compile gives another artifact" in findings(Filters("new", runs=New()), 30)


def test_an_untyped_error_of_execute_is_found() -> None:
    class Raw(Runs):
        async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
            raise KeyError("stage")

    assert "execute raises KeyError when it is ended" in findings(Filters("raw", runs=Raw()), 30)


def test_verbs_out_of_order_that_are_not_refused_are_found() -> None:
    class Patient(Runs):
        async def configure(self, handle: Any, instance: Any, artifact: Any, context: Any) -> None:
            handle.configured = True

        async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
            return {}

    found = findings(Filters("patient", runs=Patient()), 30)
    assert "misused after allocate: execute before configure is not refused" in found
    assert "misused after configure: a second configure is not refused" in found
    assert "misused after configure: stage 2 before stage 1 is not refused" in found
    assert "misused after execute: execute after destroy is not refused" in found


@pytest.mark.nightly(like="tests/unit/test_conformance_kit.py::test_an_untyped_error_of_execute_is_found")
def test_an_execute_that_hangs_after_a_kill_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(Runs):
        async def execute(self, handle: Any, stage: int) -> dict[str, Any]:
            await handle.call("execute", stage=stage)
            return await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(breaks, "LIMIT_S", 0.05)
    found = findings(Filters("deaf", runs=Deaf()), 30)
    assert "killed after execute: execute does not return when its instance has ended" in found


def test_a_destroy_that_hangs_is_found_and_the_kit_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it took does not lengthen what the others may take."""
    limits: list[float] = []
    right = kit.break_off

    async def noted(*arguments: Any) -> list[str]:
        limits.append(arguments[-1])
        return await right(*arguments)

    class Hangs(Runs):
        async def destroy(self, handle: Any) -> None:
            await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(kit, "break_off", noted)
    monkeypatch.setattr(breaks, "LIMIT_S", 0.02)
    monkeypatch.setattr(breaks, "GONE_S", 0.02)
    assert "destroy (the first time) does not return" in findings(Filters("hangs", runs=Hangs()), 30)
    assert len(limits) == len(WAYS) and max(limits) == 0.02


def test_every_exception_is_a_finding() -> None:
    class Raises(Filters):
        def answer(self, node: Operator) -> Match | Unsupported | None:
            raise KeyError("answer")

    assert "raises KeyError: 'answer'" in findings(Raises("raises", runs=Runs()))
    nca = Filters("filters", runs=Runs())
    with LocalRig(Registry([*default_registry(), nca]), (host("a"), SWITCH), formats=("parquet",), directed=6) as rig:
        rig.difference = lambda result, root: 1 / 0  # type: ignore[method-assign, assignment]
        report = compare(nca, rig, CASES)
    assert any("running it raises ZeroDivisionError" in f.what for f in report.findings if f.part == "results")


def test_a_plan_that_ran_without_the_accelerator_is_a_finding() -> None:
    """A service may plan again, without a device whose part of a job was not released."""
    nca = Filters("filters", runs=Runs())

    def other(plan: Any, case: Any) -> Any:
        raise NotUsed("it was not used in the end")

    with LocalRig(Registry([*default_registry(), nca]), (host("a"), SWITCH), formats=("parquet",), directed=2) as rig:
        rig.run = other  # type: ignore[method-assign]
        report = compare(nca, rig, 4)
    assert report.compared == 0 and report.operators == {}
    assert "it was not used in the end" in {f.what for f in report.findings if f.part == "results"}


def test_what_each_run_leaves_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of processes, descriptors and files, and whatever earlier runs changed."""
    monkeypatch.setattr(breaks, "GONE_S", 0.02)
    nca, left = Filters("filters", runs=Runs()), itertools.count()
    with LocalRig(Registry([*default_registry(), nca]), (host("a"), SWITCH), formats=("parquet",), directed=4) as rig:
        case = next(c for c in rig.directed() if c.name.startswith("filter"))
        assert [*kit._repeat(nca, rig, case)] == []
        rig.held = lambda: {"files": 2 + next(left) * REPEATS}  # type: ignore[method-assign]
        (found,) = kit._repeat(nca, rig, case)
        assert found.part == "life-cycle" and found.what.startswith("each run leaves files behind")
        right, runs = rig.run, itertools.count()
        rig.run = lambda plan, case: right(plan, case).slice(next(runs) > 1)  # type: ignore[method-assign]
        (found,) = kit._repeat(nca, rig, case)
        assert found.part == "results" and "rows, expected" in found.what


def test_a_report_that_fails_says_why() -> None:
    """Also of an accelerator of which no instance runs."""

    async def nothing() -> None:
        report = Report("idle", compared=9)
        with LocalRig(Registry([*default_registry()]), (host("a"), SWITCH), formats=("parquet",), directed=1) as rig:
            await kit._break_off(FakeNCA("idle", runs=Runs()), rig, 1, report)
        assert not report.passed and "no life-cycle was interrupted" in str(report.findings[0])

    asyncio.run(nothing())


def test_nothing_compared_is_no_pass() -> None:
    assert not checked(FakeNCA("idle", runs=Runs())).passed


def test_a_format_that_no_other_engine_reads_breaks_nobodys_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = replace(formats()["csv"], name="own", duckdb=None, dataset="")
    known = {**formats(), "own": own}
    monkeypatch.setattr(dataflows.declared, "formats", lambda: known)
    assert Generator(1, tmp_path).formats == tuple(name for name in known if name != "own")
    monkeypatch.setattr(oracle, "formats", lambda: known)
    monkeypatch.setattr("jumpgate.testing.sql.formats", lambda: known)
    (tmp_path / "t.own").write_text("a\n1\n")
    root = read(str(tmp_path / "t.own"), format="csv", schema={"a": "int64"}).root
    assert isinstance(root, Read)
    with pytest.raises(ConfigError, match="neither `duckdb` nor `dataset`"):
        oracle.run(replace(root, format="own"))


def test_equal_nested_values_are_equal_with_nan_in_them() -> None:
    """Whichever object NaN is, and wherever it is nested."""

    def rows() -> list[tuple[Any, ...]]:
        return [(1, [float("nan"), 2.0], {"a": float("nan"), "b": [1]}), (2, None, {"a": 0.1 + 0.2, "b": None})]

    assert oracle._bag_difference(rows(), rows()[::-1], oracle.TOLERANCE) == ""
    near = [rows()[0], (2, None, {"a": 0.3, "b": None})]
    assert oracle._bag_difference(rows(), near, oracle.TOLERANCE) == ""
    other = [rows()[0], (2, None, {"a": 0.3, "b": [1]})]
    assert "unexpected row" in oracle._bag_difference(rows(), other, oracle.TOLERANCE)
    longer = [(1, [float("nan"), 2.0, 3.0], rows()[0][2]), rows()[1]]
    assert "unexpected row" in oracle._bag_difference(rows(), longer, oracle.TOLERANCE)


# ---- scaffold -------------------------------------------------------------------------------------------------------


def test_a_new_nca_passes_its_own_test(tmp_path: Path) -> None:
    files = scaffold("my_device", tmp_path)
    assert [str(f.relative_to(tmp_path / "my_device")) for f in files] == [
        "pyproject.toml",
        "README.md",
        "my_device/__init__.py",
        "my_device/worker.py",
        "tests/test_my_device.py",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        command,
        cwd=tmp_path / "my_device",
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(tmp_path / "my_device"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_nca_is_found_by_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scaffold("other_device", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "other_device"))
    nca = importlib.import_module("other_device").NCA
    assert nca.name == "other_device"
    assert nca.operators.match_operations(None, Device("t", "switch")) is None


@pytest.mark.parametrize("name", ["", "Upper", "9lives", "a-b", "class", "a/b", "x" * 41])
def test_names_that_cannot_be_a_package(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot name an NCA"):
        scaffold(name, tmp_path)


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        scaffold("taken", tmp_path)


def test_a_worker_that_raises_on_import_fails_the_scaffolds_test(tmp_path: Path) -> None:
    scaffold("broken_device", tmp_path)
    worker = tmp_path / "broken_device" / "broken_device" / "worker.py"
    worker.write_text("raise RuntimeError('no driver')\n" + worker.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path / "broken_device", capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(tmp_path / "broken_device"), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 1 and "broken_device.worker cannot be imported" in done.stdout


def test_what_is_hardly_compared_is_found_with_the_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    class Picky(Filters):
        def answer(self, node: Operator) -> Match | Unsupported | None:
            if isinstance(node, Filter) and len(node.schema) > 2:
                return super().answer(node)
            return Unsupported("rows are too narrow") if isinstance(node, Filter) else None

    kit = importlib.import_module("jumpgate.nca.conformance.kit")
    monkeypatch.setattr(kit, "COMPARED_MIN", 1000)
    assert "coverage, filter: compared " in (found := findings(Picky("picky", runs=Runs())))
    assert "at least 1000 are needed. Add dataflows that it takes: jumpgate nca check --dataflows" in found

    class Shy(Filters):
        def answer(self, node: Operator) -> Match | Unsupported | None:
            return Unsupported("its registers are full") if isinstance(node, Filter) else None

    assert "no result that it took part in was compared; what it said most: its registers are full" in findings(
        Shy("shy", runs=Runs())
    )


def test_an_error_that_is_the_right_answer_is_asked_for() -> None:
    """A sum that fits no int64: the interpreter refuses it, as accelerators must."""
    ours = FakeLifecycle(default_registry().get("cpp"))
    registry = Registry([*(n for n in default_registry() if n.name != "cpp"), ours])
    with LocalRig(registry, (host("a"),), formats=("parquet",)) as rig:
        (case,) = (c for c in rig.directed() if c.name == "aggregate: a sum that fits no int64")
        rig.directed = lambda: iter([case])  # type: ignore[method-assign]
        assert compare(ours, rig, 0).findings[0].part == "coverage"
        rig.run = lambda plan, root: None  # type: ignore[method-assign]
        found = compare(ours, rig, 0).findings
    assert found[0].what == "a result, where overflow is right"
