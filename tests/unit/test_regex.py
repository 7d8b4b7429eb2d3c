"""Regular expressions: what is known and refused, and that automata, Python's engine and DataFusion agree."""

from __future__ import annotations

import time
from pathlib import Path

import datafusion
import pyarrow as pa
import pytest

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.functions import BUILT_IN
from jumpgate.dataflow.functions_regex import _matches
from jumpgate.dataflow.regex import tables
from jumpgate.dataflow.regex.automaton import finder, matcher
from jumpgate.dataflow.regex.reference import compiled
from jumpgate.dataflow.regex.syntax import parse
from tests.support import regex_tables
from tests.support.regexes import Patterns, matches, spans

CALLS = "regexp_like({0}, {1}), regexp_count({0}, {1}), regexp_replace({0}, {1}, '<>', 'g'), regexp_instr({0}, {1})"


def theirs(patterns: list[str], texts: list[str]) -> list[list[tuple[object, ...]]]:
    """What DataFusion says of each pattern and text."""
    context = datafusion.SessionContext()
    context.register_record_batches("t", [[pa.RecordBatch.from_pydict({"s": texts})]])
    found = []
    for pattern in patterns:
        quoted = "'{}'".format(pattern.replace("'", "''"))
        table = context.sql(f"SELECT {CALLS.format('s', quoted)} FROM t").to_arrow_table()
        found.append(list(zip(*(c.to_pylist() for c in table.columns), strict=True)))
    return found


def replaced(text: bytes, where: list[tuple[int, int]]) -> str:
    found, at = b"", 0
    for begin, end in where:
        found += text[at:begin] + b"<>"
        at = end
    return (found + text[at:]).decode()


@pytest.mark.parametrize("seed", range(6))
def test_random_patterns(seed: int) -> None:
    random = Patterns(seed)
    texts = ["", "\n", "a", "é", *(random.text() for _ in range(60))]
    patterns = []
    while len(patterns) < 25:
        pattern = random.pattern()
        try:
            matcher(pattern), finder(pattern)
        except TypeMismatch:
            continue
        if pattern:
            patterns.append(pattern)
    for pattern, rows in zip(patterns, theirs(patterns, texts), strict=True):
        for text, (like, count, all_replaced, first) in zip(texts, rows, strict=True):
            found, data = list(spans(pattern, text)), text.encode()
            position = len(data[: found[0][0]].decode()) + 1 if found else 0
            said = (matches(pattern, text), len(found), replaced(data, found), position)
            assert said == (like, count, all_replaced, first), f"{pattern!r} in {text!r}"
            own = [tuple(len(text[:place].encode()) for place in span) for span in _matches(text, pattern)]
            assert own == found and (compiled(pattern).search(text) is not None) == like, f"{pattern!r} in {text!r}"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"\bx", r"\b is not known here"),
        (r"\p{Greek}", r"\p is not known here"),
        (r"(a)\1", r"\1 is not known here"),
        ("(?m)^a", "a group of this kind is not known here"),
        ("(?=a)", "a group of this kind is not known here"),
        ("a**?b{2,1}", "a count that descends is not known here"),
        ("a{,3}", "'{' without a count is not known here"),
        ("a{101}", "a repetition of more than 100 is not known here"),
        ("*a", "'*' after nothing is not known here"),
        ("^*", "a repeated ^ or $ is not known here"),
        ("(a", "'(' without a ')' is not known here"),
        ("a)", "')' without a '(' is not known here"),
        ("[a", "it ends too soon"),
        ("[a&&b]", "a class of classes is not known here"),
        ("[[a]b]", "a class of classes is not known here"),
        ("[z-a]", "a range that does not ascend is not known here"),
        (r"[a-\d]", "a range that does not ascend is not known here"),
        ("[[:word:]]", "the class 'word' is not known here"),
        (r"\x{110000}", "the code point 110000 is not known here"),
        (r"\ud800", "the code point d800 is not known here"),
        ("(?<1>a)", "the group's name '1' is not known here"),
        ("(?<n>a)(?<n>b)", "the group's name 'n' is not known here"),
        ("(" * 60 + "a" + ")" * 60, "nesting of more than 50 is not known here"),
    ],
)
def test_what_is_not_known_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(TypeMismatch) as raised:
        parse(pattern)
    assert str(raised.value) == f"regular expression {pattern!r}: {reason}"


@pytest.mark.parametrize("pattern", [r"\w{9}x", "(a|b)*a(a|b){60}", "(?:.{100}){100}", "((a{100}){100}){100}"])
def test_what_needs_too_much_is_refused_soon(pattern: str) -> None:
    began = time.process_time()
    for make in (matcher, finder):
        with pytest.raises(TypeMismatch, match="its automaton is too large"):
            make(pattern)
    assert time.process_time() - began < 60, "a bound of what is done, many times what it takes"


def test_a_literal_pattern_is_needed() -> None:
    assert all(f.literals == (1,) and f.encode for f in BUILT_IN.values() if f.name.startswith("regexp"))


def test_tables_are_datafusions() -> None:
    assert Path(tables.__file__).read_text(encoding="utf-8") == regex_tables.page()
