"""Takes the terms that all alternatives of a condition share out of it: `(k and a) or (k and b)` is `k and (a or b)`.

Shared equalities of two inputs then become join keys, and conditions on one input go down to it. So does what a
condition on two inputs implies of one: `(a and x) or (b and y)`, of which a and b are on one input, implies `a or b`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from jumpgate.dataflow.expressions import Call, Expression, conjunction, conjuncts
from jumpgate.dataflow.failing import may_fail
from jumpgate.dataflow.types import bool_


def factored(term: Expression) -> tuple[Expression, ...]:
    """Return terms whose conjunction is `term`, also where it is NULL. A condition that may fail stays whole: a term
    may guard those after it."""
    alternatives = [dict.fromkeys(conjuncts(a)) for a in _alternatives(term)]
    common = [t for t in alternatives[0] if all(t in others for others in alternatives[1:])]
    if len(alternatives) == 1 or not common or may_fail(term):
        return (term,)
    left = tuple(conjunction(tuple(t for t in a if t not in common)) for a in alternatives if len(a) > len(common))
    if len(left) < len(alternatives):  # one alternative is what all share
        return tuple(common)
    return (*common, Call(bool_.with_nullable(any(t.type.nullable for t in left)), "or", left))


def implied(terms: Iterable[Expression], of_input: Callable[[Expression], bool]) -> Iterator[Expression]:
    """Yield what the terms imply of one input, to which those that `of_input` chooses can go down."""
    for term in terms:
        alternatives = [[t for t in conjuncts(a) if of_input(t)] for a in _alternatives(term)]
        if len(alternatives) > 1 and all(alternatives) and not may_fail(term):
            kept = tuple(dict.fromkeys(conjunction(tuple(a)) for a in alternatives))
            nullable = any(t.type.nullable for t in kept)
            yield kept[0] if len(kept) == 1 else Call(bool_.with_nullable(nullable), "or", kept)


def _alternatives(predicate: Expression) -> Iterator[Expression]:
    if isinstance(predicate, Call) and predicate.function == "or":
        for alternative in predicate.args:
            yield from _alternatives(alternative)
    else:
        yield predicate
