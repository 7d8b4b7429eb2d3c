"""$JUMPGATE_DEBUG, the ladder of what is shown on standard error (docs/configuration.md).

1 hosts and instances, 2 also stages with their times and bytes, 3 the plan after each pass, 4 generated code (which is
kept, too), 5 the first tuples of a result. Every line begins with where it happened: `[instance@host stage n]`.
"""

from __future__ import annotations

import os
import sys


def level() -> int:
    """$JUMPGATE_DEBUG, 0 where it is not a number."""
    value = os.environ.get("JUMPGATE_DEBUG", "")
    return int(value) if value.isascii() and value.isdigit() else 0


def note(who: str, host: str, text: str, stage: int = 0) -> None:
    """The text's lines; `who` is an instance, or the part of Jumpgate that speaks. stage 0: in none."""
    place = f"[{who}@{host} stage {stage}]" if stage else f"[{who}@{host}]"
    lines = "".join(f"{place} {line}".rstrip() + "\n" for line in text.splitlines())
    print(lines, end="", file=sys.stderr, flush=True)
