"""Plans of requests that were seen before: what is asked again is not planned again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import NamedTuple

from jumpgate.compiler.explain import edges_data
from jumpgate.converters import probe
from jumpgate.dataflow.file_state import digest, file_states, settle
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.request import Request, RunOptions
from jumpgate.errors import FileUnreadable
from jumpgate.nca.interface import JobPlan
from jumpgate.service import calibration, segments
from jumpgate.stores import credentials, indexes

PLANS_MAX = 256
#: a larger request is not remembered: it is compared byte by byte
REQUEST_BYTES_MAX = 1 << 20
#: what a plan depends on, see key_of
Key = tuple[tuple[bool, bytes], RunOptions, frozenset[str], int, int, str]


class _Kept(NamedTuple):
    """A plan, what was found in files, a digest of these, where they hold little, and what the disk had of objects."""

    plan: JobPlan
    findings: probe.Findings
    content: bytes | None
    on_disk: segments.Kept


class Plans:
    """The plans used last, by request. One is of no use when files that it reads have changed, and what was found in
    them when it was chosen is no longer found there."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self.found = self.missed = 0  #: how often

    def find(self, request: Request, lost: frozenset[str]) -> JobPlan | None:
        """The plan of an equal request while the same hosts were lost, with this one's endpoints."""
        found = self._find(request, lost)
        with self._lock:
            if found is None:
                self.missed += 1
            else:
                self.found += 1
        return found

    def _find(self, request: Request, lost: frozenset[str]) -> JobPlan | None:
        key = key_of(request, lost)
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            plan, findings, content, on_disk = self._kept[key]
        try:
            states = file_states(plan.files)
            if segments.kept(plan.files) != on_disk:
                return None
        except FileUnreadable:
            return None
        if states != plan.files:
            settle(states)  # before a look at what they hold: a later change shows
            now = None if content is None else digest(states)
            if (now is None or now != content) and not probe.still_hold(findings, states):
                return None
            plan = replace(plan, files=states)
            self._keep(key, _Kept(plan, findings, now, on_disk))
        return delivering(plan, request.endpoints)

    def keep(self, request: Request, lost: frozenset[str], plan: JobPlan, findings: probe.Findings) -> None:
        """Remembers what was planned, and by what, unless it reads a file that cannot be seen from here."""
        if len(request.flow.key[1]) > REQUEST_BYTES_MAX:
            return
        files = {file for i in plan.instances for o in i.root.walk() if isinstance(o, Read) for file in o.files}
        if files <= plan.files.keys():
            is_all = probe.files_of(findings) <= plan.files.keys()
            content = digest(plan.files) if is_all else None
            self._keep(key_of(request, lost), _Kept(plan, findings, content, segments.kept(plan.files)))

    def _keep(self, key: Key, kept: _Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            if len(self._kept) > PLANS_MAX:
                self._kept.popitem(last=False)


def key_of(request: Request, lost: frozenset[str] = frozenset()) -> Key:
    """Return the part of a request that its plan depends on: its flow, in which endpoints are only counted, and its
    options but for time limits; the hosts that are lost, measured speeds, and indexes; and with whose rights it reads
    stores, as a plan tells what is in them."""
    options = replace(request.options, timeout_ms=0, stall_timeout_ms=0)
    owner = credentials.key_of(request.credentials)
    return request.flow.key, options, lost, calibration.stamp(), indexes.stamp(), owner


def delivering(plan: JobPlan, endpoints: tuple[str, ...]) -> JobPlan:
    """Return the plan with these endpoints of its result."""
    edges = tuple(replace(e, endpoints=endpoints) if e.id == plan.result else e for e in plan.edges)
    return replace(plan, edges=edges, explain={**plan.explain, "edges": edges_data(edges, plan.figures)})
