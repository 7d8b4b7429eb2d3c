"""Aggregates of floats over frames that move, for DataFusion, which subtracts what leaves a frame: after an infinity, a
NaN or a far larger number has left it, its sums are wrong.

Here nothing is subtracted. The rows of a partition are the leaves of a binary tree whose nodes hold sums, or moments;
the nodes that a frame is made of are merged, those of all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import datafusion
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datafusion.user_defined import WindowEvaluator

from jumpgate.dataflow.aggregates import COMOMENTS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
#: sums, or moments, of many rows: one column each
State = tuple[Floats, ...]
Merge = Callable[[State, State], State]
#: values and where they are known, of states
Finish = Callable[[State], tuple[Floats, npt.NDArray[np.bool_]]]

PREFIX = "jumpgate_moving_"


def register(context: datafusion.SessionContext) -> None:
    """Gives a context a window function for each of `FUNCTIONS`: of y, x, and how many rows of its partition there are
    up to the row, up to the end of its frame, and in the frame. Partitions follow each other: many small ones are
    computed at once."""
    types = [pa.float64(), pa.float64(), pa.int64(), pa.int64(), pa.int64()]
    for name in FUNCTIONS:
        evaluator = partial(_Evaluator, name)
        context.register_udwf(datafusion.udwf(evaluator, types, pa.float64(), "immutable", PREFIX + name))


class _Evaluator(WindowEvaluator):
    def __init__(self, name: str) -> None:
        self._leaves, self._merge, self._finish = FUNCTIONS[name]

    def evaluate_all(self, values: list[pa.Array], num_rows: int) -> pa.Array:
        known = np.asarray(values[0].is_valid()) & np.asarray(values[1].is_valid())
        y, x = (np.where(known, np.asarray(v.fill_null(0.0)), 0.0) for v in values[:2])
        at, end, rows = (np.asarray(v) for v in values[2:])
        end = np.arange(1, num_rows + 1) - at + end
        with np.errstate(all="ignore"):
            found, valid = self._finish(_merged(self._leaves(y, x, known), self._merge, end - rows, end))
        return pa.array(found, pa.float64(), mask=~valid)


def _merged(leaves: State, merge: Merge, start: Integers, end: Integers) -> State:
    """The states of the leaves from start to end, from the left to the right."""
    level, left, right = leaves, start.copy(), end.copy()
    empty = tuple(np.zeros(len(start)) for _ in leaves)
    before, after = empty, empty
    while len(level[0]) and np.any(left < right):
        odd = (left < right) & (left & 1 == 1)
        before = _where(odd, merge(before, _at(level, left)), before)
        left += odd
        odd = (left < right) & (right & 1 == 1)
        right -= odd
        after = _where(odd, merge(_at(level, right), after), after)
        left >>= 1
        right >>= 1
        if len(level[0]) % 2:
            level = tuple(np.append(column, 0.0) for column in level)
        level = merge(tuple(column[::2] for column in level), tuple(column[1::2] for column in level))
    return merge(before, after)


def _at(level: State, places: Integers) -> State:
    inside = np.clip(places, 0, len(level[0]) - 1)
    return tuple(column[inside] for column in level)


def _where(chosen: npt.NDArray[np.bool_], these: State, those: State) -> State:
    return tuple(np.where(chosen, a, b) for a, b in zip(these, those, strict=True))


# ---- sums: (how many values, their sum) -----------------------------------------------------------------------------


def _sums(y: Floats, x: Floats, known: npt.NDArray[np.bool_]) -> State:
    return known.astype(np.float64), y


def _added(a: State, b: State) -> State:
    return a[0] + b[0], a[1] + b[1]


# ---- moments: (how many pairs, means of y and x, sums of (y-ȳ)², (x-x̄)², (y-ȳ)(x-x̄)) --------------------------------


def _moments(y: Floats, x: Floats, known: npt.NDArray[np.bool_]) -> State:
    """A single value has no spread, and one that is not finite none that is known."""
    return known.astype(np.float64), y, x, 0 * y, 0 * x, 0 * y * x


def _merged_moments(a: State, b: State) -> State:
    """Equal means stay as they are, so that what is constant has no spread (Chan, Golub and LeVeque)."""
    n, m = a[0], b[0]
    count = n + m
    share = np.where(count > 0, m / count, 0.0)
    dy, dx = b[1] - a[1], b[2] - a[2]
    both = (
        count,
        a[1] + dy * share,
        a[2] + dx * share,
        a[3] + b[3] + dy * dy * n * share,
        a[4] + b[4] + dx * dx * n * share,
        a[5] + b[5] + dy * dx * n * share,
    )
    return _where(m == 0, a, _where(n == 0, b, both))


def _spread(missing: int, root: bool) -> Finish:
    def finish(state: State) -> tuple[Floats, npt.NDArray[np.bool_]]:
        count, squares = state[0], np.where(state[0] == 1, 0.0, state[3])
        found = squares / (count - missing)
        return np.sqrt(found) if root else found, count > missing

    return finish


def _correlation(n: Floats, y: Floats, x: Floats, yy: Floats, xx: Floats, xy: Floats) -> Floats:
    found: Floats = xy / np.sqrt(yy) / np.sqrt(xx)
    return found


def _of_pairs(name: str) -> Finish:
    comoment = COMOMENTS[name]
    value: Callable[..., Floats] = _correlation if name == "corr" else comoment.value

    def finish(state: State) -> tuple[Floats, npt.NDArray[np.bool_]]:
        valid = state[0] >= comoment.least
        for of in comoment.varying:
            squares = state[3 if of == "y" else 4]
            valid &= (squares != 0) & ~(comoment.finite & np.isnan(squares))
        return value(*state), valid

    return finish


#: DataFusion's name of an aggregate → states of single rows, how two are merged, the value
FUNCTIONS: Mapping[str, tuple[Callable[[Floats, Floats, npt.NDArray[np.bool_]], State], Merge, Finish]] = {
    "sum": (_sums, _added, lambda state: (state[1], state[0] > 0)),
    "avg": (_sums, _added, lambda state: (state[1] / state[0], state[0] > 0)),
    "stddev": (_moments, _merged_moments, _spread(1, root=True)),
    "stddev_pop": (_moments, _merged_moments, _spread(0, root=True)),
    "var": (_moments, _merged_moments, _spread(1, root=False)),
    "var_pop": (_moments, _merged_moments, _spread(0, root=False)),
    **{name: (_moments, _merged_moments, _of_pairs(name)) for name in COMOMENTS},
}
