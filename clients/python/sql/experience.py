"""How long queries took with and without accelerators: what `offload = auto` knows better than any estimate."""

from __future__ import annotations

import math
import statistics
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

#: runs after which a time is believed: the first one may have compiled, and read from cold files
SETTLED_RUNS = 2
#: of its time, what a first run is taken to need the next time
FIRST_SHARE = 0.7
#: the fastest of so many last runs counts: others were disturbed
RUNS_KEPT = 3
TEXTS_MAX = 1024
#: texts whose times are compared with what was expected of them: the fewest and the most; the factor between the two
COMPARED, FACTOR_MAX = (3, 32), 10.0


class Experience:
    """Seconds by text of the query and by what was offloaded: `always` everything, `never` nothing, `auto` a part."""

    def __init__(self) -> None:
        self._took: OrderedDict[str, dict[str, deque[float]]] = OrderedDict()
        self._expected: OrderedDict[str, Mapping[str, float]] = OrderedDict()
        self._ratios: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def note(self, text: str, kind: str, seconds: float) -> None:
        """One run; after one that failed (infinity) nobody need try again."""
        with self._lock:
            times = self._took.setdefault(text, {}).setdefault(kind, deque(maxlen=RUNS_KEPT))
            times.extend([seconds] * (SETTLED_RUNS if math.isinf(seconds) else 1))
            _keep(self._took, text)
            expected = self._expected.get(text, {}).get(kind, 0.0)
            if expected > 0.0 and not math.isinf(seconds):
                self._ratios.setdefault(kind, deque(maxlen=COMPARED[1])).append(seconds / expected)

    def expect(self, text: str, seconds: Mapping[str, float]) -> None:
        """Compare the text's next times with these, by kind."""
        with self._lock:
            self._expected[text] = seconds
            _keep(self._expected, text)

    def factor(self, kind: str) -> float:
        """How many times the expected seconds such runs take here, as those before did; 1 if few are known."""
        with self._lock:
            ratios = self._ratios.get(kind, ())
            if len(ratios) < COMPARED[0]:
                return 1.0
            return min(FACTOR_MAX, max(1 / FACTOR_MAX, statistics.median(ratios)))

    def settled(self, text: str) -> dict[str, float]:
        """Seconds of the kinds that ran often enough to be judged."""
        with self._lock:
            kinds = self._took.get(text, {})
            return {kind: min(times) for kind, times in kinds.items() if len(times) >= SETTLED_RUNS}

    def seen(self, text: str) -> dict[str, float]:
        """Seconds that the next run of each kind is taken to need, of the kinds that ran."""
        with self._lock:
            kinds = self._took.get(text, {})
            return {k: min(t) * (1.0 if len(t) >= SETTLED_RUNS else FIRST_SHARE) for k, t in kinds.items()}

    def forget_expected(self) -> None:
        """Other things are expected now."""
        with self._lock:
            self._expected.clear()
            self._ratios.clear()

    def forget(self) -> None:
        """The tables are others now."""
        with self._lock:
            self._took.clear()
            self._expected.clear()


def _keep(known: OrderedDict[str, Any], text: str) -> None:
    """Keeps the texts that were used last."""
    known.move_to_end(text)
    if len(known) > TEXTS_MAX:
        known.popitem(last=False)
