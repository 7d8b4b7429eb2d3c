"""Terms that all alternatives of a condition share."""

from __future__ import annotations

import itertools

import pytest

from jumpgate.compiler.describe import tree
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.common_terms import factored
from jumpgate.compiler.logical.normalise import normalise
from jumpgate.compiler.logical.push_filters import push_filters
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Expression, Literal, conjunction
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Filter, Join, Send
from jumpgate.dataflow.types import bool_, int64
from jumpgate.nca.registry import Registry
from tests.support.plans import equals, joined, ref, table

TERMS = table("t", a=bool_, b=bool_, c=bool_, k=bool_, n=int64)
ONE = Literal(int64.with_nullable(False), 1)

#: a condition (letters beside each other are its terms), and the terms that it becomes; x may fail
CASES = """
ka | kb       -> k, a | b
ka | bk       -> k, a | b
kab | kac     -> k, a, b | c
ka | kb | kc  -> k, a | b | c
ka | kbc      -> k, a | bc
k | ka        -> k
ka | ka       -> k, a
ka | b        -> ka | b
a             -> a
kx | kb       -> kx | kb
"""


def term(letter: str) -> Expression:
    return bind("eq", (bind("int_divide", (ONE, ref(TERMS, "n"))), ONE)) if letter == "x" else ref(TERMS, letter)


def condition(text: str) -> Expression:
    alternatives = tuple(conjunction(tuple(map(term, word.strip()))) for word in text.split("|"))
    return alternatives[0] if len(alternatives) == 1 else bind("or", alternatives)


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_the_terms_of_a_condition_mean_the_same(case: str) -> None:
    before, after = case.split("->")
    terms = factored(condition(before))
    assert terms == tuple(condition(word) for word in after.split(","))
    for row in itertools.product((True, False, None), repeat=4) if "x" not in before else ():
        assert evaluate(conjunction(terms), row, DEFAULT) == evaluate(condition(before), row, DEFAULT)


BEFORE = """\
filter and(or(and(eq(#0:ak, #2:bk), eq(#1:av, 1)), and(eq(#0:ak, #2:bk), eq(#3:bv, 2))), \
or(eq(#1:av, 1), and(eq(#1:av, 1), eq(#3:bv, 3))))
  join inner
    read json a.json (ak, av)
    read json b.json (bk, bv)"""

AFTER = """\
join inner on #0:ak = #0:bk where or(eq(#1:av, 1), eq(#3:bv, 2))
  filter eq(#1:av, 1)
    read json a.json (ak, av) where eq(#1:av, 1)
  read json b.json (bk, bv)"""


def test_a_raw_product_becomes_a_join_by_key() -> None:
    a, b = table("a", ak=int64, av=int64), table("b", bk=int64, bv=int64)
    product = Join(a, b, "inner", (), ())  # type: ignore[arg-type]
    same = bind("eq", (ref(product, "ak"), ref(product, "bk")))
    one, two, three = equals(product, "av", 1), equals(product, "bv", 2), equals(product, "bv", 3)
    either = bind("or", (conjunction((same, one)), conjunction((same, two))))
    raw = Filter(product, conjunction((either, bind("or", (one, conjunction((one, three)))))))
    plan = Plan(Send(raw, ()), CompileOptions(), (), Registry(), Estimator(None))
    shown = "\n".join(tree(raw)), "\n".join(tree(push_filters(normalise(plan)).root.input))
    assert shown == (BEFORE, AFTER)


IMPLIED = """\
join inner on #0:ak = #0:bk where or(and(eq(#1:av, 1), eq(#3:bv, 2)), and(eq(#1:av, 3), eq(#3:bv, 4)))
  filter or(eq(#1:av, 1), eq(#1:av, 3))
    read json a.json (ak, av) where or(eq(#1:av, 1), eq(#1:av, 3))
  filter or(eq(#1:bv, 2), eq(#1:bv, 4))
    read json b.json (bk, bv) where or(eq(#1:bv, 2), eq(#1:bv, 4))"""


def test_alternatives_imply_conditions_on_each_input_once() -> None:
    a, b = table("a", ak=int64, av=int64), table("b", bk=int64, bv=int64)
    join = joined(a, b, "ak", "bk")
    pairs = [conjunction((equals(join, "av", i), equals(join, "bv", i + 1))) for i in (1, 3)]
    plan = Plan(Send(Filter(join, bind("or", tuple(pairs))), ()), CompileOptions(), (), Registry(), Estimator(None))
    once = push_filters(plan)
    assert "\n".join(tree(once.root.input)) == IMPLIED
    assert "\n".join(tree(push_filters(once).root.input)) == IMPLIED
