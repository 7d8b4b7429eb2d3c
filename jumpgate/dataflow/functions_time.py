"""Functions of dates and timestamps beyond the calendar's plain parts: weeks, units, intervals.

Dates and timestamps are proleptic Gregorian, of the years 1 to 9999; weeks are ISO 8601's.
"""

from __future__ import annotations

import bisect
import calendar
import datetime
import struct
from collections.abc import Callable
from typing import Any

from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function, Types
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import always, exactly, first, require, second, temporal
from jumpgate.dataflow.types import date, float64, int64, string, timestamp
from jumpgate.errors import Overflow

#: units of date_trunc, the longest first
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def _microseconds(a: datetime.datetime) -> int:
    return (a - _EPOCH) // _MICROSECOND


def _epoch(site: Site, a: datetime.datetime) -> float:
    return _microseconds(a) / 1e6


def _trunc(site: Site, unit: str, a: datetime.datetime) -> datetime.datetime:
    day = datetime.datetime(a.year, a.month, a.day)
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(a.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - datetime.timedelta(a.weekday())
        case "day":
            return day
    length = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000}.get(unit, 1)
    return day + (a - day) // (length * _MICROSECOND) * (length * _MICROSECOND)


def _units(unit: Value) -> None:
    if unit not in UNITS:
        raise TypeMismatch(f"date_trunc: {unit!r} is none of {', '.join(UNITS)}")


def _trunc_operands(types: Types) -> Types:
    require(types[0].kind == "string", types, "a unit and a timestamp")
    temporal("date", "timestamp")(types[1:])
    return (string, timestamp if types[1].kind == "date" else types[1])


def _add_interval(site: Site, a: Any, months: int, days: int, microseconds: int) -> Any:
    """Add months first (a day beyond the month's last becomes the last), then days, then the rest; a date takes only
    whole days of the rest, truncated towards zero."""
    try:
        year, month = divmod(a.year * 12 + a.month - 1 + months, 12)
        if not 1 <= year <= 9999:
            raise OverflowError
        moved = a.replace(year=year, month=month + 1, day=min(a.day, calendar.monthrange(year, month + 1)[1]))
        if site.type.kind == "date":
            whole = abs(microseconds) // 86_400_000_000
            return moved + datetime.timedelta(days + (whole if microseconds > 0 else -whole))
        return moved + datetime.timedelta(days) + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise Overflow(f"{a} and an interval are outside the years 1 to 9999") from None


def _interval_operands(types: Types) -> Types:
    temporal("date", "timestamp")(types)
    require(all(t.is_integer for t in types[1:]), types, "integers after its first argument")
    return (types[0], int64, int64, int64)


#: the most seconds by which a clock differs from UTC
_OFFSET_MAX = 86_400


def _offsets(table: Value) -> list[int]:
    """Return the numbers of a table of offsets. Raises TypeMismatch."""
    try:
        numbers = [int(n) for n in str(table).split(",")]
    except ValueError:
        raise TypeMismatch("add_offset: a table is numbers with commas between them") from None
    starts, offsets = numbers[1::2], numbers[::2]
    if any(a >= b for a, b in zip(starts, starts[1:], strict=False)) or any(abs(o) > _OFFSET_MAX for o in offsets):
        raise TypeMismatch("add_offset: the starts of a table ascend, and offsets are at most a day")
    return numbers


def _add_offset(site: Site, a: datetime.datetime, table: str) -> datetime.datetime:
    numbers = _offsets(table)
    offsets = numbers[::2]
    at = bisect.bisect_right(numbers[1::2], _microseconds(a) // 1_000_000)
    try:
        return a + datetime.timedelta(seconds=offsets[at])
    except (IndexError, OverflowError):
        raise Overflow(f"{a} is beyond a table of offsets, or moved beyond the years 1 to 9999") from None


def _encoded_offsets(table: Value) -> bytes:
    numbers = _offsets(table)
    return struct.pack(f"<{len(numbers)}q", *numbers)


def _part(name: str, doc: str, body: Callable[[Site, Any], Value], cpp: str, *kinds: str) -> Function:
    return Function(name, doc, (1, 1), temporal(*(kinds or ("date", "timestamp"))), always(int64), body, cpp=cpp)


#: C++: microseconds since the minute began
_OF_MINUTE = "((({0}) % 60000000ll + 60000000ll) % 60000000ll)"

TIME = (
    _part("iso_year", "the year to which the ISO week belongs", lambda site, a: a.isocalendar()[0],
          "jg_date_part(8, {days})"),
    _part("week", "ISO week, 1 to 53", lambda site, a: a.isocalendar()[1], "jg_date_part(7, {days})"),
    _part("iso_day_of_week", "1 (Monday) to 7 (Sunday)", lambda site, a: a.isoweekday(), "jg_date_part(6, {days})"),
    _part("day_of_year", "1 to 366", lambda site, a: a.timetuple().tm_yday, "jg_date_part(5, {days})"),
    _part("millisecond", "seconds of the minute and what is below, in whole milliseconds",
          lambda site, a: a.second * 1000 + a.microsecond // 1000, f"{_OF_MINUTE} / 1000", "timestamp", "time"),
    _part("microsecond", "seconds of the minute and what is below, in microseconds",
          lambda site, a: a.second * 1_000_000 + a.microsecond, _OF_MINUTE, "timestamp", "time"),
    Function("epoch", "seconds since 1970-01-01 00:00:00", (1, 1), temporal("timestamp"), always(float64), _epoch,
             cpp="(double)({0}) / 1e6"),
    Function("date_trunc", f"a timestamp's latest start of a unit: {', '.join(UNITS)}", (2, 2), _trunc_operands,
             second, _trunc, literals=(0,), literal_rule=_units, shape=(0,)),
    Function("add_interval", "a + months + days + microseconds, in that order; a month's last day where it has no such "
             "day; dates count whole days of the microseconds; outside years 1 to 9999: overflow",
             (4, 4), _interval_operands, first, _add_interval, fallible=True,
             cpp="jg_{kind}_add_interval({0}, {1}, {2}, {3}, &{out})"),
    Function("add_offset", "a + the seconds of a table OFFSET,START,OFFSET,… from its last START (seconds since 1970) "
             "that is not after a; from a START at its end on, and outside years 1 to 9999: overflow", (2, 2),
             exactly(timestamp, string), always(timestamp), _add_offset, fallible=True, literals=(1,),
             literal_rule=_offsets, encode=_encoded_offsets, cpp="jg_add_offset({0}, {1}, &{out})"),
    Function("days_between", "days from b to a", (2, 2), exactly(date, date), always(int64),
             lambda site, a, b: (a - b).days, cpp="(int64_t)({0}) - ({1})"),
)  # fmt: skip
