"""The page of functions, docs/functions.md, from their declarations.

python -m jumpgate.dataflow.describe > docs/functions.md
"""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.dataflow.aggregate import AggregateFunction
from jumpgate.dataflow.aggregates import AGGREGATES
from jumpgate.dataflow.dialect import CHOICES
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.functions import SECTIONS

_INTRODUCTION = """\
# Functions

What a dataflow may call (`jumpgate.client.f`), computed by every accelerator as it stands here. Unless a line says
otherwise NULL comes out where NULL goes in, text is UTF-8 and counted in code points, NaN equals itself and is the
largest number, and 0 equals -0. What SQL says about them is in [sql.md](sql.md).
This page is made from the code: `./dev golden --update-golden`."""
_SQL = """\
## In SQL

A function of SQL means what DuckDB means by it, and is offloaded only where it is one of these with the same value for
every argument. [DuckDB](duckdb.md#what-is-offloaded) lists them. Everything else stays in DuckDB, and `explain` says
why.

Where DuckDB answers with a value that no type here holds, an accelerator fails with a typed error, and DuckDB answers.
Examples are integers that overflow, dates beyond the years 1 to 9999, and texts that `repeat`, `replace`, `lpad`,
`rpad` or `translate` make longer than 256 MiB."""


def page() -> str:
    """Return the whole text."""
    parts = (
        _INTRODUCTION,
        *(_section(title, functions) for title, functions in SECTIONS.items()),
        _table("Aggregates", ("function", "value"), map(_aggregate, AGGREGATES.values())),
        _SQL,
        _table("Choices of a dialect", ("choice", "one of"), ((f"`{c}`", ", ".join(v)) for c, v in CHOICES.items())),
    )
    return "\n\n".join(parts) + "\n"


def _aggregate(function: AggregateFunction) -> tuple[str, str]:
    """
    >>> _aggregate(AGGREGATES["string_agg_distinct"])
    ('`string_agg_distinct(a, string, order by …)`', 'string_agg of the values that differ')
    """
    parts = ["a", "b"][: function.arity] if function.arity < 2 else ["y", "x"]
    parts += [o.name for o in function.options] + ["order by …"] * function.ordered
    return f"`{function.name}({', '.join(parts)})`", function.doc


def _section(title: str, functions: Iterable[Function]) -> str:
    return _table(title, ("function", "value"), ((f"`{_signature(f)}`", f.doc) for f in functions if not f.internal))


def _signature(function: Function) -> str:
    """
    >>> from jumpgate.dataflow.functions import BUILT_IN
    >>> _signature(BUILT_IN["round"]), _signature(BUILT_IN["coalesce"])
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
