"""Devices that turned out to be too small for a request: an equal one is planned without them for a while, so that it
need not fail first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from jumpgate.dataflow.request import Request
from jumpgate.errors import CapacityExceeded
from jumpgate.service.plans import Key, key_of

#: how long a device is left out: what it holds for others, or its files, may change
FULL_S = 300.0
#: requests that are remembered, by job and for what was too much
REQUESTS_MAX = 1000


class FullDevices:
    """Thread-safe."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, Key] = OrderedDict()
        self._full: OrderedDict[Key, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def left_out(self, request: Request) -> Request:
        """Return the request without the devices that were full for it."""
        now = time.monotonic()
        with self._lock:
            while self._full and (found := self._full.get(key_of(request))) is not None:
                device, until = found
                if until < now or device in request.options.without:
                    break
                request = request.without(device)
        return request

    def submitted(self, job: str, request: Request) -> None:
        """Note that a job runs the request."""
        with self._lock:
            self._asked[job] = key_of(request)
            if len(self._asked) > REQUESTS_MAX:
                self._asked.popitem(last=False)

    def failed(self, job: str, error: CapacityExceeded) -> None:
        """The job found a device full, whose name the error says."""
        device = error.fields.get("device")
        with self._lock:
            asked = self._asked.get(job)
            if asked is None or device is None:
                return
            self._full[asked] = str(device), time.monotonic() + FULL_S
            if len(self._full) > REQUESTS_MAX:
                self._full.popitem(last=False)
