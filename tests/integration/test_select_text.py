"""What stores make of CSV and JSON is cast, checked here, or read by ranges: each case beside DuckDB.

The dialects minio and aws are doubles here, whose fields are text; hadro is itself, and infers types.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import Dataflow, col, read
from jumpgate.compiler.explain import explain_text
from jumpgate.dataflow.unresolved import Unresolved
from jumpgate.errors import MalformedData, Overflow, SchemaMismatch
from jumpgate.ncas.s3_select import pushback
from jumpgate.stores import settings
from jumpgate.stores.settings import Store as StoreSettings
from jumpgate.testing.oracle import assert_same
from tests.support.select_double import SelectDouble
from tests.support.select_lab import SelectLab, lab

TYPES = {
    "i": "int64", "n": "decimal(9, 2)", "x": "float64", "d": "date", "t": "timestamp", "b": "bool", "s": "string",
}  # fmt: skip
#: plain notations, which DuckDB reads as the readers here do
PLAIN = """i,n,x,d,t,b,s
1,0.05,1.5,2024-01-31,2024-01-31 12:00:00,true,a
007,0.04,nan,2024-02-01,2024-02-01T00:00:00,false,b
-9223372036854775808,-9999999.99,-inf,0001-01-01,0001-01-01 00:00:00,true,"q,x"
9223372036854775807,9999999.99,1e308,9999-12-31,9999-12-31 23:59:59.999999,false,"say ""no"" now"
,,,,,,
9007199254740993,5.00,-0.0,2024-02-29,2024-01-01 00:00:00,,A
9007199254740992,0.50,5e-324,1969-12-31,2024-01-31 12:00:00.5,true,~
12,1,0.1,2024-01-01,1969-12-31 23:59:59,false,a
"""
#: others: the same values as in `AGAIN`
ODD = """i,n,x,d,t,b,s
+5,.045,+1, 2024-01-01 ,2024-01-01 01:00:00+02:00,T,a
 6 ,1e1,1e0,2024-02-29 00:00:00,2024-01-01,f,b
3.0,5.005, 2.5 ,2024-01-31T00:00:00,2024-01-31 12:00:00.5000000,1,c
1e3,-0.055,Infinity,2023-12-31,2024-01-31T12:00:00Z,0,d
"""
AGAIN = """i,n,x,d,t,b,s
5,0.05,1,2024-01-01,2023-12-31 23:00:00,true,a
6,10,1,2024-02-29,2024-01-01 00:00:00,false,b
3,5.01,2.5,2024-01-31,2024-01-31 12:00:00.5,true,c
1000,-0.06,inf,2023-12-31,2024-01-31 12:00:00,false,d
"""
NOON = datetime(2024, 1, 31, 12)
#: conditions, and whether their columns are of types that come back unchanged from a store that infers types
CONDITIONS: dict[str, Unresolved] = {
    "integers": (col("i") > 3) & (col("i") != 12),
    "integers that no double is": (col("i") == 2**53 + 1) | (col("i") == 5) | (col("i") == 7),
    "the next integer": (col("i") < 2**53 + 1) & (col("i") >= 6),
    "the greatest and the least": (col("i") >= 2**63 - 1) | (col("i") <= -(2**63)),
    "integers in a list": col("i").isin([1, 6, 7, 1000, 2**53]),
    "no integer of a list": ~col("i").isin([1, 6]),
    "decimals": col("n") >= Decimal("0.05"),
    "decimals below": (col("n") < Decimal("0.05")) | (col("n") > Decimal("5.00")),
    "a decimal": (col("n") == Decimal("0.05")) | (col("n") == Decimal("5.01")),
    "floats and NaN": col("x") > 1.0,
    "floats below": (col("x") <= 1.5) & (col("x") != 0.0),
    "not a float": ~(col("x") < 2.5),
    "dates": (col("d") >= date(2024, 1, 1)) & (col("d") < date(2024, 2, 29)),
    "a date": (col("d") == date(2024, 2, 29)) | (col("d") == date(1969, 12, 31)),
    "times": col("t") < datetime(2024, 1, 1),
    "times from": col("t") >= NOON,
    "a time": col("t") == NOON,
    "truth": col("b"),
    "what is not": ~(col("b") | (col("s") == "a")),
    "text": (col("s") == "a") | (col("s") == "q,x"),
    "other text": col("s") != "a",
    "text in a list": col("s").isin(["A", 'say "no" now', "d"]),
    "the order of text": col("s") > "a",
    "NULL": col("s").is_null() | (col("i") == 5),
    "no NULL": col("i").is_not_null() & (col("s") != "b"),
}  # fmt: skip
DIALECTS = ("aws", "minio", "filters")


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), aws="aws", minio="minio", filters="filters", hadro="hadro") as found:
        for dialect in DIALECTS:
            for name, text in (("plain", PLAIN), ("odd", ODD), ("again", AGAIN)):
                (found.folder / dialect / f"{name}.csv").write_text(text)
        yield found


@pytest.fixture(autouse=True)
def double(objects: SelectLab) -> Iterator[SelectDouble]:
    objects.store.select = found = SelectDouble()
    yield found
    objects.store.before = lambda number: ""
    objects.store.requests.clear()


def put(objects: SelectLab, bucket: str, name: str, text: str | bytes) -> str:
    file = objects.folder / bucket / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return f"s3://{bucket}/{name}"


def gets(objects: SelectLab) -> int:
    """Return the requests that read bytes of objects, beside those that ask for a version."""
    return sum(method == "GET" and range != "bytes=0-0" for method, _, range in objects.store.requests)


def answered(objects: SelectLab, flow: Dataflow) -> list[dict[str, Any]]:
    plan = objects.plan(flow)
    assert any(i.nca == "s3_select" for i in plan.instances), explain_text(plan.explain)
    objects.store.requests.clear()
    return objects.run(flow, plan).to_pylist()


@pytest.mark.parametrize("asked", ["the store", "ranges"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_of_csv(objects: SelectLab, dialect: str, asked: str) -> None:
    if asked == "ranges":
        objects.store.before = lambda number: "refused" if objects.store.requests[-1][0] == "POST" else ""
    plain, odd, again = (read(f"s3://{dialect}/{name}.csv", schema=TYPES) for name in ("plain", "odd", "again"))
    for about, condition in CONDITIONS.items():
        try:
            objects.check(plain.filter(condition))
            assert objects.selects() == 1
            plan = objects.plan(odd.filter(condition))
            objects.store.requests.clear()
            found = objects.run(odd.filter(condition), plan)
            assert (gets(objects) > 0) == (asked == "ranges")
            assert_same(found, objects.here(again.filter(condition).root))
            objects.store.requests.clear()
        except Exception as error:
            raise AssertionError(about) from error


@pytest.mark.parametrize("condition", ["integers", "decimals", "dates", "text"])
def test_the_store_leaves_rows_out(objects: SelectLab, double: SelectDouble, condition: str) -> None:
    flow = read("s3://aws/plain.csv", schema=TYPES).filter(CONDITIONS[condition]).select("s", "i")
    found = objects.check(flow)
    assert len(found) <= double.rows < len(PLAIN.splitlines()) - 1


@pytest.mark.parametrize("dialect", ["aws", "hadro"])
def test_forms_of_csv(objects: SelectLab, dialect: str) -> None:
    if dialect == "hadro":
        objects.store.select = None
    types = {"a": "int64", "b": "string"}
    plain = "a,b\n1,x\n2,y\n3,\n,z\n"
    forms: dict[str, tuple[str | bytes, dict[str, Any]]] = {
        "p.csv": (plain, {}),
        "s.csv": (plain.replace(",", ";"), {"delimiter": ";"}),
        "t.tsv": (plain.replace(",", "\t"), {}),
        "n.csv": (plain.removeprefix("a,b\n"), {"header": False}),
        "k.csv": (plain, {"header": "skip"}),
        "o.csv": ("c,b,a\n9,x,1\n9,y,2\n9,,3\n9,z,\n", {}),
        "z.csv.gz": (gzip.compress(plain.encode()), {}),
        "z.csv.bz2": (bz2.compress(plain.encode()), {}),
        "r.csv": (plain.replace("\n", "\r\n"), {}),
    }
    for name, (text, options) in forms.items():
        flow = read(put(objects, dialect, name, text), schema=types, **options).filter(col("a") > 1)
        assert answered(objects, flow) == [{"a": 2, "b": "y"}, {"a": 3, "b": None}], name
        assert objects.selects() == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_that_means_null(objects: SelectLab, dialect: str) -> None:
    name = put(objects, dialect, "null.csv", "a,b\n1,NA\nNA,b\n3,\n4,c\n")
    flow = read(name, schema={"a": "int64", "b": "string"}, null="NA")
    assert answered(objects, flow.filter(col("b") != "c")) == [{"a": None, "b": "b"}, {"a": 3, "b": ""}]
    assert answered(objects, flow.filter(col("b").is_null())) == [{"a": 1, "b": None}]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a,b\n2.7,x\n", MalformedData),
        ("a,b\n0x10,x\n", MalformedData),
        ("a,b\nabc,x\n", MalformedData),
        ("a,b\n99999999999999999999,x\n", Overflow),
        ("a,b\n5\n", MalformedData),
        ("c,b\n5,x\n", SchemaMismatch),
    ],
)
@pytest.mark.parametrize("dialect", ["aws", "minio", "hadro"])
def test_text_of_another_type_is_an_error(objects: SelectLab, dialect: str, text: str, error: type[Exception]) -> None:
    if dialect == "hadro":
        objects.store.select = None
    name = put(objects, dialect, "wrong.csv", text)
    with pytest.raises(error):
        answered(objects, read(name, schema={"a": "int64", "b": "string"}).filter(col("a") > 1))


LINES = """{"a": 1, "b": "x", "d": "2024-01-31"}
{"a": null, "b": "y"}
{"b": "z", "d": "2024-02-01"}
{"a": 9007199254740993, "b": null, "d": null}

{"d": "2023-12-31", "a": 30, "b": ""}
"""


@pytest.mark.parametrize("dialect", ["aws", "minio", "hadro"])
@pytest.mark.parametrize(
    "condition",
    [
        col("a") > 1, col("a").is_null(), (col("b") == "x") | (col("a") == 2**53 + 1), col("b") != "x",
        col("d") >= date(2024, 1, 31), ~(col("a") > 1),
    ],
)  # fmt: skip
def test_values_of_json(objects: SelectLab, dialect: str, condition: Unresolved) -> None:
    if dialect == "hadro":
        objects.store.select = None
    name = put(objects, dialect, "t.json", LINES)
    flow = read(name, schema={"a": "int64", "b": "string", "d": "date"}).filter(condition)
    assert len(objects.check(flow)) > 0 and objects.selects() == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 12, "b": 7}\n{"a": 3, "b": 8}\n', [{"a": 12, "b": "7"}, {"a": 3, "b": "8"}]),  # numbers for text
        ('{"a": 3.0, "b": "x"}\n{"a": 1e3, "b": "y"}\n', [{"a": 3, "b": "x"}, {"a": 1000, "b": "y"}]),
        ('{"a": "12", "b": "x"}\n', [{"a": 12, "b": "x"}]),
        ('{"a": 9223372036854775808, "b": "x"}\n', Overflow),
        ('{"a": [1], "b": "x"}\n', MalformedData),
        ('[1]\n', MalformedData),
        ('{"a": 2\n', MalformedData),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["aws", "hadro"])
def test_json_that_stores_read_otherwise(objects: SelectLab, dialect: str, text: str, expected: Any) -> None:
    if dialect == "hadro":
        objects.store.select = None
    flow = read(put(objects, dialect, "odd.json", text), schema={"a": "int64", "b": "string"}).filter(col("a") > 1)
    if isinstance(expected, list):
        assert answered(objects, flow) == expected
    else:
        with pytest.raises(expected):
            answered(objects, flow)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"encoding": "latin-1"}, "does not read text with encoding = latin-1"),
        ({"ragged": "null"}, "does not read text with ragged = null"),
        ({"on_error": "skip"}, "does not read text with on_error = skip"),
        ({"values": "exact"}, "does not read text with values = exact"),
    ],
)
def test_options_that_stores_lack(objects: SelectLab, options: dict[str, Any], reason: str) -> None:
    flow = read("s3://aws/plain.csv", schema=TYPES, **options).filter(col("i") > 1)
    assert reason in explain_text(objects.plan(flow).explain)


def test_types_and_operators_that_are_not_pushed(objects: SelectLab) -> None:
    table = read(put(objects, "hadro", "types.csv", PLAIN), schema=TYPES)
    for column, kind in (("x", "float64"), ("n", "decimal(9, 2)")):
        said = explain_text(objects.plan(table.select(column, "i").filter(col("i") > 1)).explain)
        assert f"gives {kind}? of '{column}' in another way" in said
    said = explain_text(objects.plan(read("s3://hadro/types.csv", schema=TYPES, null="NA").select("i")).explain)
    assert "has nothing for NULL" in said


def test_stores_are_asked_about_text_only_where_they_may(objects: SelectLab) -> None:
    settings.configure([StoreSettings("s3://aws", objects.store.endpoint, anonymous=True, select=True)])
    try:
        said = explain_text(objects.plan(read("s3://aws/plain.csv", schema=TYPES).filter(col("i") > 1)).explain)
        assert "does not have csv in select_formats" in said
    finally:
        objects.configure()


def test_many_objects_of_csv_are_read_by_ranges_at_once(objects: SelectLab) -> None:
    """DuckDB scans each on a thread of Arrow's pool, which parses what is scanned on another one. With a thread for
    each object alone, all would wait for ever."""
    folder = objects.folder / "aws/many"
    folder.mkdir()
    for part in range(3 * pushback.AT_ONCE):
        (folder / f"{part}.csv").write_text("k\n" + "".join(f"{k}\n" for k in range(part * 1000, part * 1000 + 1000)))
    objects.store.before = lambda number: "refused" if objects.store.requests[-1][0] == "POST" else ""
    threads = pa.io_thread_count()
    pa.set_io_thread_count(1)
    try:
        found = objects.check(read("s3://aws/many/*.csv", schema={"k": "int64"}).filter(col("k") < 900))
    finally:
        pa.set_io_thread_count(threads)
        objects.store.before = lambda number: ""
    assert found.num_rows == 900
