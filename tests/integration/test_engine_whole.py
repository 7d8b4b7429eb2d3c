"""Whole dataflows in the engine have the values of reference bodies, which know nothing of DuckDB, and the oracle's."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jumpgate.client import Dataflow, read
from jumpgate.dataflow.dialect import DEFAULT, Dialect
from jumpgate.dataflow.expressions import Cast, Expression, Literal
from jumpgate.dataflow.functions import bind
from jumpgate.dataflow.literals import as_literal
from jumpgate.dataflow.operators import Limit, Operator, Project, Read, Sort, Window, column
from jumpgate.dataflow.types import decimal, float32, float64, int32, int64, string
from jumpgate.errors import CannotPlace, ComputeError, JumpgateError, MalformedData
from jumpgate.nca.conformance import Case
from jumpgate.nca.interface import Device, Match, Unsupported
from jumpgate.nca.registry import Registry, default_registry
from jumpgate.ncas.engine import WHOLE, files
from jumpgate.ncas.engine.expressions import Expressions, Refused
from jumpgate.ncas.engine.whole import Statement
from jumpgate.ncas.engine.worker import compute
from jumpgate.ntf.descriptor import Descriptor
from jumpgate.testing import oracle
from jumpgate.testing.dataflows import ALL_KINDS, Generator
from jumpgate.testing.in_process import InProcess
from jumpgate.testing.interpret import interpret
from jumpgate.testing.rig import LocalRig
from tests.support.function_cases import CASES, FAILURES

HOST = Device("here", "host", 2, 8 << 30)
STAND_INS = default_registry().stand_ins
SEEDS = 80
#: reference bodies look NaN up in tables, where it equals nothing
NAN_KEYS = ("on float", "by float", "of a table of float", "distinct: float")


@pytest.fixture(scope="module")
def runs() -> Any:
    runs = InProcess(STAND_INS.get("engine"))
    yield runs
    runs.close()


def judged(case: Case, rig: LocalRig) -> str:
    """Return how a dataflow was answered; fails if that is wrong."""
    try:
        plan = rig.plan(case, "engine")
        files.check(plan.instances[0].root)
    except CannotPlace:
        return "refused"
    (instance,) = plan.instances
    assert instance.nca == "engine"
    expected: Any = None
    if not any(isinstance(o, Window) for o in instance.root.walk()) and not any(k in case.name for k in NAN_KEYS):
        try:
            expected = interpret(plan, case.dialect)
        except (ComputeError, OverflowError, pa.ArrowInvalid) as error:
            expected = error
    try:
        found = rig.run(plan, case)
    except JumpgateError as error:
        assert isinstance(expected, Exception) or case.error == error.code, f"{case.name}: {error}"
        return "failed"
    assert not isinstance(expected, Exception) and not case.error, f"{case.name}: no error, but {expected}"
    assert not (wrong := rig.difference(found, case)), f"{case.name}: {wrong}"
    cuts_ties = isinstance(case.root, Limit) or isinstance(case.root, Sort) and case.root.limit is not None
    if expected is not None and not cuts_ties:
        wrong = oracle.bag_difference(found, expected)
        assert not wrong, f"{case.name}: {wrong}"
    return "right"


def test_directed_dataflows(runs: InProcess) -> None:
    with LocalRig(STAND_INS, (HOST,), runs=runs, directed=12) as rig:
        found = Counter(judged(case, rig) for case in rig.directed() if case.parallelism == 1)
    assert found["right"] > 80 and found["refused"] < 10, found


def test_random_dataflows(runs: InProcess, tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    with LocalRig(STAND_INS, (HOST,), runs=runs) as rig:
        for seed in range(SEEDS):
            folder = tmp_path / str(seed)
            folder.mkdir()
            root = Generator(seed, folder, ["parquet"], ALL_KINDS).dataflow(1 + seed % 6)
            found[judged(Case(f"seed {seed}", root), rig)] += 1
    assert found["right"] > SEEDS / 4, found


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'; SET ieee_floating_point_ops = true")
        yield database


def value(database: duckdb.DuckDBPyConnection, e: Expression, dialect: Dialect = DEFAULT) -> Any:
    expressions = Expressions(dialect)
    text = expressions.text(e, lambda index: f"c{index}")
    (found,) = database.execute(f"SELECT {text}", expressions.parameters).fetchone() or ()
    return found


def call(name: str, arguments: Any) -> Expression:
    return bind(name, tuple(Literal(a[1], a[0]) if isinstance(a, tuple) else as_literal(a) for a in arguments))


def test_functions_have_values_that_were_worked_out_by_hand(database: duckdb.DuckDBPyConnection) -> None:
    compared: Counter[str] = Counter()
    for name, *arguments, expected in CASES:
        try:
            found = value(database, call(name, arguments))
        except Refused:
            continue
        same = found == expected or isinstance(expected, float) and (
            math.isnan(expected) and math.isnan(found) or math.isclose(found, expected, rel_tol=1e-15)
        )  # fmt: skip
        assert same, f"{name}{arguments} is {expected!r}, not {found!r}"
        compared[name] += 1
    assert len(compared) > 45 and compared.total() > 90


def test_functions_fail_where_they_should(database: duckdb.DuckDBPyConnection) -> None:
    failed = 0
    for _, name, *arguments in FAILURES:
        try:
            with pytest.raises(duckdb.Error):
                value(database, call(name, arguments))
        except Refused:
            continue
        failed += 1
        if name not in ("substring", "lpad"):
            overflow = Dialect(on_overflow="null", division_by_zero="null")
            assert value(database, call(name, arguments), overflow) is None, name
    assert failed >= 12


WORDS, BEYOND = decimal(18, 2), Decimal("9999999999999999.99")


@pytest.mark.parametrize(
    ("name", "arguments", "dialect", "expected"),
    [
        ("multiply", ((BEYOND, WORDS), (BEYOND, WORDS)), DEFAULT, Decimal("99999999999999999800000000000000.0001")),
        ("add", ((BEYOND, WORDS), (BEYOND, WORDS)), DEFAULT, BEYOND + BEYOND),
        ("modulo", ((-(2**63), int64), (-1, int64)), DEFAULT, 0),
        ("divide", ((1.0, float64), (0.0, float64)), Dialect(division_by_zero="ieee"), math.inf),
        ("divide", ((1.0, float64), (0.0, float64)), Dialect(division_by_zero="null"), None),
        ("divide", ((None, float64), (0.0, float64)), DEFAULT, None),
        ("int_divide", ((7, int32), (0, int32)), Dialect(division_by_zero="null"), None),
    ],
)
def test_what_duckdb_does_otherwise_is_written_out(
    name: str, arguments: Any, dialect: Dialect, expected: Any, database: duckdb.DuckDBPyConnection
) -> None:
    assert value(database, call(name, arguments), dialect) == expected


def test_terms_that_may_fail_stay_behind_those_that_guard_them(runs: InProcess, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [2**63 - 1, 6, None, 0], "b": [0, 2, 0, None]}), tmp_path / "t.parquet")
    node = read(str(tmp_path / "t.parquet")).root
    a, b = (column(node.schema, i) for i in range(2))
    zero, one = (as_literal(i) for i in range(2))
    ratio = bind("gt", (bind("int_divide", (a, b)), one))
    more = bind("gt", (bind("add", (a, one)), zero))
    found = (
        bind("and", (bind("ne", (b, zero)), ratio)),
        bind("or", (bind("eq", (b, zero)), bind("is_null", (b,)), ratio)),
        bind("and", (bind("gt", (b, zero)), bind("is_not_null", (b,)), more)),
    )
    with LocalRig(STAND_INS, (HOST,), runs=runs) as rig:
        case = Case("guards", Project(node, found, ("x", "y", "z")))
        assert rig.run(plan := rig.plan(case, "engine"), case).to_pylist() == interpret(plan, DEFAULT).to_pylist()


def test_casts_are_the_dialects(database: duckdb.DuckDBPyConnection) -> None:
    def cast(value_of: float | Decimal, dialect: Dialect) -> Any:
        type = float64 if isinstance(value_of, float) else decimal(3, 1)
        return value(database, Cast(int32, Literal(type, value_of)), dialect)

    rounds, truncates = DEFAULT, Dialect(to_integer="truncate")
    assert [cast(v, rounds) for v in (2.5, -3.5, Decimal("2.5"), Decimal("-2.5"))] == [2, -4, 3, -3]
    assert [cast(v, truncates) for v in (2.9, -3.5, Decimal("2.9"), Decimal("-2.9"))] == [2, -3, 2, -2]
    text = Literal(string, "no number")
    assert value(database, Cast(int64, text, "null")) is None
    assert value(database, Cast(int64, Literal(string, " 7 "))) == 7
    with pytest.raises(duckdb.Error, match="no number"):
        value(database, Cast(int64, text))


def test_what_the_engine_does_otherwise_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0], "s": ["a"], "i": [1]}), tmp_path / "t.parquet")
    flow = read(str(tmp_path / "t.parquet")).root
    assert isinstance(flow, Read)
    x, s, i = (column(flow.schema, n) for n in range(3))

    def projected(e: Expression) -> Operator:
        return Project(flow, (e,), ("e",))

    csv = replace(flow, format="csv")
    ieee, wraps = Dialect(nan="ieee"), Dialect(on_overflow="wrap")
    cases = [
        (projected(bind("upper", (s,))), DEFAULT, "function_upper"),
        (projected(bind("eq", (x, x))), ieee, "nan"),
        (projected(bind("add", (i, i))), wraps, "overflow_wrap"),
        (projected(Cast(float32, x)), DEFAULT, "cast"),
        (projected(Cast(int64, s)), DEFAULT, "cast"),
        (Project(csv, (i,), ("i",)), DEFAULT, "format_csv"),
        (replace(flow, files=("/data//t.parquet",)), DEFAULT, "path"),
        (replace(flow, files=("/data/*.parquet",)), DEFAULT, "path"),
        (replace(flow, files=("s3://b/t.parquet",)), DEFAULT, "path"),
        (replace(flow, options=(("deleted", "1"),)), DEFAULT, "option"),
        (Project(flow, (), ()), DEFAULT, "no_columns"),
    ]
    for root, dialect, code in cases:
        answer = WHOLE.match_operations(root, HOST, dialect)
        assert isinstance(answer, Unsupported) and answer.code == code, answer
    assert isinstance(WHOLE.match_operations(projected(bind("add", (i, i))), HOST), Match)
    assert WHOLE.match_operations(flow, Device("tor", "switch")) is None


def test_operands_that_are_written_twice_do_not_make_a_text_of_any_length(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.parquet")
    flow = read(str(tmp_path / "t.parquet")).root
    x: Expression = column(flow.schema, 0)
    e = x
    for _ in range(60):
        e = bind("divide", (e, bind("divide", (x, e))))
        answer = WHOLE.match_operations(Project(flow, (e,), ("e",)), HOST)
        if isinstance(answer, Unsupported):
            break
    assert isinstance(answer, Unsupported) and answer.code == "large"
    many = Project(flow, (bind("add", (x, x)),) * 200_000, tuple(map(str, range(200_000))))
    answer = WHOLE.match_operations(many, HOST)
    assert isinstance(answer, Unsupported) and answer.code == "large"


def hostile(tmp_path: Path) -> Dataflow:
    name, text = "a\"b'; DROP TABLE t; --", "'); SELECT 1; --\n\\\u0001é"
    pq.write_table(pa.table({name: [text, "x"], "n": [1, 2]}), tmp_path / 'it\'s "t".parquet')
    flow = read(str(tmp_path / 'it\'s "t".parquet'))
    root = flow.root
    chosen = bind("eq", (column(root.schema, 0), Literal(string, text)))
    return Dataflow(Project(root, (column(root.schema, 0), chosen), ("c", "is")))


def test_texts_of_requests_are_values(runs: InProcess, tmp_path: Path) -> None:
    with LocalRig(STAND_INS, (HOST,), runs=runs) as rig:
        assert judged(Case("hostile", hostile(tmp_path).root), rig) == "right"


def test_files_that_duckdb_reads_otherwise_are_refused(tmp_path: Path) -> None:
    def check(table: pa.Table, **changes: Any) -> None:
        pq.write_table(table, tmp_path / "t.parquet")
        found = read(str(tmp_path / "t.parquet")).root
        files.check(replace(found, **changes))  # type: ignore[type-var]

    plain = pa.table({"a": [1, 2], "d": [datetime.date(2000, 1, 1), None]})
    check(plain, options=(("early_days", "fail"), ("absent", "null")))
    with pytest.raises(CannotPlace, match="differ only in case"):
        check(pa.table({"a": [1], "A": [2]}))
    with pytest.raises(CannotPlace, match="before 1582"):
        check(pa.table({"d": [datetime.date(1500, 1, 1)]}), options=(("early_days", "fail"),))
    pq.write_table(plain, tmp_path / "t.parquet")
    found = read(str(tmp_path / "t.parquet")).root
    pq.write_table(pa.table({"a": ["1"], "d": [1]}), tmp_path / "t.parquet")
    with pytest.raises(CannotPlace, match="of another type"):
        files.check(found)
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(MalformedData):
        files.check(found)


def test_rows_beyond_memory_go_to_a_folder_that_ends_with_the_query(own_cache: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": [f"{i * 7919 % 400_000:0100d}" for i in range(400_000)]}), tmp_path / "t.parquet")
    flow = read(str(tmp_path / "t.parquet")).sort("s")
    said = Statement(flow.root, DEFAULT)
    configuration = {
        "statement": said.text, "parameters": said.parameters, "threads": 1, "memory_bytes": 48 << 20,
        "files": [str(tmp_path / "t.parquet")], "output": {"ntf": Descriptor.columnar(flow.root.schema).text()},
    }  # fmt: skip
    left = own_cache / "spool" / "worker-of-one-that-was-killed"
    left.mkdir(parents=True)
    spilled: set[str] = set()
    rows = 0
    for batch in compute(configuration, ()):
        rows += len(batch)
        spilled |= {file.name for file in (own_cache / "spool").glob("worker-*/*")}
    assert rows == 400_000 and spilled and not [*(own_cache / "spool").iterdir()]


def test_a_statement_sees_its_files_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    flow = read(str(tmp_path / "t.parquet"))
    said = Statement(flow.root, DEFAULT)
    configuration = {
        "statement": said.text, "parameters": said.parameters, "threads": 1, "memory_bytes": 0,
        "files": [], "output": {"ntf": Descriptor.columnar(flow.root.schema).text()},
    }  # fmt: skip
    with pytest.raises(ComputeError, match="disabled by configuration"):
        list(compute(configuration, ()))


def test_stand_ins_are_planned_alone() -> None:
    assert STAND_INS.names == ("engine",)
    assert STAND_INS.lifecycle("engine") is default_registry().lifecycle("engine")
    assert Registry([default_registry().get("cpp")]).stand_ins.names == ()
