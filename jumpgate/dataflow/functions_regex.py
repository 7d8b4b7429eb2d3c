"""Functions of regular expressions: patterns are literals, their syntax and meaning Rust's (regex/syntax.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions_text import bounded
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.regex.automaton import finder, matcher
from jumpgate.dataflow.regex.reference import compiled
from jumpgate.dataflow.signatures import all_of, always
from jumpgate.dataflow.types import DataType, bool_, int64, string


def _matches(text: str, pattern: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of matches that do not overlap; an empty one does not follow another at once."""
    at, last = 0, -1
    while at <= len(text) and (match := compiled(pattern).search(text, at)):
        begin, end = match.span()
        if begin == end == last:
            at, last = at + 1, -1
        else:
            yield begin, end
            at = last = end


def _like(site: Site, text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _count(site: Site, text: str, pattern: str) -> int:
    return sum(1 for _ in _matches(text, pattern))


def _position(site: Site, text: str, pattern: str) -> int:
    return next((begin + 1 for begin, _ in _matches(text, pattern)), 0)


def _extract(site: Site, text: str, pattern: str) -> str:
    begin, end = next(_matches(text, pattern), (0, 0))
    return text[begin:end]


def _replace(site: Site, text: str, pattern: str, by: str) -> str:
    begin, end = next(_matches(text, pattern), (0, -1))
    return text if end < 0 else bounded(text[:begin] + by + text[end:])


def _replace_all(site: Site, text: str, pattern: str, by: str) -> str:
    found, at = "", 0
    for begin, end in _matches(text, pattern):
        found += text[at:begin] + by
        at = end
    return bounded(found + text[at:])


def _declared(
    name: str,
    doc: str,
    arguments: int,
    result: DataType,
    body: Callable[..., Value],
    automaton: Callable[[str], bytes],
    cpp: str,
    fails: bool = False,
) -> Function:
    def encode(pattern: Value) -> bytes:
        return automaton(str(pattern))

    return Function(name, doc, (arguments, arguments), all_of(string), always(result), body, cpp=cpp, fails=fails,
                    literals=(1,), literal_rule=encode, encode=encode, selectivity=0.1)  # fmt: skip


REGEX = (
    _declared("regexp_like", "whether a match of the pattern b is anywhere in a", 2, bool_, _like, matcher,
              "(uint8_t)jg_regexp_like({0}, {1})"),
    _declared("regexp_count", "how many matches of the pattern b are in a that do not overlap", 2, int64, _count,
              finder, "jg_regexp_count({0}, {1})"),
    _declared("regexp_position", "where in a the first match of the pattern b begins, from 1; 0: nowhere", 2, int64,
              _position, finder, "jg_regexp_position({0}, {1})"),
    _declared("regexp_extract", "the first match of the pattern b in a; empty where there is none", 2, string, _extract,
              finder, "jg_regexp_extract({0}, {1})"),
    _declared("regexp_replace", "a with its first match of the pattern b replaced by c", 3, string, _replace, finder,
              "jg_regexp_replace(t, {0}, {1}, {2}, &{out})", fails=True),
    _declared("regexp_replace_all", "a with every match of the pattern b (none overlap) replaced by c", 3, string,
              _replace_all, finder, "jg_regexp_replace_all(t, {0}, {1}, {2}, &{out})", fails=True),
)  # fmt: skip
