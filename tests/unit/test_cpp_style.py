"""The style of C++ that no formatter holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from test_tidy import ROOT

#: constants of classes and functions, and constants of namespaces; what C declares has other names
CONSTANTS = (
    re.compile(r"\bconstexpr\s[^;{()]*?[\s*&](\w+)\s*(?:\[[^\]]*\])*\s*(?:=(?!=)|\{)"),
    re.compile(r"^(?:(?:inline|static|extern)\s+)*const\s[^;={(]*?[\s*&](\w+)\s*(?:\[[^\]]*\])*\s*(?:=|\{)", re.M),
)
CONSTANT = re.compile(r"k[A-Z][A-Za-z0-9]*|jg_\w+")


def sources() -> Iterator[tuple[Path, str]]:
    for folder in ("ncas", "converters", "p4", "jumpgate"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".cpp", ".h"):
                yield path.relative_to(ROOT), re.sub(r"//[^\n]*", "", path.read_text())


def test_constants_are_named_alike() -> None:
    others = [
        f"{path}: {name}"
        for path, text in sources()
        for pattern in CONSTANTS
        for name in pattern.findall(text)
        if not CONSTANT.fullmatch(name)
    ]
    assert not others, f"constants are named kLikeThis: {others}"


def test_no_function_is_exempt_from_the_limit_of_complexity() -> None:
    assert not [path for path, _ in sources() if "lizard forgives" in (ROOT / path).read_text()]


def test_state_tables_do_not_ask_of_which_kind_they_are() -> None:
    """Each kind is a class over RowStore, which a program names."""
    kinds = re.compile(r"\bkind_?\b|Kind::|dynamic_cast")
    tables = ROOT / "ncas" / "runtime" / "src" / "tables"
    assert not [path.name for path in sorted(tables.iterdir()) if kinds.search(path.read_text())]
