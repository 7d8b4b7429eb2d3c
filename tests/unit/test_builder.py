"""The fluent builder: what each step makes, and what each mistake says."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.expressions import Call, Case, Cast, ColumnRef, InList, Literal
from jumpgate.dataflow.files import list_files
from jumpgate.dataflow.measures import (
    avg,
    count,
    count_distinct,
    max_,
    min_,
    stddev,
    sum_,
)
from jumpgate.dataflow.operators import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Operator,
    Project,
    Read,
    Send,
    Shuffle,
    Sort,
    UnionAll,
)
from jumpgate.dataflow.types import Field, Schema, decimal, float64, int32, parse_type
from jumpgate.dataflow.unresolved import col, f, lit, when
from jumpgate.dataflow.validate import problems
from jumpgate.errors import FileUnreadable, InvalidDataflow

SALES = {"sold": "int32", "item": "int64", "price": "decimal(7,2)", "note": "string", "day": "date", "rate": "float32"}
ITEMS = {"i_item": "int32", "brand": "string", "price": "decimal(7,2)"}


@pytest.fixture
def sales(tmp_path: Path) -> Dataflow:
    (tmp_path / "sales.json").touch()
    return read(tmp_path / "sales.json", schema=SALES)


@pytest.fixture
def items(tmp_path: Path) -> Dataflow:
    (tmp_path / "items.csv").touch()
    return read(tmp_path / "items.csv", schema=ITEMS, header=True)


def valid(dataflow: Dataflow) -> Operator:
    """The root, after the checks that the service makes."""
    for node in dataflow.root.walk():
        assert problems(node) == []
    return dataflow.root


def predicate(dataflow: Dataflow) -> str:
    root = valid(dataflow)
    assert isinstance(root, Filter)
    return str(root.predicate)


def test_read(sales: Dataflow, items: Dataflow) -> None:
    root = valid(items)
    assert isinstance(root, Read)
    assert (root.format, root.options, root.columns) == ("csv", (("header", "true"),), (0, 1, 2))
    assert sales.schema.names == tuple(SALES)
    assert sales.schema[2] == Field("price", decimal(7, 2))


def test_read_of_some_columns_and_inferred_schema(tmp_path: Path) -> None:
    (tmp_path / "a.orc").touch()
    seen = []

    def infer(files: tuple[str, ...], format: str, options: dict[str, str]) -> Schema:
        seen.append((files, format, options))
        return Schema.of(a=int32, b=float64)

    dataflow = read(tmp_path / "a.orc", schema=infer, columns=["b"])
    assert seen == [((str(tmp_path / "a.orc"),), "orc", {})]
    assert dataflow.schema == Schema.of(b=float64)


def test_literals_take_the_columns_type(sales: Dataflow) -> None:
    assert predicate(sales.filter(col("price") > 1.5)) == "gt(#2:price, Decimal('1.50'))"
    assert predicate(sales.filter(col("item") > 3)) == "gt(#1:item, 3)"
    assert predicate(sales.filter(col("day") == "2024-02-29")) == "eq(#4:day, datetime.date(2024, 2, 29))"
    assert predicate(sales.filter(col("rate") < 0.1)) == "lt(cast(#5:rate as float64?), 0.1)"
    assert predicate(sales.filter(col("note") == lit(None))) == "eq(#3:note, null)"


def test_arithmetic_types(sales: Dataflow) -> None:
    result = sales.select(
        a=col("sold") + 1,
        b=col("price") * 2,
        c=col("price") * Decimal("0.5"),
        d=col("price") / 3,
        e=-col("rate"),
        g=col("item") % 2,
        h=1 - col("sold"),
        i=f.round(col("price"), 1),
    )
    valid(result)
    assert [str(t) for t in result.schema.types] == [
        "int32?",
        "decimal(8, 2)?",
        "decimal(8, 3)?",
        "float64?",
        "float32?",
        "int64?",
        "int32?",
        "decimal(7, 1)?",
    ]


def test_logic_chains_stay_flat(sales: Dataflow) -> None:
    condition = col("sold") == 0
    for i in range(1, 2000):
        condition = condition | (col("sold") == i)
    root = valid(sales.filter(condition))
    assert isinstance(root, Filter) and isinstance(root.predicate, Call)
    assert len(root.predicate.args) == 2000


def test_expressions(sales: Dataflow) -> None:
    root = valid(
        sales.select(
            between=col("sold").between(1, 2),
            within=col("sold").isin([1, None]),
            like=col("note").like("a!%%", "!"),
            cast=col("item").cast("int32"),
            tried=col("note").try_cast("date"),
            same=col("sold").cast("int32"),
            case=when(col("sold") > 1).then(1).when(col("sold") > 0).then(2.5).otherwise(None),
            case_typed=when(col("sold") > 1).then(col("price")).otherwise(0),
            null=lit(None).cast("string"),
            text=f.concat(f.upper(col("note")), "!"),
            later=f.date_add_days(col("day"), 5),
        )
    )
    assert isinstance(root, Project)
    by_name = dict(zip(root.names, root.expressions, strict=True))
    assert str(by_name["between"]) == "and(ge(#0:sold, 1), le(#0:sold, 2))"
    assert isinstance(by_name["within"], InList) and by_name["within"].type.nullable
    assert isinstance(by_name["tried"], Cast) and by_name["tried"].on_failure == "null"
    assert by_name["same"] == ColumnRef(int32, 0, "sold")
    assert isinstance(by_name["case"], Case) and by_name["case"].type == float64
    assert by_name["case_typed"].type == decimal(7, 2)
    assert by_name["null"] == Literal(parse_type("string?"), None)


def test_with_columns_replaces_in_place(sales: Dataflow) -> None:
    result = sales.with_columns(note=f.char_length(col("note")), twice=col("sold") * 2)
    assert result.schema.names == (*SALES, "twice")
    assert result.schema[3].type.kind == "int64"


def test_join_keys_are_cast(sales: Dataflow, items: Dataflow) -> None:
    root = valid(sales.join(items.select("i_item", "brand"), left_on="item", right_on="i_item"))
    assert isinstance(root, Join)
    assert [str(k) for k in (*root.left_keys, *root.right_keys)] == ["#1:item", "cast(#0:i_item as int64?)"]
    assert root.schema.names == (*SALES, "i_item", "brand")


@pytest.mark.parametrize(
    ("how", "key"), [("inner", "#0:k"), ("left", "#0:k"), ("right", "#2:k"), ("full", "coalesce(#0:k, #2:k)")]
)
def test_join_on_keeps_one_key(tmp_path: Path, how: str, key: str) -> None:
    (tmp_path / "t.json").touch()
    left = read(tmp_path / "t.json", schema={"k": "int32", "a": "int32"})
    right = read(tmp_path / "t.json", schema={"k": "int32", "a": "int32"})
    root = valid(left.join(right, on="k", how=how, suffix="_right"))
    assert isinstance(root, Project)
    assert root.names == ("k", "a", "a_right")
    assert str(root.expressions[0]) == key


@pytest.mark.parametrize("how", ["semi", "anti", "mark"])
def test_join_of_left_rows(sales: Dataflow, how: str) -> None:
    result = sales.join(sales, on="sold", how=how, where=col("price") < col("price_r"), suffix="_r")
    root = valid(result)
    assert isinstance(root, Join)
    assert str(root.residual) == "lt(#2:price, #8:price_r)"
    assert result.schema.names == (*SALES, "mark") if how == "mark" else tuple(SALES)


def test_aggregate(sales: Dataflow) -> None:
    result = sales.aggregate(
        count().alias("n"),
        by=["note", f.year(col("day")).alias("y")],
        total=sum_("price"),
        mean=avg("sold"),
        low=min_("day"),
        high=max_("note"),
        kinds=count_distinct("item"),
        known=count("rate"),
        spread=stddev("rate"),
    )
    assert isinstance(valid(result), Aggregate)
    assert str(result.schema) == (
        "(note: string?, y: int64?, n: int64, total: decimal(38, 2)?, mean: float64?, "
        "low: date?, high: string?, kinds: int64, known: int64, spread: float64?)"
    )


def test_sort_limit_and_the_rest(sales: Dataflow) -> None:
    top = valid(sales.top(5, col("price").desc(), "item", offset=2))
    assert isinstance(top, Sort) and (top.limit, top.offset) == (5, 2)
    assert [(k.descending, k.nulls_first) for k in top.keys] == [(True, False), (False, False)]
    first = valid(sales.sort(col("price").asc(nulls_first=True)))
    assert isinstance(first, Sort) and first.keys[0].nulls_first and first.limit is None
    assert isinstance(valid(sales.limit(3, offset=1)), Limit)
    shuffled = valid(sales.distinct().shuffle("item", count=4))
    assert isinstance(shuffled, Shuffle) and shuffled.partitioning.keys == (1,)
    sent = valid(sales.send("127.0.0.1:1", "127.0.0.1:2", by=["note"]))
    assert isinstance(sent, Send) and (sent.partitioning.kind, sent.partitioning.count) == ("hash", 2)


def test_union_all_casts(sales: Dataflow, items: Dataflow) -> None:
    result = items.union_all(sales.select("item", "note", "price"), items)
    assert isinstance(valid(result), UnionAll)
    assert str(result.schema) == "(i_item: int64?, brand: string?, price: decimal(7, 2)?)"


def test_print(sales: Dataflow) -> None:
    small = sales.filter(col("sold") > 3)
    assert small.join(small, on="sold", how="semi").explain().splitlines() == [
        "join semi on #0:sold = #0:sold",
        "  [1] filter gt(#0:sold, 3)",
        "    read json sales.json (sold, item, price, note, day, rate)",
        "  [1] (as above)",
    ]
    assert repr(small).startswith("Dataflow(sold: int32?, item: int64?")


MISTAKES = [
    (lambda s, i: s.filter(col("solt") > 1), "unknown column 'solt' in filter; did you mean 'sold'?"),
    (lambda s, i: i.filter(col("xyz") > 1), "unknown column 'xyz' in filter; it has 'i_item', 'brand', 'price'"),
    (
        lambda s, i: s.filter(col("note") > 3),
        "filter: note > 3: 3 (int32) cannot be used as string; cast the column to compare with it",
    ),
    (
        lambda s, i: s.filter(col("sold") > 3.5),
        "filter: sold > 3.5: 3.5 does not fit int32 exactly; cast the column to compare with it",
    ),
    (
        lambda s, i: s.filter(col("sold") == 2**31),
        "filter: sold == 2147483648: 2147483648 does not fit int32; cast the column to compare with it",
    ),
    (lambda s, i: s.filter(col("day") == "2023-02-29"), "filter: day == '2023-02-29': '2023-02-29' does not fit date"),
    (
        lambda s, i: s.filter(col("note") == col("item")),
        "filter: note == item: string and int64 have no common type; cast one of them",
    ),
    (lambda s, i: s.filter(col("sold").isin([1, "x"])), "filter: isin on sold: 'x' (string) cannot be used as int32"),
    (lambda s, i: s.filter(col("note")), "filter needs a condition, note is string"),
    (lambda s, i: s.filter(col("note").like("a!", "!")), "like: the escape '!' must precede %, _ or itself in 'a!'"),
    (lambda s, i: s.filter(col("sold") == lit(object)), "a Python type is not an SQL value"),
    (lambda s, i: s.filter(col("day") == datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)), "cannot be used as date"),
    (lambda s, i: s.filter(col("note") == "\ud800"), "is not valid Unicode"),
    (lambda s, i: s.select(col("sold") + 1), "sold + 1 in select has no name; add .alias(name)"),
    (lambda s, i: s.select(x=col("note") + 1), "select: note + 1: takes numbers, not string, int32"),
    (
        lambda s, i: s.select(x=col("rate").cast("string")),
        "select: cast(rate as string): there is no cast from float32 to string",
    ),
    (lambda s, i: s.select(x=col("price").cast("decimal(40,2)")), "decimal(40, 2): precision is 1 to 38"),
    (lambda s, i: s.select("sold", "sold"), "two columns called 'sold' in select; rename one with .alias"),
    (lambda s, i: s.select(), "select needs at least one column"),
    (lambda s, i: s.select(x=lit(None)), "None has no type of its own; write lit(None).cast(TYPE)"),
    (lambda s, i: s.select(x=f.date_trunc("century", col("day"))), "date_trunc: 'century' is none of year, quarter"),
    (lambda s, i: s.select(x=sum_("sold")), "aggregation cannot be part of an expression"),
    (
        lambda s, i: s.join(i, left_on="item", right_on="i_item"),
        "join: both inputs have a column 'price'; pass suffix=\"_right\" to rename the right one",
    ),
    (
        lambda s, i: s.join(i, left_on="note", right_on="i_item", suffix="_r"),
        "join: key note is string, key i_item is int32; cast one of them",
    ),
    (
        lambda s, i: s.join(i, left_on="item", right_on="i_itm", suffix="_r"),
        "unknown column 'i_itm' in join (right input); did you mean 'i_item'?",
    ),
    (lambda s, i: s.join(i, left_on=["item", "sold"], right_on="i_item"), "left_on has 2 keys, right_on has 1"),
    (lambda s, i: s.join(i, how="outer", where=lit(True)), "join: unknown type 'outer'"),
    (lambda s, i: s.join(i), "join needs on=, left_on= and right_on=, or where= (lit(True) for every pair of rows)"),
    (
        lambda s, i: s.join(i, left_on="item", right_on="i_item", how="semi", where=col("price") > 1),
        "column 'price' in join is ambiguous; both inputs have it: give join a suffix",
    ),
    (lambda s, i: s.join(i, left_on="sold", right_on="i_item", suffix=""), "two columns called 'price'"),
    (lambda s, i: s.aggregate(x=sum_("note")), "sum(note) in aggregate needs a number, not string"),
    (lambda s, i: s.aggregate(sum_("sold")), "sum in aggregate has no name; write name=sum(…) or .alias(name)"),
    (lambda s, i: s.aggregate(x=col("sold")), "sold in aggregate is not a measure; use sum_, count"),
    (lambda s, i: s.aggregate(), "aggregate needs keys (by=) or measures"),
    (lambda s, i: s.aggregate(by=["sold"], sold=count()), "two columns called 'sold' in aggregate"),
    (lambda s, i: s.sort(), "sort needs at least one key"),
    (lambda s, i: s.top(-1, "sold"), "top: count is -1; it must be an integer from 0 on"),
    (lambda s, i: s.limit(1.5), "limit: count is 1.5; it must be an integer from 0 on"),
    (lambda s, i: s.union_all(i), "union_all: input 1 has 6 columns, input 2 has 3"),
    (
        lambda s, i: i.union_all(s.select("note", "sold", "price")),
        "union_all: column 'i_item': int32 and string have no common type",
    ),
    (lambda s, i: s.shuffle(count=2), "shuffle: partitioning 'hash' needs keys"),
    (lambda s, i: s.shuffle("sold", kind="hsh"), "shuffle: unknown partitioning 'hsh'; did you mean 'hash'?"),
    (lambda s, i: s.shuffle("sold", count=0), "shuffle: 0 partitions"),
    (lambda s, i: s.send("nowhere"), "send: endpoint 'nowhere' is not host:port"),
    (lambda s, i: s.send(), "send needs at least one endpoint"),
    (lambda s, i: s.send("h:1").limit(1), "limit after send: send must be the last operator"),
    (lambda s, i: col(3), "col() takes a column's name, not 3"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[m[:60] for _, m in MISTAKES])
def test_mistake(sales: Dataflow, items: Dataflow, mistake, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidDataflow) as raised:
        mistake(sales, items)
    assert message in str(raised.value)


def test_all_problems_of_an_operator_at_once(sales: Dataflow) -> None:
    with pytest.raises(InvalidDataflow) as raised:
        sales.filter(col("a") > 1, (col("b") == 1) | (col("note") > 3), col("sold"))
    assert len(raised.value.problems) == 4
    assert raised.value.fields["operator"] == "filter"


def test_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use &, |, ~"):
        bool(col("a") == 1)


def test_unknown_function() -> None:
    with pytest.raises(AttributeError, match="there is no function 'uper'"):
        _ = f.uper


def test_depth_is_bounded(sales: Dataflow) -> None:
    expression = col("sold")
    with pytest.raises(InvalidDataflow, match="nests more than 100 levels"):
        for _ in range(200):
            expression = expression + 1
    with pytest.raises(InvalidDataflow, match="at most 200 operators on one path"):
        for _ in range(300):
            sales = sales.limit(1)


def test_listing(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "c.txt", ".hidden.parquet", "sub/d.pq", "_tmp/e.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    base = str(tmp_path)
    assert list_files(tmp_path) == ((f"{base}/a.parquet", f"{base}/b.parquet", f"{base}/sub/d.pq"), "parquet")
    assert list_files(f"{base}/*.parquet")[0] == (f"{base}/a.parquet", f"{base}/b.parquet")
    assert list_files([f"{base}/b.parquet", f"{base}/a.parquet"])[0] == (f"{base}/b.parquet", f"{base}/a.parquet")
    assert list_files(f"{base}/c.txt", "csv") == ((f"{base}/c.txt",), "csv")
    odd = tmp_path / "[x].csv"
    odd.touch()
    assert list_files(odd) == ((str(odd),), "csv")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing.csv", FileUnreadable, "missing.csv': No such file or directory"),
        ("*.orc", FileUnreadable, "read: no file matches"),
        ("empty", FileUnreadable, "holds no files with suffix .csv"),
        ("a\0b.csv", FileUnreadable, "contains a NUL character"),
        ("x.txt", InvalidDataflow, "tells no format; give format=json | orc | parquet | csv"),
        ("mixed", InvalidDataflow, "files of several formats (csv, json)"),
    ],
)
def test_listing_mistake(tmp_path: Path, name: str, error: type[Exception], message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed/a.csv").touch()
    (tmp_path / "mixed/b.json").touch()
    (tmp_path / "x.txt").touch()
    with pytest.raises(error) as raised:
        list_files(f"{tmp_path}/{name}")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimeter": ","}, "read: csv has no option 'delimeter'; did you mean 'delimiter'?"),
        ({"delimiter": "ab"}, "option delimiter is 'ab'; it must be one ASCII character"),
        ({"header": 3}, "option header is '3'; it can be true or false"),
        ({"on_error": "ignore"}, "option on_error is 'ignore'; it can be fail or skip"),
    ],
)
def test_read_option_mistake(tmp_path: Path, options: dict[str, object], message: str) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(InvalidDataflow) as raised:
        read(tmp_path / "a.csv", schema={"a": "int32"}, **options)
    assert message in str(raised.value)


def test_read_schema_mistakes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    with pytest.raises(InvalidDataflow, match="column 'a': unknown type 'int33'"):
        read(tmp_path / "a.csv", schema={"a": "int33"})
    with pytest.raises(InvalidDataflow, match="has no columns"):
        read(tmp_path / "a.csv", schema={})
    with pytest.raises(InvalidDataflow, match="unknown column 'b' in read"):
        read(tmp_path / "a.csv", schema={"a": "int32"}, columns=["b"])
    with pytest.raises(InvalidDataflow, match="unknown format 'xml'"):
        read(tmp_path / "a.csv", schema={"a": "int32"}, format="xml")


def test_imports_stay_light() -> None:
    code = (
        "import sys, jumpgate, jumpgate.dataflow.builder, jumpgate.dataflow.evaluate; "
        "print([m for m in ('grpc', 'pyarrow', 'google.protobuf', 'paramiko', 'asyncio') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_dataflows_with_the_same_nan_are_equal() -> None:
    one, other = (Literal(float64, float("nan")) for _ in range(2))
    assert one == other and hash(one) == hash(other)
    assert one != Literal(float64, 1.0)
