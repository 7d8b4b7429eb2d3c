"""SQL functions that DataFusion lacks and people use: strftime, strptime, time_bucket, arg_min, arg_max, mode,
quantile_disc and approx_count_distinct.

A function of a session has one type for each argument. So `expand` writes calls of these as expressions that take any
type, over helpers that `register` gives a context; what has the shape of no such call stays as it is.

    arg_min(x, y), arg_max(x, y)  x in the row with the least or the greatest y, where neither is NULL
    approx_count_distinct(x)  approx_distinct(x)
    mode(x)              the value that occurs most; of several the least
    quantile_disc(x, q)  the least value that is not below a share q of the values
    strftime(t, format), strptime(text, format)     DuckDB's specifiers, those of `SPECIFIERS` and `PARSED`
    time_bucket(interval, t)  the start of t's bucket; buckets of months start in 2000-01, others on Monday 2000-01-03
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import datafusion
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from jumpgate.client.sql.rewriting import changed
from jumpgate.client.sql.tokens import Token, tokens

_TIME = pa.timestamp("us")
_DAY_US = 86_400_000_000
_EPOCH = datetime.date(1970, 1, 1)
_MONDAY = (datetime.date(2000, 1, 3) - _EPOCH).days * _DAY_US
_JANUARY = 2000 * 12
#: of strftime: what Arrow prints of whole seconds as DuckDB does
SPECIFIERS = frozenset("aAbBdHIjmMpSuUVwWyYG")
#: of strftime without zeros in front: %-d, %-H …
_UNPADDED = frozenset("dHIjmMS")
#: of strptime, with what it reads
PARSED = {
    "Y": "[0-9]{4}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "H": "[0-9]{1,2}",
    "I": "[0-9]{1,2}",
    "M": "[0-9]{1,2}",
    "S": "[0-9]{1,2}",
    "f": "[0-9]{1,6}",
    "p": "[AaPp][Mm]",
    "b": "[A-Za-z]{3}",
    "B": "[A-Za-z]+",
    "a": "[A-Za-z]{3}",
    "A": "[A-Za-z]+",
}
_MONTHS = tuple(datetime.date(2000, m, 1).strftime("%B").lower() for m in range(1, 13))


def register(context: datafusion.SessionContext) -> None:
    """Gives a context the helpers."""
    text = pa.string()
    for name, function, types, result in (
        ("jumpgate_strftime", _strftime, [_TIME, text], text),
        ("jumpgate_strptime", _strptime, [text, text], _TIME),
        ("jumpgate_time_bucket", _time_bucket, [pa.month_day_nano_interval(), _TIME], _TIME),
        ("jumpgate_mode_index", _mode_index, [pa.list_(text)], pa.int64()),
    ):
        context.register_udf(datafusion.udf(function, types, result, "immutable", name))


# ---- calls in the text of a query -----------------------------------------------------------------------------------


def expand(text: str) -> str:
    """The query with calls of these functions written out; any other text stays as it is."""
    if not any(name in text.lower() for name in _CALLS):
        return text
    return "".join(_expanded(tokens(text)))


def times_in_microseconds(text: str) -> str:
    """The query with TIME literals of the unit that times of files have: DataFusion's are in nanoseconds, and it does
    not compare the two."""
    found = tokens(text)
    changes = []
    for token, at in ((t, _next(found, i + 1)) for i, t in enumerate(found) if t.keyword == "TIME"):
        if at < len(found) and found[at].kind == "string":
            written = f"arrow_cast(TIME {found[at].text}, 'Time64(Microsecond)')"
            changes.append((token.start, found[at].end, written))
    return changed(text, changes).text


def _expanded(found: Sequence[Token]) -> Iterator[str]:
    at, before = 0, ""
    while at < len(found):
        written, end = (None, at) if before == "." else _call(found, at)
        yield found[at].text if written is None else f"({written})"
        before = found[at].text if found[at].means else before
        at = at + 1 if written is None else end


def _call(found: Sequence[Token], at: int) -> tuple[str | None, int]:
    """A call that starts there, written out, and the place after it; None for anything else."""
    write = _CALLS.get(found[at].keyword.lower())
    opening = _next(found, at + 1)
    if write is None or _text(found, opening) != "(":
        return None, at
    arguments, end = _arguments(found, opening)
    condition, end = _filter(found, end)
    if _text(found, _next(found, end)).upper() in ("OVER", "WITHIN", "FILTER"):
        return None, at
    return write(["".join(_expanded(a)).strip() for a in arguments], condition), end


def _next(found: Sequence[Token], at: int) -> int:
    """The place of the next token that means something, or the end."""
    return next((i for i in range(at, len(found)) if found[i].means), len(found))


def _text(found: Sequence[Token], at: int) -> str:
    return found[at].text if at < len(found) else ""


def _arguments(found: Sequence[Token], opening: int) -> tuple[list[list[Token]], int]:
    """The arguments of a call, and the place after its closing parenthesis; none where it is not closed."""
    depth = 0
    arguments: list[list[Token]] = [[]]
    for i in range(opening, len(found)):
        token = found[i].text
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if depth == 0:
            return arguments, i + 1
        if token == "," and depth == 1:
            arguments.append([])
        elif i > opening:
            arguments[-1].append(found[i])
    return [], len(found)


def _filter(found: Sequence[Token], at: int) -> tuple[str | None, int]:
    """The condition of a FILTER (WHERE …) there, and the place after it."""
    word = _next(found, at)
    opening = _next(found, word + 1)
    where = _next(found, opening + 1)
    if [_text(found, i).upper() for i in (word, opening, where)] != ["FILTER", "(", "WHERE"]:
        return None, at
    _, end = _arguments(found, opening)
    return "".join(_expanded(found[where + 1 : end - 1])).strip(), end


def _values(argument: str, condition: str | None) -> str:
    known = f"({argument}) IS NOT NULL" + (f" AND ({condition})" if condition else "")
    return f"array_agg({argument} ORDER BY {argument}) FILTER (WHERE {known})"


def _approximate(arguments: list[str], condition: str | None) -> str | None:
    if len(arguments) != 1:
        return None
    return f"approx_distinct({arguments[0]})" + (f" FILTER (WHERE {condition})" if condition else "")


def _mode(arguments: list[str], condition: str | None) -> str | None:
    if len(arguments) != 1 or not arguments[0]:
        return None
    values = _values(arguments[0], condition)
    return f"array_element({values}, jumpgate_mode_index(arrow_cast({values}, 'List(Utf8)')))"


def _quantile_disc(arguments: list[str], condition: str | None) -> str | None:
    if len(arguments) != 2:
        return None
    argument, share = arguments
    values = _values(argument, condition)
    return f"array_element({values}, greatest(1, CAST(ceil(({share}) * array_length({values})) AS BIGINT)))"


def _at_extreme(direction: str) -> Callable[[list[str], str | None], str | None]:
    def call(arguments: list[str], condition: str | None) -> str | None:
        if len(arguments) != 2:
            return None
        value, by = arguments
        known = f"({value}) IS NOT NULL AND ({by}) IS NOT NULL" + (f" AND ({condition})" if condition else "")
        return f"first_value({value} ORDER BY {by} {direction}, {value}) FILTER (WHERE {known})"

    return call


def _of_time(helper: str, place: int) -> Callable[[list[str], str | None], str | None]:
    def call(arguments: list[str], condition: str | None) -> str | None:
        if len(arguments) != 2 or condition is not None:
            return None
        arguments[place] = f"arrow_cast({arguments[place]}, 'Timestamp(Microsecond, None)')"
        return f"{helper}({', '.join(arguments)})"

    return call


def _strptime_call(arguments: list[str], condition: str | None) -> str | None:
    return None if len(arguments) != 2 or condition is not None else f"jumpgate_strptime({', '.join(arguments)})"


_CALLS: dict[str, Callable[[list[str], str | None], str | None]] = {
    "approx_count_distinct": _approximate,
    "arg_max": _at_extreme("DESC"),
    "arg_min": _at_extreme("ASC"),
    "max_by": _at_extreme("DESC"),
    "min_by": _at_extreme("ASC"),
    "mode": _mode,
    "quantile_disc": _quantile_disc,
    "strftime": _of_time("jumpgate_strftime", 0),
    "strptime": _strptime_call,
    "time_bucket": _of_time("jumpgate_time_bucket", 1),
}


# ---- helpers: whole columns at once ---------------------------------------------------------------------------------


def _by_format(
    values: pa.Array, formats: pa.Array, type: pa.DataType, function: Callable[[pa.Array, str], pa.Array]
) -> pa.Array:
    """function(values, format) for the rows of each format."""
    found: pa.Array = pa.nulls(len(values), type)
    for format in pc.unique(formats).drop_null().to_pylist():
        chosen = pc.fill_null(pc.equal(formats, format), False)
        found = pc.replace_with_mask(found, chosen, function(values.filter(chosen), format))
    return found


def _parts(format: str) -> Iterator[tuple[str, str]]:
    """(text before, specifier): the specifier with its minus sign, empty at the end."""
    end = 0
    for m in re.finditer(r"%(-?.?)", format, re.DOTALL):
        yield format[end : m.start()], m[1]
        end = m.end()
    yield format[end:], ""


def _strftime(times: pa.Array, formats: pa.Array) -> pa.Array:
    return _by_format(times, formats, pa.string(), _formatted)


def _formatted(times: pa.Array, format: str) -> pa.Array:
    seconds = pc.floor_temporal(times, unit="second").cast(pa.timestamp("s"))
    pieces: list[pa.Array | pa.Scalar] = [pa.scalar("")]
    for before, specifier in _parts(format):
        pieces.append(pa.scalar(before))
        if specifier == "%":
            pieces.append(pa.scalar("%"))
        elif specifier == "f":
            microseconds = pc.subtract(times.cast(pa.int64()), seconds.cast(_TIME).cast(pa.int64()))
            pieces.append(pc.utf8_lpad(microseconds.cast(pa.string()), 6, "0"))
        elif specifier in SPECIFIERS:
            pieces.append(pc.strftime(seconds, f"%{specifier}"))
        elif specifier[:1] == "-" and specifier[1:] in _UNPADDED:
            padded = pc.strftime(seconds, f"%{specifier[1:]}")
            pieces.append(pc.replace_substring_regex(padded, "^0+([0-9])", r"\1"))
        elif specifier or format.endswith("%"):
            raise ValueError(f"strftime: %{specifier} in {format!r} is not known")
    if all(isinstance(p, pa.Scalar) for p in pieces):
        pieces.append(pc.if_else(pc.is_null(times), None, pa.scalar("")))
    return pc.binary_join_element_wise(*pieces, "")


def _strptime(texts: pa.Array, formats: pa.Array) -> pa.Array:
    return _by_format(texts, formats, _TIME, _parsed)


def _parsed(texts: pa.Array, format: str) -> pa.Array:
    pattern, seen = "(?s)^", []
    for before, specifier in _parts(format):
        pattern += re.escape(before)
        if specifier == "%":
            pattern += "%"
        elif specifier:
            if specifier not in PARSED or specifier in seen:
                raise ValueError(f"strptime: %{specifier} in {format!r} is not known")
            seen.append(specifier)
            pattern += f"(?P<{specifier}>{PARSED[specifier]})"
    found = pc.extract_regex(texts, pattern + "(?P<end>)$")
    wrong = pc.and_(pc.is_valid(texts), pc.is_null(found))
    if pc.any(wrong).as_py():
        raise ValueError(f"strptime: {texts.filter(wrong)[0].as_py()!r} does not have the format {format!r}")
    fields = {s: pc.struct_field(found, s) for s in seen}

    def number(specifier: str, default: int) -> pa.Array | pa.Scalar:
        return fields[specifier].cast(pa.int64()) if specifier in fields else pa.scalar(default, pa.int64())

    year = number("Y", 1900)
    if "y" in fields:
        short = number("y", 0)
        year = pc.add(short, pc.if_else(pc.less(short, 69), 2000, 1900))
    month = number("m", 1)
    for name in ("b", "B"):
        if name in fields:
            names = pa.array([m[:3] if name == "b" else m for m in _MONTHS])
            month = pc.add(pc.index_in(pc.utf8_lower(fields[name]), names).cast(pa.int64()), 1)
    hour = number("H", 0)
    if "I" in fields:
        half = pc.equal(pc.utf8_lower(fields["p"]), "pm") if "p" in fields else pa.scalar(False)
        twelve = number("I", 0)
        out = pc.any(pc.or_(pc.less(twelve, 1), pc.greater(twelve, 12))).as_py()
        hour = pa.scalar(99) if out else pc.add(pc.remainder(twelve, 12), pc.if_else(half, 12, 0))  # 99: no hour
    fraction = pc.utf8_rpad(fields["f"], 6, "0") if "f" in fields else pa.scalar("000000")
    iso = reduce(
        lambda text, part: pc.binary_join_element_wise(text, part[1], part[0]),
        (("-", _two(month)), ("-", _two(number("d", 1))), ("T", _two(hour)), (":", _two(number("M", 0))),
         (":", _two(number("S", 0))), (".", fraction)),
        pc.utf8_lpad(year.cast(pa.string()), 4, "0"),
    )  # fmt: skip
    try:
        times = pc.if_else(pc.is_valid(texts), iso, pa.scalar(None, pa.string())).cast(_TIME)
        if times.null_count > texts.null_count:
            raise pa.ArrowInvalid(f"{format!r} with a month of another name")
        return times
    except pa.ArrowInvalid as error:
        raise ValueError(f"strptime: no such time: {error}") from None


def _two(number: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    return pc.utf8_lpad(number.cast(pa.string()), 2, "0")


def _time_bucket(intervals: pa.Array, times: pa.Array) -> pa.Array:
    known = np.array([i is not None for i in intervals.to_pylist()], bool)
    parts = np.array([(0, 0, 1000) if i is None else tuple(i) for i in intervals.to_pylist()], np.int64).reshape(-1, 3)
    months, microseconds = parts[:, 0], parts[:, 1] * _DAY_US + parts[:, 2] // 1000
    if np.any((months != 0) & (microseconds != 0)) or np.any((months < 0) | (microseconds < 0)) or np.any(
        (months == 0) & (microseconds == 0)
    ):  # fmt: skip
        raise ValueError("time_bucket: the interval is positive, and of months or of days and less")
    at = pc.fill_null(times, 0).cast(pa.int64()).to_numpy()
    width = np.where(microseconds > 0, microseconds, 1)
    starts = (at - _MONDAY) // width * width + _MONDAY
    count = pc.add(pc.multiply(pc.year(pc.fill_null(times, 0)), 12), pc.month(pc.fill_null(times, 0))).to_numpy() - 1
    span = np.where(months > 0, months, 1)
    first = (count - _JANUARY) // span * span + _JANUARY - 1970 * 12
    of_months = first.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    valid = known & pc.is_valid(times).to_numpy(zero_copy_only=False)
    return pa.array(np.where(months > 0, of_months, starts), pa.int64(), mask=~valid).cast(_TIME)


def _mode_index(lists: pa.Array) -> pa.Array:
    """Where in each list, whose equal values are neighbours, the first of the longest run of equal ones is; from 1."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    values = lists.flatten()
    if not len(values):
        return pa.nulls(len(lists), pa.int64())
    owner = np.repeat(np.arange(len(lists)), lengths)
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    begins = np.flatnonzero(np.r_[True, (codes[1:] != codes[:-1]) | (owner[1:] != owner[:-1])])
    runs = np.diff(np.r_[begins, len(codes)])
    best = np.lexsort((begins, -runs, owner[begins]))  # the longest run of each list comes first
    lists_found, first = np.unique(owner[begins][best], return_index=True)
    offsets = np.cumsum(lengths) - lengths
    found = np.zeros(len(lists), np.int64)
    found[lists_found] = begins[best[first]] - offsets[lists_found] + 1
    return pa.array(found, mask=lengths == 0)
