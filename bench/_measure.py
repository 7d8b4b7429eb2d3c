"""How all benchmarks measure and report: alternating runs, medians, one JSON object a line."""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One result. `better` says which direction is good; `compared` what was measured against what."""

    figure: str
    value: float
    target: float
    better: str
    compared: str

    @property
    def reached(self) -> bool:
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


def report(figure: Figure, as_json: bool) -> None:
    """One line on stdout: a JSON object, or words."""
    if as_json:
        line = {**asdict(figure), "value": round(figure.value, 4)}
        print(json.dumps(line), flush=True)
        return
    sign = "≥" if figure.better == "higher" else "≤"
    verdict = "reached" if figure.reached else "MISSED"
    print(
        f"{figure.figure:24} {figure.value:10.3f}  {sign} {figure.target:g} {verdict:8} {figure.compared}", flush=True
    )


def remark(text: str) -> None:
    """Progress and detail, on stderr."""
    print(text, file=sys.stderr, flush=True)


def alternate(
    contenders: Mapping[str, Callable[[], Any]], runs: int, seconds_max: float = 60.0
) -> dict[str, list[float]]:
    """Seconds of each contender's runs, taken in turns after one warm-up each, so that drift hits all alike.

    Each round has an order of its own: what a run leaves to be cleared up slows whoever follows. Stops early, but after
    three rounds at least, once the measured time exceeds `seconds_max`.
    """
    order, turn = random.Random(runs), list(contenders.items())
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for done in range(runs):
        if done >= 3 and sum(map(sum, times.values())) > seconds_max:
            break
        order.shuffle(turn)
        for name, run in turn:
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return times


def medians(times: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(runs) for name, runs in times.items()}


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
