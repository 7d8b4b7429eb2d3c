"""The share of hostile requests that a service with 1 GB of memory answers, and goes on."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

from bench._measure import Figure, counted, remark
from tests.support.extreme import hostile, request, served_in

#: statuses that are a service's own mistakes
MISTAKES = {"UNKNOWN", "INTERNAL", "UNAVAILABLE"}
#: after so many the service must answer a query rightly
CHECKED = 500


def hostile_requests_survived(rounds: int, seed: int) -> Figure:
    chance, said = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, served_in(Path(folder)) as served:
        base = request(served.file)
        for number in counted(range(rounds), "requests"):
            status = served.ask(*hostile(chance, base))
            said[status] += 1
            if status in MISTAKES:
                remark(f"request {number}: {status}")
            if served.process.poll() is not None:
                remark(f"request {number} ended the service")
                break
            if number % CHECKED == CHECKED - 1:
                served.check()
        else:
            served.check()
    remark(", ".join(f"{status}: {count}" for status, count in said.most_common()))
    survived = sum(count for status, count in said.items() if status not in MISTAKES)
    return Figure("hostile_requests_survived", survived / rounds, 1.0, "higher", f"{rounds} requests, 1 GB of memory")
