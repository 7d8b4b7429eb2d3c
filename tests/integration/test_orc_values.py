"""Values in ORC files as other writers store them: time zones, nanoseconds, decimals without precision, char, LZO."""

from __future__ import annotations

import datetime
import decimal
import io
import itertools
import random
import struct
import zoneinfo
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.converters.orc import footer as orc_footer
from jumpgate.converters.orc import orc_schema
from jumpgate.dataflow import types as t
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import JumpgateError, MalformedData, Overflow, SchemaMismatch
from tests.support import probe
from tests.support.orc_tail import BYTES, Message, OrcFile, packed

EPOCH = datetime.datetime(1970, 1, 1)
BASE = 1420070400  # 2015-01-01
SECOND = 1_000_000
DAY = 86400
#: kinds of types, kinds of streams
LONG, STRING, DECIMAL, VARCHAR, CHAR, INSTANT = 4, 7, 14, 16, 17, 18
DATA, SECONDARY = 1, 5


def written(path: Path, array: pa.Array, **options: Any) -> OrcFile:
    orc.write_table(pa.table({"c": array}), path, **{"compression": "uncompressed", **options})
    return OrcFile.read(path)


def scan(path: Path | str, type_: DataType) -> list[Any]:
    return list(probe.scan("orc", [str(path)], Schema((Field("c", type_),))).columns[0])


def change_type(file: OrcFile, **fields: int) -> None:
    """Of the only column: its kind, maximum_length, precision and scale."""
    root, column = file.footer.messages(4)
    for name, number in (("kind", 1), ("maximum_length", 4), ("precision", 5), ("scale", 6)):
        if name in fields:
            column.put(number, fields[name])
    file.footer.put(4, root, column)


# Time zones


def tzif(changes: Sequence[tuple[int, int]], first: int, rule: str, version: int = 2) -> bytes:
    """A file of the tz database (RFC 9636): changes as (instant, offset), the offset before them, a rule for later."""
    offsets = sorted({first, *(offset for _, offset in changes)}, key=lambda o: o != first)

    def block(width: str, number: int) -> bytes:
        head = b"TZif" + (b"\0" if number == 1 else b"%d" % number) + bytes(15)
        counts = struct.pack(">6l", 0, 0, 0, len(changes), len(offsets), 4)
        times = struct.pack(f">{len(changes)}{width}", *(at for at, _ in changes))
        kinds = bytes(offsets.index(offset) for _, offset in changes)
        return head + counts + times + kinds + b"".join(struct.pack(">lbb", o, 0, 0) for o in offsets) + b"ABC\0"

    if version == 1:
        return block("l", 1)
    empty = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + bytes(6) + b"ABC\0"
    return empty + block("q", 2) + b"\n" + rule.encode() + b"\n"


PAST = [(-2_717_640_000, -28_800), (-1_633_269_600, -25_200), (-1_615_129_200, -28_800), (9_972_000, -25_200)]
ZONES = {
    "West": tzif(PAST, -28_378, "PST8PDT,M3.2.0,M11.1.0"),
    "South": tzif([(-1_000_000_000, 36_000)], 36_292, "AEST-10AEDT,M10.1.0,M4.1.0/3"),
    "North": tzif([(1_679_792_400, -3600)], -10_800, "<-02>2<-01>,M3.5.0/-1,M10.5.0/0"),
    "Dublin": tzif([(-979_000_000, 0)], -1500, "IST-1GMT0,M10.5.0,M3.5.0/1"),
    "Days": tzif([(0, 7200)], 7200, "EET-2EEST,J60/0,J301/2:30"),
    "Fixed": tzif([(500_000_000, 20_700)], 19_800, "<+0545>-5:45"),
    "NoRule": tzif(PAST, -28_378, ""),
    "Old": tzif(PAST[1:], -28_800, "", version=1),
    "Folder/A_b-c+1": tzif([], 0, "XYZ-3:30:10"),
    "GMT": tzif([], 0, "GMT0"),  # Arrow's writer looks for it
}


@pytest.fixture
def zones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "zoneinfo"
    for name, data in ZONES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    monkeypatch.setenv("TZDIR", str(folder))
    return folder


def in_zone(path: Path, values: Sequence[int | None], zone: str, unit: str = "us") -> str:
    """A file whose values, seconds and fractions since 2015, are written as if by a writer in `zone`."""
    file = written(path, pa.array(values, pa.timestamp(unit)))
    for stripe in file.stripes:
        stripe.footer.put(3, zone.encode())
    return file.write(path)


@pytest.mark.parametrize("name", ZONES)
def test_local_times_of_the_writer(tmp_path: Path, zones: Path, name: str) -> None:
    """As the standard library's zoneinfo has them, from 1850 to 2900, and around each change of the clocks."""
    zone = zoneinfo.ZoneInfo.from_file(io.BytesIO(ZONES[name]))

    def offset(instant: int) -> int:
        utc = EPOCH.replace(tzinfo=datetime.UTC) + datetime.timedelta(seconds=instant)
        local = utc.astimezone(zone).utcoffset()
        assert local is not None
        return int(local.total_seconds())

    rng = random.Random(7)
    instants = [rng.randrange(-3_700_000_000, 29_000_000_000) for _ in range(3000)]
    for early, late in itertools.pairwise(sorted(instants[:300])):
        if offset(early) != offset(late):  # a change in between: to the second
            while late - early > 1:
                middle = (early + late) // 2
                early, late = (middle, late) if offset(middle) == offset(early) else (early, middle)
            instants += [early - 1, early, late, late + 1]
    instants = [i for i in instants if abs(i) > 2 * DAY]  # the second before 1970 is the next test's
    micros = [rng.randrange(1000) * 1001 for _ in instants]
    shift = offset(BASE)
    stored = [(i + shift) * SECOND + m for i, m in zip(instants, micros, strict=True)]
    path = in_zone(tmp_path / "t.orc", [None, *stored], name)
    expected = [(i + offset(i)) * SECOND + m for i, m in zip(instants, micros, strict=True)]
    assert scan(path, t.timestamp) == [None, *expected]


def test_days_of_the_year_from_zero(tmp_path: Path, zones: Path) -> None:
    """In leap years too, in which the zoneinfo of some Pythons is a day early."""
    (zones / "Zero").write_bytes(tzif([], 0, "ABC0ABD,59/0,300/2"))
    for march, october in (((2023, 3, 1), (2023, 10, 28)), ((2024, 2, 29), (2024, 10, 27))):
        begin, end = (int((datetime.datetime(*day) - EPOCH).total_seconds()) for day in (march, october))
        instants = [begin - 1, begin, end + 3599, end + 3600]
        path = in_zone(tmp_path / "t.orc", [i * SECOND for i in instants], "Zero")
        shifts = [0, 3600, 3600, 0]
        assert scan(path, t.timestamp) == [(i + s) * SECOND for i, s in zip(instants, shifts, strict=True)]


def test_fractions_before_1970(tmp_path: Path, zones: Path) -> None:
    """Writers round an instant's seconds towards 1970 UTC, whatever the local time; only fractions of a millisecond and
    more count."""
    shift = -28_800 * SECOND  # West in 1970 and 2015
    path = in_zone(tmp_path / "t.orc", [shift + 5 * SECOND, shift - 3 * SECOND, shift + 4 * SECOND], "West")
    assert scan(path, t.timestamp) == [shift + 5 * SECOND, shift - 3 * SECOND, shift + 4 * SECOND]
    path = in_zone(tmp_path / "t.orc", [20 * SECOND + 500_000, -9 * SECOND - 500_000], "GMT-00:00:10")
    assert scan(path, t.timestamp) == [20 * SECOND + 500_000, -9 * SECOND - 500_000]


@pytest.mark.parametrize("zone", ["GMT+05:30", "GMT-8", "GMT", "UTC", "", "Etc/UTC"])
def test_zones_of_one_offset_keep_what_was_written(tmp_path: Path, local: Session, zone: str) -> None:
    moments = [datetime.datetime(1999, 7, 1, 12, 30, 59, 123456), None, datetime.datetime(1901, 2, 3)]
    path = in_zone(tmp_path / "t.orc", pa.array(moments, pa.timestamp("us")).cast(pa.int64()).to_pylist(), zone)
    assert local.run(read(path)).to_pylist() == [{"c": moment} for moment in moments]
    later = local.run(read(path).filter(col("c") > datetime.datetime(1950, 1, 1)))
    assert later.to_pylist() == [{"c": moments[0]}]


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/passwd", "GMT+8x", "A\0B", "."])
def test_unknown_zones_are_refused_by_name(tmp_path: Path, zones: Path, zone: str) -> None:
    path = in_zone(tmp_path / "t.orc", [0], zone)
    with pytest.raises(SchemaMismatch, match="its timestamps were written in time zone") as e:
        scan(path, t.timestamp)
    assert zone.partition("\0")[0] in e.value.message


def test_an_unused_zone_does_no_harm(tmp_path: Path) -> None:
    file = written(tmp_path / "t.orc", pa.array([1, 2], pa.int64()))
    file.stripes[0].footer.put(3, b"Mars/Olympus")
    assert scan(file.write(tmp_path / "t.orc"), t.int64) == [1, 2]


def test_damaged_zones_are_refused(tmp_path: Path, zones: Path) -> None:
    rng = random.Random(11)
    path = in_zone(tmp_path / "t.orc", [0, SECOND], "Bad")
    refused = 0
    for _ in range(400):
        data = bytearray(rng.choice(list(ZONES.values())))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (zones / "Bad").write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        try:
            scan(path, t.timestamp)
        except JumpgateError as e:
            refused += 1
            assert "'Bad'" in e.message or "microseconds" in e.message
    assert refused > 50


def test_instants_are_utc(tmp_path: Path) -> None:
    file = written(tmp_path / "t.orc", pa.array([0, 5], pa.timestamp("us")))
    change_type(file, kind=INSTANT)
    file.stripes[0].footer.put(3, b"Mars/Olympus")
    assert scan(file.write(tmp_path / "t.orc"), t.timestamptz()) == [0, 5]
    assert orc_schema([str(tmp_path / "t.orc")])[0].type == t.timestamptz()


def test_digits_below_microseconds_are_kept_or_refused(tmp_path: Path) -> None:
    nanos = [0, 1, 999, 1000, 1001, 1_999_999, -1, -999, -1000, -1001, -1_999_999, -(10**9), -(10**9) - 1, None]
    nanos += [n * 1_000_000_007 + 13 for n in range(-50, 50)]
    written(tmp_path / "t.orc", pa.array(nanos, pa.timestamp("ns")))
    stored = orc.read_table(tmp_path / "t.orc").column(0)  # fractions of the second before 1970 are lost in writing
    assert scan(tmp_path / "t.orc", t.timestamp_ns) == stored.cast(pa.int64()).to_pylist()
    with pytest.raises(SchemaMismatch, match="digits below a microsecond; declare the column timestamp_ns"):
        scan(tmp_path / "t.orc", t.timestamp)


def test_years_that_nanoseconds_do_not_hold(tmp_path: Path) -> None:
    written(tmp_path / "t.orc", pa.array([datetime.datetime(2300, 1, 1)], pa.timestamp("us")))
    assert scan(tmp_path / "t.orc", t.timestamp) == [10413792000000000]
    with pytest.raises(Overflow, match="does not fit 64 bits in nanoseconds"):
        scan(tmp_path / "t.orc", t.timestamp_ns)


# Decimals


def zigzag(value: int) -> bytes:
    return packed([value << 1 if value >= 0 else (-value << 1) - 1])


def hive11(path: Path, values: Sequence[tuple[int, int]]) -> str:
    """A file of decimals (digits, scale) whose type has neither precision nor scale."""
    file = written(path, pa.array([decimal.Decimal(1)] * len(values), pa.decimal128(9, 0)))
    root, column = file.footer.messages(4)
    file.footer.put(4, root, column.put(5).put(6))
    (stripe,) = file.stripes
    digits = b"".join(zigzag(d) for d, _ in values)
    scales = bytes([0x100 - len(values)]) + b"".join(zigzag(s) for _, s in values)  # one run of literals
    stripe.index, stripe.data = b"", digits + scales
    stripe.footer.put(1, *[Message().put(1, kind).put(2, 1).put(3, len(data)) for kind, data in
                           ((DATA, digits), (SECONDARY, scales))])  # fmt: skip
    stripe.footer.put(2, Message().put(1, 0), Message().put(1, 0))
    return file.write(path)


def test_decimals_of_hive_11(tmp_path: Path) -> None:
    values = [(123456786547456, 7), (5, 0), (-25, 1), (10**20 + 3, 3), (1500000000000, 12)]
    path = hive11(tmp_path / "t.orc", values)
    (field,) = orc_schema([path])
    assert field.type == t.decimal(38, 10)
    exact = [decimal.Decimal(d).scaleb(-s) for d, s in values]
    assert [decimal.Decimal(v).scaleb(-10) for v in scan(path, field.type)] == exact
    with pytest.raises(SchemaMismatch, match=r"'c' is declared decimal\(38, 6\), but holds a value of more digits"):
        scan(path, t.decimal(38, 6))


@pytest.mark.parametrize("kind", [0, 2])  # what Java and C++ call the encoding
@pytest.mark.parametrize("declared", [t.decimal(12, 2), t.decimal(30, 2)])
def test_decimals_of_64_bits(tmp_path: Path, kind: int, declared: DataType) -> None:
    rng = random.Random(5)
    values = [rng.choice([None, rng.randrange(-(10**11), 10**11)]) for _ in range(5000)]
    file = written(tmp_path / "t.orc", pa.array(values, pa.int64()), row_index_stride=1000)
    change_type(file, kind=DECIMAL, precision=12, scale=2)
    file.postscript.put(4, packed([1, 9999]))
    for stripe in file.stripes:
        root, column = stripe.footer.messages(2)
        stripe.footer.put(2, root, column.put(1, kind))
    path = file.write(tmp_path / "t.orc")
    assert scan(path, declared) == values
    assert orc_schema([path])[0].type == t.decimal(12, 2)


@pytest.mark.parametrize("kind", [CHAR, VARCHAR])
def test_char_and_varchar(tmp_path: Path, kind: int) -> None:
    file = written(tmp_path / "t.orc", pa.array(["ab ", None, "å  "]))
    change_type(file, kind=kind, maximum_length=3)
    path = file.write(tmp_path / "t.orc")
    assert orc_schema([path])[0].type == t.string
    assert scan(path, t.string) == [b"ab ", None, "å  ".encode()]


# Files as a whole


def test_magic_in_front_only(tmp_path: Path) -> None:
    file = written(tmp_path / "t.orc", pa.array([1, 2], pa.int64()))
    file.postscript.put(8000)
    path = file.write(tmp_path / "t.orc")
    assert orc_schema([path])[0].type == t.int64
    assert scan(path, t.int64) == [1, 2]


@pytest.mark.parametrize("compression", ["zlib", "snappy", "lz4", "zstd"])
def test_no_block_size(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "t.orc"
    orc.write_table(pa.table({"c": [1, 2] * 5000}), path, compression=compression)
    data = path.read_bytes()
    script = Message.parse(data[-1 - data[-1] : -1]).put(3).encode()
    path.write_bytes(data[: -1 - data[-1]] + script + bytes([len(script)]))
    assert orc_schema([str(path)])[0].type == t.int64
    assert scan(path, t.int64) == [1, 2] * 5000


def test_what_is_refused_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.orc"
    file = written(path, pa.array([1, 2], pa.int64()))
    original = path.read_bytes()

    def refused(why: str) -> None:
        for look in (lambda: orc_schema([str(path)]), lambda: scan(path, t.int64)):
            with pytest.raises(SchemaMismatch, match=why) as e:
                look()
            assert str(path) in e.value.message

    file.postscript.put(2, 3)
    file.write(path)
    refused("it is compressed with LZO")
    path.write_bytes(original)
    file = OrcFile.read(path)
    file.footer.fields.append((10, BYTES, b""))
    file.write(path)
    refused("it is encrypted")
    path.write_bytes(original)
    file = OrcFile.read(path)
    file.footer.put(4, Message().put(1, LONG))
    file.write(path)
    refused("its rows are single values")


# Footers


NESTED = pa.struct(
    [
        ("l", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.struct([("x", pa.decimal128(5, 2)), ("y", pa.bool_())]))),
    ]
)


@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_columns_without_a_type_are_opaque(tmp_path: Path, local: Session, compression: str) -> None:
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1], pa.int32()), pa.array(["a"])]
    )
    data = pa.table({"n": pa.array([None, None], NESTED), "a": [1, 2], "u": union, "b": ["x", "y"]})
    path = str(tmp_path / "t.orc")
    orc.write_table(data, path, compression=compression)
    assert [(f.name, str(f.type)) for f in orc_schema([path])] == [
        ("n", "struct<l list<int64>, m map<string, struct<x decimal(5, 2), y bool>>>?"),
        ("a", "int64?"),
        ("u", "union<int32, string>?"),
        ("b", "string?"),
    ]
    assert local.run(read(path).select("b", "a")).to_pylist() == [{"b": "x", "a": 1}, {"b": "y", "a": 2}]
    with pytest.raises(JumpgateError, match="'u' is a union<int32, string>"):
        local.run(read(path).select("u"))


def test_files_of_one_table_differ(tmp_path: Path, local: Session) -> None:
    """In the order of columns, in their width, and in which there are."""
    tables = [
        pa.table({"a": pa.array([1, 2], pa.int32()), "s": ["x", "y"]}),
        pa.table({"s": ["z"], "f": [0.5], "a": pa.array([2**40], pa.int64())}),
    ]
    paths = [str(tmp_path / f"{i}.orc") for i in range(2)]
    for path, data in zip(paths, tables, strict=True):
        orc.write_table(data, path)
    rows = [{"a": 1, "s": "x", "f": None}, {"a": 2, "s": "y", "f": None}, {"a": 2**40, "s": "z", "f": 0.5}]
    assert sorted(local.run(read(paths)).to_pylist(), key=lambda row: row["a"]) == rows
    assert local.run(read(paths).filter(col("f") > 0.0)).to_pylist() == rows[2:]
    assert local.run(read(paths).filter(col("f").is_null()).select("s")).to_pylist() == [{"s": "x"}, {"s": "y"}]
    with pytest.raises(SchemaMismatch, match="column 'g' is not in the file, which has: a, s"):
        probe.scan("orc", paths, Schema((Field("g", t.int64),)))


def test_a_dictionary_of_too_many_texts(tmp_path: Path) -> None:
    """Empty texts take four bytes for 512 of them, and room in memory that the file has not."""
    file = written(tmp_path / "t.orc", pa.array(["a", "b"] * 100), dictionary_key_size_threshold=1.0)
    file.stripes[0].information.put(5, 1 << 40)
    root, column = file.stripes[0].footer.messages(2)
    assert column.integer(2) == 2
    file.stripes[0].footer.put(2, root, column.put(2, 1 << 39))
    with pytest.raises(MalformedData, match="'c': a dictionary of more texts than its bytes can hold"):
        scan(file.write(tmp_path / "t.orc"), t.string)


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("compression", ["uncompressed", "zlib", "snappy", "lz4", "zstd"])
def test_damaged_footers_are_typed_errors(tmp_path: Path, compression: str) -> None:
    rng = random.Random(compression)
    path = tmp_path / "t.orc"
    names = [f"column number {i % 7} of {i}" for i in range(60)]
    orc.write_table(pa.table({n: pa.array([1], NESTED if n[14] == "3" else pa.int64()) if n[14] != "3" else
                              pa.array([None], NESTED) for n in names}), path, compression=compression)  # fmt: skip
    whole = path.read_bytes()
    assert orc_schema([str(path)]).names == tuple(names)
    refused = 0
    for i in range(300):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[-1 - rng.randrange(min(len(data), 40 if i % 3 == 0 else 1200))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data))])])
        try:
            orc_footer.read_footer(str(path))
        except (MalformedData, SchemaMismatch) as e:
            refused += 1
            assert str(path) in e.message
    assert refused > 100


@pytest.mark.parametrize("child", [0, 1, 3, 1 << 30])
def test_types_nested_in_undeclared_ones(tmp_path: Path, child: int) -> None:
    """The root is type 0, the list type 1, its element type 2."""
    file = written(tmp_path / "t.orc", pa.array([["a"], None, []]))
    root, texts, text = file.footer.messages(4)
    assert texts.fields[1] == (2, BYTES, packed([2]))
    file.footer.put(4, root, texts.put(2, packed([child])), text)
    with pytest.raises(MalformedData, match="a column of an undeclared type"):
        scan(file.write(tmp_path / "t.orc"), t.string)
