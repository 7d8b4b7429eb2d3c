"""The JSON lines reader on rows that differ from those before: whether one is read depends on nothing but itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jumpgate.dataflow.types import Field, Schema, parse_type
from jumpgate.errors import DataError, MalformedData
from tests.support.json_files import CHUNK_BYTES, parsed, scan
from tests.support.text_files import two, write

#: bytes of rows that are alike, in front of one that is not: some, so that rows are walked once their chunk is indexed;
#: or so many that the reader has walked for long, and indexes no more than the line of one that differs
BEFORE = (1 << 10, 3 * CHUNK_BYTES)
#: rows between two that differ, for which the reader goes on to walk them
BETWEEN = 1100


@pytest.mark.nightly(every=4)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("wanted", ["ab", "a"])
@pytest.mark.parametrize("end", [b"\n", b" \r\n"])
def test_one_byte_off(tmp_path: Path, before: int, wanted: str, end: bytes) -> None:
    """Among rows that are alike, those in which one byte is another, or missing, or more: in a key, in a value, between
    them, in the line's end. What nobody wants is passed over only where the row's structure is as it belongs. Chunks
    are only indexed if all of them is good UTF-8, and no string seems to go on in the next line."""
    walked = before == BEFORE[1]
    changes = b"{}[],:0 nz" + (b'"\\\t\x01\xff' if walked else b"")
    good = b'{"a":12,"z_is_a_longer_name_than_32_bytes":"x","b":"t"}' + end
    lines = []
    for place in range(len(good)):
        for byte in (b"", *(bytes([c]) for c in changes)):
            lines += [good[:place] + byte + good[place + 1 :], good[:place] + byte + good[place:]]
    lines = [line for line in lines if b"\r" not in line.replace(b"\r\n", b"")]  # refused as a whole
    if walked:
        lines = random.Random(5).sample(lines, 300)
    between = good * (BETWEEN if walked else 40)
    text = good * (before // len(good)) + b"".join(between + line for line in lines) + good * 20
    expected, skipped = [], 0
    parsed_lines = {line: parsed(line) for line in set(text.split(b"\n"))}
    for line in filter(bytes.strip, text.split(b"\n")):
        row = parsed_lines[line]
        skipped += row is None
        if row is not None:
            expected.append(tuple(row["ab".index(name)] for name in wanted))
    schema = Schema(tuple(f for f in two() if f.name in wanted))
    found = scan(write(tmp_path / "t.json", text), schema, options={"on_error": "skip", "values": "exact"})
    assert list(zip(*found.columns, strict=True)) == expected
    assert found.skipped_rows == skipped


def test_a_brace_that_is_missing_in_one_row(tmp_path: Path) -> None:
    """Behind rows that each end in the next line."""
    text = '{"a":1\n}\n' * 60
    path = write(tmp_path / "t.json", text + '{"a":2\n' + text)
    with pytest.raises(DataError, match="line 121 "):
        scan(path, two())


PASSED_OVER = [
    ("1", True), ('"x"', True), ("null", True), ("{}", True), ('[1,"]"]', True), ('{"a":5,"b":"no"}', True),
    (r'"\"\\"', True), (r'"\\"', True), ('"wörd"', True), ("1" * 40, True), ('"' + "y" * 100 + '"', True),
    ("", False), ("1 2", False), ('"x"1', False), ('"x" "y"', False), ("1,2", False), ('"\x01"', False),
    ('"\t"', False), (r'"\"', False), ('"', False), ('"x\n"', False),
]  # fmt: skip


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize(("value", "right"), PASSED_OVER)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("like", ["7", '"seven"'])
def test_what_is_passed_over(tmp_path: Path, value: str, right: bool, before: int, like: str) -> None:
    """The value of a field that nobody wants, behind rows that have a number or a string there."""
    line = '{{"a":{},"z":{},"b":"x"}}\n'.format
    before //= len(line(0, like))
    text = "".join(line(i, like) for i in range(before)) + line(-1, value) + "".join(line(i, like) for i in range(20))
    path = write(tmp_path / "t.json", text)
    numbers = [*range(before), *([-1] if right else []), *range(20)]
    found = scan(path, two(), options={"on_error": "skip"})
    assert found.columns == (numbers, [b"x"] * len(numbers))
    assert found.skipped_rows == (0 if right else 1 + value.count("\n"))
    if not right:
        with pytest.raises(DataError) as e:
            scan(path, two())
        assert e.value.fields["line"] == str(before + 1)


@pytest.mark.parametrize("raw", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\x1f", b"\x00"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("like", ["ä€😀", "y" * 40])
def test_bytes_that_no_string_may_hold(tmp_path: Path, raw: bytes, before: int, like: str) -> None:
    """They are found in a string that nobody wants, too, wherever in it, and behind a backslash."""
    good = f'{{"a":1,"z":"{like}"}}\n'.encode()
    count = before // len(good)
    bad = [b'{"a":1,"z":"' + b"y" * n + back + raw + b'y"}\n' for n in (0, 30, 31, 32, 63) for back in (b"", b"\\")]
    path = write(tmp_path / "t.json", good * count + (good * BETWEEN).join(bad))
    with pytest.raises(MalformedData) as e:
        scan(path, two())
    assert e.value.fields["line"] == str(count + 1)
    found = scan(path, two(), options={"on_error": "skip"})
    assert (found.rows, found.skipped_rows) == (count + (len(bad) - 1) * BETWEEN, len(bad))


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("values", ["exact", "convert"])
@pytest.mark.parametrize(
    "line",
    [
        '{"a":2,x"z":"x","b":"t"}', '{"a":2,"z"x:"x","b":"t"}', '{"a":2,1"z":"x","b":"t"}',
        '{"a":2\x01,"z":"x","b":"t"}', '{"a":2,"z":"x"\x01,"b":"t"}',
        '{"a":2,"z":"x","b":"t"\x01}', '{"a":2,"z":"x","b":"t"}\x01', "\x01", "\f",
    ],
)  # fmt: skip
def test_what_stands_beside_keys_and_values(tmp_path: Path, line: str, values: str, before: int) -> None:
    """Something else than white space is a fault, whichever rows came before."""
    good = '{"a":1,"z":"x","b":"t"}\n'
    count = before // len(good)
    path = write(tmp_path / "t.json", good * count + line + "\n" + good * 20)
    with pytest.raises(DataError) as e:
        scan(path, two(), options={"values": values})
    assert e.value.fields["line"] == str(count + 1)
    found = scan(path, two(), options={"values": values, "on_error": "skip"})
    assert (found.rows, found.skipped_rows) == (count + 20, 1)


BIG = "123456789012345678901234"
#: behind a=2: fields, and what is in d
BIG_NUMBERS = [
    (f' "d":{BIG}', int(BIG)), (f'"d":-{"1" * 33}', -int("1" * 33)), (f'"d":{BIG},"s":"\\n"', int(BIG)),
    ('"d":5,"u":-1E400', 5), ('"d":5,"u":1e400,"s":"\\"1"', 5), (f'"s":"\\\\","u":[{{"v":{BIG}}},-1E+400],"d":5', 5),
]  # fmt: skip


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(("fields", "value"), BIG_NUMBERS)
@pytest.mark.parametrize("a_is_first", [True, False])
def test_numbers_beyond_64_bits(tmp_path: Path, fields: str, value: int, a_is_first: bool, before: int) -> None:
    """Where values are to be exact, too, they are JSON, read or not; and what else is none is found beside them."""
    good = '{"a":1,"d":5}\n'
    count = before // len(good)
    line = f'{{"a":2,{fields}}}\n' if a_is_first else f'{{{fields},"a":2}}\n'
    path = write(tmp_path / "t.json", good * count + line + good * 20)
    ad = Schema((Field("a", parse_type("int64?")), Field("d", parse_type("decimal(38, 0)?"))))
    for options in ({"values": "exact"}, {"values": "exact", "on_error": "skip"}):
        found = scan(path, ad, options=options)
        assert found.skipped_rows == 0
        assert [column[count] for column in found.columns] == [2, value]
        assert scan(path, ad.select((0,)), options=options).rows == count + 21
    for wrong in ("tru", "01", "1E", '"\\q"', "[1E400,]", f"{BIG}1x", f"-{BIG} 1"):
        path = write(tmp_path / "u.json", good * count + line.replace("}\n", f',"w":{wrong}}}\n') + good)
        with pytest.raises(MalformedData) as e:
            scan(path, ad.select((0,)), options={"values": "exact"})
        assert e.value.fields["line"] == str(count + 1)
