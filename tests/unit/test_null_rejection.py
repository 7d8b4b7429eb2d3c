"""Conditions that reject NULLs: by example, and no row contradicts what is said of random ones."""

from __future__ import annotations

import itertools
import random

import pytest

from jumpgate.compiler.logical.normalise import fold
from jumpgate.compiler.logical.null_rejection import rejects
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import DataType, bool_, int64, string
from jumpgate.errors import ComputeError

TEXT = ColumnRef(string, 5, "s")
#: two columns that are NULL, and others
X, Y, A, B = (ColumnRef(int64, i, name) for i, name in enumerate("xyab"))
P = ColumnRef(bool_, 4, "p")
NULLS = {X.index, Y.index}
VALUES: dict[str, tuple[object, ...]] = {"int64": (None, 0, 1, 2), "bool": (None, False, True)}


def n(value: int | None) -> Literal:
    return Literal(int64.with_nullable(value is None), value)


def f(name: str, *arguments: Expression) -> Expression:
    return bind(name, arguments)


def case(*parts: Expression) -> Expression:
    return Case(parts[-1].type.with_nullable(True), parts[:-1], parts[-1])


def cast(e: Expression, type: DataType, on_failure: str = "error") -> Expression:
    return Cast(type.with_nullable(True), e, on_failure)


def among(e: Expression, *options: int | None) -> Expression:
    return InList(bool_, e, tuple(map(n, options)))


POSITIVE = f("gt", A, n(0))
DIVIDED = f("gt", f("int_divide", A, B), n(0))

REJECTING = {
    "comparison": f("eq", X, A),
    "of what is computed": f("lt", f("add", X, A), B),
    "of a cast": f("gt", cast(X, string), TEXT),
    "of a cast that may fail": f("gt", cast(cast(X, string), int64), n(0)),
    "list": among(X, 1, 2),
    "list with NULL": among(X, 1, None),
    "not in a list": f("not", among(X, 1)),
    "is not null": f("is_not_null", X),
    "not null": f("not", f("is_null", X)),
    "null-safe with a value": f("is_not_distinct", X, n(1)),
    "distinct from null": f("is_distinct", X, n(None)),
    "a term": f("and", POSITIVE, f("eq", X, n(1))),
    "alternatives": f("or", f("eq", X, n(1)), f("gt", Y, A)),
    "alternatives of terms": f("or", f("and", POSITIVE, f("eq", X, n(1))), f("and", P, f("gt", Y, A))),
    "negated alternatives": f("not", f("or", POSITIVE, f("eq", X, n(1)))),
    "unknown is not true": f("is_not_distinct", f("gt", X, n(0)), Literal(bool_.with_nullable(False), True)),
    "default that does not meet it": f("gt", f("coalesce", X, Y, n(0)), n(5)),
    "default that does not meet it, as a case": f("gt", case(f("is_null", X), n(0), X), n(5)),
    "case whose condition is never true": case(f("gt", X, A), P, Literal(bool_, False)),
    "case of rejecting values": case(P, f("eq", X, A), f("lt", Y, A)),
    "null_if": f("gt", f("null_if", X, n(1)), n(0)),
    "never true": Literal(bool_.with_nullable(False), False),
    "guarded": f("and", f("gt", X, n(0)), DIVIDED),
}
KEEPING = {
    "other columns": POSITIVE,
    "is null": f("is_null", X),
    "not not null": f("not", f("is_not_null", X)),
    "null-safe": f("is_not_distinct", X, A),
    "distinct from a value": f("is_distinct", X, n(1)),
    "one alternative": f("or", f("eq", X, n(1)), POSITIVE),
    "negated term": f("not", f("and", POSITIVE, f("eq", X, n(1)))),
    "negated alternative of null": f("not", f("or", f("is_not_null", X), P)),
    "default": f("gt", f("coalesce", X, A), n(0)),
    "default that meets it": f("ge", f("coalesce", X, n(0)), n(0)),
    "case with a default": case(f("gt", X, A), Literal(bool_, False), P),
    "case of one rejecting value": case(P, f("eq", X, A), POSITIVE),
    "list's own NULL": f("is_null", among(X, 1)),
    "try": f("is_null", cast(X, string, "null")),
    "always true": Literal(bool_.with_nullable(False), True),
}
FAILING = {
    "before the term that rejects": f("and", DIVIDED, f("gt", X, n(0))),
    "beside the column": f("gt", f("add", X, f("int_divide", A, B)), n(0)),
    "in an alternative": f("or", f("eq", X, n(1)), f("and", DIVIDED, f("eq", X, n(2)))),
    "in a case": case(DIVIDED, f("eq", X, A), f("eq", Y, A)),
    "a cast of another column": f("eq", X, cast(TEXT, int64)),
}


@pytest.mark.parametrize("condition", REJECTING.values(), ids=REJECTING)
def test_no_row_with_nulls_meets_these(condition: Expression) -> None:
    assert rejects(condition, NULLS, DEFAULT)


@pytest.mark.parametrize("condition", KEEPING.values(), ids=KEEPING)
def test_some_row_with_nulls_may_meet_these(condition: Expression) -> None:
    assert not rejects(condition, NULLS, DEFAULT)


@pytest.mark.parametrize("condition", FAILING.values(), ids=FAILING)
def test_what_fails_for_a_row_with_nulls_rejects_none(condition: Expression) -> None:
    assert may_fail(condition)
    assert not rejects(condition, NULLS, DEFAULT)


def test_all_columns_count_together() -> None:
    either = f("or", f("eq", X, n(1)), f("eq", Y, n(1)))
    assert rejects(either, NULLS, DEFAULT)
    assert not rejects(either, {X.index}, DEFAULT)


def number(chance: random.Random, depth: int) -> Expression:
    if not depth or chance.random() < 0.3:
        return chance.choice((X, Y, A, B, n(0), n(1), n(2), n(None)))
    match chance.choice(("add", "int_divide", "coalesce", "null_if", "case", "cast", "negate")):
        case "case":
            return case(condition(chance, depth - 1), number(chance, depth - 1), number(chance, depth - 1))
        case "cast":
            return cast(cast(number(chance, depth - 1), string), int64)
        case "negate":
            return f("negate", number(chance, depth - 1))
        case name:
            return f(name, number(chance, depth - 1), number(chance, depth - 1))


def condition(chance: random.Random, depth: int) -> Expression:
    if not depth or chance.random() < 0.3:
        name = chance.choice(("eq", "lt", "ge", "is_distinct", "is_not_distinct"))
        return chance.choice((P, f(name, number(chance, depth), number(chance, 0))))
    match chance.choice(("and", "or", "not", "is_null", "is_not_null", "in", "case", "coalesce", "is_not_distinct")):
        case "and" | "or" as name:
            return f(name, *(condition(chance, depth - 1) for _ in range(chance.randint(2, 3))))
        case "is_null" | "is_not_null" as name:
            return f(name, chance.choice((number, condition))(chance, depth - 1))
        case "in":
            return among(number(chance, depth - 1), *chance.sample((0, 1, 2, None), 2))
        case "case":
            return case(condition(chance, depth - 1), condition(chance, depth - 1), condition(chance, depth - 1))
        case name:
            return f(name, *(condition(chance, depth - 1) for _ in range(1 if name == "not" else 2)))


def passes(condition: Expression, row: tuple[object, ...]) -> bool:
    """Whether the row meets it, or fails; its terms are tried in turn."""
    try:
        return all(evaluate(term, row) is True for term in conjuncts(condition))  # type: ignore[arg-type]
    except ComputeError:
        return True


def test_no_row_contradicts() -> None:
    chance, rejecting = random.Random(5), 0
    others = [*itertools.product(VALUES["int64"], VALUES["int64"], VALUES["bool"])]
    for _ in range(4000):
        given = fold(condition(chance, 3), DEFAULT)
        if rejects(given, NULLS, DEFAULT):
            rejecting += 1
            assert not any(passes(given, (None, None, *other)) for other in others), str(given)
    assert rejecting > 300
