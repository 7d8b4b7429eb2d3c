"""Kinds of devices: a package declares one, jumpgate.toml names it, plans respect what it offers."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from jumpgate import plugins
from jumpgate.client import col, count, read
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.converters.probe import estimate
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.objective import Objective
from jumpgate.dataflow.operators import Aggregate, Filter, Operator
from jumpgate.errors import CannotPlace, ConfigError, InvalidDataflow
from jumpgate.hosts.config import parse
from jumpgate.nca.device_kind import DeviceKind, DeviceKinds, Key
from jumpgate.nca.interface import Answer, Completeness, Device, Estimates, Match, Offer, Statistics, Unsupported
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.nca.scaffold import scaffold
from jumpgate.nca.speeds import Speeds
from jumpgate.testing.lab import Lab
from tests.support.fakes import FakeNCA
from tests.support.plans import host

ROOT = Path(__file__).resolve().parents[2]


def offer(device: Device) -> Offer:
    return Offer((("slots", float(BOARD.value(device, "slots"))),), ("engine",), ports=2)


BOARD = DeviceKind(
    "board",
    "a board",
    (Key("slots", int, "how many rows", 8), Key("speed", float, "rows a second"), Key("raw", bool, "no checks", False)),
    offers=offer,
)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("board_package")
    module.KIND = BOARD  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_a_kind_of_another_package_is_known(board: ModuleType) -> None:
    table = {"name": "b", "kind": "board", "speed": 3, "memory_bytes": 9, "cores": 4, "money_per_hour": 2}
    config = parse({"device_kind": [{"name": "board", "path": "board_package:KIND"}], "device": [table]})
    (device,) = config.devices
    assert (device.cores, device.memory_bytes) == (4, 9)
    assert dict(device.properties) == {"slots": 8, "speed": 3.0, "raw": False}
    assert device.offer == Offer((("slots", 8.0),), ("engine",), 2, 2.0)
    assert device.capacity("slots") == 8 and device.capacity("memory_bytes") == 9


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"slot": 1}, r"unknown key 'slot' in the \[\[device\]\] 'b'; did you mean 'slots'\?"),
        ({"slots": "x"}, "slots of .* is 'x', not a whole number"),
        ({"slots": True}, "slots of .* is True, not a whole number"),
        ({"speed": float("inf")}, "speed of .* is inf, not a number"),
        ({"raw": 1}, "raw of .* is 1, not true or false"),
        ({"memory_bytes": -1}, "memory_bytes of .* is -1, not a whole number, 0 or more"),
        ({"money_per_hour": -0.5}, "money_per_hour of .* is -0.5, not a number, 0 or more"),
    ],
)
def test_values_are_checked(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        BOARD.parse({"name": "b", "kind": "board", **values}, "my.toml")
    assert caught.value.message.startswith("my.toml: ") and caught.value.fields["device"] == "b"


def test_a_kind_that_cannot_be_loaded_takes_no_other_down(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = plugins.installed("jumpgate.device_kinds")
    kinds = DeviceKinds([("broken", "no_such_package:KIND"), ("switch", "no_such_package:OTHER")])
    assert [kind.name for kind in kinds.all()] == [name for name, _ in installed]
    assert "cannot be loaded: ModuleNotFoundError" in kinds.problems["broken"].message
    assert "two kinds of device are called 'switch'" in kinds.problems["no_such_package:OTHER"].message


class Boards(FakeNCA):
    """Filters on boards."""

    needs: Match | None = None

    def answer(self, node: Operator) -> Match | Unsupported | None:
        if not isinstance(node, Filter):
            return None
        return Match(self.name, (node,), Completeness.FULL, node.schema, limits=self.limits, claims=("engine",))


@pytest.fixture
def flow(tmp_path: Path) -> Dataflow:
    table = Lab(None, tmp_path).table({"a": "int32"}, [(i,) for i in range(9)], files=3)  # type: ignore[arg-type]
    return table.filter(col("a") > 3).aggregate(n=count())


def ncas(flow: Dataflow, device: Device, hosts: int = 1, **needs: float) -> tuple[set[str], str]:
    """The accelerators of the plan, and what was refused."""
    registry = Registry([*default_registry(), Boards("boards", "board", limits=tuple(needs.items()))])
    devices = (*(host(f"h{i}") for i in range(hosts)), device)
    plan = compile_dataflow(flow.root, devices, registry, CompileOptions(prefer=("boards",)))
    return set(plan.explain["ncas"]), str(plan.explain)


def test_plans_respect_what_a_device_offers(flow: Dataflow) -> None:
    device = BOARD.device("b", memory_bytes=1000)
    assert "boards" in ncas(flow, device, slots=8, memory_bytes=1000)[0]
    for needs in ({"slots": 9.0}, {"memory_bytes": 1001.0}):
        used, said = ncas(flow, device, **needs)
        assert "boards" not in used and f"needs {[*needs][0]} " in said
    assert "boards" in ncas(flow, BOARD.device("b"), memory_bytes=1e9)[0]  # unknown: whatever is needed


def test_what_a_device_does_not_offer_cannot_be_claimed(flow: Dataflow) -> None:
    other = DeviceKind("board", "", offers=lambda device: Offer(claims=("something else",)))
    used, said = ncas(flow, other.device("b"))
    assert "boards" not in used and "needs its engine, which 'b' does not have" in said


def test_more_senders_than_ports_are_planned_without_the_device(flow: Dataflow) -> None:
    assert "boards" in ncas(flow, BOARD.device("b"), hosts=2)[0]
    used, said = ncas(flow, BOARD.device("b"), hosts=3)
    assert "boards" not in used and "3 instances would send to it; it has 2 ports; planned without it" in said


def test_money_per_hour_is_part_of_the_cost(flow: Dataflow) -> None:
    registry = Registry([*default_registry(), Boards("boards", "board", speeds_of=Speeds(setup_s=1800))])
    devices = (host("h"), BOARD.device("b", money_per_hour=2))
    options = CompileOptions(prefer=("boards",), statistics=lambda *_: Statistics(9, 36))
    plan = compile_dataflow(flow.root, devices, registry, options)
    assert plan.explain["cost"]["money"] == pytest.approx(1.0, rel=0.01)
    assert ", cost 1" in explain_text(plan.explain)


class Readers(FakeNCA):
    """Compute a whole plan on a board."""

    def answer(self, node: Operator) -> Match | Unsupported | None:
        operators = tuple(node.walk())
        return Match(self.name, operators, Completeness.FULL, node.schema) if isinstance(node, Aggregate) else None


def priced(flow: Dataflow, objective: Objective) -> set[str]:
    """The accelerators of a plan where boards are fast and cost, and hosts are slow and free."""
    registry = Registry([*default_registry(), Readers("boards", "board", speeds_of=Speeds(money=1.0, factor=1e-6))])
    options = CompileOptions(statistics=lambda *_: Statistics(10**9, 4 * 10**9), objective=objective)
    plan = compile_dataflow(flow.root, (host("h"), BOARD.device("b")), registry, options)
    return {instance.nca for instance in plan.instances}


def test_a_plan_saves_time_or_cost(flow: Dataflow) -> None:
    assert "boards" in priced(flow, Objective())
    assert "boards" not in priced(flow, Objective("cost"))
    assert "boards" not in priced(flow, Objective(cost_max=0.5))
    with pytest.raises(CannotPlace, match="no plan is within the bounds: the best one found would cost .* and take"):
        priced(flow, Objective("cost", seconds_max=1e-9))


@pytest.mark.parametrize("values", [("speed",), ("time", 0.0), ("time", -1.0), ("cost", 1.0, math.nan)])
def test_an_objective_that_is_none(values: tuple[object, ...]) -> None:
    with pytest.raises(InvalidDataflow, match="it can be time or cost|must be more than 0"):
        Objective(*values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"), [("engine", "an NCA called 'engine'"), ("json", "a Python package called")]
)
def test_a_name_that_is_taken_makes_no_new_one(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scaffold(name, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_only_switches_know_switches() -> None:
    """Hosts, service and compiler serve devices of all kinds alike."""
    folders = [f"jumpgate/{part}" for part in ("hosts", "service", "compiler", "orchestrator", "nca")]
    done = subprocess.run(
        ["grep", "-rniE", r"switch|p4runtime|\bp4\b", *folders, "--include=*.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == ""


def test_of_several_answers_the_planner_takes_the_cheapest(flow: Dataflow) -> None:
    """Boards that filter, and that only prune what a host then filters: with the same speeds the whole is cheaper."""

    class Both(FakeNCA):
        order = (Completeness.PRUNE, Completeness.FULL)

        def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
            if device.kind != self.kind or not isinstance(node, Filter):
                return None
            no = Unsupported("a third answer, which is a no")
            return (*(Match(self.name, (node,), how, node.schema, claims=(how.value,)) for how in self.order), no)

    class PruneIsAllThereIs(Both):
        order = (Completeness.PRUNE,)

    for cls, prunes in ((Both, False), (PruneIsAllThereIs, True)):
        registry = Registry([*default_registry(), cls("both", "board")])
        devices = (host("h"), Device("b", "board"))
        options = CompileOptions(prefer=("both",), statistics=lambda *_: Statistics(9, 36))
        plan = compile_dataflow(flow.root, devices, registry, options)
        (instance,) = (i for i in plan.instances if i.nca == "both")
        assert ("prune" in {o.kind for o in instance.root.walk()}) == prunes
        assert "a third answer, which is a no" in str(plan.explain["refused"])


def test_an_answer_may_depend_on_what_is_expected_of_inputs(tmp_path: Path) -> None:
    """A board with so many places for groups: what counts are distinct keys, not rows."""

    class Places(FakeNCA):
        def match_estimated(self, node: Operator, device: Device, dialect: Dialect, estimates: Estimates) -> Answer:
            if device.kind != self.kind or not isinstance(node, Aggregate):
                return None
            assert estimates.of(node.input).rows == 100 and estimates.doubt(node.input) == 1.0
            groups = estimates.column(node.input, node.keys[0]).distinct
            if groups is None or groups > 10:
                return Unsupported(f"it has 10 places, {groups:g} groups are expected")
            return Match(self.name, (node,), Completeness.FULL, node.schema)

    file = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"few": [i % 5 for i in range(100)], "many": [i % 50 for i in range(100)]}), file)
    for key, taken in (("few", True), ("many", False)):
        registry = Registry([*default_registry(), Places("places", "board")])
        options = CompileOptions(prefer=("places",), statistics=estimate)
        flow = read(file).aggregate(by=[key], n=count())
        plan = compile_dataflow(flow.root, (host("h"), Device("b", "board")), registry, options)
        assert ("places" in plan.explain["ncas"]) == taken
        assert ("it has 10 places, 50 groups are expected" in str(plan.explain["refused"])) != taken


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"rows_max": 100, "bytes_max": 1e6}, ""),
        ({"rows_max": 99}, "it is for 99 rows; 100 are expected"),
        ({"bytes_max": (10.0,)}, "it is for 10 bytes; "),
    ],
)
def test_inputs_beyond_rows_or_bytes_are_left_to_others(tmp_path: Path, limits: dict[str, Any], said: str) -> None:
    class Bounded(FakeNCA):
        def match_operations(self, node: Operator, device: Device, dialect: Dialect = DEFAULT) -> Answer:
            if device.kind != self.kind or not isinstance(node, Aggregate):
                return None
            return Match(self.name, (node,), Completeness.FULL, node.schema, **limits)

    file = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": list(range(100))}), file)
    registry = Registry([*default_registry(), Bounded("bounded", "board")])
    options = CompileOptions(prefer=("bounded",), statistics=estimate)
    plan = compile_dataflow(read(file).aggregate(n=count()).root, (host("h"), Device("b", "board")), registry, options)
    assert ("bounded" in plan.explain["ncas"]) == (not said)
    assert said in str(plan.explain["refused"])
