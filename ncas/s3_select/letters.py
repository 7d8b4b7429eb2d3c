"""Values of text fields: what the readers of CSV and JSON make of them (docs/files.md), from columns of text.

Texts in a type's plain notation are converted by Arrow. Others are first written so, one by one.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
from pyarrow import compute as pc

from jumpgate.errors import MalformedData, Overflow

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORDS = {"nan": "nan", "inf": "inf", "infinity": "inf"}
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?(Z|z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_TRUTH = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
#: an integer may be written with a fraction of so many digits, all of which are zeros
_INTEGER_SCALE = 6
_EXACT = Context(prec=400)


class _Wrong(Exception):
    """A text is no value of its type."""


class _TooLarge(Exception):
    """A number does not fit its type."""


def value_of(texts: pa.Array, field: pa.Field, file: str) -> pa.Array:
    """Return a column of the field's type. Raises MalformedData for text that is none, Overflow."""
    if pa.types.is_string(field.type):
        return texts
    plain, written = _notation(field.type)
    is_odd = pc.invert(pc.fill_null(pc.match_substring_regex(texts, plain), True))
    try:
        if pc.any(is_odd).as_py():
            odd = [written(text) for text in pc.filter(texts, is_odd).to_pylist()]
            texts = pc.replace_with_mask(texts, is_odd, pa.array(odd, pa.string()))
        return texts.cast(field.type)
    except _Wrong as error:
        raise MalformedData(
            f"{file}: column '{field.name}' holds {str(error)!r}, which is not of type {field.type}",
            file=file, column=field.name,
        ) from None  # fmt: skip
    except _TooLarge:
        raise Overflow(f"{file}: a value of column '{field.name}' does not fit into {field.type}") from None
    except pa.ArrowInvalid as error:
        if pa.types.is_temporal(field.type):
            raise MalformedData(f"{file}: column '{field.name}': {error}", file=file, column=field.name) from None
        raise Overflow(f"{file}: a value of column '{field.name}' does not fit into {field.type}") from None


def _notation(type: pa.DataType) -> tuple[str, Callable[[str], str]]:
    """Return the pattern of a type's plain notation, and what writes another text so."""
    if pa.types.is_integer(type):
        return "^-?[0-9]+$", _integer
    if pa.types.is_decimal(type):
        digits = f"(\\.[0-9]{{1,{type.scale}}})?" if type.scale else ""
        return f"^-?[0-9]+{digits}$", lambda text: _decimal(text, type.scale)
    if pa.types.is_floating(type):
        return "^-?[0-9]{1,200}(\\.[0-9]+)?([eE]-?[0-9]{1,2})?$", _float
    if pa.types.is_date(type):
        return "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", _date
    if pa.types.is_timestamp(type):
        return "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,6})?$", _timestamp
    assert pa.types.is_boolean(type), type
    return "^(true|false)$", _bool


def _number(text: str) -> Decimal:
    found = text.strip()
    if not _NUMBER.fullmatch(found):
        raise _Wrong(text)
    number = Decimal(found)
    if number.adjusted() > 60:
        raise _TooLarge
    return number


def _integer(text: str) -> str:
    number = _decimal(text, _INTEGER_SCALE)
    whole, _, rest = number.partition(".")
    if rest.strip("0"):
        raise _Wrong(text)
    return whole


def _decimal(text: str, scale: int) -> str:
    number = _number(text)
    return f"{number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT):f}"


def _float(text: str) -> str:
    found = text.strip()
    word = found.lower().lstrip("+-")
    if word in _WORDS:
        return ("-" if found.startswith("-") else "") + _WORDS[word]
    if not _NUMBER.fullmatch(found):
        raise _Wrong(text)
    number = float(found)
    if math.isinf(number):
        raise _TooLarge
    return repr(number)


def _timestamp(text: str) -> str:
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise _Wrong(text)
    day, time, fraction, zone = found.groups()
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 6:
        raise _Wrong(text)
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{time or '00:00:00'}.{fraction:0<6}")
        if zone and zone not in "Zz":
            minutes = int(zone[1:3]) * 60 + int(zone[3:].strip(":") or 0)
            moment -= datetime.timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    except OverflowError:
        raise _TooLarge from None
    except ValueError:
        raise _Wrong(text) from None
    return moment.isoformat(" ", "microseconds")


def _date(text: str) -> str:
    day, _, time = _timestamp(text).partition(" ")
    if time != "00:00:00.000000":
        raise _Wrong(text)
    return day


def _bool(text: str) -> str:
    found = _TRUTH.get(text.strip().lower())
    if found is None:
        raise _Wrong(text)
    return found
