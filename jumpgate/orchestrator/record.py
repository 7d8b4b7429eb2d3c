"""The record of a job: what `jumpgate report` draws. One JSON file a job in the state folder, the oldest removed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpgate.errors import MalformedData, NotFound

JOBS_KEPT = 200
#: so many more may lie there until the oldest are removed all at once
JOBS_SLACK = 50
#: until the record of a job that has ended is saved
SAVE_AFTER_S = 0.2


@dataclass
class Phase:
    """A part of the set-up or a stage, in ns since the epoch.

    name: map (request to plan), agents (those that had to be started or reached), generate (programs, until the first
    compiler runs), compile (what is not cached), queue (for its turn), allocate, configure, stage N.
    """

    name: str
    start_ns: int
    end_ns: int = 0


@dataclass
class JobRecord:
    """Everything known about a job. `counters`: instance id → docs/protocol.md, "Counters"; `state`: see job.py."""

    job: str
    state: str = "submitted"
    #: what a person asked (SQL, Python), or ""
    text: str = ""
    #: of the service's configuration; "": its own user
    client: str = ""
    #: address of who submitted it, as gRPC writes it
    peer: str = ""
    submitted_ns: int = 0
    ended_ns: int = 0
    stages: int = 0
    phases: list[Phase] = field(default_factory=list)
    #: id, fragment, nca, host, threads, operators (one text each), inputs (edges), output (edge)
    instances: list[dict[str, Any]] = field(default_factory=list)
    #: id, layout, transport, partitioning, producers, consumers ([] = the client), schema (text)
    edges: list[dict[str, Any]] = field(default_factory=list)
    counters: dict[str, dict[str, Any]] = field(default_factory=dict)
    programs: int = 0  #: one for each fragment and host
    compiled: int = 0  #: of them those that no cache had
    explain: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    #: of the client's trace, as W3C's Trace Context writes it, or ""
    traceparent: str = ""

    def to_json(self) -> str:
        return json.dumps(vars(self), default=vars)

    @staticmethod
    def from_json(text: str) -> JobRecord:
        data = json.loads(text)
        data["phases"] = [Phase(**p) for p in data["phases"]]
        return JobRecord(**data)


class Recorder:
    """Saves the records of one service's jobs a moment after they have ended, several at a time: queries that follow
    each other need not share a core with what writes files. `folder` is asked when something is saved."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._unsaved: dict[str, JobRecord] = {}
        self._saving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def add(self, record: JobRecord) -> None:
        """A job that has ended."""
        self._unsaved[record.job] = record
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._save_soon())

    async def _save_soon(self) -> None:
        while self._unsaved:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), SAVE_AFTER_S)
            records = [*self._unsaved.values()]
            try:
                await asyncio.to_thread(save, records, self._folder())
            except RuntimeError:  # a process that ends has no threads to lend, before its service is closed
                save(records, self._folder())
            for record in records:
                del self._unsaved[record.job]

    def load(self, job: str) -> JobRecord:
        """As the function of that name, and what is about to be saved."""
        return self._unsaved.get(job) or load(job, self._folder())

    async def close(self) -> None:
        """Returns once all are saved."""
        self._closing.set()
        if self._saving is not None:
            await asyncio.wait([self._saving])  # if that has failed, they are still here
        if self._unsaved:
            save([*self._unsaved.values()], self._folder())
            self._unsaved.clear()


def save(records: Sequence[JobRecord], folder: Path) -> None:
    """Writes each record atomically. A full disk loses records, not jobs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for record in records:
            partial = folder / f".{record.job}.partial"
            partial.write_text(record.to_json())
            partial.rename(folder / f"{record.job}.json")
        if sum(name.endswith(".json") for name in os.listdir(folder)) > JOBS_KEPT + JOBS_SLACK:
            for old in _by_age(folder)[:-JOBS_KEPT]:
                old.unlink(missing_ok=True)
    except OSError:
        return


def load(job: str, folder: Path) -> JobRecord:
    """The record of `job`, or of the newest job for "latest". Raises NotFound, and MalformedData for a damaged one."""
    files = _by_age(folder) if folder.is_dir() else []
    for chosen in reversed(files):
        if job in ("latest", chosen.stem):
            try:
                return JobRecord.from_json(chosen.read_text())
            except FileNotFoundError:  # another service has made room
                continue
            except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise MalformedData(
                    f"the record of job {chosen.stem} cannot be read: {error}; remove {chosen}", file=str(chosen)
                ) from None
    known = f"; the newest is {files[-1].stem}" if files else "; none has run yet"
    raise NotFound(f"no record of job '{job}' in {folder}{known}", job=job)


def _by_age(folder: Path) -> list[Path]:
    """The records, the oldest first."""
    ages: dict[Path, int] = {}
    for file in folder.glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            ages[file] = file.stat().st_mtime_ns
    return sorted(ages, key=lambda file: ages[file])
