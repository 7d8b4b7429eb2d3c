"""Aggregates of packages: what a declaration must say, and that a defective one is a typed error of its name alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from jumpgate.codegen.measures import state_types
from jumpgate.dataflow import aggregates
from jumpgate.dataflow.aggregate import AggregateFunction, StateCode, States
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import ColumnRef
from jumpgate.dataflow.operators import Measure
from jumpgate.dataflow.types import float64, string
from jumpgate.errors import ConfigError
from tests.support import packages

_NUMBER = float64.with_nullable(False)
POWER = AggregateFunction(
    "power",
    "the sum of the squares",
    lambda types: float64,
    numeric=True,
    states=States(
        lambda arguments, order: (_NUMBER,),
        lambda rows: (sum(float(r[0]) ** 2 for r in rows),),
        lambda states: (sum(s[0] for s in states),),
        lambda s: s[0],
    ),
    code=StateCode("s0 += v0 * v0;", "s0 += o0;", "s0"),
)
WRONG = "it must be a jumpgate.dataflow.aggregate.AggregateFunction named 'power'"
OF_ROWS = "it must be of values of each row alone, without options or an order, and ignore NULL"
Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes entry points of the given objects, by name."""

    def install(**objects: object) -> None:
        packages.declare(monkeypatch, "aggregate_package", **objects)
        aggregates._packages.cache_clear()

    yield install
    aggregates._packages.cache_clear()


def test_an_installed_aggregate_is_like_any_other(install: Install) -> None:
    install(power=replace(POWER, substrait=("extension:org.example:power",)))
    for name in ("power", "power_distinct"):
        assert Measure.of(name, ColumnRef(float64, 0), name="p").type == float64
    assert aggregates.of_substrait("extension:org.example:power") == "power"
    assert aggregates.find_aggregate("power").value([(3,), (4,)]) == 25.0


@pytest.mark.parametrize(
    ("declared", "wrong"),
    [
        (7, WRONG),
        (replace(POWER, name="other"), WRONG),
        (replace(POWER, code=None), "it needs `states` and their `code`"),
        (replace(POWER, states=None), "it needs `states` and their `code`"),
        (replace(POWER, options=(float64,)), OF_ROWS),
        (replace(POWER, ordered=True), OF_ROWS),
        (replace(POWER, keeps_nulls=True), OF_ROWS),
        (replace(POWER, arity=0), OF_ROWS),
        (replace(POWER, substrait=("avg",)), "the name 'avg' is taken"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_said(install: Install, declared: object, wrong: str) -> None:
    install(power=declared, energy=replace(POWER, name="energy"))
    with pytest.raises(ConfigError) as raised:
        Measure.of("power", ColumnRef(float64, 0), name="p")
    assert str(raised.value) == f"aggregate 'power' (aggregate_package:power): {wrong}"
    assert Measure.of("energy", ColumnRef(float64, 0), name="p").function == "energy"


def test_names_of_the_tree_are_not_taken_by_packages(install: Install) -> None:
    install(avg=replace(POWER, name="avg"))
    assert aggregates.find_aggregate("avg") is aggregates.AGGREGATES["avg"]


def test_states_are_numbers_that_are_never_null(install: Install) -> None:
    states = replace(POWER.states, types=lambda arguments, order: (string,))  # type: ignore[type-var]
    install(power=replace(POWER, states=states))
    with pytest.raises(ConfigError, match="aggregate 'power': a column of its states is string, no number"):
        state_types(Measure.of("power", ColumnRef(float64, 0), name="p"))


def test_an_unknown_aggregate_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(TypeMismatch, match="unknown measure 'medain'; did you mean 'median'?"):
        Measure.of("medain", ColumnRef(float64, 0), name="p")
