"""FULL JOIN … USING, of whose columns DataFusion takes those of the left side alone, NULL for rows of the right side.

It is written as ON, the columns as coalesce of both sides wherever they stand without a table's name. What cannot be
written so stays, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jumpgate.client.sql.levels import QUERIES, pairs_of
from jumpgate.client.sql.rewriting import Change, changed
from jumpgate.client.sql.tokens import Token, parts_of, unquoted

#: what ends FROM, and what ends a query of a set operation
_AFTER_FROM = frozenset({"WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "OFFSET", "FETCH", ";"})
_SETS = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_ITEMS = frozenset({"SELECT", "DISTINCT", "ALL", ","})
_JOINS = frozenset({"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "JOIN"})


def expand(text: str) -> str:
    """The text without FULL JOIN … USING, but for those that cannot be written in another way."""
    if "FULL" not in text.upper():
        return text
    parts, words = parts_of(text)
    pairs = pairs_of(words)
    changes: list[Change] = []
    for index, word in enumerate(words):
        if word == "SELECT":
            changes += _Query(parts, words, pairs, index).changes()
    return changed(text, changes).text


@dataclass
class _Sources:
    """The tables of one FROM by the names that they have, and the columns by which they are joined, in lower case: how
    each is written, what it is, and the tables that have it, in their order."""

    tables: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    owners: dict[str, list[str]] = field(default_factory=dict)


class _Query:
    """One SELECT, whose word is at `start`."""

    def __init__(self, parts: Sequence[Token], words: Sequence[str], pairs: dict[int, int], start: int) -> None:
        self._parts, self._words, self._pairs, self._start = parts, words, pairs, start
        self._level = list(self._on_level())
        self._sources = _Sources()

    def changes(self) -> list[Change]:
        at = [i for i in self._level if self._words[i] == "FROM" and self._words[i - 1] != "DISTINCT"]
        if not at:
            return []
        clause = [i for i in self._level if i > at[0]]
        clause = clause[: next((n for n, i in enumerate(clause) if self._words[i] in _AFTER_FROM), len(clause))]
        said = [self._words[i] for i in clause]
        if "FULL" not in said or "USING" not in said or {"NATURAL", ",", "SEMI", "ANTI", "LATERAL"} & {*said}:
            return []
        conditions = self._conditions(clause)
        if conditions is None:
            return []
        outside = [i for i in self._level if i < at[0] or i > clause[-1]]
        named = {unquoted(self._parts[i]).lower() for i in outside if i < at[0] and self._words[i - 1] == "AS"}
        order = next((n for n, i in enumerate(outside) if self._words[i] == "ORDER"), len(outside))
        found = [*conditions, *self._references(outside[:order], at[0])]
        for key in named:  # in ORDER BY, the name of what is selected comes first
            self._sources.merged.pop(key, None)
        return [*found, *self._references(outside[order:], at[0])]

    def _on_level(self) -> Iterator[int]:
        """The words of the query, but for what is in parentheses; each of these once, by its beginning."""
        before = self._words[self._start - 1] if self._start else ""
        index, is_last = self._start, before in _SETS | {"ALL", "DISTINCT"}
        while index < len(self._words):
            word = self._words[index]
            if self._pairs.get(index, index) < index or (is_last and word == "ORDER"):
                return
            if word in _SETS and self._words[index - 1] != "*":
                return
            yield index
            index = self._pairs.get(index, index) + 1

    def _conditions(self, clause: Sequence[int]) -> list[Change] | None:
        """USING as ON, from the first join to the last; None where a table has no name or a column no known owner."""
        found: list[Change] = []
        kind = ""
        places = iter(range(len(clause)))
        for n in places:
            word = self._words[clause[n]]
            if word in _JOINS:
                kind = word if word in ("LEFT", "RIGHT", "FULL", "INNER", "CROSS") else kind
                continue
            if word == "ON":
                while n + 1 < len(clause) and self._words[clause[n + 1]] not in _JOINS | {"USING"}:
                    n = next(places)
                kind = ""
                continue
            if word == "USING":
                written = self._condition(clause[n + 1], kind)
                if written is None:
                    return None
                start, end = self._parts[clause[n]].start, self._parts[self._pairs[clause[n + 1]]].end
                found.append((start, end, f"ON {written}"))
                next(places, None)
                kind = ""
                continue
            name = self._parts[clause[n]].text
            while n + 1 < len(clause) and self._words[clause[n + 1]] not in _JOINS | {"ON", "USING"}:
                n = next(places)
                if self._parts[clause[n]].kind in ("word", "name"):
                    name = self._parts[clause[n]].text
            if name == "(":
                return None
            self._sources.tables.append(name)
        return found

    def _condition(self, opening: int, kind: str) -> str | None:
        *before, table = self._sources.tables
        terms = []
        for index in range(opening + 1, self._pairs[opening]):
            if self._words[index] == ",":
                continue
            column = self._parts[index].text
            key = unquoted(self._parts[index]).lower()
            if key not in self._sources.merged:
                if len(before) != 1:
                    return None
                self._sources.columns[key] = column
                self._sources.merged[key] = f"{before[0]}.{column}"
                self._sources.owners[key] = [before[0]]
            left, right = self._sources.merged[key], f"{table}.{column}"
            terms.append(f"{left} = {right}")
            self._sources.owners[key].append(table)
            self._sources.merged[key] = {"FULL": f"coalesce({left}, {right})", "RIGHT": right}.get(kind, left)
        return f"({' AND '.join(terms)})"

    def _references(self, level: Sequence[int], end: int) -> Iterator[Change]:
        """end: of the list of what is selected."""
        for index in level:
            token, before = self._parts[index], self._words[index - 1]
            after = self._words[index + 1] if index + 1 < len(self._words) else ""
            if self._pairs.get(index, index) > index and after not in QUERIES:
                yield from self._references(list(self._inside(index)), index)
            is_item = index < end and before in _ITEMS and after in (",", "FROM")
            if token.text == "*" and is_item:
                yield token.start, token.end, self._all()
            if token.kind not in ("word", "name") or before in (".", "AS") or after in (".", "("):
                continue
            if (written := self._sources.merged.get(unquoted(token).lower())) is not None:
                yield token.start, token.end, f"{written} AS {token.text}" if is_item else written

    def _inside(self, opening: int) -> Iterator[int]:
        index = opening + 1
        while index < self._pairs[opening]:
            yield index
            index = self._pairs.get(index, index) + 1

    def _all(self) -> str:
        """Return the columns that `*` stands for."""
        found = []
        for table in self._sources.tables:
            own = [key for key, owners in self._sources.owners.items() if owners[0] == table]
            others = [key for key, owners in self._sources.owners.items() if table in owners[1:]]
            excluded = f" EXCEPT ({', '.join(self._sources.columns[key] for key in others)})" if others else ""
            replaced = ", ".join(f"{self._sources.merged[key]} AS {self._sources.columns[key]}" for key in own)
            found.append(f"{table}.*{excluded}" + (f" REPLACE ({replaced})" if replaced else ""))
        return ", ".join(found)
