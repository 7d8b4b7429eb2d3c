"""DuckDB's functions of text as Jumpgate's, regular expressions among them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jumpgate.client.duckdb.functions import Rule, Site, is_ascii, only_if, whole
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.types import string

_TEXT = "VARCHAR"
#: of a result whose length a constant determines
COUNT_MAX = 1 << 20
#: patterns that RE2 and Jumpgate read alike: no escapes but of signs, no flags, no named or nested classes, no
#: classes of Unicode's
_PATTERN = re.compile(r"(?:[\w .*+?|()^$,:;=@#%/<>!'\"\[\]-]|\\[.*+?|()^$\[\]{}/-])+", re.ASCII)
_UNLIKE = re.compile(r"\(\?|\[[^]]*\[|\[\]|\[\^\]|--|[*+?]{2}|\^[*+?]|\$[*+?]")


def _text(value: Expression) -> str | None:
    """The text of a literal."""
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def _number(value: Expression) -> int | None:
    found = value.value if isinstance(value, Literal) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _check(site: Site, *ids: str) -> None:
    if tuple(type.id for type in site.types) != ids:
        raise site.refuse()


def _with_count(function: str, least: int, *more: str) -> Rule:
    """Return the rule of a text and a constant number, not below `least`, and constant texts that are not empty."""

    def rule(site: Site) -> Expression:
        _check(site, _TEXT, site.types[1].id if len(site.types) > 1 else "", *more)
        count = _number(site.args[1])
        if count is None or not least <= count <= COUNT_MAX or not all(map(_text, site.args[2:])):
            raise site.refuse()
        return bind(function, (site.args[0], whole(count), *site.args[2:]))

    return rule


def _position(site: Site) -> Expression:
    _check(site, _TEXT, _TEXT)
    if not _text(site.args[1]):
        raise site.refuse()
    return bind("position", site.args)


def _of_ascii(function: str, texts: int = 0) -> Rule:
    """Return the rule of a function that is the same for texts of ASCII, with so many constant texts of ASCII."""

    def rule(site: Site) -> Expression:
        _check(site, *[_TEXT] * (1 + texts))
        if any((said := _text(a)) is None or not said.isascii() for a in site.args[1:]):
            raise site.refuse()
        found = bind(function, site.args)
        return only_if(is_ascii(site.args[0]), found, f"{site.name} of a text beyond ASCII")

    return rule


def _pattern(site: Site) -> str:
    found = _text(site.args[1])
    if found is None or not _PATTERN.fullmatch(found) or _UNLIKE.search(found):
        raise site.refuse()
    return found


def _literal(text: str) -> Literal:
    return Literal(string.with_nullable(False), text)


def _matches(site: Site) -> Expression:
    _check(site, _TEXT, _TEXT)
    return bind("regexp_like", (site.args[0], _literal(_pattern(site))))


def _full_match(site: Site) -> Expression:
    _check(site, _TEXT, _TEXT)
    return bind("regexp_like", (site.args[0], _literal(f"^(?:{_pattern(site)})$")))


def _extracted(site: Site) -> Expression:
    _check(site, _TEXT, _TEXT)
    return bind("regexp_extract", (site.args[0], _literal(_pattern(site))))


def _replaced(site: Site) -> Expression:
    """Replace matches of patterns without groups that are never empty, by a constant text without references."""
    _check(site, _TEXT, _TEXT, _TEXT, *[_TEXT] * (len(site.types) > 3))
    pattern, by = _pattern(site), _text(site.args[2])
    flags = _text(site.args[3]) if len(site.args) > 3 else ""
    if by is None or set(by) & set("\\$") or "(" in pattern or flags not in ("", "g") or re.search(pattern, "\n"):
        raise site.refuse()
    if re.search(pattern, ""):
        raise site.refuse()
    function = "regexp_replace_all" if flags else "regexp_replace"
    return bind(function, (site.args[0], _literal(pattern), site.args[2]))


RULES: Mapping[str, Rule] = {
    "right": _with_count("right", 0), "repeat": _with_count("repeat", 0),
    "lpad": _with_count("lpad", 0, _TEXT), "rpad": _with_count("rpad", 0, _TEXT),
    "instr": _position, "strpos": _position, "position": _position,
    "reverse": _of_ascii("reverse"), "ascii": _of_ascii("ascii"), "translate": _of_ascii("translate", 2),
    "regexp_matches": _matches, "regexp_full_match": _full_match, "regexp_extract": _extracted,
    "regexp_replace": _replaced,
}  # fmt: skip
