"""Where things are in P4 sources, and the one error type that carries all mistakes of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from jumpgate.errors import JumpgateError

PROBLEMS_MAX = 20


class Position(NamedTuple):
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(NamedTuple):
    """One mistake, with the line it is in."""

    position: Position
    message: str
    source_line: str

    def __str__(self) -> str:
        head = f"{self.position}: error: {self.message}"
        if not self.source_line:
            return head
        before = self.source_line[: self.position.column - 1]
        pad = "".join("\t" if c == "\t" else " " for c in before)
        return f"{head}\n    {self.source_line}\n    {pad}^"


class P4Error(JumpgateError):
    """A P4 program is wrong, or the hardware cannot do what it says. `problems` has all mistakes that were found."""

    code = "p4"

    def __init__(self, message: str, problems: tuple[Problem, ...] = (), **fields: object) -> None:
        super().__init__(message, **fields)
        self.problems = problems


class Mistake(Exception):
    """Inside the compiler: ends the statement or declaration at hand; Diagnostics keeps it and the run goes on."""

    def __init__(self, position: Position, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.message = message


class Consequence(Mistake):
    """Follows from a mistake that has been told, such as a name whose declaration is wrong."""


@dataclass
class Diagnostics:
    """Collects mistakes; `check` raises them together."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    found: dict[tuple[Position, str], None] = field(default_factory=dict)

    def add(self, mistake: Mistake) -> None:
        if isinstance(mistake, Consequence):
            return
        self.found.setdefault((mistake.position, mistake.message))
        if len(self.found) >= PROBLEMS_MAX:
            self.check()

    def error(self, position: Position, message: str) -> None:
        self.add(Mistake(position, message))

    def check(self) -> None:
        """Raises P4Error if anything was found, in the order of files and lines."""
        if not self.found:
            return
        problems = tuple(self._problem(position, message) for position, message in sorted(self.found))
        first = problems[0].position
        raise P4Error("\n".join(map(str, problems)), problems, file=first.file, line=first.line, column=first.column)

    def _problem(self, position: Position, message: str) -> Problem:
        lines = self.lines.get(position.file, [])
        text = lines[position.line - 1] if 0 < position.line <= len(lines) else ""
        return Problem(position, message, text)


def one_of(words: Iterable[str]) -> str:
    """`a, b or c`.

    >>> one_of(["a", "b", "c"])
    'a, b or c'
    """
    listed = list(words)
    return " or ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))
