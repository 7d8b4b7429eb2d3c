"""Asks one connection random queries about the tables of support.awkward in every format, and checks the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from jumpgate.dataflow.formats import formats
from jumpgate.errors import JumpgateError
from tests.support import awkward, random_sql
from tests.support.alike import unlike
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
    """Registers the tables as t_json, u_json, t_csv …; `asked` counts texts, of a shape those that differ, `answered`
    those that DuckDB answers, and `offloaded` those of them that run as jobs."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self._connection = connection
        self._judge = duckdb.connect()
        self._judge.execute("SET TimeZone = 'UTC'")
        self._answers: dict[str, pa.Table | None] = {}  # to the shape's texts so far
        self.asked = self.answered = self.offloaded = 0
        for format in formats():
            for name in awkward.ROWS:
                data, source = awkward.write(name, folder, format)
                self._judge.register("given", data)
                self._judge.execute(f"CREATE TABLE {name}_{format} AS FROM given")
                connection.register(f"{name}_{format}", source.data, **source.options)

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
        """Yield roads on which a text has another answer than in DuckDB, and the problem; keep the answer of `always`.
        roads: run these beside that one, instead of some in turn."""
        named = _named(text, format)
        self._answers[text] = None
        self.asked += 1
        if not roads:
            roads = [road for road, each in OTHER_ROADS.items() if self.asked % each == 0]
        try:
            expected = self._judge.execute(named).to_arrow_table()
        except duckdb.Error:
            expected = None
        self.answered += expected is not None
        for road in ("always", *roads):
            found, wrong = self._answer(named, road, expected)
            if road == "always":
                self._answers[text] = found
            if wrong:
                yield road, wrong

    def _answer(self, text: str, road: str, expected: pa.Table | None) -> tuple[pa.Table | None, str]:
        """Return the answer, None if there is none, and its problem."""
        try:
            with self._connection.sql(text, offload=road) as query:
                found = query.to_arrow()
                self.offloaded += road == "always" and bool(query.split.cuts)
        except JumpgateError as error:
            return None, "" if expected is None else f"{type(error).__name__}: {error}"
        if expected is None:
            return found, "DuckDB has an error"
        return found, unlike(found, expected)


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
