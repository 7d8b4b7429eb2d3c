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

Where a query is computed does not change a value: a function of SQL is offloaded only if it is one of these, and
stays with DataFusion otherwise. Among what stays: `initcap`, `cbrt`, patterns that are not literals,
and functions of 32-bit floats that are computed in 32 bits. So do `log` and `/` of decimals, `date_trunc` to
milliseconds, intervals of nanoseconds, `array_agg`, other `approx_*`, and first_value, last_value and string_agg
without an order.

Regular expressions (`~`, `~*` and their negations, `regexp_like`, `regexp_count`, `regexp_instr`, `regexp_replace`) are
Rust's. Offloaded are literal patterns of literals, escapes, classes, groups, alternatives, repetitions, lazy ones too,
^ and $, with the flags i and s (and g). What stays: word boundaries, \\p{…}, classes of classes, the flags m, x and U,
the captures of `regexp_match`, replacements that name groups, and SIMILAR TO. So do patterns whose automaton has more
than 131072 entries, such as sequences of several \\w.

Where DataFusion answers with a value that no type here holds, an accelerator fails with a typed error. Examples are
integers that overflow, dates beyond the years 1 to 9999, and texts that `repeat`, `replace`, `lpad`, `rpad` or
`translate` make longer than 256 MiB.

A session has these beside DataFusion's functions; DataFusion computes them:

| function | value |
| --- | --- |
| `approx_count_distinct(x)` | another name of `approx_distinct(x)`, which is offloaded; FILTER may follow |
| `arg_min(x, y)`, `arg_max(x, y)` | x in the row with the least or greatest y, neither NULL; they are offloaded |
| `mode(x)` | the value that occurs most; of several the least; FILTER may follow |
| `quantile_disc(x, q)` | the least value that is not below a share q of the values; FILTER may follow |
| `strftime(t, format)` | t as text: %a %A %b %B %d %f %G %H %I %j %m %M %p %S %u %U %V %w %W %y %Y %%, and %-d %-H … |
| `strptime(text, format)` | a timestamp: %a %A %b %B %d %f %H %I %m %M %p %S %y %Y %%; else an error |
| `time_bucket(interval, t)` | the start of t's bucket; of months since 2000-01, else since Monday 2000-01-03 |"""


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
