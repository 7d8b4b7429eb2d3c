"""Tables whose values follow the order of their rows, so that statistics of parts of a file rule most out."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

EPOCH = datetime.date(1970, 1, 1)
#: by column: a value that is in the middle of the table, as tables and as readers have it
VALUES: dict[str, tuple[Any, str]] = {
    "n": (300 * 10**10, str(300 * 10**10)),
    "i": (-300, "-300"),
    "day": (EPOCH + datetime.timedelta(days=300), "300"),
    "x": (37.5, "37.5"),
    "name": ("name 00300" + "x" * 70, "name 00300" + "x" * 70),
}
COMPARE = {"eq": pc.equal, "lt": pc.less, "le": pc.less_equal, "gt": pc.greater, "ge": pc.greater_equal}


class OrderedRows:
    """Some 60,000 rows; `steps` grow with them, `row` and `text` tell them apart."""

    def __init__(self, rows: int, seed: int) -> None:
        self._rng = random.Random(seed)
        self.steps = [row // 1000 * 10 + self._rng.randrange(10) for row in range(rows)]
        steps = self.steps
        self.columns = {
            "n": pa.array(self.some([s * 10**10 for s in steps])),
            "i": pa.array(self.some([-s for s in steps]), pa.int32()),
            "day": pa.array(self.some([EPOCH + datetime.timedelta(days=s) for s in steps])),
            "name": pa.array(self.some([f"name {s:05}" + "x" * 70 for s in steps])),
            "row": pa.array(range(rows)),
            "text": pa.array([f"{row % 11} of {row}" for row in range(rows)]),
        }

    def some(self, values: list[Any]) -> list[Any]:
        """The values with NULLs among them, of which some follow each other."""
        chance = self._rng.random
        return [None if chance() < 0.05 or 20_000 <= row < 27_000 else v for row, v in enumerate(values)]

    @property
    def hours(self) -> list[datetime.datetime]:
        return [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=s) for s in self.steps]


def wanted(data: pa.Table, name: str, op: str, value: Any) -> set[int]:
    """The rows that satisfy the comparison. NaN is above every number."""
    values = data[name]
    found = COMPARE[op](values, pa.scalar(value, values.type))
    if name == "x" and op in ("gt", "ge"):
        found = pc.or_(found, pc.is_nan(values))
    return set(data.filter(found)["row"].to_pylist())


#: a column → its n-th value, as tables and as readers have it
Others = Mapping[str, Callable[[int], tuple[Any, str]]]


def random_bounds(rng: random.Random, data: pa.Table, others: Others) -> tuple[list[tuple[int, str, bytes]], set[int]]:
    """Bounds of two columns, the second one of `others`, and the rows within both."""
    name, op, other = rng.choice(("n", "i", "day")), rng.choice(list(COMPARE)), rng.choice(list(others))
    step, (last, last_text) = rng.randrange(600), others[other](rng.randrange(600))
    value, text = {
        "n": (step * 10**10, str(step * 10**10)),
        "i": (-step, str(-step)),
        "day": (EPOCH + datetime.timedelta(days=step), str(step)),
    }[name]
    place = data.column_names.index
    bounds = [(place(name), op, text.encode()), (place(other), "le", last_text.encode())]
    return bounds, wanted(data, name, op, value) & wanted(data, other, "le", last)
