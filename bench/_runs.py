"""Runs of queries by an engine alone and with its plugin, appended to a file as they end: runs in the file are not
repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench._measure import counted, remark

#: a number, or the name of a suite and a number
Query = Any


@dataclass(frozen=True)
class Run:
    """A query from a format. `error`: why a way has no answer; seconds are those of the ways that have one."""

    query: Query
    format: str
    seconds: dict[str, float] = field(default_factory=dict)
    right: bool = False
    offloaded: int = 0
    operators: int = 0
    error: str = ""

    def ratio(self, way: str) -> float:
        """The engine alone ÷ a way; a way that has no answer took for ever."""
        return self.seconds["never"] / self.seconds[way] if way in self.seconds else 0.0

    def __str__(self) -> str:
        took = ", ".join(f"{way} {seconds:.3f} s" for way, seconds in self.seconds.items())
        verdict = self.error.partition("\n")[0] or ("right" if self.right else "ANOTHER ANSWER")
        return (
            f"query {self.query} from {self.format}: {took}; {self.offloaded} of {self.operators} operators; {verdict}"
        )


class Journal:
    """Runs in a file, one JSON object a line."""

    def __init__(self, file: Path) -> None:
        self.file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.runs = {(run.query, run.format): run for run in (Run(**json.loads(line)) for line in lines)}

    def add(self, run: Run) -> None:
        self.runs[run.query, run.format] = run
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as out:
            out.write(json.dumps(asdict(run)) + "\n")


class Runner(Protocol):
    """Asks an engine."""

    def run(self, query: Query, format: str, text: str) -> Run: ...


def made(
    journal: Journal, wanted: Mapping[tuple[Query, str], str], runner: Callable[[], AbstractContextManager[Runner]]
) -> list[Run]:
    """Runs by query and format, whose texts are given; those that the journal has not are made."""
    missing = [key for key in wanted if key not in journal.runs]
    if missing:
        with runner() as asked:
            for query, format in counted(missing, "runs"):
                run = asked.run(query, format, wanted[query, format])
                remark(str(run))
                journal.add(run)
    return [journal.runs[key] for key in wanted]
