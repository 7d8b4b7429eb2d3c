"""Dialects of S3 Select: what a store computes beside filters of columns. `select_dialect` of a [[store]] names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jumpgate.errors import ConfigError
from jumpgate.stores import settings

#: integers below are doubles, too
EXACT = 1 << 53


@dataclass(frozen=True)
class SelectDialect:
    """aggregates: COUNT, SUM, MIN and MAX without groups. cases: CASE inside of them. substring: SUBSTRING and
    arithmetic in conditions. casts: CAST to FLOAT and functions of text; fields of text objects are text.
    typed: BOOL, DECIMAL, DATE and TIMESTAMP, compared as in SQL and returned with all digits
    or as ISO 8601; text in the order of its bytes. infers: fields of text objects have types that it infers."""

    aggregates: bool = False
    cases: bool = False
    substring: bool = False
    casts: bool = False
    typed: bool = False
    infers: bool = False
    floats: bool = False


#: `filters` is what every store has
DIALECTS = {
    "filters": SelectDialect(),
    "hadro": SelectDialect(typed=True, infers=True),
    "minio": SelectDialect(aggregates=True, substring=True, casts=True),
    "aws": SelectDialect(aggregates=True, cases=True, substring=True, casts=True),
}


def of(files: Sequence[str]) -> SelectDialect:
    """Return the dialect of the store of the files. Raises ConfigError for a name that is none."""
    name = settings.store_of(files[0]).select_dialect
    if name not in DIALECTS:
        raise ConfigError(f"select_dialect of a [[store]] is {name!r}; there are {', '.join(DIALECTS)}")
    return DIALECTS[name]
