"""How long queries took with and without accelerators: what `offload = auto` knows better than any estimate."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque

#: runs after which a time counts: the first one may have compiled, and read from cold files
SETTLED_RUNS = 2
#: the fastest of so many last runs counts: others were disturbed
RUNS_KEPT = 3
TEXTS_MAX = 1024


class Experience:
    """Seconds by text of the query and by what was offloaded: `always` everything, `never` nothing, `auto` a part."""

    def __init__(self) -> None:
        self._took: OrderedDict[str, dict[str, deque[float]]] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, text: str, kind: str, seconds: float) -> None:
        """One run; after one that failed (infinity) nobody need try again."""
        with self._lock:
            times = self._took.setdefault(text, {}).setdefault(kind, deque(maxlen=RUNS_KEPT))
            times.extend([seconds] * (SETTLED_RUNS if math.isinf(seconds) else 1))
            self._took.move_to_end(text)
            if len(self._took) > TEXTS_MAX:
                self._took.popitem(last=False)

    def settled(self, text: str) -> dict[str, float]:
        """Seconds of the kinds that ran often enough to be judged."""
        with self._lock:
            kinds = self._took.get(text, {})
            return {kind: min(times) for kind, times in kinds.items() if len(times) >= SETTLED_RUNS}

    def forget(self) -> None:
        """The tables are others now."""
        with self._lock:
            self._took.clear()
