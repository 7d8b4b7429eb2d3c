"""Coupons and estimates of approximate distinct counts as functions of DataFusion's sessions.

They are those of jumpgate.dataflow.coupons, of whole columns: DataFusion finds the numbers that accelerators find. A
function of a session has one type for each argument, so there is one for each way in which values are hashed.
"""

from __future__ import annotations

import datafusion
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jumpgate.dataflow.coupons import COLUMN_BITS, COLUMNS, ROW_BITS, estimated
from jumpgate.dataflow.fingerprints import NAN

Words = npt.NDArray[np.uint64]

COUPON, ESTIMATE = "jumpgate_distinct_coupon_", "jumpgate_distinct_estimate"
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_TEXTS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def register(context: datafusion.SessionContext) -> None:
    """Gives a context the functions."""
    types = [pa.int64(), pa.float64(), pa.large_binary(), *(pa.decimal128(38, scale) for scale in range(39))]
    for type in types:
        context.register_udf(datafusion.udf(_coupons, [type], pa.int32(), "immutable", coupon_name(type)))
    context.register_udf(datafusion.udf(_estimates, [pa.int64()], pa.uint64(), "immutable", ESTIMATE))


def hashed_as(type: pa.DataType) -> tuple[pa.DataType, ...]:
    """The types to which values of `type` are cast, one after the other, to become coupons; none: they are not hashed.
    Times and timestamps in all units but nanoseconds are hashed as microseconds, as accelerators have them."""
    if pa.types.is_dictionary(type):
        return hashed_as(type.value_type)
    if pa.types.is_uint64(type):
        return (pa.decimal128(38, 0),)
    if pa.types.is_integer(type) or pa.types.is_boolean(type) or pa.types.is_duration(type) or pa.types.is_null(type):
        return (pa.int64(),)
    if pa.types.is_floating(type):
        return (pa.float64(),)
    if pa.types.is_decimal128(type) and type.scale >= 0:
        return (pa.decimal128(38, type.scale),)
    if any(is_text(type) for is_text in _TEXTS):
        return (pa.large_binary(),)
    if pa.types.is_date(type):
        return pa.date32(), pa.int64()
    if pa.types.is_time(type):
        return pa.time64(_unit(type)), pa.int64()
    if pa.types.is_timestamp(type):
        return pa.timestamp(_unit(type), type.tz), pa.int64()
    return ()


def _unit(type: pa.DataType) -> str:
    return "ns" if type.unit == "ns" else "us"


def coupon_name(type: pa.DataType) -> str:
    """The function that makes coupons of such values."""
    return f"{COUPON}{type.scale if pa.types.is_decimal(type) else type}"


def _estimates(counts: pa.Array) -> pa.Array:
    """Yield the estimates; equal counts once."""
    found, places = np.unique(np.asarray(counts), return_inverse=True)
    return pa.array(np.array([estimated(int(c)) for c in found], np.uint64)[places], pa.uint64())


def _coupons(values: pa.Array) -> pa.Array:
    known = np.asarray(values.is_valid())
    words = _integers(_fingerprints(values.drop_null()))
    low = words | np.uint64(1 << COLUMNS - 1)
    column = np.bitwise_count((low & (~low + np.uint64(1))) - np.uint64(1)).astype(np.uint64)
    found = np.zeros(len(values), np.int32)
    found[known] = (words >> np.uint64(64 - ROW_BITS) << np.uint64(COLUMN_BITS) | column).astype(np.int32)
    return pa.array(found, pa.int32(), mask=~known)


def _fingerprints(values: pa.Array) -> Words:
    if pa.types.is_large_binary(values.type):
        return _texts(values)
    if pa.types.is_decimal(values.type):
        halves = np.frombuffer(values.buffers()[1], np.uint64)[2 * values.offset :][: 2 * len(values)]
        low, high = halves[::2], halves[1::2]
        wide = _mixed(low + _mixed(high))
        if values.type.scale:
            return wide
        fits = high.view(np.int64) == low.view(np.int64) >> 63
        return np.where(fits, _integers(low), wide)
    words = np.asarray(values)
    if pa.types.is_floating(values.type):
        words = np.where(np.isnan(words), np.array(NAN, np.uint64).view(np.float64), words + 0.0)
    return _integers(words.view(np.uint64))


def _mixed(x: Words) -> Words:
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> _HALF) * np.uint64(0xD6E8FEB86659FD93)
    return x ^ x >> _HALF


def _integers(values: Words) -> Words:
    return _mixed(values + np.uint64(0x632BE59BD9B4E019))


def _texts(values: pa.Array) -> Words:
    """A word of all texts that have one after the other: loops are as many as words of the longest text."""
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset :][: len(values) + 1]
    start, size = ends[:-1], ends[1:] - ends[:-1]
    bytes = np.zeros(int(ends[-1]) + 8 if len(ends) else 8, np.uint8)
    bytes[:-8] = np.frombuffer(data, np.uint8)[: len(bytes) - 8] if data is not None else 0
    words = np.lib.stride_tricks.sliding_window_view(bytes, 8)
    found = np.uint64(0xA0761D6478BD642F) ^ size.astype(np.uint64)
    left, place = np.arange(len(values)), 0
    while len(left := left[size[left] > place]):
        read = np.ascontiguousarray(words[start[left] + place]).view(np.uint64)[:, 0]
        rest = size[left] - place
        shift = (8 * np.clip(8 - rest, 0, 8)).astype(np.uint64)
        read = read << shift >> shift
        factor = np.where(rest >= 8, np.uint64(0xE7037ED1A0B428DB), np.uint64(0x8EBC6AF09C88C6E3))
        found[left] = _folded(found[left] ^ read, factor)
        place += 8
    return _mixed(found)


def _folded(a: Words, b: Words) -> Words:
    """The halves of the product of 128 bits, one upon the other."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    middle = a1 * b0 + (a0 * b0 >> _HALF)
    upper = a1 * b1 + (middle >> _HALF) + ((middle & _LOW) + a0 * b1 >> _HALF)
    found: Words = a * b ^ upper
    return found
