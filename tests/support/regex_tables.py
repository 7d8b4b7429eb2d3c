"""Makes jumpgate/dataflow/regex/tables.py: what Rust's regular expressions know of Unicode, asked of DataFusion.

python -m tests.support.regex_tables > jumpgate/dataflow/regex/tables.py
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable

import datafusion
import pyarrow as pa

POINTS = [i for i in range(0x110000) if not 0xD800 <= i < 0xE000]


def page() -> str:
    """The module's text."""
    context = datafusion.SessionContext()
    texts = pa.array(map(chr, POINTS))
    batch = pa.RecordBatch.from_arrays([pa.array(POINTS, pa.int32()), texts], names=["i", "s"])
    context.register_record_batches("t", [[batch]])
    parts = [
        '"""Unicode properties of code points as in Rust\'s regular expressions. Made by '
        'tests/support/regex_tables.py."""\n\n# ruff: noqa: E501\n'
    ]
    for name, escape in (("WORD", r"\w"), ("DIGIT", r"\d"), ("SPACE", r"\s")):
        found = context.sql(f"SELECT i FROM t WHERE regexp_like(s, '^{escape}$') ORDER BY i").to_arrow_table()
        text = " ".join(f"{low:x}-{high:x}" for low, high in _ranges(found.column(0).to_pylist()))
        parts.append(_constant(f"first and last code point of the ranges of {escape}", name, text))
    text = " ".join("".join(map(chr, group)) for group in _folding(context))
    parts.append(_constant("code points that are equal where case does not count", "EQUAL", text))
    return "\n".join(parts)


def _constant(comment: str, name: str, text: str) -> str:
    lines = textwrap.wrap(text, 105, break_long_words=False, break_on_hyphens=False)
    return f"#: {comment}\n{name} = (\n" + "".join(f'    "{line} "\n' for line in lines) + ")\n"


def _ranges(points: Iterable[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1] = (found[-1][0], point)
        else:
            found.append((point, point))
    return found


def _folding(context: datafusion.SessionContext) -> list[tuple[int, ...]]:
    """Return the groups of letters, related by upper and lower case, in which regular expressions match each other."""
    cased = context.sql("SELECT s, upper(s) AS u, lower(s) AS l FROM t WHERE upper(s) <> s OR lower(s) <> s")
    leader: dict[str, str] = {}

    def find(letter: str) -> str:
        while leader.setdefault(letter, letter) != letter:
            letter = leader[letter]
        return letter

    for row in cased.to_arrow_table().to_pylist():
        for other in (row["u"], row["l"], row["s"].casefold()):
            if len(other) == 1:
                leader[find(row["s"])] = find(other)
    groups = defaultdict(list)
    for letter in leader:
        groups[find(letter)].append(letter)
    pairs = [(a, b) for group in groups.values() for a in group for b in group if a < b]
    table = pa.RecordBatch.from_pydict({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    context.register_record_batches("pairs", [[table]])
    equal = context.sql("SELECT a, b FROM pairs WHERE regexp_like(b, '(?i)^' || a || '$')").to_arrow_table()
    found: dict[str, set[str]] = {}
    for row in equal.to_pylist():
        both = found.get(row["a"], {row["a"]}) | found.get(row["b"], {row["b"]})
        for letter in both:
            found[letter] = both
    return sorted({tuple(sorted(map(ord, group))) for group in found.values()})


if __name__ == "__main__":
    print(page(), end="")
