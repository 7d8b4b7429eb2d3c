"""Registration of accelerators: names, suggestions, broken third parties."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from jumpgate.errors import ConfigError, NotFound
from jumpgate.nca.registry import Registry, default_registry, load_registry
from tests.support.fakes import PartialNCA, PruningNCA

OURS = ("cpp", "engine", "switch_aggregate", "switch_prune")


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
    registry = load_registry([("third", "third_party_nca:GOOD")])
    assert registry.get("third") is third_party.GOOD  # type: ignore[attr-defined]


def test_of_two_with_one_name_the_first_stays(third_party: ModuleType) -> None:
    third_party.OTHER = PartialNCA("third")  # type: ignore[attr-defined]
    registry = load_registry([("third", "third_party_nca:GOOD"), ("third", "third_party_nca:OTHER")])
    assert registry.get("third") is third_party.GOOD  # type: ignore[attr-defined]
    problem = registry.problems["third_party_nca:OTHER"]
    assert "two NCAs are called 'third'" in problem.message and "Rename one" in problem.message
    assert "cpp" in registry


def test_one_that_is_installed_and_configured_is_one(third_party: ModuleType) -> None:
    registry = load_registry([("third", "third_party_nca:GOOD"), ("third", "third_party_nca:GOOD")])
    assert "third" in registry and not registry.problems


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
    registry = load_registry([("broken", path), ("third", "third_party_nca:GOOD")])
    assert "third" in registry
    assert "broken" not in registry
    with pytest.raises(ConfigError, match=message) as caught:
        registry.get("broken")
    assert caught.value.fields["nca"] == "broken"


def test_the_installed_ones() -> None:
    registry = default_registry()
    assert set(OURS) <= set(registry.names)
    assert not registry.problems
    assert default_registry() is registry
