"""Takes the terms that all alternatives of a condition share out of it: `(k and a) or (k and b)` is `k and (a or b)`.

Shared equalities of two inputs then become join keys, and conditions on one input go down to it.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def _alternatives(predicate: Expression) -> Iterator[Expression]:
    if isinstance(predicate, Call) and predicate.function == "or":
        for alternative in predicate.args:
            yield from _alternatives(alternative)
    else:
        yield predicate
