"""Functions of packages: what a declaration must say, and that a defective one is a typed error of its name alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from jumpgate.dataflow import functions
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.signatures import all_of, always, exactly
from jumpgate.dataflow.types import int64, string
from jumpgate.dataflow.unresolved import f
from jumpgate.errors import ConfigError
from tests.support import packages

TWICE = Function("twice", "2 * a", (1, 1), exactly(int64), always(int64), lambda site, a: 2 * a, cpp="2 * ({0})")
Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes entry points of the given objects, by name."""

    def install(**objects: object) -> None:
        packages.declare(monkeypatch, "function_package", **objects)
        clear()

    def clear() -> None:
        functions.installed.cache_clear()
        functions._packages.cache_clear()

    yield install
    clear()


def test_an_installed_function_is_like_any_other(install: Install) -> None:
    install(twice=TWICE)
    assert functions.bind("twice", (ColumnRef(int64, 0),)).type == int64
    assert "twice" in dir(f) and f.twice.__doc__ == "2 * a"


@pytest.mark.parametrize(
    ("declared", "wrong"),
    [
        (7, "it must be a jumpgate.dataflow.function.Function named 'twice'"),
        (replace(TWICE, name="thrice"), "it must be a jumpgate.dataflow.function.Function named 'twice'"),
        (replace(TWICE, cpp=""), "it has no `cpp`"),
        (replace(TWICE, literals=(0,)), "its arguments cannot be literals only"),
        (
            replace(TWICE, sql=("twice",), operands=all_of(int64)),
            "SQL finds functions by types: its operands must be `exactly` so many",
        ),
        (replace(TWICE, substrait=("left",)), "functions 'left' and 'twice' are both called 'left'"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_said(install: Install, declared: object, wrong: str) -> None:
    install(twice=declared, other=replace(TWICE, name="other"))
    with pytest.raises(ConfigError) as raised:
        functions.bind("twice", (ColumnRef(int64, 0),))
    assert str(raised.value) == f"function 'twice' (function_package:twice): {wrong}"
    assert functions.bind("other", (ColumnRef(int64, 0),)).function == "other"


def test_a_package_that_does_not_load_is_named(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(twice=TWICE)
    monkeypatch.delitem(sys.modules, "function_package")
    with pytest.raises(ConfigError, match="cannot be loaded: ModuleNotFoundError: .* Repair or uninstall its package"):
        functions.find("twice")


def test_names_of_the_tree_are_not_taken_by_packages(install: Install) -> None:
    install(left=replace(TWICE, name="left"))
    assert functions.find("left") is functions.BUILT_IN["left"]


def test_an_unknown_function_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(TypeMismatch, match="unknown function 'uper'; did you mean 'upper'?"):
        functions.bind("uper", (ColumnRef(string, 0),))
