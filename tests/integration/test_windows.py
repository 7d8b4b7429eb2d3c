"""Window functions in generated programs: equal to DuckDB's, on one host and partitioned over several."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from jumpgate.client import Dataflow
from jumpgate.client.session import Session
from jumpgate.dataflow.expressions import Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.operators import Frame, Operator, SortKey, Window, WindowFunction, column, window_type
from jumpgate.dataflow.types import DataType, decimal, float64, int64, string
from jumpgate.errors import InvalidDataflow, Overflow
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab

TYPES = {"k": "int32", "s": "string", "o": "int64", "d": "decimal(7,2)", "x": "float64"}
WHOLE, RUNNING, ROWS = Frame("range", None, None), Frame(), Frame("rows", None, 0)
SLIDING = [
    Frame("rows", -2, 1), Frame("rows", 1, 4), Frame("rows", -5, -2), Frame("rows", 0, None), Frame("rows", 3, None),
    Frame("rows", None, 2), Frame("rows", None, -3), Frame("rows", -(1 << 62), 1 << 62),
    Frame("groups", -1, 1), Frame("groups", 0, 0), Frame("groups", 1, 2), Frame("groups", -9, -1),
    Frame("groups", 0, None), Frame("groups", None, -2), Frame("groups", None, 1), Frame("range", 0, 0),
    Frame("range", 0, None),
]  # fmt: skip
RANKS = ("row_number", "rank", "dense_rank")
SHARES = ("percent_rank", "cume_dist")
I64_MIN, I64_MAX = -(1 << 63), (1 << 63) - 1
SUMS = ("sum", "avg", "count", "min", "max", "stddev")


def rows(count: int) -> list[tuple[object, ...]]:
    """Partitions of unequal sizes, NULL among keys and values, many ties in the order."""
    return [
        (
            None if i % 11 == 0 else (i * i) % 7,
            None if i % 13 == 0 else f"s{i % 3}",
            None if i % 17 == 0 else i % 5,
            None if i % 19 == 0 else Decimal(i % 9000) / 100,
            None if i % 23 == 0 else i / 4,
        )
        for i in range(count)
    ]


def window(
    node: Operator, by: tuple[str, ...], order: tuple[str, ...], functions: list[tuple[str, str]], frame: Frame
) -> Window:
    schema = node.schema
    place = {name: column(schema, i) for i, name in enumerate(schema.names)}
    made = []
    for i, (function, argument) in enumerate(functions):
        arguments = (place[argument],) if argument else ()
        made.append(
            WindowFunction(function, arguments, window_type(function, tuple(a.type for a in arguments)), f"w{i}")
        )
    keys = tuple(SortKey(place[o], descending=i % 2 == 1, nulls_first=i % 2 == 0) for i, o in enumerate(order))
    return Window(node, tuple(place[b] for b in by), keys, tuple(made), frame)


def check(session: Session, root: Operator) -> None:
    oracle.assert_same(session.run(Dataflow(root)).to_arrow(), root)
    assert "engine" not in session.explain_data(Dataflow(root))["ncas"]


@pytest.fixture(params=[1, 4], ids=["one-host", "four-hosts"])
def session(request: pytest.FixtureRequest, local: Session, four_hosts: str) -> Iterator[Session]:
    if request.param == 1:
        yield local
        return
    with Session(four_hosts, parallelism=request.param) as session:
        yield session


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("frame", [WHOLE, RUNNING, ROWS], ids=["whole", "range", "rows"])
@pytest.mark.parametrize("by", [(), ("k",), ("s", "k")], ids=["all", "k", "s-k"])
def test_sums(session: Session, tmp_path: Path, frame: Frame, by: tuple[str, ...]) -> None:
    node = Lab(session, tmp_path, "parquet").table(TYPES, rows(700), files=3).root
    functions = [(f, v) for v in "dx" for f in SUMS] + [("sum", "o"), ("count_star", "")]
    order = ("o", "x", "d", "s", "k") if frame is ROWS else ("o", "s")  # rows of equal order come in any order
    check(session, window(node, by, order, functions, frame))


@pytest.mark.nightly(every=3)
@pytest.mark.parametrize("frame", SLIDING, ids=str)
def test_frames_that_slide(local: Session, tmp_path: Path, frame: Frame) -> None:
    node = Lab(local, tmp_path, "parquet").table(TYPES, rows(400), files=2).root
    functions = [(f, v) for v in "dx" for f in SUMS] + [("sum", "o"), ("count_star", ""), ("max", "k"), ("min", "s")]
    values = [(f, v) for f in ("first_value", "last_value", "min") for v in "odx"]
    order = ("o", "x", "d", "s", "k")
    for by in ((), ("k",)):
        check(local, window(node, by, order, functions + values, frame))
        if frame.unit != "rows":  # whose rows of equal order come in any order
            check(local, window(node, by, ("o", "s"), functions, frame))


def texts(count: int) -> list[tuple[object, ...]]:
    """Partitions in which all texts are NULL, and such with prefixes of each other, empty and long ones, and letters
    whose bytes come in another order than they do."""
    few = ("", "a", "ab", "abc" * 30, "Z", "z", "é", "e\u0301", "\U0001f600", "\uffff", "a\0b", None)
    return [
        (i * i % 7, None if i * i % 7 == 2 else few[i * 5 % 12], None if i % 3 == 0 else b"\xff" * (i % 5), i)
        for i in range(count)
    ]


@pytest.mark.nightly(every=4)
@pytest.mark.parametrize("frame", [WHOLE, RUNNING, ROWS, *SLIDING, Frame("range", -4, 2)], ids=str)
@pytest.mark.parametrize("by", [(), ("k",)], ids=["all", "k"])
def test_least_and_greatest_texts(session: Session, tmp_path: Path, frame: Frame, by: tuple[str, ...]) -> None:
    kinds = {"k": "int32", "s": "string", "b": "binary", "i": "int64"}
    node = Lab(session, tmp_path, "parquet").table(kinds, texts(120), files=2).root
    functions = [("min", "s"), ("max", "s"), ("min", "b"), ("max", "b"), ("count", "s"), ("max", "i")]
    check(session, window(node, by, ("i",), functions, frame))


@pytest.mark.nightly(every=4)
@pytest.mark.parametrize(("start", "end"), [(-2, 2), (None, -1), (1, None), (-3, 0), (0, 1), (2, 5), (-7, -3)])
@pytest.mark.parametrize("nulls_first", [True, False], ids=["nulls-first", "nulls-last"])
@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
def test_ranges_of_values(
    local: Session, tmp_path: Path, descending: bool, nulls_first: bool, start: int | None, end: int | None
) -> None:
    start_day = datetime.date(1970, 1, 1)
    values = [
        (p, None if n is None else start_day + datetime.timedelta(n), n, None if n is None else Decimal(n) / 10, m)
        for p, (n, m) in enumerate((None if i % 9 == 0 else i * i % 41 - 20, i) for i in range(200))
    ]
    types = {"p": "int32", "day": "date", "n": "int64", "m": "decimal(5,1)", "v": "int64"}
    node = Lab(local, tmp_path, "parquet").table(types, values).root
    functions = [("sum", "v"), ("count", "n"), ("min", "v"), ("max", "v"), ("avg", "v"), ("count_star", "")]
    for order in ("day", "n", "m"):
        made = window(node, (), (order,), functions, Frame("range", start, end))
        check(local, replace(made, order_by=(SortKey(made.order_by[0].expression, descending, nulls_first),)))


def test_ranges_at_the_ends_of_integers(local: Session, tmp_path: Path) -> None:
    """Where DuckDB's own sums of key and offset overflow."""
    values = [I64_MIN, I64_MIN + 1, 0, I64_MAX - 1, I64_MAX]
    node = Lab(local, tmp_path).table({"n": "int64"}, [(n,) for n in values]).root
    for start, end in ((-2, 2), (I64_MIN, -1), (1, I64_MAX), (-1, None), (None, 1)):
        made = window(node, (), ("n",), [("count_star", ""), ("min", "n"), ("max", "n")], Frame("range", start, end))
        for descending in (False, True):
            root = replace(made, order_by=(SortKey(column(node.schema, 0), descending),))
            found = local.run(Dataflow(root)).to_arrow().sort_by("n").to_pydict()
            sign = -1 if descending else 1
            for n, count, least, most in zip(*(found[c] for c in ("n", "w0", "w1", "w2")), strict=True):
                seen = [
                    v
                    for v in values
                    if (start is None or sign * (v - n) >= start) and (end is None or sign * (v - n) <= end)
                ]
                assert (count, least, most) == (len(seen), min(seen, default=None), max(seen, default=None))


def test_shares_of_a_partition(session: Session, tmp_path: Path) -> None:
    node = Lab(session, tmp_path, "parquet").table(TYPES, rows(700), files=2).root
    for by, order in (((), ("o",)), (("k",), ("o", "s")), (("k", "s"), ("x", "d", "o")), (("s",), ())):
        check(session, window(node, by, order, [(f, "") for f in SHARES], RUNNING))


@pytest.mark.parametrize("place", [1, 3, 50])
@pytest.mark.parametrize("frame", [WHOLE, RUNNING, ROWS, *SLIDING[:3], SLIDING[8]], ids=str)
def test_a_value_by_its_place_in_the_frame(local: Session, tmp_path: Path, frame: Frame, place: int) -> None:
    node = Lab(local, tmp_path, "parquet").table(TYPES, rows(300)).root
    functions = tuple(
        WindowFunction("nth_value", (value, literal(int64, place)), value.type.with_nullable(True), f"w{i}")
        for i, value in enumerate(column(node.schema, i) for i in range(len(TYPES)))
    )
    keys = tuple(SortKey(column(node.schema, i)) for i in (2, 4, 3, 1, 0))
    check(local, Window(node, (column(node.schema, 0),), keys, functions, frame))


@pytest.mark.parametrize(
    ("frame", "order", "message"),
    [
        (Frame("groups", -1, 0), (), "a frame of groups without an order"),
        (Frame("range", -1, 0), ("o", "s"), "a range of values by 2 keys; it needs one"),
        (Frame("range", -1, 0), ("x",), "a range of values by float64; it needs an integer, a decimal, a date or"),
        (Frame("rows", 1, 0), ("o",), "a frame from 1 to 0"),
        (Frame("days", 1, 2), ("o",), "unknown frame unit 'days'"),
    ],
)
def test_frames_that_mean_nothing(
    local: Session, tmp_path: Path, frame: Frame, order: tuple[str, ...], message: str
) -> None:
    node = Lab(local, tmp_path).table(TYPES, rows(3)).root
    with pytest.raises(InvalidDataflow, match=message):
        local.run(Dataflow(window(node, (), order, [("count_star", "")], frame)))


@pytest.mark.nightly(every=2)
def test_ranks(session: Session, tmp_path: Path) -> None:
    node = Lab(session, tmp_path, "orc").table(TYPES, rows(900), files=2).root
    check(session, window(node, ("k",), ("o", "s"), [("rank", ""), ("dense_rank", "")], RUNNING))
    check(session, window(node, ("k", "s"), ("x", "d", "o"), [(f, "") for f in RANKS], WHOLE))
    check(session, window(node, (), ("x", "k", "s", "d", "o"), [("rank", ""), ("sum", "d"), ("row_number", "")], ROWS))


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(local: Session, tmp_path: Path, count: int) -> None:
    node = Lab(local, tmp_path, "json").table(TYPES, rows(count)).root
    for frame in (WHOLE, RUNNING, ROWS):
        check(local, window(node, ("k",), ("o",), [("sum", "d"), ("rank", ""), ("count", "x")], frame))


def test_a_sum_that_does_not_fit_is_an_error(local: Session, tmp_path: Path) -> None:
    node = Lab(local, tmp_path, "csv").table({"o": "int64"}, [(1 << 62,), (1 << 62,)]).root
    with pytest.raises(Overflow):
        local.run(Dataflow(window(node, (), (), [("sum", "o")], WHOLE))).to_arrow()


def test_windows_above_each_other(local: Session, tmp_path: Path) -> None:
    node = Lab(local, tmp_path, "parquet").table(TYPES, rows(300)).root
    below = window(node, ("k",), ("x", "d", "o", "s"), [("sum", "d"), ("rank", "")], RUNNING)
    check(local, window(below, ("s",), ("w0", "x", "d", "o", "k"), [("max", "w0"), ("avg", "w0")], RUNNING))


def literal(type: DataType, value: object) -> Literal:
    return Literal(type.with_nullable(value is None), value)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", ["lag", "lead"])
def test_neighbours_and_what_stands_for_those_that_are_missing(local: Session, tmp_path: Path, function: str) -> None:
    node = Lab(local, tmp_path, "parquet").table(TYPES, rows(100)).root
    k, s, o, d, x = (column(node.schema, i) for i in range(len(TYPES)))
    one = literal(int64, 1)
    arguments: list[tuple[Expression, ...]] = [
        (s,),
        (s, literal(int64, 2), literal(s.type, "none")),
        (s, one, literal(s.type, None)),
        (d, literal(int64, 0), literal(d.type, Decimal("-0.25"))),
        (o, literal(int64, 3), bind("add", (o, one))),
        (x, literal(int64, 1000), x),
        (literal(s.type, "all"), one, s),
    ]
    functions = tuple(
        WindowFunction(function, a, window_type(function, tuple(e.type for e in a)), f"w{i}")
        for i, a in enumerate(arguments)
    )
    keys = tuple(SortKey(e) for e in (o, x, d, s))
    check(local, Window(node, (k,), keys, functions))


@pytest.mark.parametrize("frame", [WHOLE, RUNNING, ROWS], ids=["whole", "range", "rows"])
def test_first_and_last_values(session: Session, tmp_path: Path, frame: Frame) -> None:
    node = Lab(session, tmp_path, "parquet").table(TYPES, rows(500), files=2).root
    order = ("o", "x", "d", "s")  # of rows that tie any could be the first
    check(session, window(node, ("k",), order, [(f, v) for f in ("first_value", "last_value") for v in "sdx"], frame))


@pytest.mark.parametrize("parts", [1, 2, 7, 1000])
def test_parts_of_equal_size(local: Session, tmp_path: Path, parts: int) -> None:
    node = Lab(local, tmp_path, "json").table(TYPES, rows(120)).root
    function = WindowFunction("ntile", (literal(int64, parts),), int64.with_nullable(False), "part")
    keys = tuple(SortKey(column(node.schema, i)) for i in (2, 4, 3, 1))
    check(local, Window(node, (column(node.schema, 0),), keys, (function,)))


def test_a_slice_of_text_arrives_from_the_engine_as_it_is(local: Session, tmp_path: Path) -> None:
    rows = [(1, "a"), (2, "b"), (4, "c"), (3, "bb")]
    node = Lab(local, tmp_path).table({"x": "int64", "s": "string"}, rows).root
    x, s = column(node.schema, 0), column(node.schema, 1)
    two = literal(int64, 2)
    functions = tuple(
        WindowFunction("lead", (e, two), e.type.with_nullable(True), name) for e, name in ((x, "n"), (s, "t"))
    )
    root = Window(node, (), (SortKey(x),), functions)
    found = local.run(Dataflow(root)).to_arrow().sort_by("x").to_pydict()
    assert found == {
        "x": [1, 2, 3, 4],
        "s": ["a", "b", "bb", "c"],
        "n": [3, 4, None, None],
        "t": ["bb", "c", None, None],
    }


@pytest.mark.parametrize(
    "frame", [WHOLE, RUNNING, ROWS, Frame("rows", -2, 1)], ids=["whole", "range", "rows", "sliding"]
)
def test_aggregates_of_literals(local: Session, tmp_path: Path, frame: Frame) -> None:
    node = Lab(local, tmp_path, "parquet").table(TYPES, rows(60)).root
    values = [literal(int64, 1), literal(decimal(3, 1), Decimal("1.5")), literal(int64, None), literal(string, "a")]
    functions = [
        WindowFunction(f, (v,), window_type(f, (v.type,)), f"{f}{i}")
        for i, v in enumerate(values)
        for f in ("sum", "count", "min", "max", "avg", "first_value")
        if v.type.is_numeric or f not in ("sum", "avg")
    ]
    order = tuple(SortKey(column(node.schema, i)) for i in (2, 4, 3, 1))
    for root in (
        Window(node, (column(node.schema, 0),), order, tuple(functions), frame),
        Window(node, (), (), tuple(functions), WHOLE),
    ):
        oracle.assert_same(local.run(Dataflow(root)).to_arrow(), root)


def test_a_default_of_another_type_is_refused(local: Session, tmp_path: Path) -> None:
    node = Lab(local, tmp_path).table(TYPES, rows(3)).root
    arguments = (column(node.schema, 2), literal(int64, 1), literal(float64, 0.5))
    function = WindowFunction("lag", arguments, window_type("lag", tuple(a.type for a in arguments)), "w")
    with pytest.raises(InvalidDataflow, match="lag of int64 with a default of float64; cast one of them"):
        local.run(Dataflow(Window(node, (), (), (function,))))
