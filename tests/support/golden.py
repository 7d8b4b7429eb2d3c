"""Byte vectors that every implementation of the tuple formats writes and reads: the cases, and their JSON form."""

from __future__ import annotations

import datetime
import decimal
import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from crc32c import crc32c

from jumpgate.dataflow.types import DataType, Field, Schema, duration, int32, int64, string, timestamptz, timestamptz_ns
from jumpgate.dataflow.types import decimal as decimal_
from jumpgate.ntf.codec import Codec
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.ntf.frames import Hello, Kind, StreamTotals, header

JOB, EDGE, TOKEN = "golden", "e7", "sésame"
_EXACT = decimal.Context(prec=40)
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)

#: physical values: integers, unscaled decimals, days, µs; floats and text as themselves
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A schema and its rows, frame by frame."""

    schema: Schema
    frames: tuple[tuple[Row, ...], ...]

    def descriptors(self) -> dict[str, Descriptor]:
        return {
            "columnar": Descriptor.columnar(self.schema),
            "row": Descriptor.row(self.schema),
            "row_network": Descriptor.row(self.schema, byte_order="big", packed=True),
            "row_aligned_4_big": Descriptor.row(self.schema, byte_order="big", alignment=4),
        }


_PLAIN = (
    "bool", "int8", "int16", "int32", "int64", "float32", "float64", "date", "timestamp", "string", "binary",
)  # fmt: skip


def _every(nullable: bool) -> Schema:
    plain = [Field(k, DataType(k, nullable=nullable)) for k in _PLAIN]
    decimals = [decimal_(p, s, nullable) for p, s in ((7, 2), (18, 0), (19, 19), (38, 10))]
    return Schema((*plain, *(Field(f"decimal_{t.precision}_{t.scale}", t) for t in decimals)))


_LEAST: Row = (
    False, -(2**7), -(2**15), -(2**31), -(2**63), -math.inf, -1.7976931348623157e308, -719162, -62135596800000000,
    "", b"", -(10**7 - 1), -(10**18 - 1), -(10**19 - 1), -(10**38 - 1),
)  # fmt: skip
_GREATEST: Row = (
    True, 2**7 - 1, 2**15 - 1, 2**31 - 1, 2**63 - 1, math.inf, 5e-324, 2932896, 253402300799999999,
    "zwölf Ärzte 🚀 \0 \"quoted\"", b"\x00\xff" * 9, 10**7 - 1, 10**18 - 1, 10**19 - 1, 10**38 - 1,
)  # fmt: skip
_ZERO: Row = (False, 0, 0, 0, 0, -0.0, 0.0, 0, 0, " ", b"\0", 0, 0, 0, 0)
_ONE: Row = (True, 1, 1, 1, 1, 1.5, math.nan, 1, 1, "1", b"1", 1, 1, 1, 1)

_TIMES = Schema(
    (
        Field("time", DataType("time")),
        Field("timestamp_ns", DataType("timestamp_ns")),
        Field("timestamptz", timestamptz("America/New_York")),
        Field("timestamptz_ns", timestamptz_ns("+05:45", nullable=False)),
        *(Field(f"duration_{unit}", duration(unit)) for unit in ("s", "ms", "us", "ns")),
    )
)
_FAR = 2**63 - 1

CASES = {
    "required": Case(_every(False), ((_LEAST, _GREATEST, _ZERO, _ONE),)),
    "nullable": Case(
        _every(True),
        (
            (_LEAST, (None,) * len(_LEAST), _GREATEST, *(tuple(v if i % 2 else None for i, v in enumerate(_ONE)),) * 7),
            (_ZERO,),
        ),
    ),
    "times": Case(
        _TIMES,
        (
            (
                (0, -_FAR, -62135596800000000, -_FAR, *(-_FAR,) * 4),
                (86399999999, _FAR, 253402300799999999, *(_FAR,) * 5),
            ),
            ((None, None, None, 0, *(None,) * 4), (1, 2, 3, 4, 5, 6, 7, 8), (12, -1, -1, -1, *(-1,) * 4)),
        ),
    ),
    "strings": Case(
        Schema((Field("a", string), Field("n", int32.with_nullable(False)), Field("b", DataType("binary")))),
        (
            (("", 1, None), (None, 2, b""), ("x" * 63, 3, b"y" * 65), ("é", 4, b"\0"), (None, 5, None)),
            ((None, 6, None),),
            (("", 7, b""),),
        ),
    ),
    "no_rows": Case(Schema.of(a=int32, b=string), ()),
    "no_columns": Case(Schema(()), (((),) * 3,)),
    "names": Case(
        Schema(tuple(Field(n, int64) for n in ("a", "a", "", " ", "ß %", "\n\"'\\", "x.y-z_~", "h", "ninth"))),
        ((tuple(range(9)), (None,) * 9),),
    ),
}


def batch(codec: Codec, rows: tuple[Row, ...]) -> pa.RecordBatch:
    """Rows of physical values as Arrow has them."""
    columns = [
        pa.array([_logical(f.type, row[i]) for row in rows], codec.schema.field(i).type)
        for i, f in enumerate(codec.descriptor.schema)
    ]
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=codec.schema)


def stream(case: Case, descriptor: Descriptor) -> bytes:
    """All that a producer with index 3 sends to consumer 1: greeting, frames, end."""
    codec, totals = Codec(descriptor), StreamTotals()
    out = Hello(3, 1, TOKEN, JOB, EDGE, descriptor.fingerprint(), descriptor.text()).encode()
    for rows in case.frames:
        payload = codec.encode(batch(codec, rows))
        head = header(Kind.DATA, len(rows), len(payload), totals.frames, crc32c(payload))
        totals.add(len(rows), int.from_bytes(head[28:], "little"))
        out += head + payload
    return out + totals.end_frame()


def description(case: Case) -> dict[str, Any]:
    """The JSON form, in which tests/golden/README.md describes each value."""
    return {
        "producer": 3, "partition": 1, "token": TOKEN, "job": JOB, "edge": EDGE,
        "fields": [{"name": f.name, "type": str(f.type)} for f in case.schema],
        "layouts": {
            name: {"text": d.text(), "fingerprint": d.fingerprint()} for name, d in case.descriptors().items()
        },
        "frames": [[[_json(v) for v in row] for row in rows] for rows in case.frames],
    }  # fmt: skip


def _logical(type: DataType, value: Any) -> Any:
    if value is None:
        return None
    match type.kind:
        case "decimal":
            return decimal.Decimal(value).scaleb(-type.scale, _EXACT)
        case "date":
            return (_EPOCH + datetime.timedelta(value)).date()
        case "time":
            return (_EPOCH + value * _MICROSECOND).time()
        case "timestamp" | "timestamptz":
            return _EPOCH + value * _MICROSECOND
    return value


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value
