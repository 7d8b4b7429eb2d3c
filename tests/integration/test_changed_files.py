"""Files that change while a query reads them: the old answer, the new one, or one typed error, never a mix."""

from __future__ import annotations

import io
import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from jumpgate.client import Dataflow, col, count, max_, min_, read, sum_
from jumpgate.client.session import Session
from jumpgate.dataflow.file_state import check_unchanged, file_states
from jumpgate.dataflow.formats import formats
from jumpgate.errors import DataError, FileChanged, FileUnreadable
from jumpgate.hosts.config import local_hosts
from jumpgate.nca.interface import JobPlan
from jumpgate.orchestrator.job import Event
from jumpgate.service import embedded
from jumpgate.service.embedded import Embedded
from jumpgate.service.engine import Engine

#: long enough to be read in several parts, by both formats' readers
ROWS = 600_000
#: trials for each format and kind of change while a file is read
TRIALS = 14
#: (rows, least v, greatest v, sum of a)
Answer = tuple[int, int, int, int]


def content(format: str, v: int, rows: int = ROWS) -> bytes:
    """A file whose rows all have the same v, and a = 7 * v."""
    if format == "json":
        return b'{"v": %d, "a": %d}\n' % (v, 7 * v) * rows
    if format == "csv":
        return b"v,a\n" + b"%d,%d\n" % (v, 7 * v) * rows
    table = pa.table(
        {"v": pa.array([v], pa.int64()).take([0] * rows), "a": pa.array([7 * v], pa.int64()).take([0] * rows)}
    )
    out = io.BytesIO()
    if format == "orc":
        pyarrow.orc.write_table(table, out, compression="uncompressed", stripe_size=1 << 20)
    else:
        pyarrow.parquet.write_table(table, out, compression="none", use_dictionary=False, row_group_size=ROWS // 8)
    return out.getvalue()


def answer(*parts: tuple[int, int]) -> Answer:
    """Of a file of so many rows of each v."""
    values = [v for v, _ in parts]
    return sum(n for _, n in parts), min(values), max(values), sum(7 * v * n for v, n in parts)


@dataclass(frozen=True)
class Change:
    """What is done to a file of v = 1, and the answer that is right afterwards (None: the file is broken)."""

    format: str
    kind: str

    @cached_property
    def old(self) -> bytes:
        return content(self.format, 1)

    @cached_property
    def new(self) -> bytes:
        return content(self.format, 2)

    @property
    def is_text(self) -> bool:
        return self.format in ("json", "csv")

    def start(self, path: Path) -> None:
        fresh = path.with_suffix(".fresh")
        fresh.write_bytes(self.old)
        fresh.replace(path)

    def apply(self, path: Path) -> None:
        match self.kind:
            case "replaced":
                fresh = path.with_suffix(".fresh")
                fresh.write_bytes(self.new)
                fresh.replace(path)
            case "rewritten":
                with open(path, "r+b") as f:
                    f.write(self.new)
                    f.truncate()
            case "cut":
                os.truncate(path, self._half)
            case "appended":
                with open(path, "ab") as f:
                    f.write(self._more)

    @property
    def _half(self) -> int:
        return self.old.index(b"\n", len(self.old) // 2) + 1 if self.is_text else len(self.old) // 2

    @property
    def _more(self) -> bytes:
        if not self.is_text:
            return self.new[: 1 << 20]
        lines = self.new[: self.new.index(b"\n", 1 << 20) + 1]
        return lines.removeprefix(b"v,a\n")

    @property
    def right(self) -> list[Answer]:
        """The answers before and after, of those files that can be read."""
        before = [answer((1, ROWS))]
        if self.kind in ("replaced", "rewritten"):
            return [*before, answer((2, ROWS))]
        if not self.is_text:
            return before
        if self.kind == "cut":
            return [*before, answer((1, self.old[: self._half].count(b"\n") - (self.format == "csv")))]
        return [*before, answer((1, ROWS), (2, self._more.count(b"\n")))]


class Moment:
    """Lets a test do something after a job was planned, and before it is executed."""

    def __init__(self, service: Embedded) -> None:
        self.action: Callable[[], None] = lambda: None
        execute = service.engine.execute

        async def acting(id: str, *more: Any) -> AsyncGenerator[Event, None]:
            self.action()
            async for event in execute(id, *more):
                yield event

        service.engine.execute = acting  # type: ignore[method-assign]


@pytest.fixture(scope="module")
def service() -> Iterator[Embedded]:
    found = embedded.start(local_hosts(1))
    yield found
    found.close()


@pytest.fixture(scope="module")
def moment(service: Embedded) -> Moment:
    return Moment(service)


@pytest.fixture(scope="module")
def session(service: Embedded) -> Iterator[Session]:
    with Session(service.address, threads=2) as found:
        yield found


def query(path: Path) -> Dataflow:
    rows = read(path, schema={"v": "int64", "a": "int64"})
    return rows.aggregate(rows=count(), least=min_("v"), most=max_("v"), total=sum_("a"))


def ask(session: Session, flow: Dataflow) -> Answer:
    (row,) = session.run(flow).to_pylist()
    return row["rows"], row["least"], row["most"], int(row["total"])


@pytest.mark.parametrize("kind", ["replaced", "rewritten", "cut", "appended"])
@pytest.mark.parametrize("format", tuple(formats()))
def test_a_change_between_plan_and_execution_is_noticed(
    format: str, kind: str, session: Session, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, change = tmp_path / f"t.{format}", Change(format, kind)
    change.start(path)
    flow = query(path)
    assert ask(session, flow) == change.right[0]
    with monkeypatch.context() as patch:
        patch.setattr(moment, "action", lambda: change.apply(path))
        with pytest.raises(FileChanged, match="run the query again") as raised:
            ask(session, flow)
    assert raised.value.fields["file"] == str(path)
    assert str(path) in raised.value.message and raised.value.is_unreachable
    if len(change.right) > 1:
        assert ask(session, flow) == change.right[1]  # planned again


def test_a_file_that_is_removed_after_planning_is_named(
    session: Session, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    Change("csv", "removed").start(path)
    with monkeypatch.context() as patch:
        patch.setattr(moment, "action", path.unlink)
        with pytest.raises(FileChanged, match="was removed while a query read it"):
            ask(session, query(path))


@pytest.mark.parametrize("kind", ["replaced", "rewritten", "cut", "appended"])
@pytest.mark.parametrize("format", tuple(formats()))
def test_a_change_while_a_file_is_read_mixes_nothing(format: str, kind: str, session: Session, tmp_path: Path) -> None:
    path, change = tmp_path / f"t.{format}", Change(format, kind)
    change.start(path)
    flow = query(path)
    ask(session, flow)
    change.start(path)
    started = time.monotonic()
    ask(session, flow)
    usual_s = time.monotonic() - started
    outcomes: Counter[str] = Counter()
    chance = random.Random(f"{format} {kind}")
    for _ in range(TRIALS):
        change.start(path)
        changing = threading.Timer(chance.uniform(0, 1.2 * usual_s), change.apply, [path])
        changing.start()
        try:
            found = ask(session, flow)
            assert found in change.right
            outcomes["old" if found == change.right[0] else "new"] += 1
        except DataError as error:  # FileChanged, or that the file was broken when it was planned
            assert str(path) in error.message
            outcomes[error.code] += 1
        finally:
            changing.join()
    assert outcomes.total() == TRIALS


def test_a_plan_that_is_used_again_over_rewritten_files_gives_their_rows(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each column has the same values in all of them, in another order."""
    plan, planned = Engine.plan, 0

    def counted(*arguments: Any) -> JobPlan:
        nonlocal planned
        planned += 1
        return plan(*arguments)

    monkeypatch.setattr(Engine, "plan", counted)
    path, values, chance = tmp_path / "t.json", list(range(1, 10)), random.Random(3)
    path.touch()
    flow = read(path, schema={"v": "int64", "a": "int64"}).aggregate(total=sum_(col("v") * col("a")))
    for _ in range(TRIALS):
        shuffled = chance.sample(values, len(values))
        path.write_text("".join(f'{{"v": {v}, "a": {a}}}\n' for v, a in zip(values, shuffled, strict=True)))
        right = sum(v * a for v, a in zip(values, shuffled, strict=True))
        assert [int(row["total"]) for row in session.run(flow).to_pylist()] == [right]
    assert planned == 1


def test_two_reads_of_a_file_see_the_same_one(session: Session, tmp_path: Path) -> None:
    """The build side of a join is read a stage earlier than its probe side."""
    path, change = tmp_path / "t.parquet", Change("parquet", "replaced")
    chance = random.Random(5)
    for _ in range(TRIALS):
        change.start(path)
        small = read(path).aggregate(by=["v"], least=min_("a"))
        flow = read(path).join(small, on="v").aggregate(rows=count())
        changing = threading.Timer(chance.uniform(0, 0.1), change.apply, [path])
        changing.start()
        try:
            assert session.run(flow).to_pylist() == [{"rows": ROWS}]
        except FileChanged as error:
            assert error.fields["file"] == str(path)
        finally:
            changing.join()


def test_a_limit_that_stops_reading_checks_its_file_all_the_same(
    session: Session, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, change = tmp_path / "t.json", Change("json", "replaced")
    change.start(path)
    with monkeypatch.context() as patch:
        patch.setattr(moment, "action", lambda: change.apply(path))
        with pytest.raises(FileChanged):
            session.run(read(path, schema={"v": "int64"}).limit(10)).to_pylist()


def test_what_broke_is_the_change_not_the_data(
    session: Session, moment: Moment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    Change("csv", "").start(path)
    with monkeypatch.context() as patch:
        patch.setattr(moment, "action", lambda: path.write_bytes(b"v,a\n1,x\n"))
        with pytest.raises(FileChanged, match=r"changed from \d+ to 8 bytes"):
            ask(session, query(path))


def test_states_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")
    states = file_states([str(path)])
    check_unchanged(states)
    os.utime(path, ns=(0, 0))
    with pytest.raises(FileChanged, match=f"file '{path}' was written to while a query read it: run the query again"):
        check_unchanged(states)
    shutil.copy(path, tmp_path / "b.csv")
    (tmp_path / "b.csv").replace(path)
    with pytest.raises(FileChanged, match="was replaced"):
        check_unchanged(states)
    path.unlink()
    with pytest.raises(FileChanged, match="was removed"):
        check_unchanged(states)
    for strange, what in ((tmp_path, "a directory"), (Path("/dev/null"), "a device")):
        with pytest.raises(FileUnreadable, match=f"it is {what}, not a regular file"):
            file_states([str(strange)])
    with pytest.raises(FileUnreadable, match="No such file"):
        file_states([str(path)])
