"""Push-back: fewer Select requests to a store that is busy, and none to one that refuses."""

from __future__ import annotations

from jumpgate.ncas.s3_select.pushback import PROBED, QUICK_S, SLOW_S, SLOW_TIMES, Window, is_calm


def entered(window: Window, times: int) -> int:
    return sum(window.enter() > 0 for _ in range(times))


def test_failures_halve_the_window_and_answers_widen_it() -> None:
    window = Window(8)
    assert entered(window, 10) == 8
    for _ in range(8):
        window.leave(is_calm=True)
    assert entered(window, 10) == 8
    window.leave(is_calm=False)
    for _ in range(7):
        window.leave(is_calm=True)
    assert entered(window, 10) == 8  # 4, and one more for each answer, up to 8
    for _ in range(8):
        window.leave(is_calm=False)
    assert entered(window, 2 * PROBED) == 1


def test_a_busy_store_is_probed_now_and_then() -> None:
    window = Window(1)
    assert window.enter()
    window.leave(is_calm=False)
    assert entered(window, PROBED) == 1
    window.leave(is_calm=True)
    assert window.enter()


def test_a_store_that_refuses_is_asked_no_more() -> None:
    window = Window(4)
    window.close()
    assert entered(window, 10 * PROBED) == 0


def test_a_slow_answer_is_slower_than_ranges() -> None:
    assert is_calm(SLOW_S + 1, 1, ranged_s=SLOW_S + 1) is is_calm(QUICK_S / 2, 1, ranged_s=0.0) is True
    assert is_calm(SLOW_S + 1, 1, ranged_s=0.1) is False
    assert is_calm(SLOW_S / 2, 1, ranged_s=0.0) is None
    assert is_calm(8.0, 8, ranged_s=1 / SLOW_TIMES) is True  # it did eight in that time


def test_an_answer_that_says_little_changes_nothing() -> None:
    window = Window(4)
    for calm, room in ((None, 4), (False, 2), (None, 2), (True, 3)):
        assert window.enter()
        window.leave(calm)
        assert entered(window, 10) == room
        for _ in range(room):
            window.leave(None)
