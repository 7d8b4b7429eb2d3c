"""What `offload = auto` learns from runs."""

from __future__ import annotations

import math

import pytest

from jumpgate.client.sql import experience
from jumpgate.client.sql.experience import Experience


def test_a_time_counts_when_it_has_settled() -> None:
    known = Experience()
    known.note("q", "always", 0.5)
    assert known.settled("q") == {}
    known.note("q", "always", 0.2)
    known.note("q", "never", 0.1)
    assert known.settled("q") == {"always": 0.2}
    assert known.settled("other") == {}


def test_old_times_are_replaced() -> None:
    known = Experience()
    for seconds in (0.1, 0.5, 0.6, 0.7):
        known.note("q", "never", seconds)
    assert known.settled("q") == {"never": 0.5}


def test_a_failure_counts_at_once_and_until_it_works_again() -> None:
    known = Experience()
    known.note("q", "never", math.inf)
    assert known.settled("q") == {"never": math.inf}
    known.note("q", "never", 0.3)
    assert known.settled("q") == {"never": 0.3}


def test_it_is_bounded_and_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experience, "TEXTS_MAX", 2)
    known = Experience()
    for text in ("a", "b", "a", "c"):
        known.note(text, "always", math.inf)
    assert [known.settled(t) != {} for t in "abc"] == [True, False, True]
    known.forget()
    assert known.settled("a") == {}
