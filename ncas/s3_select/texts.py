"""Values that stores return as text, as those that Arrow has: dates and times of ISO 8601, of any year."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute as pc

_DATE = r"(?P<year>-?[0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = r"T(?P<h>[0-9]{2}):(?P<m>[0-9]{2}):(?P<s>[0-9]{2})(?:\.(?P<us>[0-9]{1,6}))?(?:\+00:00|Z)?"
#: years before those of any date here, of whole eras of the calendar, and their days
_YEARS, _DAYS = 6_000_000, 15_000 * 146_097


def returned_as(type: pa.DataType) -> pa.DataType:
    """Return the type of a column as lines of JSON have it."""
    return pa.string() if pa.types.is_date32(type) or pa.types.is_timestamp(type) else type


def value_of(texts: pa.Array, type: pa.DataType) -> pa.Array:
    """Return a column of that type. Raises ArrowInvalid for text that is none."""
    if texts.type == type:
        return texts
    is_date = pa.types.is_date32(type)
    parts = pc.extract_regex(texts, f"^{_DATE}$" if is_date else f"^{_DATE}{_TIME}$")
    if parts.null_count != texts.null_count:
        raise pa.ArrowInvalid(f"a text is no {type}")

    def number(name: str) -> pa.Array:
        return pc.struct_field(parts, name).cast(pa.int64())

    days = _days(number("year"), number("month"), number("day"))
    if is_date:
        return days.cast(pa.int32()).cast(type)
    seconds = days
    for name, factor in (("h", 24), ("m", 60), ("s", 60)):
        seconds = pc.add(pc.multiply(seconds, factor), number(name))
    rest = pc.utf8_rpad(pc.struct_field(parts, "us"), 6, "0").cast(pa.int64())
    return pc.add_checked(pc.multiply_checked(seconds, 1_000_000), rest).cast(type)


def _days(year: pa.Array, month: pa.Array, day: pa.Array) -> pa.Array:
    """Return the days since 1970 (H. Hinnant, "chrono-compatible low-level date algorithms"): years begin in March."""
    year = pc.add(pc.subtract(year, pc.less_equal(month, 2).cast(pa.int64())), _YEARS)
    month = pc.add(month, pc.if_else(pc.greater(month, 2), -3, 9))
    of_year = pc.add(pc.divide(pc.add(pc.multiply(month, 153), 2), 5), pc.subtract(day, 1))
    leap = pc.add(pc.subtract(pc.divide(year, 4), pc.divide(year, 100)), pc.divide(year, 400))
    return pc.subtract(pc.add(pc.add(pc.multiply(year, 365), leap), of_year), 719_468 + _DAYS)
