"""Every scalar function and cast in generated C++ equals its Python reference body, failures included.

All expressions of a program are columns of one projection, each guarded by `case when row in (…)`: what an unselected
row would do is not computed. The lists are parameters, so that the rows that succeed (in one run) and each that fails
(in a run of its own) use one compiled program.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest

from jumpgate.client.session import Session
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.casts import TypeMismatch, can_cast, cast_type
from jumpgate.dataflow.dialect import Dialect
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.expressions import Case, Cast, ColumnRef, Expression, InList, Literal, Value
from jumpgate.dataflow.functions import BUILT_IN, SECTIONS, bind
from jumpgate.dataflow.functions_list import LISTS
from jumpgate.dataflow.functions_time import UNITS
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.operators import Project
from jumpgate.dataflow.types import DataType, bool_, int32, parse_type
from jumpgate.errors import CannotPlace, ComputeError
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab
from tests.support import function_cases

DAY, TIME, CLOCK = datetime.date, datetime.datetime, datetime.time
NINES, FRACTION = "9" * 38, "0." + "0" * 37
#: edge values of each type; every table has them all, in every pair
VALUES: dict[str, list[Value]] = {
    "bool": [None, False, True],
    "int8": [None, 0, 1, -1, 7, -7, 127, -128],
    "int16": [None, 0, 1, -1, 100, 32767, -32768],
    "int32": [None, 0, 1, -1, 10, -3, 2**31 - 1, -(2**31)],
    "int64": [None, 0, 1, -1, 36, -40, 10**18, 2**63 - 1, -(2**63)],
    "float32": [None, 0.0, 1.0, -0.5, 0.25, 2.5, 3.4028234663852886e38, math.inf, math.nan],
    "float64": [None, 0.0, -0.0, 0.5, 1.5, -2.5, 2.675, 1e18, -1.7976931348623157e308, math.inf, -math.inf, math.nan],
    "decimal(4, 2)": [
        None,
        Decimal("0.00"),
        Decimal("1.25"),
        Decimal("-1.25"),
        Decimal("0.50"),
        Decimal("99.99"),
        Decimal("-99.99"),
    ],
    "decimal(18, 0)": [None, Decimal(0), Decimal(5), Decimal(-15), Decimal(10**18 - 1), Decimal(-(10**18) + 1)],
    "decimal(30, 10)": [
        None,
        Decimal("0E-10"),
        Decimal("0.5000000000"),
        Decimal("-2.5000000000"),
        Decimal("12345678901234567890.1234567891"),
        Decimal("-99999999999999999999.9999999999"),
    ],
    "decimal(38, 0)": [None, Decimal(0), Decimal(-1), Decimal(NINES), Decimal("-" + NINES)],
    "decimal(38, 38)": [
        None,
        Decimal("0E-38"),
        Decimal(FRACTION + "1"),
        Decimal(f"-{FRACTION}1"),
        Decimal("0." + NINES),
        Decimal("0.5" + "0" * 37),
    ],
    "date": [
        None,
        DAY(1970, 1, 1),
        DAY(1969, 12, 31),
        DAY(2000, 2, 29),
        DAY(1, 1, 1),
        DAY(9999, 12, 31),
        DAY(2024, 11, 24),
    ],
    "timestamp": [
        None,
        TIME(1970, 1, 1),
        TIME(1969, 12, 31, 23, 59, 59, 999999),
        TIME(1, 1, 1),
        TIME(9999, 12, 31, 23, 59, 59, 999999),
        TIME(2000, 2, 29, 12, 34, 56, 789000),
    ],
    "time": [None, CLOCK(0), CLOCK(23, 59, 59, 999999), CLOCK(12, 34, 56), CLOCK(1, 2, 3, 450000)],
    "timestamp_ns": [None, 0, -1, -86_400_000_000_001, 1_700_000_000_123_456_789, 2**63 - 1, -(2**63) + 1],
    "timestamptz(UTC)": [
        None,
        TIME(1970, 1, 1),
        TIME(1969, 12, 31, 23, 59, 59, 999999),
        TIME(1, 1, 1),
        TIME(9999, 12, 31, 23, 59, 59, 999999),
        TIME(2024, 2, 29, 12, 34, 56, 789000),
    ],
    "timestamptz(Europe/Berlin)": [None, TIME(2024, 3, 31, 1), TIME(2024, 10, 27, 0, 30), TIME(1970, 1, 1)],
    "timestamptz_ns(UTC)": [None, 0, -1, 999, 1_700_000_000_123_456_789],
    "duration(ms)": [None, 0, -1, 86_400_000],
    "string": [
        None,
        "",
        "a",
        " a ",
        "abc",
        "aXc",
        "é",
        "a%c",
        "A\nc",
        "😀b",
        "a_c\0",
        "100%",
        "Kſa",
        "foo bAr-1a",
        "ßΑΣ ŉΣ'Α\u0301Σ",
    ],
    "binary": [None, b"", b"a", b"\xff\x00", "é".encode()],
}
#: texts that casts read
TEXTS = [
    "", " ", "0", "-0", "+7", " 12 ", "127", "128", "-128", "-129", "9223372036854775807", "9223372036854775808", "1.5",
    "-2.5", ".5", "5.", ".", "+-1", "1e3", "-1E-400", "1e400", "inf", "-Infinity", "nan", "NaN(1)", "0x10",
    "1 2", "1_0", "99.994", "99.995", "9" * 38, "9" * 39, "0." + "4" * 60, "true", "F", "1", "yes", "2000-02-29",
    "1999-02-29",
       " 1970-01-01 ", "0000-01-01", "10000-01-01", "1970-1-1", "1970-01-01 23:59:59", "1970-01-01T00:00:00.5",
    "1970-01-01 24:00:00", "1970-01-01 00:00:00.1234567", "1970-01-01 00:00", "1970-01-01 00:00:00.", "\u0661", "1\0",
    "\t1", "\r\n2.5\f", "\u00a01", "YES", " off", "tru", "fal", "n", "2000-1-1", "2000-1-01 ",
    "2000-01-1x", "20000229", "20000230", "INF", "iNfiniTY", "+nan",
    "2000-01-01 12", " 2000-01-01", "2000-01-01T10:00:00Z", "2000-01-01 23:00:00.5-05:00", "2000-01-01 00:00:00 +0530",
    "2000-01-01 00:00:00+05", "2000-01-01 00:00:00+24:00", "2000-01-01 10:00:60", "2000-01-01 10:00:61",
    "1969-12-31 23:59:59.9999999", "0001-01-01 00:00:00+01:00", "9999-12-31 23:59:60", "2000-01-01 10:00:00 Z",
    "2000-01-01 10:00:00 UTC", "2000-01-01 10:00:00+5", "2000-02-30 10:00:00",
    "12:34:56", "23:59:59.9999999", "24:00:00", "12:00:60", "1:00:00", "12:34", "12:34:56.", "12:34:56Z", " 12:34:56",
    "1969-12-31 23:59:59.999999999", "2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775808",
    "1677-09-21 00:12:43.145224192Z", "1677-09-21 00:12:43.145224191",
]  # fmt: skip
NUMBERS = tuple(t for t in VALUES if t.startswith(("int", "float", "decimal")))
DIALECTS = {
    "default": Dialect(),
    "ieee": Dialect(division_by_zero="ieee", to_integer="truncate"),
    "other": Dialect(on_overflow="null", division_by_zero="null", to_integer="truncate", nan="ieee"),
}
#: mixed operand types, beside each type with itself
MIXED = [
    ("int8", "int64"), ("int32", "decimal(4, 2)"), ("decimal(4, 2)", "decimal(30, 10)"), ("int64", "float64"),
    ("float32", "float64"), ("decimal(18, 0)", "decimal(4, 2)"), ("date", "timestamp"), ("float32", "int8"),
]  # fmt: skip
#: literals after the first argument
LITERALS: dict[str, list[tuple[Value, ...]]] = {
    "round": [(), *((d,) for d in (-38, -20, -2, -1, 0, 1, 2, 12, 38))],
    "like": [(p,) for p in ("", "%", "a%", "%c", "_", "a_c", "%a%", "__", "%_%", "a%%c", "a\nc", "é", "%😀_", "a_c\0")]
    + [("a!%c", "!"), ("!%", "!"), ("%!%", "!"), ("a!_c%", "!"), ("!!%", "!"), ("100\\%", "\\")],
    "ilike": [(p,) for p in ("", "%", "A%", "%C", "_", "a_C", "%k%", "s_%", "%_S", "AbC")]
    + [("a!%C", "!"), ("%!%", "!"), ("A!_c%", "!"), ("!!%", "!"), ("100\\%", "\\")],
    "truncate": [(), *((d,) for d in (-38, -2, -1, 0, 1, 2, 12, 38))],
}
#: calls of several arguments: types of columns, and literals; the others are called as their cases are
SHAPES: dict[str, list[tuple[Any, ...]]] = {
    "date_add_days": [("date", t) for t in ("int8", "int32")],
    "date_trunc": [(as_literal(u), t) for u in UNITS for t in ("date", "timestamp", "timestamptz(UTC)")],
    "add_interval": [(t, *n) for t in ("date", "timestamp", "timestamptz(UTC)") for n in (
        ("int8", "int8", "int8"), ("int32", "int64", "int64"), *(tuple(map(as_literal, n)) for n in (
            (1, 0, 0), (-1, 0, 0), (12, -1, 90_000_000_000), (0, 31, 0), (0, 0, -86_400_000_001), (-13, 30, 1),
            (0, 2**40, 0), (0, 0, 2**62), (2**31, 0, 0))))],
    "substring": [
        *(("string", *map(as_literal, n)) for n in (
            (1,), (2,), (4,), (1, 0), (2, 1), (1, 9), (9, 9), (2**62, 2**62), (0, 2), (-1, 3), (-5, 2), (2, -1),
            (-(2**63), 2**62), (-(2**63),))),
        ("string", "int8"), ("string", "int64", "int64"),
    ],
    "divide_decimal": [
        (a, b, *map(as_literal, digits))
        for a in ("decimal(4, 2)", "decimal(30, 10)", "decimal(38, 0)")
        for b in ("decimal(4, 2)", "decimal(18, 0)", "decimal(38, 38)")
        for digits in ((11, 6), (38, 0), (38, 37), (5, 0))
    ],
    "mean": [(a, b) for a in ("decimal(4, 2)", "decimal(30, 10)", "decimal(38, 0)") for b in ("int8", "int64")],
    "float_to_decimal": [("float64", *map(as_literal, digits)) for digits in ((11, 6), (38, 0), (38, 30), (3, 2))],
    "left": [("string", t) for t in ("int8", "int64")],
    "right": [("string", t) for t in ("int8", "int64")],
    "repeat": [("string", t) for t in ("int8", "int64")],
    **{name: [("string", "int8"), ("string", "int64", "string"), ("string", as_literal(7), as_literal("é-"))]
       for name in ("lpad", "rpad")},
    "replace": [("string", "string", "string"), ("string", as_literal("a"), "string"),
                ("string", as_literal("a"), as_literal("")), ("string", as_literal(""), as_literal("b"))],
    "position": [("string", "string"), ("string", as_literal("c"))],
    "chr": [("int8",), ("int64",), *((as_literal(c),) for c in (0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0x1F600))],
    "concat_ws": [("string", "string"), (as_literal(", "), "string", "string", "string"), ("string",) * 4],
}  # fmt: skip
ROWS_PAIRED = max(map(len, VALUES.values()))


def cross() -> list[list[Value]]:
    """Rows of (a, b) for every type: each pair of values of any two types occurs."""
    rows = []
    for i, j in itertools.product(range(ROWS_PAIRED), repeat=2):
        row: list[Value] = []
        for values in VALUES.values():
            row += [values[i % len(values)], values[j % len(values)]]
        rows.append(row)
    return rows


def operands(functions: Sequence[str], columns: dict[str, tuple[Expression, Expression]]) -> Iterator[Expression]:
    """Calls of the functions with all operand types that they take."""
    pairs = [(t, t) for t in VALUES] + MIXED
    for name in functions:
        least, most = BUILT_IN[name].arity
        shapes: list[tuple[Expression, ...]] = []
        if name in SHAPES:
            shapes = [
                tuple(columns[a][i % 2] if isinstance(a, str) else a for i, a in enumerate(shape))
                for shape in SHAPES[name]
            ]
        elif name in LITERALS:
            shapes = [(columns[t][0], *map(as_literal, rest)) for t in VALUES for rest in LITERALS[name]]
        elif least > 2 or BUILT_IN[name].literals:
            shapes = [
                tuple(columns[a.name][i % 2] if isinstance(a, DataType) else as_literal(a) for i, a in enumerate(shape))
                for shape in function_cases.shapes(name)
            ]
        elif most == 1:
            shapes = [(columns[t][0],) for t in VALUES]
        else:
            shapes = [(columns[a][0], columns[b][1]) for a, b in pairs]
            if most is None:
                shapes += [(*s, s[0]) for s in shapes] + [s[:1] for s in shapes if least == 1]
        for shape in shapes:
            try:
                yield bind(name, shape)
            except TypeMismatch:
                continue  # the function does not take these types; test_functions holds that it takes some


def casts(columns: dict[str, tuple[Expression, Expression]]) -> Iterator[Expression]:
    targets = [*VALUES, "decimal(3, 1)", "decimal(38, 2)"]
    for source, target in itertools.product(VALUES, targets):
        to = parse_type(target)
        if source not in ("string", "binary") and can_cast(column := columns[source][0].type, to):
            for on_failure in ("error", "null"):
                yield Cast(cast_type(column, to, on_failure), columns[source][0], on_failure)


class Program:
    """Expressions over one table, as one projection whose guards choose what is computed."""

    def __init__(
        self,
        lab: Lab,
        table: Dataflow,
        rows: Sequence[Sequence[Value]],
        expressions: Sequence[Expression],
        dialect: Dialect,
    ) -> None:
        self.lab, self.table, self.rows, self.dialect = lab, table, rows, dialect
        self.expressions = expressions

    def run(self, chosen: Sequence[Sequence[int]]) -> list[list[Any]]:
        """Each expression's values on all rows; None where the row is not among those chosen for it."""
        row = ColumnRef(int32.with_nullable(False), 0, "row")
        guarded = []
        for e, wanted in zip(self.expressions, chosen, strict=True):
            options = tuple(Literal(row.type, w) for w in wanted or (-1,))
            guard = InList(bool_.with_nullable(False), row, options)
            guarded.append(Case(e.type.with_nullable(True), (guard, e), Literal(e.type.with_nullable(True), None)))
        names = tuple(f"e{i}" for i in range(len(guarded)))
        answer = self.lab.run(Dataflow(Project(self.table.root, (row, *guarded), ("row", *names))), self.dialect)
        order = sorted(range(answer.num_rows), key=answer.column(0).to_pylist().__getitem__)
        return [[values[i] for i in order] for values in map(oracle.values, answer.columns[1:])]

    def check(self) -> None:
        expected = [[self._expected(e, row) for row in self.rows] for e in self.expressions]
        good = [[i for i, v in enumerate(values) if not isinstance(v, ComputeError)] for values in expected]
        found = self.run(good)
        for e, have, want, chosen in zip(self.expressions, found, expected, good, strict=True):
            for i in chosen:
                assert same(have[i], want[i]), f"{e} on {self._used(e, i)}: {have[i]!r}, not {want[i]!r}"
        nothing: list[list[int]] = [[] for _ in self.expressions]
        for number, values in enumerate(expected):
            failures = {type(v): i for i, v in enumerate(values) if isinstance(v, ComputeError)}
            for kind, i in failures.items():
                chosen_now = [*nothing[:number], [i], *nothing[number + 1 :]]
                e = self.expressions[number]
                try:
                    answer = self.run(chosen_now)[number][i]
                except ComputeError as error:
                    assert type(error) is kind, f"{e} on {self._used(e, i)}: {error!r}, not {values[i]!r}"
                else:
                    pytest.fail(f"{e} on {self._used(e, i)}: {answer!r}, not {values[i]!r}")

    def _expected(self, e: Expression, row: Sequence[Value]) -> Value | ComputeError:
        try:
            return evaluate(e, row, self.dialect)
        except ComputeError as error:
            return error

    def _used(self, e: Expression, row: int) -> list[Value]:
        return [self.rows[row][i] for i in sorted(e.columns())]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or math.isnan(a) and math.isnan(b)
    return type(a) is type(b) and bool(a == b)


def make(
    lab: Lab, types: Sequence[str], rows: Sequence[Sequence[Value]], nullable: bool
) -> tuple[Dataflow, list[list[Value]], list[ColumnRef]]:
    """The rows as a table after a leading column `row`; without those that hold NULL unless nullable."""
    kept = [r for r in rows if nullable or None not in r]
    numbered: list[list[Value]] = [[i, *r] for i, r in enumerate(kept)]
    declared = {f"c{i}": parse_type(t).with_nullable(nullable) for i, t in enumerate(types, 1)}
    table = lab.table({"row": int32.with_nullable(False), **declared}, numbered)
    return table, numbered, [ColumnRef(t, i, n) for i, (n, t) in enumerate(declared.items(), 1)]


def check_all(
    lab: Lab,
    table: Dataflow,
    rows: Sequence[Sequence[Value]],
    expressions: Sequence[Expression],
    dialect: Dialect,
    batch: int = 80,
) -> None:
    assert expressions
    for start in range(0, len(expressions), batch):
        Program(lab, table, rows, expressions[start : start + batch], dialect).check()


@pytest.fixture(scope="module")
def shared(local: Session, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(local, tmp_path_factory.mktemp("functions"))


#: of an index in range, which a compiler puts there (test_travelling_filters.py)
OF_FILTERS = ("bloom_block", "bloom_word")
#: of lists, which are no values here (test_lists.py)
OF_LISTS = tuple(f.name for f in LISTS if f.name != "split")
#: functions of one program, some at a time
GROUPS = {
    f"{title} {i}": tuple(f.name for f in section[i : i + 12])
    for title, all_ in SECTIONS.items()
    for section in [[f for f in all_ if f.name not in OF_FILTERS + OF_LISTS]]
    for i in range(0, len(section), 12)
}


@pytest.mark.nightly(cover=True)
@pytest.mark.parametrize(
    ("dialect", "nullable"), [("default", True), ("default", False), ("other", True), ("ieee", True)]
)
@pytest.mark.parametrize("group", [*GROUPS, "casts"])
def test_functions(shared: Lab, group: str, dialect: str, nullable: bool) -> None:
    types = [t for t in VALUES for _ in range(2)]
    rows = cross()
    if not nullable:
        rows = [[v if v is not None else VALUES[types[i]][1] for i, v in enumerate(r)] for r in rows]
    table, numbered, columns = make(shared, types, rows, nullable)
    pairs = {t: (columns[2 * i], columns[2 * i + 1]) for i, t in enumerate(VALUES)}
    calls = list(casts(pairs) if group == "casts" else operands(GROUPS[group], pairs))
    if group != "casts":
        assert {c.function for c in calls} == set(GROUPS[group])  # type: ignore[attr-defined]
    check_all(shared, table, numbered, calls, DIALECTS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_casts_of_text(shared: Lab, dialect: str) -> None:
    table, rows, (column,) = make(shared, ["string"], [[None], *([t] for t in TEXTS)], True)
    targets = [parse_type(t) for t in (*VALUES, "decimal(3, 1)", "decimal(38, 2)")]
    expressions = [
        Cast(cast_type(column.type, t, on_failure), column, on_failure)
        for t in targets
        for on_failure in ("error", "null")
        if can_cast(column.type, t)
    ]
    check_all(shared, table, rows, expressions, DIALECTS[dialect])


def test_casts_of_binary(shared: Lab) -> None:
    blobs = [
        None,
        b"",
        b"abc",
        "é😀".encode(),
        b"\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"a\x80",
    ]
    table, rows, (column,) = make(shared, ["binary"], [[b] for b in blobs], True)
    to = parse_type("string")
    check_all(
        shared, table, rows, [Cast(cast_type(column.type, to, f), column, f) for f in ("error", "null")], Dialect()
    )


def test_fingerprints_of_every_length(shared: Lab) -> None:
    """Texts of up to three words and a long one, alone and beside columns of all types."""
    texts: list[Value] = ["x\0é"[: n % 3] + "y" * n for n in range(25)]
    rows = [
        [text, *(values[i % len(values)] for values in VALUES.values())]
        for i, text in enumerate([None, "z" * 100_000, *texts])
    ]
    table, numbered, columns = make(shared, ["string", *VALUES], rows, True)
    found = [bind("fingerprint", tuple(columns[:1])), bind("fingerprint", tuple(columns))]
    check_all(shared, table, numbered, found, Dialect())


def test_lengths_of_texts(shared: Lab) -> None:
    """Eight bytes are looked at together: characters of one to four bytes lie anywhere among them."""
    texts: list[list[Value]] = [["é€😀x"[n % 4 :] + "y" * k + "😀é" * (n % 3)] for n in range(12) for k in range(19)]
    table, rows, columns = make(shared, ["string"], texts, True)
    check_all(shared, table, rows, [bind("char_length", tuple(columns))], Dialect())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_lists(shared: Lab, dialect: str) -> None:
    """Every type, with and without NULL among the options, one option and many."""
    table, rows, columns = make(shared, list(VALUES), [r[::2] for r in cross()], True)
    expressions: list[Expression] = []
    for column, values in zip(columns, VALUES.values(), strict=True):
        known = [v for v in values if v is not None]
        for options in ([known[-1]], known[::2], [*known[1::2], None], [None]):
            literals = tuple(Literal(column.type.with_nullable(v is None), v) for v in options)
            expressions.append(InList(bool_, column, literals))
    check_all(shared, table, rows, expressions, DIALECTS[dialect])


def test_case_and_coalesce_compute_only_what_is_asked(shared: Lab) -> None:
    """A division that would fail stands where it is not reached; where it is, it fails."""
    rows: list[list[Value]] = [[a, b] for a in (None, 0, 4) for b in (None, 0, 2)]
    table, numbered, (a, b) = make(shared, ["int64", "int64"], rows, True)
    divided = bind("int_divide", (a, b))
    zero = as_literal(0)
    is_zero = bind("eq", (b, zero))
    positive = bind("gt", (divided, zero))
    expressions = [
        Case(divided.type, (is_zero, a), divided),
        Case(divided.type, (bind("is_null", (b,)), divided, is_zero, Literal(a.type, None)), divided),
        bind("coalesce", (a, divided)),
        bind("and", (bind("ne", (b, zero)), positive)),
        bind("or", (is_zero, positive)),
        bind("or", (positive, is_zero)),
    ]
    check_all(shared, table, numbered, expressions, Dialect())


def test_literals_are_exact(shared: Lab) -> None:
    """Each edge value as a literal comes back as it was."""
    table, rows, _ = make(shared, ["int8"], [[0]], True)
    expressions = [
        Literal(t.with_nullable(v is None), v)
        for t, values in ((parse_type(t), vs) for t, vs in VALUES.items())
        for v in values
    ]
    check_all(shared, table, rows, expressions, Dialect(), batch=len(expressions))


def test_wrapping_arithmetic_is_refused(shared: Lab) -> None:
    """No accelerator here wraps silently, so none accepts it; what cannot overflow is still accepted."""
    table, _, (a,) = make(shared, ["int64"], [[1]], True)
    wrap = Dialect(on_overflow="wrap")
    with pytest.raises(CannotPlace, match="overflow"):
        shared.run(Dataflow(Project(table.root, (bind("add", (a, a)),), ("x",))), wrap)
    assert shared.run(Dataflow(Project(table.root, (a,), ("x",))), wrap).to_pylist() == [{"x": 1}]


def test_errors_name_the_expression(shared: Lab) -> None:
    table, _, (a,) = make(shared, ["int32"], [[0]], True)
    division = bind("int_divide", (as_literal(1), a))
    with pytest.raises(ComputeError) as raised:
        shared.run(Dataflow(Project(table.root, (division,), ("x",))))
    assert "int_divide($0, c1)" in str(raised.value)
