"""The links to stores: as `[[store]]` says, else as requests of this process have shown, else as assumed."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque

from jumpgate.stores import settings

#: requests of a bucket or server that are remembered, and these
REMEMBERED, PLACES_MAX = 16, 256
#: of a link that nothing is known of
BITS_PER_S = 1e10

_seen: OrderedDict[str, deque[float]] = OrderedDict()
_lock = threading.Lock()


def note(name: str, seconds: float) -> None:
    """Remember how long a small answer about an object took."""
    with _lock:
        _seen.setdefault(_place(name), deque(maxlen=REMEMBERED)).append(seconds)
        _seen.move_to_end(_place(name))
        while len(_seen) > PLACES_MAX:
            _seen.popitem(last=False)


def of(name: str) -> float | None:
    """Return the seconds of a request to the store of an object; None if none has been made."""
    with _lock:
        found = _seen.get(_place(name))
        return min(found) if found else None


def link(name: str) -> tuple[float, float]:
    """Return the seconds of a request to the store of an object, and the bytes a second of the way from there."""
    store = settings.store_of(name)
    return store.latency_ms / 1000 or of(name) or 0.0, (store.bits_per_s or BITS_PER_S) / 8


def _place(name: str) -> str:
    return "/".join(name.split("/")[:3])
