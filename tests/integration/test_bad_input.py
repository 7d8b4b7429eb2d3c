"""Input that is missing, broken or too large: one typed error that says where, soon, and nothing left behind."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

import jumpgate
from jumpgate.client import Dataflow, col, count, f, max_, median, read, string_agg, sum_
from jumpgate.client.session import Session
from jumpgate.errors import (
    DataError,
    DivisionByZero,
    FileUnreadable,
    InvalidCast,
    InvalidDataflow,
    JumpgateError,
    MalformedData,
    MemoryLimit,
    Overflow,
    SchemaMismatch,
)
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import descriptors, wait_until

#: far more than any failure here needs, far less than any time-out
QUICKLY_S = 20.0
SCHEMA = {"a": "int64", "s": "string"}


def instances() -> set[str]:
    """Processes of instances that this process's service has started; tests beside this one have others."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text().startswith("jg ") and is_ours(entry.name):
                found.add(entry.name)
        except OSError:
            continue  # it has just ended
    return found


def is_ours(pid: str) -> bool:
    """Whether a process descends from this one."""
    while pid not in ("0", "1", str(os.getpid())):
        status = Path(f"/proc/{pid}/status").read_text()
        pid = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:"))
    return pid == str(os.getpid())


@pytest.fixture(autouse=True)
def nothing_stays(local: Session, tmp_path: Path) -> Iterator[None]:
    """No instance, descriptor or file that was not there before the failure."""
    before, open_before = instances(), len(descriptors())
    yield
    kept = {p for p in tmp_path.rglob("*") if p.suffix not in (".json", ".csv", ".parquet", ".orc") and p.is_file()}
    assert not kept
    assert wait_until(lambda: instances() <= before and len(descriptors()) <= open_before), (
        f"left: {instances() - before}, {len(descriptors()) - open_before} descriptors"
    )


def fails(session: Session, flow: Dataflow) -> JumpgateError:
    """The error of a run, which must come quickly and leave the service fit for the next job."""
    start = time.monotonic()
    with pytest.raises(JumpgateError) as raised:
        session.run(flow).to_arrow()
    assert time.monotonic() - start < QUICKLY_S
    return raised.value


def has(error: JumpgateError, kind: type[JumpgateError], *words: str, **fields: Any) -> None:
    """The error is exactly of that kind, its sentence has the words, its fields the values."""
    assert type(error) is kind, repr(error)
    for word in words:
        assert word in str(error), f"{word!r} is not in {error}"
    for name, value in fields.items():
        assert str(error.fields.get(name)) == str(value), f"{name}: {error.fields}"


def lines(path: Path, *texts: str) -> Path:
    path.write_text("".join(t + "\n" for t in texts))
    return path


# ---- files ----


def test_missing_files(tmp_path: Path) -> None:
    for name in (tmp_path / "gone.json", tmp_path / "gone-*.json", tmp_path):
        with pytest.raises(FileUnreadable, match=str(name).replace("*", r"\*")) as raised:
            read(name, schema=SCHEMA)
        assert str(name) in str(raised.value.fields["file"])


@pytest.mark.parametrize("format", ["json", "csv", "parquet", "orc"])
def test_a_file_that_vanishes(local: Session, tmp_path: Path, format: str) -> None:
    """Between the request and the run."""
    table = Lab(local, tmp_path, format).table(SCHEMA, [(1, "x")])
    path = tmp_path / f"t0-0.{format}"
    path.unlink()
    has(fails(local, table), FileUnreadable, str(path), "No such file", file=path)


def test_a_directory_where_a_file_was(local: Session, tmp_path: Path) -> None:
    flow = read(lines(tmp_path / "t.json", "{}"), schema=SCHEMA)
    (tmp_path / "t.json").unlink()
    (tmp_path / "t.json").mkdir()
    has(fails(local, flow), FileUnreadable, str(tmp_path / "t.json"), file=tmp_path / "t.json")


@pytest.mark.parametrize("what", ["file", "directory"])
def test_unreadable(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the system reports it to those who are not root."""
    lines(tmp_path / "t.json", "{}")

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(os, "scandir" if what == "directory" else "open", refuse)
    target = tmp_path if what == "directory" else tmp_path / "t.json"
    with pytest.raises(FileUnreadable, match="Permission denied") as raised:
        read(target, schema=SCHEMA)
    assert str(raised.value.fields["file"]) == str(target)


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("kept", ["half", "magic", "nothing", "text"])
def test_truncated_files(local: Session, tmp_path: Path, format: str, kept: str) -> None:
    table = Lab(local, tmp_path, format).table(SCHEMA, [(i, f"text {i}") for i in range(5000)])
    path = tmp_path / f"t0-0.{format}"
    whole = path.read_bytes()
    path.write_bytes(
        {"half": whole[: len(whole) // 2], "magic": whole[:6], "nothing": b"", "text": b"no such file\n" * 99}[kept]
    )
    error = fails(local, table.aggregate(t=sum_("a")))
    has(error, MalformedData, str(path), file=path)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_damaged_bytes(local: Session, tmp_path: Path, format: str) -> None:
    """Bytes of the data overwritten: an error or, where no checksum covers them, other values; never a crash."""
    lab = Lab(local, tmp_path, format)
    table = lab.table(SCHEMA, [(i * 1000, f"text {i % 999}") for i in range(5000)])
    path = tmp_path / f"t0-0.{format}"
    whole = path.read_bytes()
    for at in range(4, len(whole) - 8, max(1, len(whole) // 12)):
        path.write_bytes(whole[:at] + b"\xff\x00\x5a\xa5" + whole[at + 4 :])
        try:
            lab.run(table.aggregate(t=max_("s"), n=count()))
        except (DataError, Overflow) as error:
            assert str(path) in str(error)


@pytest.mark.parametrize("format", ["json", "csv", "parquet", "orc"])
def test_a_wrong_schema(local: Session, tmp_path: Path, format: str) -> None:
    """A column that the files lack, and one of another type."""
    lab = Lab(local, tmp_path, format)
    lab.table({"a": "string", "s": "string"}, [("not a number", "x")] * 10)
    path = tmp_path / f"t0-0.{format}"
    options = {"null": "\\N"} if format == "csv" else {}
    error = fails(local, read(path, schema=SCHEMA, **options).aggregate(t=sum_("a")))
    assert isinstance(error, SchemaMismatch | MalformedData), repr(error)
    assert str(path) in str(error) and "a" in str(error) and "int64" in str(error)
    assert error.fields["file"] == str(path) and error.fields["column"] == "a"
    if format != "json":  # where an absent key is NULL
        other = (
            {"a": "string", "nowhere": "string"}
            if format != "csv"
            else {"a": "string", "s": "string", "nowhere": "int32"}
        )
        has(fails(local, read(path, schema=other, **options)), SchemaMismatch, "nowhere", file=path)


# ---- text ----


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million good lines, a bad one, and a good one."""
    path = tmp_path_factory.mktemp("million") / "t.json"
    path.write_text('{"a": 1, "s": "x"}\n' * 1_000_000 + '{"a": 1, "s" "x"}\n' + '{"a": 2, "s": "y"}\n')
    return path


def test_malformed_json_is_found_where_it_is(local: Session, million: Path) -> None:
    flow = read(million, schema=SCHEMA).aggregate(t=sum_("a"), m=max_("s"))
    error = fails(local, flow)
    has(error, MalformedData, str(million), "line 1000001", file=million, line=1_000_001)
    assert 19_000_000 <= int(str(error.fields["offset"])) < 19_000_018


def test_malformed_json_is_skipped_and_counted(local: Session, million: Path) -> None:
    result = local.run(read(million, schema=SCHEMA, on_error="skip").aggregate(t=sum_("a"), m=max_("s"), n=count()))
    assert result.to_pylist() == [{"t": 1_000_002, "m": "y", "n": 1_000_001}]
    record = local.describe(result.job).record
    assert record is not None
    assert sum(s["skipped_rows"] for c in record["counters"].values() for s in c["sources"]) == 1


@pytest.mark.parametrize(("type", "text", "kind"), [
    ("int8", "128", Overflow), ("int16", "-32769", Overflow), ("int32", "2147483648", Overflow),
    ("int64", "9223372036854775808", Overflow), ("decimal(4, 2)", "100.00", Overflow), ("int32", "1.5", MalformedData),
    ("int32", "true", MalformedData), ("date", '"1999-02-29"', MalformedData), ("timestamp", '"noon"', MalformedData),
    ("bool", "3", MalformedData), ("float64", '"x"', MalformedData), ("decimal(38, 0)", "1" + "0" * 38, Overflow),
])  # fmt: skip
@pytest.mark.parametrize("format", ["json", "csv"])
def test_values_that_do_not_fit_their_column(
    local: Session, tmp_path: Path, format: str, type: str, text: str, kind: type[JumpgateError]
) -> None:
    """The error names file, line and column; `skip` leaves the row out instead."""
    if format == "json":
        path = lines(tmp_path / "t.json", '{"a": null}', f'{{"a": {text}}}', '{"a": null}')
    else:
        path = lines(tmp_path / "t.csv", "a", "\\N", text.strip('"'), "\\N")
    options = {"null": "\\N"} if format == "csv" else {}
    error = fails(local, read(path, schema={"a": type}, **options))
    assert isinstance(error, kind | DataError), repr(error)
    has(error, type_of(error), str(path), file=path, column="a", line=2 if format == "json" else 3)
    kept = read(path, schema={"a": type}, on_error="skip", **options).aggregate(n=count())
    assert local.run(kept).to_pylist() == [{"n": 2}]


def type_of(error: JumpgateError) -> type[JumpgateError]:
    assert type(error) in (Overflow, MalformedData, SchemaMismatch), repr(error)
    return type(error)


# ---- values ----


def test_overflow_division_and_casts(local: Session, tmp_path: Path) -> None:
    """In a projection, a filter, a join's condition and an aggregate; the error names the expression."""
    table = Lab(local, tmp_path).table({"a": "int64", "z": "int64", "s": "string"}, [(2**63 - 1, 0, "x"), (1, 1, "2")])
    has(fails(local, table.select(x=col("a") + 1)), Overflow, "overflows", "add(a")
    has(fails(local, table.filter(col("a") * col("a") > 0)), Overflow, "multiply(a, a)")
    has(fails(local, table.select(x=f.int_divide(col("a"), col("z")))), DivisionByZero, "int_divide(a, z)")
    has(fails(local, table.aggregate(m=max_(col("a") % col("z")))), DivisionByZero, "modulo(a, z)")
    has(fails(local, table.select(x=col("s").cast("int32"))), InvalidCast, "cast(s")
    has(fails(local, table.select(x=col("a").cast("int8"))), Overflow, "cast(a")
    has(fails(local, table.aggregate(t=sum_("a"))), Overflow, "sum")
    other = table.select(b=col("a"), y=col("z"))
    has(
        fails(local, table.join(other, left_on="z", right_on="y", where=col("a") / col("z") > 1)),
        DivisionByZero,
        "divide(",
    )
    has(fails(local, table.sort(f.int_divide(col("a"), col("z")))), DivisionByZero, "int_divide(a, z)")


def test_a_failure_of_one_job_is_no_other_jobs(local: Session, tmp_path: Path) -> None:
    """Good jobs beside failing ones, many at once."""
    table = Lab(local, tmp_path).table({"a": "int64"}, [(i,) for i in range(3000)])
    good = [local.run(table.aggregate(t=sum_("a"))) for _ in range(4)]
    bad = [local.run(table.select(x=f.int_divide(1, col("a")))) for _ in range(4)]
    for one, other in zip(good, bad, strict=True):
        with pytest.raises(DivisionByZero):
            other.to_arrow()
        assert one.to_pylist() == [{"t": 3000 * 2999 // 2}]


@pytest.mark.parametrize("what", ["numbers", "texts"])
def test_memory_limit(one_host: str, tmp_path: Path, what: str) -> None:
    """The places of many groups with values of their own stay in memory; the error says how much, and what to do."""
    with Session(one_host, memory_limit_bytes=1 << 20) as session:
        n = 100_000
        whole = pa.table({"a": pa.array(range(n), pa.int64()), "s": pa.array([f"some text {i}" for i in range(n)])})
        table = Lab(session, tmp_path).table(SCHEMA, whole)
        flow = {
            "numbers": table.aggregate(by="a", m=median("a")),
            "texts": table.aggregate(by="s", m=string_agg("s", ",")),
        }[what]  # fmt: skip
        has(fails(session, flow), MemoryLimit, "its limit is 1 MiB", "use more instances")
        assert session.run(table.aggregate(t=sum_("a"))).to_pylist() == [{"t": n * (n - 1) // 2}]


# ---- requests ----


def test_all_mistakes_of_a_step_at_once(tmp_path: Path) -> None:
    table = read(lines(tmp_path / "t.json", "{}"), schema={"ss_sold_date_sk": "int64", "ss_price": "decimal(7, 2)"})
    message = "unknown column 'ss_sold_dat_sk' in filter; did you mean 'ss_sold_date_sk'"
    with pytest.raises(InvalidDataflow, match=message) as raised:
        table.filter(col("ss_sold_dat_sk") == 1, col("ss_price") == "cheap", col("ss_price").like("%"))
    assert len(raised.value.problems) == 3


@pytest.mark.parametrize("kind", ["cut", "middle", "empty", "noise", "start"])
@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_damage_has_one_code_on_every_road(local: Session, tmp_path: Path, format: str, kind: str) -> None:
    """By a dataflow, and by SQL: as a table whoever reads it, and as a file that DuckDB reads."""
    path = tmp_path / f"{kind}.{format}"
    table = pa.table({"a": list(range(20_000)), "s": [f"v{i}" for i in range(20_000)]})
    if format == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=5000)
    else:
        line = '{{"a":{},"s":"v{}"}}\n' if format == "json" else '{},"v{}"\n'
        path.write_text("".join(["" if format == "json" else "a,s\n", *(line.format(i, i) for i in range(20_000))]))
    data = path.read_bytes()
    half = len(data) // 2
    path.write_bytes(
        {
            "cut": data[:half],
            "middle": data[:half] + bytes(200) + data[half + 200 :],
            "empty": b"",
            "noise": random.Random(1).randbytes(5000),
            "start": data[:10] + b"\xff" * 50 + data[60:],
        }[kind]
    )
    codes = {}

    def ask(road: str, query: Callable[[], object]) -> None:
        try:
            query()
        except JumpgateError as error:
            assert path.name in error.message, (road, error)
            codes[road] = error.code

    ask("dataflow", lambda: local.run(read(str(path), schema=SCHEMA).aggregate(a=sum_("a"), s=max_("s"))).to_pylist())
    with jumpgate.connect() as connection:
        for offload in ("never", "always"):

            def over_table(offload: str = offload) -> None:
                connection.register("t", str(path), schema=SCHEMA)
                connection.sql("SELECT sum(a), max(s) FROM t", offload=offload).to_pylist()

            ask(offload, over_table)
        if kind != "empty":  # of which DuckDB makes a table with other columns
            ask("file", lambda: connection.sql(f"SELECT count(a), max(s) FROM '{path}'").to_pylist())
    assert codes.pop("file", "malformed") in ("malformed", "schema")
    assert len(set(codes.values())) <= 1, codes
    assert codes or kind in ("empty", "middle")
