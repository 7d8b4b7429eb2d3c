"""Mutated plans are dataflows or typed errors, nothing else; the reader never hangs or dies of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate.dataflow.operators import Operator
from jumpgate.dataflow.substrait import from_plan
from jumpgate.errors import InvalidDataflow, JumpgateError
from tests.support.substrait_plans import QUERIES, plan, tables

TABLES = tables()
PLANS = [plan(sql, TABLES).SerializeToString() for sql in QUERIES]
EXAMPLES = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A plan of QUERIES with bytes changed, cut out, doubled, or of another plan put in."""
    data = bytearray(draw(st.sampled_from(PLANS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.integers(0, 4)):
            case 0:
                data[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                del data[at : at + draw(st.integers(1, 20))]
            case 2:
                data[at:at] = data[at : at + draw(st.integers(1, 40))]
            case 3:
                other = draw(st.sampled_from(PLANS))
                data[at:at] = other[at : at + draw(st.integers(1, 40))]
            case _:
                data[at : at + 1] = bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) if data else b""
    return bytes(data)


def _outcome(data: bytes) -> None:
    try:
        found = from_plan(data, TABLES)
    except JumpgateError as error:
        assert str(error)
    else:
        assert isinstance(found, Operator) and len(found.schema) >= 0


@EXAMPLES
@given(mutated())
def test_mutated_plans(data: bytes) -> None:
    _outcome(data)


@EXAMPLES
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    _outcome(data)


def test_every_cut() -> None:
    for data in PLANS[:3]:
        for end in range(0, len(data), 3):
            _outcome(data[:end])


def test_a_deep_plan_is_refused() -> None:
    rel = b""
    for _ in range(20_000):
        rel = b"\x12" + _length(len(rel)) + rel  # Rel.filter, FilterRel.input, Rel.filter, …
    with pytest.raises(InvalidDataflow, match="nested too deeply"):
        from_plan(b"\x1a" + _length(len(rel)) + rel, {})


def _length(n: int) -> bytes:
    found = b""
    while n > 127:
        found, n = found + bytes([n & 127 | 128]), n >> 7
    return found + bytes([n])
