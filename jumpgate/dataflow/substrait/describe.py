"""Writes the compatibility page, docs/substrait.md, from the tables of the reader and writer.

`./dev golden --update-golden` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from jumpgate.dataflow.aggregates import OF_SUBSTRAIT
from jumpgate.dataflow.functions import built_in
from jumpgate.dataflow.substrait import expressions, files, joins, options, reader, sets, types, windows

_RELATIONS = {
    "read": "named tables; files of the formats below, in stores by their names",
    "aggregate": "grouping sets become a union over the finest set; whole aggregations only",
    "expand": "a union of projections, with the copy's number as an int32",
    "fetch": "offset and count are literals",
    "hash_join": "keys that are equal, or equal with NULL equal to NULL",
    "merge_join": "as hash_join",
    "top_n": "without ties",
}
_SPECIAL = {
    "add": "numbers; a date and an interval of whole days",
    "subtract": "numbers; a date and an interval of whole days",
    "multiply": "decimals: at most 38 digits",
    "divide": "integers truncate, floats are IEEE 754; decimals are kept: engines disagree about the digits",
    "like": "pattern and escape are literals; from DataFusion, without a backslash",
    "substring": "from a literal place on, of at least 1, and of a literal length",
    "substr": "as substring",
    "extract": f"{', '.join(p.upper() for p in expressions.PARTS)}; indexing ONE, or ZERO where parts are counted",
    "date_part": "as extract, the part as a string",
    "between": "as two comparisons",
}
_KEPT = (
    ("virtual and extension tables, Iceberg", "no accelerator reads rows out of a plan"),
    ("single joins", "no join fails when a row has two partners"),
    ("MINUS_MULTISET", "the specification does not say how many copies are left"),
    ("correlated subqueries with right or full joins, UNIQUE", "there is no join that computes them"),
    ("options that are not listed", "they may ask for other values than Jumpgate computes"),
    ("types that are not listed, user-defined types and variations", "there is nothing to hold them"),
    ("functions of other extensions", "a function of the same name may compute something else"),
    ("relations with an enhancement, or with fields of another version", "they may mean something else than they say"),
    (f"relations nested more than {reader.DEPTH_MAX} deep", "every request is bounded"),
)


def page() -> str:
    """Return the whole text."""
    known = sorted({*built_in("substrait"), *expressions.SPECIAL} - expressions.DATAFUSION_ONLY)
    functions = ((n, _function(n)) for n in known)
    behaviours = [(f"`{o}`", b) for o, b in sorted(options.OPTIONS.items())]
    behaviours += [(f"`{o}` of {f}", b) for (f, o), b in sorted(options.SPECIAL.items())]
    parts = (
        "# Substrait\n\nWhat a plan of another engine may hold to run on Jumpgate. Whatever is not here is *kept*: it "
        "stays with the client, and `explain` says why.\nPlans in JSON may be of older versions: what has been renamed "
        "or moved since (URIs of extensions, rows of a fetch,\nkeys within grouping sets) is read as what it is today. "
        "Projections append\nto their input, and an output mapping says what is left; where DuckDB (up to Substrait "
        "0.53) and DataFusion (up to 0.51)\nwrite no mapping at all, they replace it. "
        "This page is made from the code: `./dev golden --update-golden`.",
        _table("Relations", ("relation", "notes"), ((r, _RELATIONS.get(r, "")) for r in reader.RELATIONS)),
        _table("Joins", ("type", "as"), sorted({**joins.TYPES, **joins.SWAPPED}.items())),
        _table("Set operations", ("operation", "result"), sets.OPERATIONS.items()),
        _table("Files", ("Substrait", "format"), files.format_names().items()),
        _table("Types", ("Substrait", "Jumpgate"), types.NAMES.items()),
        _table("Functions", ("function", "meaning"), functions),
        _table("Aggregates", ("function", "as"), OF_SUBSTRAIT.items()),
        _table("Window functions", ("function", "as"), windows.FUNCTIONS.items()),
        _table("Options", ("option", "what may be asked for"), ((o, ", ".join(b)) for o, b in behaviours)),
        _table("What is kept", ("what", "why"), _KEPT),
    )
    return "\n\n".join(parts) + "\n"


def _function(name: str) -> str:
    return _SPECIAL.get(name) or built_in("substrait")[name].doc


def _table(title: str, head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [" | ".join(head), "--- | ---", *(f"{a} | {b.replace('|', '&#124;')}" for a, b in rows)]
    return f"## {title}\n\n" + "\n".join(f"| {line} |" for line in lines)
