"""Writes src/functions/unicode_case.h, upper and lower case of every code point as DataFusion has them:

python -m jumpgate.ncas.runtime.unicode_case
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HEADER = Path(__file__).parent / "src" / "functions" / "unicode_case.h"
_SURROGATES = range(0xD800, 0xE000)
_TEXT = """\
// Upper and lower case of code points beyond ASCII. Written by ncas/runtime/unicode_case.py; do not edit.
#pragma once
#include <cstdint>

// clang-format off
namespace jg {{

// Every `stride`-th code point from first to last has its other case `delta` above it.
struct CaseRun {{
  uint32_t first, last, stride;
  int32_t delta;
}};
// What has several code points in the other case; zeros fill up.
struct CaseExpansion {{
  uint32_t code, first, second, third;
}};

constexpr CaseRun kUpperRuns[] = {{
{upper_runs}
}};
constexpr CaseRun kLowerRuns[] = {{
{lower_runs}
}};
constexpr CaseExpansion kUpperExpansions[] = {{
{upper_expansions}
}};
constexpr CaseExpansion kLowerExpansions[] = {{
{lower_expansions}
}};
// First and last code points of the ranges that have a case, and of those that do not end a word where they stand in it
// (which may have a case).
constexpr uint32_t kCased[][2] = {{
{cased}
}};
constexpr uint32_t kIgnored[][2] = {{
{ignored}
}};

}}  // namespace jg
// clang-format on
"""


def render() -> str:
    """Return the header's text."""
    upper, lower = _mapped("upper"), _mapped("lower")
    return _TEXT.format(
        upper_runs=_lines(_runs(upper)),
        lower_runs=_lines(_runs(lower)),
        upper_expansions=_lines(_expansions(upper)),
        lower_expansions=_lines(_expansions(lower)),
        cased=_lines(_ranges("s || 'Σ'")),
        ignored=_lines(_ranges("'a' || s || 'Σ'", "s || 'Σ'")),
    )


def _mapped(function: str) -> dict[int, str]:
    """Return the code points beyond ASCII that the function changes."""
    return dict(_query(f"SELECT c, {function}(s) FROM t WHERE c > 127 AND s <> {function}(s)"))


def _ranges(last: str, *others: str) -> list[tuple[int, ...]]:
    """Return code points s for which the last capital sigma of the text becomes a final one, and not that of the
    others."""
    final = [f"ends_with(lower({text}), 'ς')" for text in (last, *others)]
    ranges: list[list[int]] = []
    for (code,) in _query(f"SELECT c FROM t WHERE {' AND NOT '.join(final)}"):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return [tuple(r) for r in ranges]


def _query(sql: str) -> list[tuple[Any, ...]]:
    """Return rows over all code points c, as text s, in their order."""
    import datafusion
    import pyarrow as pa

    codes = [c for c in range(0x110000) if c not in _SURROGATES]
    context = datafusion.SessionContext()
    batch = pa.record_batch([pa.array(codes, pa.int32()), pa.array(map(chr, codes))], names=["c", "s"])
    context.register_record_batches("t", [[batch]])
    found = context.sql(sql).to_arrow_table()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def _runs(mapped: Mapping[int, str]) -> Iterable[tuple[int, ...]]:
    runs: list[list[int]] = []
    for code, text in mapped.items():
        if len(text) > 1:
            continue
        delta = ord(text) - code
        last = runs[-1] if runs else None
        step = code - last[1] if last else 0
        if last and last[3] == delta and step in ((1, 2) if last[0] == last[1] else (last[2],)):
            last[1:3] = code, step
        else:
            runs.append([code, code, 1, delta])
    return map(tuple, runs)


def _expansions(mapped: Mapping[int, str]) -> Iterable[tuple[int, ...]]:
    return ((c, *map(ord, t), *(0,) * (3 - len(t))) for c, t in mapped.items() if len(t) > 1)


def _lines(rows: Iterable[tuple[int, ...]]) -> str:
    lines = [""]
    for row in rows:
        item = f"{{{', '.join(map(str, row))}}},"
        if len(lines[-1]) + len(item) > 114:
            lines.append("")
        lines[-1] += f" {item}" if lines[-1] else item
    return "\n".join(f"    {line}" for line in lines)


if __name__ == "__main__":
    HEADER.write_text(render())
