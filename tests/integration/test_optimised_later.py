"""Programs that are built without the optimiser first: the same answers, also when the optimiser fails or is ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.dataflow.builder import Dataflow, read
from jumpgate.dataflow.measures import count, sum_
from jumpgate.dataflow.unresolved import col
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.testing.leaks import nothing_left

PATIENCE_S = 300.0
#: a compiler that does so with programs that are to be optimised
COMPILER = """#!/bin/sh
case "$*" in *--version*) exec "{compiler}" "$@";; esac
cat > "$TMPDIR/program.cpp"
if ! grep -q "^// not optimised" "$TMPDIR/program.cpp"; then
  echo x >> "{log}"
  {what}
fi
exec "{compiler}" "$@" < "$TMPDIR/program.cpp"
"""
#: whose square is rounded to 1 + 2**-29: fused with a subtraction of that it would leave 2**-60
X = 1 + 2.0**-30
ROWS = [(1, X, X, 1 + 2.0**-29), (1, 0.1, 0.2, 0.3), (2, 3.0, 1e16, 1.0), (2, 1e308, 10.0, 1.0)]


@pytest.fixture
def dataflow(tmp_path: Path) -> Dataflow:
    table = tmp_path / "t.json"
    table.write_text("".join(f'{{"k": {k}, "x": {x!r}, "y": {y!r}, "z": {z!r}}}\n' for k, x, y, z in ROWS))
    schema = {"k": "int64", "x": "float64", "y": "float64", "z": "float64"}
    rest = read(table, schema=schema).with_columns(rest=col("x") * col("y") - col("z"))
    return rest.aggregate(by=["k"], total=sum_("rest"), rows=count()).sort("k")


EXPECTED = [(k, sum(x * y - z for of, x, y, z in ROWS if of == k), sum(of == k for of, *_ in ROWS)) for k in (1, 2)]


@contextmanager
def session(cache: Path) -> Iterator[Session]:
    """Nothing of the service's is left at the end."""
    with nothing_left([cache / "tmp", cache / "locks"], timeout_s=60):
        service = embedded.start(local_hosts(1))
        try:
            with Session(service.address) as session:
                yield session
        finally:
            service.close()


@pytest.fixture
def quick(own_cache: Path, grpc_is_up: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("JUMPGATE_QUICK_BUILDS")
    return own_cache


def optimising(what: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Has agents run `what` in place of the compiler for what is to be optimised; returns the log of how often."""
    log, compiler = folder / "log", folder / "compiler"
    compiler.write_text(COMPILER.format(compiler=toolchain.compiler(), log=log, what=what))
    compiler.chmod(0o755)
    monkeypatch.setenv("JUMPGATE_CXX", str(compiler))
    return log


def answer(session: Session, dataflow: Dataflow) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in session.run(dataflow).to_arrow().to_pylist()]


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def ask_until(client: Session, dataflow: Dataflow, until: Callable[[], object]) -> None:
    """Asks as often as it takes for the optimiser to have its turn."""

    def asked() -> object:
        assert answer(client, dataflow) == EXPECTED
        return until()

    wait(asked)


def programs(cache: Path) -> dict[bool, set[str]]:
    """Names of the built programs: quick ones, and others."""
    names = {path.stem for path in (cache / "artifacts").glob("*/*.so")}
    return {is_quick: {name for name in names if name.endswith("-quick") == is_quick} for is_quick in (True, False)}


def test_answers_are_the_same_before_and_after_the_optimiser(quick: Path, dataflow: Dataflow) -> None:
    assert EXPECTED[0][1] == 0.0 + (0.1 * 0.2 - 0.3), "nothing is left of the first row"
    with session(quick) as client:
        assert answer(client, dataflow) == EXPECTED
        assert programs(quick)[True] and not programs(quick)[False], "who asks once needs no optimiser"
        ask_until(client, dataflow, lambda: len(programs(quick)[False]) == len(programs(quick)[True]))
    for path in (quick / "artifacts").glob("*/*-quick.so"):
        path.unlink()
    with session(quick) as client:
        assert answer(client, dataflow) == EXPECTED
        assert not programs(quick)[True], "the optimised ones ran"


def test_an_optimiser_that_fails_is_not_heard_of_and_not_tried_again(
    quick: Path, dataflow: Dataflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = optimising("echo 'error: it fails' >&2; exit 1", tmp_path, monkeypatch)
    with session(quick) as client:
        ask_until(client, dataflow, log.exists)
        wait(lambda: log.read_text() == "x\n" and not list((quick / "tmp").iterdir()))
        for _ in range(3):
            assert answer(client, dataflow) == EXPECTED
        assert log.read_text() == "x\n" and not programs(quick)[False]


def test_a_service_that_ends_ends_the_optimiser(
    quick: Path, dataflow: Dataflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = optimising("exec sleep 1000", tmp_path, monkeypatch)
    with session(quick) as client:
        ask_until(client, dataflow, log.exists)
        assert answer(client, dataflow) == EXPECTED, "nobody waits for it"
