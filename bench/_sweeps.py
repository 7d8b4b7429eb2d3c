"""Experiments over a number, for benchmarks of storage that computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench._tuning import Constants
from jumpgate.client import Dataflow


@dataclass(frozen=True)
class Sweep:
    """An experiment over a number; `figure` is the paper's, `published` what that says. points: what is run over the
    objects of a bucket, a dataflow or SQL. is_slow: it is run over the slowest link alone. tuned: the accelerator's
    constants at a point. indexed: objects and one of their columns, by an index over which it is run, too."""

    name: str
    figure: str
    over: str
    is_logarithmic: bool
    points: Mapping[float, Callable[[str], Dataflow | str]]
    is_slow: bool = False
    published: str = ""
    tuned: Callable[[float], Constants] | None = None
    indexed: tuple[Callable[[str], Dataflow], str] | None = None
