"""Asks one connection random queries about the tables of support.awkward in every format, and checks the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError
from tests.support import awkward, random_sql
from tests.support.alike import unlike
from tests.support.datafusion_plain import Answer, Reference
from tests.support.duckdb_judge import Judge
from tests.support.extremes import as_first_values
from tests.support.random_sql import Law

if TYPE_CHECKING:
    from jumpgate.client.sql.connection import Connection

#: one of this many texts also runs with that value of `offload`
OTHER_ROADS = {"never": 4, "auto": 8}


@dataclass(frozen=True)
class Failure:
    """An answer that cannot be right. seed and number make the text again (random_sql.law)."""

    seed: int
    number: int
    format: str
    text: str
    road: str
    wrong: str

    def __str__(self) -> str:
        return f"{self.text}\n  {self.format}, {self.road}, law({self.seed}, {self.number}): {self.wrong}"


class Trial:
    """Registers the tables as t_json, u_json, t_csv …; `asked` counts texts, of a shape those that differ."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self._connection = connection
        self._references: dict[str, Reference] = {}
        self._judges: dict[str, Judge] = {}
        self._answers: dict[str, pa.Table | None] = {}  # to the shape's texts so far
        self.asked = 0
        for format in formats():
            found = {}
            for name in awkward.ROWS:
                data, source = awkward.write(name, folder, format)
                found[f"{name}_{format}"] = awkward.one_zero(data)
                connection.register(f"{name}_{format}", source.data, **source.options)
            self._references[format] = Reference(found)
            self._judges[format] = Judge(found)

    def run(self, count: int, seed: int = 0, fills: int = 4) -> Iterator[Failure]:
        """Asks at least `count` texts; each shape is asked about one format, with `fills` choices of literals, which
        share its compiled programs."""
        end = self.asked + count
        while self.asked < end:
            yield from self.shape(seed, fills)
            seed += 1

    def shape(self, seed: int, fills: int) -> Iterator[Failure]:
        """Asks all texts of one shape."""
        known = tuple(formats())
        self._answers.clear()
        for number in range(fills):
            yield from self.check(seed, number, known[seed % len(known)])

    def check(self, seed: int, number: int, format: str) -> Iterator[Failure]:
        """Everything that must hold of one law."""
        law = random_sql.law(seed, number, awkward.columns(format))
        for text in law.texts:
            if text not in self._answers:
                for road, wrong in self.ask(text, format):
                    yield Failure(seed, number, format, _named(text, format), road, wrong)
        answers = [answer for text in law.texts if (answer := self._answers[text]) is not None]
        if len(answers) == len(law.texts) and (wrong := broken(law, answers)):
            yield Failure(seed, number, format, law.whole, "always", wrong)

    def ask(self, text: str, format: str, roads: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
        """Yield roads on which a text has a wrong answer, and the problem; keep the answer of `always`. roads: run
        these beside that one, instead of some in turn."""
        named = _named(text, format)
        self._answers[text] = None
        self.asked += 1
        if not roads:
            roads = [road for road, each in OTHER_ROADS.items() if self.asked % each == 0]
        expected = self._expected(named, format)
        for road in ("always", *roads):
            found, wrong = self._answer(named, road, format, expected)
            first = self._answers[text]
            if road == "always":
                self._answers[text] = found
            elif not wrong and found is not None and first is not None and (other := unlike(found, first)):
                wrong = f"not as always: {other}"
            if wrong:
                yield road, wrong

    def _expected(self, text: str, format: str) -> Answer | None:
        """Return plain DataFusion's answer; None if it has none."""
        try:
            return self._references[format].answer(text.replace(awkward.NEGATIVE_ZERO, "0e0"))
        except Exception:  # of Rust
            return None

    def _extremes(self, text: str, format: str, found: pa.Table) -> str | None:
        """Return the problem of `found` with max and min computed as first values; None if there are none."""
        written = as_first_values(text)
        expected = self._expected(written, format) if written != text else None
        return None if expected is None else unlike(found, expected.table, types=False)

    def _answer(self, text: str, road: str, format: str, expected: Answer | None) -> tuple[pa.Table | None, str]:
        """Return the answer, None if it is left open, and its problem. The expected answer is plain DataFusion's or, if
        it has none or a wrong one, DuckDB's, or DataFusion's without its max and min."""
        try:
            with self._connection.sql(text, offload=road) as query:
                found = query.to_arrow()
        except JumpgateError as error:
            return None, "" if expected is None else f"{type(error).__name__}: {error}"
        wrong = None if expected is None else self._references[format].difference(found, expected)
        if wrong == "":
            return found, ""
        judged = self._judges[format].difference(found, text)
        if judged is None:
            judged = self._extremes(text, format, found)
        if wrong is None:
            return (None, "") if expected is not None else (found, judged or "")
        return found, "" if judged == "" else wrong


def _named(text: str, format: str) -> str:
    return text.replace("[t]", f"t_{format}").replace("[u]", f"u_{format}")


def broken(law: Law, answers: list[pa.Table]) -> str:
    """Return how the answers to the law's texts contradict each other; empty if they do not."""
    whole, parts = answers[0], answers[1 : 1 + len(law.parts)]
    if law.exchanged and (wrong := unlike(answers[-1], whole)):
        return f"the sides of the join exchanged: {wrong}"
    if law.parts and law.adds:
        total = sum((part.column(0)[0].as_py() or 0) for part in parts)
        if (whole.column(0)[0].as_py() or 0) != total:
            return f"the parts add up to {total}, the whole is {whole.column(0)[0].as_py()}"
    elif law.parts and (wrong := unlike(pa.concat_tables(parts, promote_options="permissive"), whole)):
        return f"the parts together: {wrong}"
    return ""
