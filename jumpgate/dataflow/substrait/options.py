"""Options of Substrait's functions that Jumpgate supports.

An option lists behaviours, the preferred one first; one of them must be supported. Options not listed here are
Unmapped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from jumpgate.dataflow.substrait.types import Unmapped


class Option(Protocol):
    """Substrait's FunctionOption."""

    @property
    def name(self) -> str: ...
    @property
    def preference(self) -> Iterable[str]: ...


#: option → supported behaviours, for every function that is not in SPECIAL
OPTIONS: dict[str, tuple[str, ...]] = {
    "overflow": ("ERROR", "SILENT"),  # SILENT leaves the result open: an error is allowed
    "rounding": ("TIE_TO_EVEN",),  # for floats, as in IEEE 754
    "case_sensitivity": ("CASE_SENSITIVE",),
    "char_set": ("UTF8",),
    "null_handling": ("ACCEPT_NULLS",),
    "distribution": ("SAMPLE", "POPULATION"),
    "division_type": ("TRUNCATE",),
    "negative_start": ("WRAP_FROM_END", "LEFT_OF_BEGINNING", "ERROR"),  # starts are literals and positive
}
#: (function, option) → supported behaviours, where they differ from OPTIONS
SPECIAL: dict[tuple[str, str], tuple[str, ...]] = {
    ("round", "rounding"): ("TIE_AWAY_FROM_ZERO",),
    ("concat", "null_handling"): ("ACCEPT_NULLS", "IGNORE_NULLS"),
    ("divide", "on_division_by_zero"): ("ERROR",),
    ("modulus", "on_domain_error"): ("ERROR",),
    ("sqrt", "on_domain_error"): ("ERROR",),
}


def read_options(function: str, options: Iterable[Option]) -> dict[str, str]:
    """Return the first supported behaviour by option. Raises Unmapped if there is none."""
    found = {}
    for option in options:
        name = option.name.lower()
        known = SPECIAL.get((function, name), OPTIONS.get(name, ()))
        wanted = [p.upper() for p in option.preference]
        chosen = next((p for p in wanted if p in known), None)
        if chosen is None:
            raise Unmapped(f"{function} with {name} {' or '.join(wanted) or 'unsaid'} is not known")
        found[name] = chosen
    return found
