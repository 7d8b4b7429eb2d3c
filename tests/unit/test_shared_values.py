"""What a message for many instances says once."""

from __future__ import annotations

import json

import pytest

from jumpgate.nca.shared import Shared, filled


def test_what_refers_to_a_value_is_filled_with_it() -> None:
    shared, made = Shared(), []

    def make() -> dict[str, object]:
        made.append(1)
        return {"peers": ["a", "b"], "index": -1}

    told = [{"sinks": [shared("edge", make, index=n)], "n": n} for n in range(3)]
    assert made == [1]
    values = json.loads(shared.used())
    assert filled(told, values) == [{"sinks": [{"peers": ["a", "b"], "index": n}], "n": n} for n in range(3)]
    assert filled({"plain": [1, None, "x"]}, {}) == {"plain": [1, None, "x"]}
    with pytest.raises(KeyError):
        filled({"$": "edge"}, {})


def test_a_message_has_the_values_that_it_refers_to() -> None:
    shared = Shared()
    shared("a", lambda: {"x": 1})
    assert json.loads(shared.used()) == {"a": {"x": 1}}
    shared("a", lambda: {"x": 2})  # it is made once
    shared('"b', dict)
    assert json.loads(shared.used()) == {"a": {"x": 1}, '"b': {}}
    assert json.loads(shared.used()) == {}
