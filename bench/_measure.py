"""Measurement and reports of all benchmarks: alternating runs, medians, one JSON object a line."""

from __future__ import annotations

import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Figure:
    """One result. `better` is the good direction; `compared` describes the comparison."""

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
    """Return the seconds of each contender's runs, taken in turns after one warm-up each, so that drift hits all alike.

    Each round has an order of its own: cleaning up after a run slows the next one. Stops early, but after at least
    three rounds, once the measured time exceeds `seconds_max`.
    """
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for done, round in enumerate(_rounds(contenders, runs)):
        if done >= 3 and sum(map(sum, times.values())) > seconds_max:
            break
        for name, seconds in round:
            times[name].append(seconds)
    return times


def least(
    contenders: Mapping[str, Callable[[], Any]],
    ratio: Callable[[Mapping[str, float]], float],
    enough: float,
    rounds: tuple[int, int],
    seconds_max: float,
) -> dict[str, float]:
    """Return medians for a figure that is the least of many ratios: at least rounds[0] rounds, and up to rounds[1] if
    the `ratio` of the medians so far is less than `enough`, as it may be the least. The contenders are warm."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    few, many = rounds
    for done, round in enumerate(_rounds(contenders, many)):
        if done >= few and (ratio(medians(times)) >= enough or sum(map(sum, times.values())) > seconds_max):
            break
        for name, seconds in round:
            times[name].append(seconds)
    return medians(times)


def _rounds(contenders: Mapping[str, Callable[[], Any]], runs: int) -> Iterator[list[tuple[str, float]]]:
    """Each contender's seconds in one round after the other, which run as they are asked for."""
    order, turn = random.Random(runs), list(contenders.items())
    for _ in range(runs):
        order.shuffle(turn)
        found = []
        for name, run in turn:
            start = time.perf_counter()
            run()
            found.append((name, time.perf_counter() - start))
        yield found


def counted(what: Sequence[T], name: str) -> Iterator[T]:
    """The items, while remarks say how many are done and how long the others will take at this pace."""
    start = time.perf_counter()
    for done, item in enumerate(what):
        if done and done % 10 == 0:
            took = time.perf_counter() - start
            left = took / done * (len(what) - done)
            remark(f"{name}: {done} of {len(what)} in {took / 60:.1f} min, some {left / 60:.1f} min to go")
        yield item


def medians(times: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(runs) for name, runs in times.items()}


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
