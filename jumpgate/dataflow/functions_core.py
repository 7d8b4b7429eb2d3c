"""Comparisons, logic, arithmetic, SQL's oldest functions of text, plain parts of dates; reference.py has the bodies."""

from __future__ import annotations

from jumpgate.dataflow import bloom_bits, coupons, reference
from jumpgate.dataflow.casts import TypeMismatch
from jumpgate.dataflow.expressions import Value
from jumpgate.dataflow.function import Function
from jumpgate.dataflow.signatures import (
    all_of,
    always,
    anything,
    coalesced,
    common,
    common_numeric,
    divides_safely,
    exactly,
    first,
    has_length,
    holds_product,
    integers,
    never_null,
    nullable_first,
    numeric,
    product,
    product_type,
    quotient,
    round_operands,
    round_type,
    sum_type,
    temporal,
    three_valued,
    to_float64,
    whole_type,
    widened,
)
from jumpgate.dataflow.types import bool_, date, float64, int32, int64, string

#: default fractions of rows: with one certain value, beyond a bound, matching a pattern, NULL
EQUAL, RANGE, LIKE, NULL = 0.05, 0.3, 0.1, 0.1
DAY_US = 86_400_000_000


def _like_literals(pattern: Value, escape: Value = None) -> None:
    reference.like_literals("like", pattern, escape)


def _round_literals(*digits: Value) -> None:
    if digits and not -38 <= int(digits[-1]) <= 38:  # type: ignore[arg-type]
        raise TypeMismatch("round: digits are from -38 to 38")


def _of_clock(microseconds: int, count: int) -> str:
    """Return the C++ of a part of the day, whose unit has `microseconds` and of which there are `count`."""
    return f"((({{0}}) % {DAY_US}ll + {DAY_US}ll) % {DAY_US}ll) / {microseconds}ll % {count}"


def _has_bit(word: int) -> str:
    """Return the C++ that tests whether a Bloom filter's word has the hash's bit, in its lowest bits."""
    return f"((uint64_t){{{word + 1}}} >> (((uint64_t){{0}} >> {6 * word}) & 63))"


_OF_FILTERS = "compilers put it where a filter travels; no other engine has it"
_OF_SKETCHES = "compilers write approx_distinct with it; no other engine has it"
_B, _S = bool_, string
_DAY, _CLOCK = temporal("date", "timestamp"), temporal("timestamp", "time")

CORE = (
    # comparisons: operands are cast to their common type. Strings and binary compare bytewise (UTF-8), false < true,
    # NaN by dialect.
    Function("eq", "a = b", (2, 2), common, always(_B), reference.eq, substrait=("equal",),
             selectivity=EQUAL),
    Function("ne", "a <> b", (2, 2), common, always(_B), reference.ne, substrait=("not_equal",),
             selectivity=1 - EQUAL),
    Function("lt", "a < b", (2, 2), common, always(_B), reference.lt, substrait=("lt",),
             selectivity=RANGE),
    Function("le", "a <= b", (2, 2), common, always(_B), reference.le, substrait=("lte",),
             selectivity=RANGE),
    Function("gt", "a > b", (2, 2), common, always(_B), reference.gt, substrait=("gt",),
             selectivity=RANGE),
    Function("ge", "a >= b", (2, 2), common, always(_B), reference.ge, substrait=("gte",),
             selectivity=RANGE),
    Function("is_distinct", "a <> b where NULL is a value of its own", (2, 2), common, never_null,
             reference.is_distinct, strict=False, substrait=("is_distinct_from",),
             selectivity=1 - EQUAL),
    Function("is_not_distinct", "a = b where NULL equals NULL", (2, 2), common, never_null, reference.is_not_distinct,
             strict=False, substrait=("is_not_distinct_from",), selectivity=EQUAL),
    Function("is_null", "whether the argument is NULL", (1, 1), anything, never_null, reference.is_null, strict=False,
             substrait=("is_null",), selectivity=NULL),
    Function("is_not_null", "whether the argument has a value", (1, 1), anything, never_null, reference.is_not_null,
             strict=False, substrait=("is_not_null",), selectivity=1 - NULL),
    # logic, three-valued
    Function("and", "FALSE if any is FALSE, else NULL if any is NULL, else TRUE", (2, None), all_of(_B), three_valued,
             reference.and_, strict=False, settles=lambda v: v is False, substrait=("and",)),
    Function("or", "TRUE if any is TRUE, else NULL if any is NULL, else FALSE", (2, None), all_of(_B), three_valued,
             reference.or_, strict=False, settles=lambda v: v is True, substrait=("or",)),
    Function("not", "negation; NULL stays NULL", (1, 1), all_of(_B), always(_B), reference.not_, cpp="!{0}",
             substrait=("not",)),
    # arithmetic: integers and decimals by the dialect's on_overflow, floats by IEEE 754
    Function("add", "a + b; decimals: equal scales, precision + 1 (at most 38)", (2, 2), common_numeric, sum_type,
             reference.add, fallible=True, safe=widened, substrait=("add",)),
    Function("subtract", "a - b; types as add", (2, 2), common_numeric, sum_type, reference.subtract, fallible=True,
             safe=widened, substrait=("subtract",)),
    Function("multiply", "a * b; decimals: decimal(p1 + p2, s1 + s2), p at most 38: beyond, overflow", (2, 2), product,
             product_type, reference.multiply, fallible=True, safe=holds_product,
             substrait=("multiply",)),
    Function("divide", "a / b as a float: integers and decimals are cast to float64 first", (2, 2), quotient, first,
             reference.divide, fallible=True, safe=divides_safely, substrait=("divide",)),
    Function("int_divide", "integer a / b, truncated towards zero", (2, 2), integers, first, reference.int_divide,
             fallible=True, safe=divides_safely),
    Function("modulo", "the rest of a / b with the sign of a (floats: C's fmod)", (2, 2), common_numeric, first,
             reference.modulo, fallible=True, safe=divides_safely, substrait=("modulus", "modulo")),
    Function("negate", "-a", (1, 1), numeric, first, reference.negate, fallible=True,
             substrait=("negate",)),
    Function("abs", "|a|", (1, 1), numeric, first, reference.abs_, fallible=True, substrait=("abs",)),
    Function(
        "round",
        "to `digits` (0) decimal places, halves away from zero; decimals get that scale; floats: "
        "C's round(a * 10^digits) / 10^digits, for negative digits round(a / 10^-digits) * 10^-digits, and a "
        "itself where that is not finite",
        (1, 2), round_operands, round_type, reference.round_, fallible=True, literals=(1,),
        literal_rule=_round_literals, shape=(1,), substrait=("round",)),
    Function("floor", "the largest integer not above a; decimal(p, 0) for decimals", (1, 1), numeric, whole_type,
             reference.floor, substrait=("floor",)),
    Function("ceil", "the smallest integer not below a; decimal(p, 0) for decimals", (1, 1), numeric, whole_type,
             reference.ceil, substrait=("ceil",)),
    Function("sqrt", "square root in float64; of a negative number: an error (`compute`)", (1, 1), to_float64,
             always(float64), reference.sqrt, fails=True, substrait=("sqrt",)),
    # strings: UTF-8; positions and lengths count code points
    Function("like", "SQL LIKE: % any run, _ one code point; optional escape, only before %, _ or itself", (2, 3),
             all_of(_S), always(_B), reference.like, literals=(1, 2), literal_rule=_like_literals, substrait=("like",),
             selectivity=LIKE),
    Function(
        "substring",
        "the code points at places `start` (1 is the first) to start + length - 1 (the end), as far as there are any; "
        "of a negative length an error (`compute`)",
        (2, 3), exactly(_S, int64, int64), always(_S), reference.substring, fails=True, safe=has_length,
        substrait=("substring", "substr")),
    Function("concat", "all arguments joined; NULL if any is NULL", (1, None), all_of(_S), always(_S), reference.concat,
             substrait=("concat", "str_concat")),
    Function("upper", "all letters in upper case, as Unicode has it without regard to language (ß: SS)", (1, 1),
             all_of(_S), always(_S), reference.upper, cpp="jg_upper(t, {0})", substrait=("upper",)),
    Function("lower", "all letters in lower case, as Unicode has it without regard to language", (1, 1), all_of(_S),
             always(_S), reference.lower, cpp="jg_lower(t, {0})", substrait=("lower",)),
    Function("trim", "without spaces (U+0020) at both ends", (1, 1), all_of(_S), always(_S), reference.trim,
             cpp="jg_trim({0}, 1, 1)", substrait=("trim", "btrim")),
    Function("ltrim", "without leading spaces (U+0020)", (1, 1), all_of(_S), always(_S), reference.ltrim,
             cpp="jg_trim({0}, 1, 0)", substrait=("ltrim",)),
    Function("rtrim", "without trailing spaces (U+0020)", (1, 1), all_of(_S), always(_S), reference.rtrim,
             cpp="jg_trim({0}, 0, 1)", substrait=("rtrim",)),
    Function("char_length", "number of code points", (1, 1), all_of(_S), always(int64), reference.char_length,
             cpp="jg_char_length({0})",
             substrait=("char_length", "character_length")),
    Function("starts_with", "whether a begins with b", (2, 2), all_of(_S), always(_B), reference.starts_with,
             cpp="{0}.size >= {1}.size && jg_equal_str(JgStr{{{0}.data, {1}.size}}, {1})",
             substrait=("starts_with",), selectivity=LIKE),
    Function("ends_with", "whether a ends with b", (2, 2), all_of(_S), always(_B), reference.ends_with,
             cpp="{0}.size >= {1}.size && jg_equal_str(JgStr{{{0}.data + {0}.size - {1}.size, {1}.size}}, {1})",
             substrait=("ends_with",), selectivity=LIKE),
    Function("contains", "whether b occurs in a", (2, 2), all_of(_S), always(_B), reference.contains,
             cpp="(uint8_t)jg_contains({0}, {1})", substrait=("contains",), selectivity=LIKE),
    # NULLs
    Function("coalesce", "the first argument that is not NULL", (1, None), common, coalesced, reference.coalesce,
             strict=False, settles=lambda v: v is not None, substrait=("coalesce",)),
    Function("null_if", "NULL if a = b, else a", (2, 2), common, nullable_first, reference.null_if, strict=False,
             substrait=("nullif",)),
    Function(
        "fingerprint",
        "64 bits of all arguments, NULLs too: equal where they are, and seldom otherwise (see fingerprints.py)",
        (1, None), anything, always(int64.with_nullable(False)), reference.fingerprint, strict=False,
        internal="accelerators send it in the place of keys; no other engine has it"),
    # Bloom filters that travel (see bloom.py): of a hash
    Function("bloom_block", "the number of its block of so many", (2, 2), exactly(int64, int64), always(int32),
             bloom_bits.block, cpp="(int32_t)(((uint64_t){0} >> 24) % (uint64_t){1})", internal=_OF_FILTERS),
    Function("bloom_word", "its bit in a word of the block", (2, 2), exactly(int64, int64), always(int64),
             bloom_bits.word, cpp="(int64_t)(1ull << (((uint64_t){0} >> (6 * {1})) & 63))", internal=_OF_FILTERS),
    Function("bloom_holds", "whether the block's words have its bits", (5, 5), exactly(*[int64] * 5), always(_B),
             bloom_bits.holds, cpp=f"(uint8_t)({' & '.join(map(_has_bit, range(4)))} & 1)", selectivity=1.0,
             internal=_OF_FILTERS),
    # approximate distinct counts (see sketches.py)
    Function("distinct_coupon", "what a value draws, of 262144", (1, 1), anything, always(int32), coupons.coupon,
             internal=_OF_SKETCHES),
    Function("distinct_estimate", "how many values draw so many different coupons", (1, 1), exactly(int64),
             always(int64), coupons.estimate, cpp="jg_distinct_estimate({0})", internal=_OF_SKETCHES),
    # dates (proleptic Gregorian, years 1 to 9999) and timestamps
    Function("year", "calendar year", (1, 1), _DAY, always(int64), reference.year,
             cpp="({type})jg_date_part(0, {days})"),
    Function("quarter", "1 to 4", (1, 1), _DAY, always(int64), reference.quarter,
             cpp="({type})jg_date_part(3, {days})"),
    Function("month", "1 to 12", (1, 1), _DAY, always(int64), reference.month, cpp="({type})jg_date_part(1, {days})"),
    Function("day", "day of the month, 1 to 31", (1, 1), _DAY, always(int64), reference.day,
             cpp="({type})jg_date_part(2, {days})"),
    Function("day_of_week", "0 (Sunday) to 6 (Saturday)", (1, 1), _DAY, always(int64), reference.day_of_week,
             cpp="({type})jg_date_part(4, {days})", substrait=("day_of_week",)),
    Function("hour", "0 to 23", (1, 1), _CLOCK, always(int64), reference.hour, cpp=_of_clock(3_600_000_000, 24)),
    Function("minute", "0 to 59", (1, 1), _CLOCK, always(int64), reference.minute, cpp=_of_clock(60_000_000, 60)),
    Function("second", "whole seconds, 0 to 59", (1, 1), _CLOCK, always(int64), reference.second,
             cpp=_of_clock(1_000_000, 60), substrait=("second",)),
    Function("date_add_days", "the date n days later (earlier if negative); outside years 1 to 9999: overflow", (2, 2),
             exactly(date, int32), always(date), reference.date_add_days, fallible=True),
)  # fmt: skip
