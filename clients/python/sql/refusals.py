"""What DataFusion takes and then ignores, or computes wrongly: refused by name, with the way out, never answered wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from jumpgate.client.sql.errors import InvalidSql, located
from jumpgate.client.sql.tokens import Token, meaningful, place

_NO_MULTISETS = "counts no repeated rows; number them with row_number() over all columns, and compare without ALL"
_NO_SAMPLES = "would be ignored; filter by random() instead"
_NOT_READ = "would be ignored"
#: words that follow each other → why such a text is refused. "(" ends what has a name before it
_REFUSED: dict[tuple[str, ...], str] = {
    ("EXCEPT", "ALL"): _NO_MULTISETS,
    ("INTERSECT", "ALL"): _NO_MULTISETS,
    ("WITH", "ROLLUP"): "would be ignored; write GROUP BY ROLLUP (…)",
    ("WITH", "CUBE"): "would be ignored; write GROUP BY CUBE (…)",
    ("WITH", "TOTALS"): "would be ignored; write GROUP BY GROUPING SETS ((…), ())",
    ("CONNECT", "BY"): "would be ignored; WITH RECURSIVE does the same",
    ("START", "WITH"): "would be ignored; WITH RECURSIVE does the same",
    ("TABLESAMPLE", "("): _NO_SAMPLES,
    ("TABLESAMPLE", "BERNOULLI"): _NO_SAMPLES,
    ("TABLESAMPLE", "SYSTEM"): _NO_SAMPLES,
    ("TABLESAMPLE", "RESERVOIR"): _NO_SAMPLES,
    ("*", "ILIKE"): "would be ignored; name the columns",
}
