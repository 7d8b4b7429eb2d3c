"""Experiments over a number, for benchmarks of storage that computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jumpgate.client import Dataflow


@dataclass(frozen=True)
class Sweep:
    """An experiment over a number; `figure` is the paper's. points: what is run over the objects of a bucket, a
    dataflow or SQL. is_slow: it is run over the slowest link alone."""

    name: str
    figure: str
    over: str
    is_logarithmic: bool
    points: Mapping[float, Callable[[str], Dataflow | str]]
    is_slow: bool = False
