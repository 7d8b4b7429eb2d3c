"""The processes that look into files for planning: what a file does to them is one typed error that names it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from jumpgate.client import col, connect, count, read
from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.converters import probe, probe_wire, probe_worker
from jumpgate.converters.prober import WORKERS_MAX, Prober, Question, prober
from jumpgate.dataflow import types as t
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema
from jumpgate.errors import FileUnreadable, JumpgateError, MalformedData, ProtocolError
from jumpgate.nca.interface import ColumnStatistics, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.testing.leaks import nothing_left, wait_until
from tests.support.plans import host


def parquet(path: Path, values: list[int]) -> str:
    pyarrow.parquet.write_table(pa.table({"a": values}), path)
    return str(path)


def aborting(path: Path) -> str:
    """A file that ends the fragile worker that looks into it."""
    pyarrow.orc.write_table(pa.table({"d": [1.0], "a": [1]}), path)
    return str(path)


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    prober.close()
    with monkeypatch.context() as patch:
        patch.setattr("jumpgate.converters.prober.WORKER", "tests.support.fragile_worker")
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        yield
        prober.close()
    prober.hold()  # a service that other tests share has its worker again
    prober.release()


@pytest.fixture
def workers() -> Iterator[Prober]:
    found = Prober()
    with nothing_left():
        yield found
        found.close()


@pytest.fixture
def fifo(tmp_path: Path) -> str:
    path = tmp_path / "pipe.parquet"
    os.mkfifo(path)
    return str(path)


def test_a_file_that_ends_its_reader_is_named(fragile: None, tmp_path: Path, workers: Prober) -> None:
    good, bad = parquet(tmp_path / "good.parquet", [1]), aborting(tmp_path / "bad.orc")
    with pytest.raises(MalformedData) as raised:
        workers.ask("schema", (bad,), "orc", {})
    assert raised.value.message == f"'{bad}' ended the process that read its schema (aborted): it is damaged"
    assert raised.value.fields == {"file": bad, "signal": int(signal.SIGABRT)}
    assert workers.ask("schema", (good,), "parquet", {}) == Schema((Field("a", t.int64),))


def test_the_one_of_many_files_is_named(fragile: None, tmp_path: Path, workers: Prober) -> None:
    pyarrow.orc.write_table(pa.table({"d": [1.0], "a": [1]}), good := str(tmp_path / "good.orc"))
    bad = aborting(tmp_path / "bad.orc")
    with pytest.raises(MalformedData, match="ended the process") as raised:
        workers.ask("schema", (good, good, bad, good), "orc", {})
    assert raised.value.fields["file"] == bad


def test_what_takes_too_long_is_given_up(fifo: str, tmp_path: Path) -> None:
    workers = Prober(limit_s=0.3)
    with nothing_left():
        with pytest.raises(FileUnreadable, match=r"to read its schema took longer than 0 s") as raised:
            workers.ask("schema", (fifo,), "parquet", {})
        assert raised.value.fields["file"] == fifo
        assert len(workers.ask("schema", (parquet(tmp_path / "a.parquet", [1]),), "parquet", {})) == 1
        workers.close()


def test_requests_of_many_threads_do_not_disturb_each_other(fragile: None, tmp_path: Path, workers: Prober) -> None:
    bad = aborting(tmp_path / "bad.orc")
    files = [parquet(tmp_path / f"{i}.parquet", list(range(i + 1))) for i in range(20)]

    def rows(i: int) -> float | None:
        if i % 5 == 0:
            with pytest.raises(MalformedData):
                workers.ask("schema", (bad,), "orc", {})
        found = workers.ask("estimate", (files[i],), "parquet", ())
        assert isinstance(found, Statistics)
        return found.rows

    with ThreadPoolExecutor(2 * WORKERS_MAX) as pool:
        assert list(pool.map(rows, range(20))) == [i + 1 for i in range(20)]


def test_a_slow_file_keeps_nobody_waiting(fifo: str, tmp_path: Path, workers: Prober) -> None:
    slow = threading.Thread(target=lambda: pytest.raises(JumpgateError, workers.ask, "schema", (fifo,), "parquet", {}))
    slow.start()
    assert len(workers.ask("schema", (parquet(tmp_path / "a.parquet", [1]),), "parquet", {})) == 1
    assert slow.is_alive()
    with open(fifo, "wb"):  # an empty file, as its reader sees it
        pass
    slow.join()


def test_what_is_sent_to_a_worker_while_it_works_does_not_end_it(fifo: str, workers: Prober) -> None:
    """The system may tell of a question after its worker has begun with it."""
    with ThreadPoolExecutor(1) as pool, pytest.raises(MalformedData, match="cut or damaged"):
        slow = pool.submit(workers.ask, "schema", (fifo,), "csv", {})
        writer = os.open(fifo, os.O_WRONLY)  # returns once the worker has opened it, and reads until it is closed
        (worker,) = workers._busy
        worker._connection.send(b"\0")
        os.close(writer)
        slow.result()


def test_workers_end_with_the_process_whatever_they_do(fifo: str) -> None:
    code = """
import sys
from jumpgate.converters.prober import prober
print("asks", flush=True)
prober.ask("schema", (sys.argv[1],), "parquet", {})
"""
    with nothing_left() as watch:
        process = subprocess.Popen([sys.executable, "-c", code, fifo], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"asks\n"
        writer = os.open(fifo, os.O_WRONLY)  # returns once a worker has opened it to read
        try:
            process.kill()
            process.communicate()
            assert wait_until(lambda: not watch.processes())  # far sooner than the limit of the request
        finally:
            os.close(writer)


def test_a_forked_child_has_workers_of_its_own(tmp_path: Path) -> None:
    file = parquet(tmp_path / "a.parquet", [1, 2])
    prober.hold()
    try:
        probe.infer_schema((file,), "parquet", {})
        pid = os.fork()
        if pid == 0:
            found = prober.ask("estimate", (file,), "parquet", ())
            prober.close()
            os._exit(int(found.rows))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
        assert prober.ask("estimate", (file,), "parquet", ()).rows == 2
    finally:
        prober.release()


def test_the_last_one_to_release_ends_the_workers(tmp_path: Path) -> None:
    workers = Prober()
    file = parquet(tmp_path / "a.parquet", [1])
    with nothing_left() as watch:
        workers.hold()
        workers.hold()
        workers.ask("estimate", (file,), "parquet", ())
        workers.release()
        assert len(watch.processes()) == 1
        workers.release()
        assert not watch.processes()


def test_what_is_known_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, bad = parquet(tmp_path / "a.parquet", [1, 2, 3]), tmp_path / "bad.parquet"
    bad.write_bytes(b"PAR1 no footer PAR1")

    def look() -> tuple[object, ...]:
        known, unknown = probe.estimate((file,), "parquet"), probe.estimate((file, str(bad)), "parquet")
        assert known.column is not None
        return probe.infer_schema((file,), "parquet", {}), known, known.column("a", t.int64), unknown

    schema, known, column, unknown = found = look()
    assert schema == Schema((Field("a", t.int64),))
    assert known == Statistics(3.0, float(os.path.getsize(file)))
    assert column == ColumnStatistics(3.0, 1.0, 3.0, 0.0, spread=1.0)
    assert unknown == Statistics()
    with monkeypatch.context() as patch:
        patch.setattr(prober, "ask", None)
        assert look() == found
    parquet(tmp_path / "a.parquet", [1])
    assert probe.estimate((file,), "parquet").rows == 1.0


def test_of_conditions_the_last_are_remembered_and_all_of_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = parquet(tmp_path / "a.parquet", [1, 2, 3])
    monkeypatch.setattr(probe, "_selections", probe._Answers(3))
    asked = Counter[str]()

    def ask(verb: str, files: tuple[str, ...], *arguments: object) -> object:
        asked[verb] += 1
        return original(verb, files, *arguments)

    original = prober.ask
    monkeypatch.setattr(prober, "ask", ask)

    def kept(least: int) -> int:
        known = probe.estimate((file,), "parquet")
        assert known.column is not None and known.select is not None
        assert known.column("a", t.int64).low == 1.0
        found = known.select(read(file).filter(col("a") >= least).root, ())
        assert found is not None
        return found.chosen

    assert [kept(least) for least in (1, 2, 3, 4, 4, 3, 2)] == [3, 2, 1, 0, 0, 1, 2]
    assert asked == {"schema": 1, "estimate": 1, "column": 1, "selection": 4}
    kept(1)
    assert asked == {"schema": 1, "estimate": 1, "column": 1, "selection": 5}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many questions each round trip to a worker held."""
    found: list[int] = []

    def ask(self: Prober, limit_s: float, *questions: Question) -> list[object]:
        found.append(len(questions))
        return original(self, limit_s, *questions)

    original = Prober._ask
    monkeypatch.setattr(Prober, "_ask", ask)
    return found


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_a_plan_asks_of_tables_then_of_columns_and_never_again(format: str, tmp_path: Path, asked: list[int]) -> None:
    left, right = tmp_path / f"left.{format}", tmp_path / f"right.{format}"
    if format == "json":
        left.write_text('{"id": 1, "a": 2, "b": 3}\n' * 2)
        right.write_text('{"id": 1, "name": "one"}\n')
    else:
        pyarrow.parquet.write_table(pa.table({"id": [1, 1], "a": [2, 2], "b": [3, 3]}), left)
        pyarrow.parquet.write_table(pa.table({"id": [1], "name": ["one"]}), right)
    root = (
        read(left, schema={"id": "int64", "a": "int64", "b": "int64"})
        .filter(col("a") > 0)
        .join(read(right, schema={"id": "int64", "name": "string"}).filter(col("name") != ""), on="id")
        .aggregate(by=["name", "b"], rows=count())
        .root
    )
    options = CompileOptions(statistics=probe.estimate, look=probe.look)
    plan = compile_dataflow(root, (host("a"),), default_registry(), options)
    assert len(asked) == 2 and asked[0] == 4 < asked[1]
    assert plan.figures.operators[plan.instances[0].fragment, 0].rows > 0
    compile_dataflow(root, (host("a"),), default_registry(), options)
    assert len(asked) == 2


def test_columns_of_a_filter_that_was_tried_on_all_rows_are_not_looked_at(tmp_path: Path, asked: list[int]) -> None:
    root = read(parquet(tmp_path / "t.parquet", [1, 2, 3])).filter(col("a") > 1).aggregate(rows=count()).root
    asked.clear()
    options = CompileOptions(statistics=probe.estimate, look=probe.look)
    plan = compile_dataflow(root, (host("a"),), default_registry(), options)
    assert asked == [2]
    assert plan.figures.operators[plan.instances[0].fragment, 2].rows == 2


def test_questions_that_end_a_worker_together_are_asked_one_by_one(fragile: None, tmp_path: Path) -> None:
    good, bad = parquet(tmp_path / "good.parquet", [1, 2]), aborting(tmp_path / "bad.orc")
    reads = read(good).root, read(bad, schema={"a": "int64", "d": "float64"}).root
    probe.look((node, node.schema.names) for node in reads)
    known, damaged = probe.estimate((good,), "parquet"), probe.estimate((bad,), "orc")
    assert known.rows == 2 and known.column is not None and known.column("a", t.int64).distinct == 2
    assert damaged.column is not None and damaged.column("d", t.float64) == ColumnStatistics()


def test_a_column_in_the_names_of_folders_has_the_values_of_all_files(tmp_path: Path) -> None:
    for year in range(3):
        (tmp_path / f"year={year}").mkdir()
        parquet(tmp_path / f"year={year}" / "part.parquet", [1])
    root = read(tmp_path).root
    assert isinstance(root, Read)
    found = probe.estimate(root.files, root.format, root.options)
    assert found.rows == 3 and found.column is not None
    assert found.column("year", t.int64) == ColumnStatistics(3.0, 0.0, 2.0, 0.0)


def test_columns_of_a_file_that_ends_its_reader_are_unknown(fragile: None, tmp_path: Path) -> None:
    bad = aborting(tmp_path / "bad.orc")
    found = probe.estimate((bad,), "orc")
    assert found.column is not None and found.column("d", t.float64) == ColumnStatistics()


def test_a_fifo_is_refused_at_once(fifo: str) -> None:
    with pytest.raises(FileUnreadable, match="is a named pipe, not a regular file"):
        probe.infer_schema((fifo,), "parquet", {})
    assert probe.estimate((fifo,), "parquet") == Statistics()


def test_memory_is_limited() -> None:
    code = """
from jumpgate.converters import probe_worker
probe_worker.MEMORY_BYTES_MAX = 64 << 20
probe_worker.VERBS = {"schema": lambda files: bytearray(128 << 20)}
probe_worker._limit_resources()
print(probe_worker._answer("schema", ("a.csv",), ()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'code': 'memory'" in done.stdout and "a look into 'a.csv' takes more than" in done.stdout


def test_the_wire_carries_what_planning_needs_and_nothing_else() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        values = [
            ("schema", ("a.csv",), ({"header": "true"}, None, 1.5), [b"\0\xff", "\udcff", float("inf")]),
            Schema((Field("d", t.decimal(38, 2, nullable=False)), Field("s", t.string))),
            Statistics(1.0, 2.0, None),
            ColumnStatistics(low=-1.0),
        ]
        for value in values:
            probe_wire.send(ours, value)
            assert probe_wire.receive(theirs) == value
        for text in (b'{"Popen": {}}', b"[" * 100_000, b"no", b'{"DataType": {"kind": "x"}}', b"{}"):
            ours.sendall(len(text).to_bytes(4, "big") + text)
            with pytest.raises(ProtocolError):
                probe_wire.receive(theirs)
        ours.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(ProtocolError, match="too long"):
            probe_wire.receive(theirs)


def test_what_the_wire_does_not_carry_is_a_mistake_of_ours() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        probe_worker._tell(ours, [{"ok": object()}, {"ok": 1}])
        assert [answer["error"]["code"] for answer in probe_wire.receive(theirs)] == ["internal", "internal"]


def test_planning_loads_no_reader_into_this_process(tmp_path: Path) -> None:
    file = parquet(tmp_path / "a.parquet", [1])
    code = f"""
import sys
from jumpgate.converters import probe
probe.infer_schema(({file!r},), "parquet", {{}})
probe.estimate(({file!r},), "parquet")
print([name for name in sys.modules if name.startswith("pyarrow")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_service_outlives_a_file_that_ends_its_reader(fragile: None, tmp_path: Path) -> None:
    bad, good = aborting(tmp_path / "bad.orc"), parquet(tmp_path / "good.parquet", [1, 2])
    with connect() as session:
        started = time.monotonic()
        with pytest.raises(MalformedData, match="ended the process that read its schema"):
            read(bad)
        # the column beside is readable, whatever planning may find
        beside = read(bad, schema={"a": "int64"}).aggregate(rows=count())
        for _ in range(2):
            try:
                assert session.run(beside).to_pylist() == [{"rows": 1}]
            except JumpgateError as error:
                assert bad in error.message
        assert session.run(read(good).aggregate(rows=count())).to_pylist() == [{"rows": 2}]
        assert time.monotonic() - started < 60
