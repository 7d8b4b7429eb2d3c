"""Make the parts of pages that show bench/results: tables between marks, and a picture beside each page on performance.

A block from `<!-- figures: BENCH … -->` or `<!-- table: BENCH NAME -->` to `<!-- end -->` is made from the results, as
is the picture PAGE.svg of the figures of a page. `./dev golden --update-golden` writes both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from bench._results import ROOT, Result, Table, benches, load

PERFORMANCE = ROOT / "docs" / "performance"
README = ROOT / "bench" / "README.md"
BLOCK = re.compile(r"<!-- (figures|table): ([^\n]+?) -->\n.*?<!-- end -->", re.S)

LABELS, BARS, ROW, TOP = 330, 430, 22, 34
#: colours by whether the target is reached, in light and dark pages
STYLE = """<style>
text { font: 12px sans-serif; fill: #24292f }
line { stroke: #8c959f } .reached { fill: #2f6f8f } .missed { fill: #c2503a }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de } .reached { fill: #6cb6d9 } .missed { fill: #f08a70 } }
</style>"""


def pages() -> list[Path]:
    return [README, *sorted(PERFORMANCE.glob("*.md"))]


def expanded(page: str) -> str:
    """Return the text of a page with its blocks made anew."""
    return BLOCK.sub(lambda m: f"<!-- {m[1]}: {m[2]} -->\n{_block(m[1], m[2])}\n<!-- end -->", page)


def picture(page: str) -> str:
    """Draw the figures of a page beside their targets."""
    named = [name for kind, names in BLOCK.findall(page) if kind == "figures" for name in names.split()]
    shown = [(bench, r) for bench, r in _results(named) if r.margin is not None]
    return _drawn(shown)


def _block(kind: str, names: str) -> str:
    if kind == "figures":
        return _figures(_results(benches() if names == "all" else names.split()))
    bench, _, name = names.partition(" ")
    return _table(next(t for t in load(bench).tables if t.name == name))


def _results(names: Iterable[str]) -> Iterator[tuple[str, Result]]:
    return ((bench, result) for bench in names for result in load(bench).figures)


def _figures(results: Iterable[tuple[str, Result]]) -> str:
    lines = ["| bench | figure | value | target | what | commit | machine |", "|---|---|---|---|---|---|---|"]
    for bench, r in results:
        value = f"{_number(r.value)}{_unit(r.unit)}"
        sign = "≥" if r.better == "higher" else "≤"
        target = "reported" if r.target is None else f"{sign} {_number(r.target)}"
        name = f"`{r.figure}`" + (f" `{r.setting}`" if r.setting else "")
        what = r.compared + (f". Missed: {r.note}" if r.note else "")
        lines.append(
            f"| {bench} | {name} | {value if r.reached else f'**{value}**'} | {target} | {what} | {r.commit} "
            f"| {r.machine}; {r.load} |"
        )
    return "\n".join(lines)


def _table(table: Table) -> str:
    lines = [
        f"{table.shows} ({table.load}, {table.commit}):",
        "",
        _row(table.columns),
        "|---" * len(table.columns) + "|",
    ]
    return "\n".join([*lines, *map(_row, table.rows)])


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(cell if isinstance(cell, str) else _number(cell) for cell in cells) + " |"


def _number(value: float) -> str:
    """Return four digits at most, thousands apart."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{round(value, 3 - math.floor(math.log10(abs(value)))):g}"


def _unit(unit: str) -> str:
    return "" if unit in ("share", "") else " ×" if unit == "×" else f" {unit}"


def _drawn(results: list[tuple[str, Result]]) -> str:
    """Draw a bar for each figure, from its target to its value on a logarithmic scale: to the right is better."""
    margins = [r.margin or 1.0 for _, r in results]
    reach = max([1.0, *(abs(math.log2(m)) for m in margins)])
    middle, scale = LABELS + BARS / 2, (BARS / 2 - 8) / reach
    height = TOP + ROW * len(results) + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LABELS + BARS + 230} {height}" role="img">',
        STYLE,
        f'<text x="{middle}" y="14" text-anchor="middle">target</text>',
        f'<line x1="{middle}" y1="20" x2="{middle}" y2="{height}"/>',
    ]
    for i, ((bench, r), margin) in enumerate(zip(results, margins, strict=True)):
        y, width = TOP + ROW * i, abs(math.log2(margin)) * scale
        x = middle if margin >= 1 else middle - width
        name = f"{bench}: {r.figure}{f' {r.setting}' if r.setting else ''}"
        value = f"{_number(r.value)}{_unit(r.unit)} ({_number(r.target or 0)})"
        css = "reached" if r.reached else "missed"
        out += [
            f'<text x="{LABELS - 8}" y="{y + 4}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{css}" x="{x:.1f}" y="{y - 7}" width="{max(width, 2):.1f}" height="14"/>',
            f'<text x="{LABELS + BARS + 8}" y="{y + 4}">{escape(value)}</text>',
        ]
    return "\n".join([*out, "</svg>", ""])
