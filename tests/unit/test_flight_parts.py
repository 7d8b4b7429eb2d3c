"""Parts of a result of Flight SQL: each row is in one of them, and one that broke off can be had again."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from jumpgate.errors import Cancelled, ComputeError, NotFound
from jumpgate.flight import parts
from jumpgate.flight.parts import Parts

BATCHES = [pa.record_batch({"a": [i]}) for i in range(20)]


def filled(count: int, error: Exception | None = None) -> Parts:
    """Return parts that a thread fills."""
    found = Parts(count)
    assert found.begin()
    assert not found.begin()

    def fill() -> None:
        found.fill(BATCHES, lambda: None)
        found.end(error)

    threading.Thread(target=fill, daemon=True).start()
    return found


def read(found: Parts, part: int) -> Iterator[int]:
    return (batch["a"][0].as_py() for batch in found.read(part, lambda: False))


def test_the_first_that_reads_gets_all_rows() -> None:
    found = filled(3)
    assert list(read(found, 1)) == list(range(20))
    assert list(read(found, 0)) == list(read(found, 2)) == []
    assert list(read(found, 1)) == list(range(20))


def test_calls_in_turns_divide_the_rows() -> None:
    found = filled(2)
    calls = [read(found, 0), read(found, 1)]
    got: list[list[int]] = [[], []]
    while any(rows := [next(call, None) for call in calls]):
        for mine, row in zip(got, rows, strict=True):
            mine += [] if row is None else [row]
    assert sorted(got[0] + got[1]) == list(range(20))
    assert got[0] and got[1]


def test_a_part_that_broke_off_goes_on_where_it_was() -> None:
    found = filled(2)
    broken, other = read(found, 0), read(found, 1)
    before = [next(broken), next(broken), next(other)]
    again = read(found, 0)
    assert [next(again), next(again), next(again)] == [*before[:2], 3]
    with pytest.raises(Cancelled, match="another call fetches this part"):
        next(broken)
    assert list(again) == list(range(4, 20))
    assert list(other) == []


def test_what_is_not_kept_cannot_be_had_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "KEPT_BYTES_MAX", 4 * BATCHES[0].nbytes)  # two batches of each part
    found = filled(2)
    call = read(found, 0)
    assert [next(call) for _ in range(3)] == [0, 1, 2]
    assert not found.is_left()
    call.close()
    assert found.is_left()
    with pytest.raises(NotFound, match="part 1 of this result has been sent.* run the statement again"):
        next(read(found, 0))
    assert next(read(found, 1)) == 3


def test_a_result_is_left_once_nobody_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found = filled(2)
    assert not found.is_left()
    call = read(found, 0)
    next(call)
    call.close()
    assert not found.is_left()
    monkeypatch.setattr(parts, "RETRY_S_MAX", -1.0)
    assert found.is_left()


def test_errors_reach_every_part() -> None:
    found = filled(2, ComputeError("a value is too large"))
    with pytest.raises(ComputeError):
        list(read(found, 0))
    with pytest.raises(ComputeError):
        list(read(found, 1))


def test_a_client_that_is_gone_waits_for_nothing() -> None:
    found = Parts(2)
    with pytest.raises(Cancelled, match="gone away"):
        list(found.read(0, lambda: True))


def test_who_fills_is_told_to_stop() -> None:
    def stop() -> None:
        raise Cancelled("the client has cancelled the statement")

    with pytest.raises(Cancelled):
        Parts(2).fill(BATCHES, stop)
