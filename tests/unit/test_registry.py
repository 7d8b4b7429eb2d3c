"""Registration of accelerators: names, suggestions, broken third parties."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from jumpgate.errors import ConfigError, NotFound
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.interface import Device
from jumpgate.nca.registry import Registry, default_registry, load_registry
from jumpgate.service.embedded import configured_registry
from jumpgate.testing.fakes import PartialNCA, PruningNCA

OURS = ("scan_json", "scan_orc", "scan_parquet", "scan_csv", "join", "aggregate", "sort", "shuffle")


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("third_party_nca")
    module.GOOD = PruningNCA("third")  # type: ignore[attr-defined]
    module.HALF = object()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_names_in_order_of_registration() -> None:
    registry = Registry([PruningNCA("b"), PartialNCA("a")])
    assert registry.names == ("b", "a")
    assert [nca.name for nca in registry] == ["b", "a"]
    assert len(registry) == 2
    assert "a" in registry
    assert registry.get("a").operators.name == "a"


def test_second_use_of_a_name_fails_at_once() -> None:
    with pytest.raises(ConfigError, match="two NCAs are called 'twice'.*Rename one"):
        Registry([PruningNCA("twice"), PartialNCA("twice")])


def test_unknown_name_gets_a_suggestion() -> None:
    registry = Registry([PruningNCA("switch_prune"), PartialNCA("other")])
    with pytest.raises(NotFound, match="did you mean 'switch_prune'"):
        registry.get("switch_prun")
    with pytest.raises(NotFound, match="known: other, switch_prune"):
        registry.get("zzz")


def test_lifecycle_by_name() -> None:
    marker = object()
    assert Registry([PruningNCA("one", runs=marker)]).lifecycle("one") is marker


def test_configuration_adds_to_the_installed_ones(third_party: ModuleType) -> None:
    registry = load_registry([{"path": "third_party_nca:GOOD"}])
    assert registry.get("third") is third_party.GOOD  # type: ignore[attr-defined]


def test_configuration_cannot_take_a_name_twice(third_party: ModuleType) -> None:
    with pytest.raises(ConfigError, match="two NCAs are called 'third'"):
        load_registry([{"path": "third_party_nca:GOOD"}, {"path": "third_party_nca:GOOD"}])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_package:NCA", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("third_party_nca:MISSING", "AttributeError"),
        ("third_party_nca", "not of the form 'package.module:object'"),
        ("third_party_nca:HALF", "lacks name, operators, lifecycle"),
    ],
)
def test_a_broken_one_takes_no_other_down(third_party: ModuleType, path: str, message: str) -> None:
    registry = load_registry([{"name": "broken", "path": path}, {"path": "third_party_nca:GOOD"}])
    assert "third" in registry
    assert "broken" not in registry
    with pytest.raises(ConfigError, match=message) as caught:
        registry.get("broken")
    assert caught.value.fields["nca"] == "broken"


def test_a_table_without_path_is_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError, match="needs path"):
        load_registry([{"name": "x"}])


def test_the_installed_ones() -> None:
    registry = default_registry()
    assert set(OURS) <= set(registry.names)
    assert not registry.problems
    assert default_registry() is registry


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"program": "agregate"}, "has program 'agregate', which is none; did you mean 'aggregate'"),
        ({"program": "x"}, "has program 'x', which is none; there are aggregate, "),
        ({}, "the \\[\\[device\\]\\] 'tor1' has no program; there are aggregate, "),
    ],
)
def test_a_switch_that_nothing_is_for_is_refused(properties: dict[str, str], message: str) -> None:
    device = Device("tor1", "switch", properties=tuple(properties.items()))
    with pytest.raises(ConfigError, match=message):
        configured_registry(Config(local_hosts(1).hosts, (device,)))


def test_a_device_of_nearly_a_known_kind_is_refused() -> None:
    hosts = local_hosts(1).hosts
    with pytest.raises(
        ConfigError, match="'tor1' is of kind 'swich', which no accelerator knows; did you mean 'switch'"
    ):
        configured_registry(Config(hosts, (Device("tor1", "swich"),)))
    configured_registry(Config(hosts, (Device("board", "fpga"),)))  # somebody else's
