"""Runs sqllogictest files in worker processes, so that a hang or a crash ends one query only, and counts outcomes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from jumpgate.codegen import toolchain
from tests.support import sqllogic, suites
from tests.support.sqllogic_worker import FILE_PARTS, REFERENCE, ROADS, Outcome, serve

QUERY_S = 20.0
#: verdicts of answers that are wrong
WRONG = ("differs", "error", "hang", "crash")
#: how long a worker may take to start
START_S = 120.0


class Worker:
    """A process that runs queries; started when needed, and again after it was killed.

    query_s: how long one query may take on one road.
    """

    def __init__(self, query_s: float = QUERY_S) -> None:
        self._query_s = query_s
        self._process: multiprocessing.process.BaseProcess | None = None

    def run(self, path: Path, chosen: set[int]) -> Iterator[Outcome]:
        """All outcomes of a file's chosen records; raises RuntimeError if not even the first one begins."""
        path = path.absolute()
        if not chosen:
            return
        since = (0, REFERENCE)
        while since is not None:
            if self._process is None:
                self._start()
            self._pipe.send((path, chosen, since))
            at, died = since, ""
            while True:
                try:
                    if not self._pipe.poll(self._query_s + (START_S if at == since else 0)):
                        died = "hang"
                        break
                    event = self._pipe.recv()
                except (EOFError, OSError):
                    died = "crash"
                    break
                if event is None:
                    return
                if isinstance(event, Outcome):
                    yield event
                else:
                    at = event
            self.close()
            number, road = at
            if number < min(chosen):
                raise RuntimeError(f"{path}: {died} before the first query")
            yield self._dead(path, number, road, died)
            since = (number + 1, REFERENCE) if road in (REFERENCE, len(ROADS) - 1) else (number, road + 1)

    def close(self) -> None:
        """Kills the process and its children."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid or 0, signal.SIGKILL)
            self._process.join()
            self._pipe.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=False)
        self._process.start()
        theirs.close()

    def _dead(self, path: Path, number: int, road: int, verdict: str) -> Outcome:
        record = next(r for i, r in enumerate(suites.records(path)) if i == number)
        place = ("/".join(path.parts[-FILE_PARTS:]), record.line, record.text)
        if road == REFERENCE:
            return Outcome(*place, "duckdb", "unanswered", verdict)
        where, offload = ROADS[road]
        return Outcome(*place, f"{where}, {offload}", verdict, files=where == "files")


@dataclass(frozen=True)
class Summary:
    """Counts of queries: answered by DuckDB at all, and of these the same on all roads, offloaded, over files."""

    answered: int
    same: int
    over_files: int
    offloaded: int
    verdicts: Mapping[str, int]
    wrong: tuple[Outcome, ...]

    @property
    def share_same(self) -> float:
        return self.same / max(1, self.answered)

    @property
    def share_offloaded(self) -> float:
        return self.offloaded / max(1, self.over_files)


def summary(outcomes: Iterable[Outcome]) -> Summary:
    """A query is the same if no road gave anything else; one whose text leaves its answer open is not counted."""
    queries: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
    verdicts: Counter[str] = Counter()
    for outcome in outcomes:
        queries[outcome.file, outcome.line].append(outcome)
        verdicts[outcome.verdict] += 1
    answered = same = over_files = offloaded = 0
    for roads in queries.values():
        found = {outcome.verdict for outcome in roads}
        if found & {"unanswered", "open"} and not found & set(WRONG):
            continue
        answered += 1
        same += found == {"same"}
        if any(outcome.files for outcome in roads):
            over_files += 1
            offloaded += any(outcome.offloaded and outcome.files for outcome in roads)
    wrong = tuple(o for roads in queries.values() for o in roads if o.verdict in WRONG)
    return Summary(answered, same, over_files, offloaded, verdicts, wrong)


def run(
    chosen: Mapping[Path, int], seed: int = 0, workers: int = 1, seconds_max: float = float("inf")
) -> Iterator[Outcome]:
    """Run that many queries of each file; begin no file after `seconds_max`."""
    toolchain.runtime()  # a worker that builds it would be taken for one that hangs
    queue: SimpleQueue[Outcome | None] = SimpleQueue()
    end = time.monotonic() + seconds_max
    left = iter(chosen.items())

    def work() -> None:
        worker = Worker()
        try:
            for path, count in left:  # shared: next() of a dictionary's iterator is atomic
                if time.monotonic() > end:
                    return
                records = list(suites.records(path))
                for outcome in worker.run(path, sqllogic.pick(records, count, seed, path.name)):
                    queue.put(outcome)
        finally:
            worker.close()
            queue.put(None)

    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(work) for _ in range(workers)]
        running = workers
        while running:
            outcome = queue.get()
            if outcome is None:
                running -= 1
            else:
                yield outcome
        for job in jobs:
            job.result()
