"""Answers about the server: its SQL by numbers of SqlInfo, and its types as JDBC and ODBC have them.

The numbers are those of Arrow's format/FlightSql.proto.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from jumpgate import __version__
from jumpgate.flight.limits import PREPARED_MAX, TEXT_BYTES_MAX

_NO_LIMIT = 0
#: bits of the numbers that are enumerations
_READ_COMMITTED, _ALL_SUBQUERIES, _ALL_UNIONS, _ALL_GROUP_BY = 1 << 2, 0b1111, 0b11, 0b11
#: members of the union in their order: a value's Python type chooses one, and int32 is for enumerations and bits
_VALUE = pa.dense_union([
    pa.field("string_value", pa.utf8()),
    pa.field("bool_value", pa.bool_()),
    pa.field("bigint_value", pa.int64()),
    pa.field("int32_bitmask", pa.int32()),
    pa.field("string_list", pa.list_(pa.field("string_data", pa.utf8()))),
    pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.field("$data$", pa.int32())))),
])  # fmt: skip
_SQL_INFO = pa.schema([pa.field("info_name", pa.uint32(), False), pa.field("value", _VALUE)])
_STRING, _BOOL, _BIGINT, _INT32, _STRINGS, _CONVERSIONS = range(6)
#: numbers of types in SqlSupportsConvert that CAST converts among themselves; and from and to text
_OF_NUMBERS, _OF_TIME, _OF_TEXT = (0, 5, 6, 7, 12, 13, 14, 17), (4, 16), (3, 19)
_KIND_OF: dict[int, tuple[int, ...]] = {
    **dict.fromkeys(_OF_NUMBERS, _OF_NUMBERS),
    **dict.fromkeys(_OF_TIME, _OF_TIME),
    **dict.fromkeys(_OF_TEXT, (*_OF_NUMBERS, *_OF_TIME, 15)),
    15: (15,),
}

#: number → member, value
_INFO: dict[int, tuple[int, Any]] = {
    0: (_STRING, "Jumpgate"),
    1: (_STRING, __version__),
    2: (_STRING, pa.__version__),
    3: (_BOOL, False),  # read only
    4: (_BOOL, True),  # SQL
    5: (_BOOL, False),  # Substrait
    8: (_INT32, 1),  # transactions, without savepoints
    9: (_BOOL, True),  # cancellation
    10: (_BOOL, True),  # ingestion
    11: (_BOOL, True),  # in transactions
    100: (_INT32, 0),  # statements have no time limit of their own
    101: (_INT32, 0),
    500: (_BOOL, False),  # CREATE of catalogs, schemas, tables
    501: (_BOOL, True),
    502: (_BOOL, True),
    503: (_INT32, 1),  # names in any case
    504: (_STRING, '"'),
    505: (_INT32, 1),
    506: (_BOOL, True),
    507: (_INT32, 3),  # nulls last
    508: (_STRINGS, []),
    509: (_STRINGS, ["ABS", "CEIL", "FLOOR", "ROUND", "SQRT", "POWER", "MOD", "EXP", "LN", "SIGN"]),
    510: (_STRINGS, ["LOWER", "UPPER", "TRIM", "LENGTH", "SUBSTRING", "CONCAT", "REPLACE", "LEFT", "RIGHT"]),
    511: (_STRINGS, []),
    512: (_STRINGS, ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DATE_TRUNC"]),
    513: (_STRING, "\\"),
    514: (_STRING, ""),
    515: (_BOOL, True),
    516: (_BOOL, True),
    517: (_CONVERSIONS, [(type, [*_KIND_OF[type], *_OF_TEXT]) for type in sorted(_KIND_OF)]),
    518: (_BOOL, True),
    519: (_BOOL, False),
    520: (_BOOL, True),
    521: (_BOOL, True),
    522: (_INT32, _ALL_GROUP_BY),
    523: (_BOOL, True),
    524: (_BOOL, True),
    525: (_INT32, 0b111),
    526: (_INT32, 0b1),
    527: (_BOOL, False),
    528: (_INT32, 0b110),  # limited and full outer joins; JDBC's driver reads bits
    529: (_STRING, "schema"),
    530: (_STRING, "procedure"),
    531: (_STRING, "catalog"),
    532: (_BOOL, True),
    533: (_INT32, 0),
    534: (_INT32, 0),
    535: (_INT32, 0),
    536: (_BOOL, False),
    537: (_BOOL, False),
    538: (_INT32, _ALL_SUBQUERIES),
    539: (_BOOL, True),
    540: (_INT32, _ALL_UNIONS),
    **dict.fromkeys((*range(541, 556), 559, 560, 561), (_BIGINT, _NO_LIMIT)),
    556: (_BOOL, False),
    557: (_BIGINT, TEXT_BYTES_MAX),
    558: (_BIGINT, PREPARED_MAX),
    562: (_BIGINT, 2),  # as JDBC's driver reads it
    563: (_BOOL, True),
    564: (_INT32, _READ_COMMITTED),
    565: (_BOOL, False),
    566: (_BOOL, False),
    567: (_INT32, 0b10),  # results are read forward
    568: (_INT32, 0b10),
    569: (_INT32, 0b10),
    570: (_INT32, 0),
    571: (_INT32, 0),
    572: (_BOOL, True),
    573: (_BOOL, False),
    574: (_BOOL, False),
    575: (_BOOL, False),
    576: (_BOOL, False),
}

_TYPE_INFO = pa.schema([
    pa.field("type_name", pa.utf8(), False),
    pa.field("data_type", pa.int32(), False),
    pa.field("column_size", pa.int32()),
    pa.field("literal_prefix", pa.utf8()),
    pa.field("literal_suffix", pa.utf8()),
    pa.field("create_params", pa.list_(pa.field("item", pa.utf8(), False))),
    pa.field("nullable", pa.int32(), False),
    pa.field("case_sensitive", pa.bool_(), False),
    pa.field("searchable", pa.int32(), False),
    pa.field("unsigned_attribute", pa.bool_()),
    pa.field("fixed_prec_scale", pa.bool_(), False),
    pa.field("auto_increment", pa.bool_()),
    pa.field("local_type_name", pa.utf8()),
    pa.field("minimum_scale", pa.int32()),
    pa.field("maximum_scale", pa.int32()),
    pa.field("sql_data_type", pa.int32(), False),
    pa.field("datetime_subcode", pa.int32()),
    pa.field("num_prec_radix", pa.int32()),
    pa.field("interval_precision", pa.int32()),
])  # fmt: skip
_TEXTS, _DATETIME = ("VARCHAR", "BLOB"), 9
#: name, number of JDBC, size, radix, largest scale, subcode of dates and times; ordered by number
_TYPES: tuple[tuple[str, int, int | None, int | None, int | None, int | None], ...] = (
    ("BOOLEAN", -7, 1, None, None, None),
    ("TINYINT", -6, 3, 10, 0, None),
    ("BIGINT", -5, 19, 10, 0, None),
    ("BLOB", -3, None, None, None, None),
    ("DECIMAL", 3, 38, 10, 38, None),
    ("INTEGER", 4, 10, 10, 0, None),
    ("SMALLINT", 5, 5, 10, 0, None),
    ("REAL", 7, 24, 2, None, None),
    ("DOUBLE", 8, 53, 2, None, None),
    ("VARCHAR", 12, None, None, None, None),
    ("DATE", 91, 10, None, None, 1),
    ("TIME", 92, 15, None, None, 2),
    ("TIMESTAMP", 93, 26, None, 6, 3),
)


def sql_info(numbers: Sequence[int]) -> pa.Table:
    """Return the values of these numbers, or of all; a number that is not known has no row."""
    chosen = [n for n in (numbers or _INFO) if n in _INFO]
    members: list[list[Any]] = [[] for _ in range(_VALUE.num_fields)]
    kinds, offsets = [], []
    for number in chosen:
        kind, value = _INFO[number]
        kinds.append(kind)
        offsets.append(len(members[kind]))
        members[kind].append(value)
    children = [pa.array(values, field.type) for values, field in zip(members, _VALUE, strict=True)]
    names = [field.name for field in _VALUE]
    values = pa.UnionArray.from_dense(pa.array(kinds, pa.int8()), pa.array(offsets, pa.int32()), children, names)
    return pa.Table.from_arrays([pa.array(chosen, pa.uint32()), values], schema=_SQL_INFO)


def type_info(data_type: int | None) -> pa.Table:
    """Return the types, or those with JDBC's number."""
    rows = []
    for name, number, size, radix, scale, subcode in _TYPES:
        if data_type is None or data_type == number:
            quote = "'" if name in _TEXTS or subcode else None
            rows.append({
                "type_name": name, "data_type": number, "column_size": size, "literal_prefix": quote,
                "literal_suffix": quote, "create_params": ["precision", "scale"] if name == "DECIMAL" else None,
                "nullable": 1, "case_sensitive": name == "VARCHAR", "searchable": 3,
                "unsigned_attribute": False if radix else None, "fixed_prec_scale": False, "auto_increment": False,
                "local_type_name": name, "minimum_scale": 0 if scale is not None else None, "maximum_scale": scale,
                "sql_data_type": _DATETIME if subcode else number, "datetime_subcode": subcode,
                "num_prec_radix": radix, "interval_precision": None,
            })  # fmt: skip
    return pa.Table.from_pylist(rows, _TYPE_INFO)
