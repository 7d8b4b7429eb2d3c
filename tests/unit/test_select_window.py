"""Push-back: fewer Select requests to a store that is busy, and none to one that refuses."""

from __future__ import annotations

from jumpgate.ncas.s3_select.pushback import PROBED, SLOW_S, Window, is_slow


def entered(window: Window, times: int) -> int:
    return sum(window.enter() for _ in range(times))


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


def test_a_slow_answer_depends_on_the_object() -> None:
    assert is_slow(1000, SLOW_S + 1) and not is_slow(10**9, SLOW_S + 1)
