"""The page of functions, docs/functions.md, from their declarations.

python -m jumpgate.dataflow.describe > docs/functions.md
"""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.dataflow.dialect import CHOICES
from jumpgate.dataflow.functions import FUNCTIONS
from jumpgate.dataflow.functions_math import MATH
from jumpgate.dataflow.functions_text import TEXT
from jumpgate.dataflow.functions_time import TIME
from jumpgate.dataflow.operators import DISTINCT, MOMENTS
from jumpgate.dataflow.signatures import Function

_INTRODUCTION = """\
# Functions

What a dataflow may call (`jumpgate.client.f`), computed by every accelerator as it stands here. Unless a line says
otherwise NULL comes out where NULL goes in, text is UTF-8 and counted in code points, NaN equals itself and is the
largest number, and 0 equals -0. What SQL says about them is in [sql.md](sql.md).
This page is made from the code: `./dev golden --update-golden`."""
_AGGREGATES = {
    "count, count_star": "how many values are not NULL, how many rows there are",
    "sum": "exact in 128 bits; int64, decimal(38, s) or float64: what does not fit is an error",
    "avg": "float64",
    "min, max": "of any type; NaN is the largest number; of booleans they are AND and OR",
    ", ".join(MOMENTS): "float64, by Welford; `_pop` of the population, the others of a sample",
    ", ".join(DISTINCT): "of the values that differ",
}


def page() -> str:
    """The whole text."""
    known = {f.name for f in (*MATH, *TEXT, *TIME)}
    first = [f for f in FUNCTIONS.values() if f.name not in known and not f.internal]
    parts = (
        _INTRODUCTION,
        _section("Comparison, logic, arithmetic, text and dates", first),
        _section("Numbers", MATH),
        _section("Text", TEXT),
        _section("Dates and timestamps", TIME),
        _table("Aggregates", ("function", "value"), _AGGREGATES.items()),
        _table("Choices of a dialect", ("choice", "one of"), ((f"`{c}`", ", ".join(v)) for c, v in CHOICES.items())),
    )
    return "\n\n".join(parts) + "\n"


def _section(title: str, functions: Iterable[Function]) -> str:
    return _table(title, ("function", "value"), ((f"`{_signature(f)}`", f.doc) for f in functions))


def _signature(function: Function) -> str:
    """
    >>> _signature(FUNCTIONS["round"]), _signature(FUNCTIONS["coalesce"])
    ('round(a[, b])', 'coalesce(a, …)')
    """
    least, most = function.arity
    names = "abcdefgh"
    text = ", ".join(names[:least])
    if most is None:
        return f"{function.name}({text}, …)"
    return f"{function.name}({text}{''.join(f'[, {n}]' for n in names[least:most])})"


def _table(title: str, head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [" | ".join(head), "--- | ---", *(f"{a} | {b.replace('|', '&#124;')}" for a, b in rows)]
    return f"## {title}\n\n" + "\n".join(f"| {line} |" for line in lines)


if __name__ == "__main__":
    print(page(), end="")
