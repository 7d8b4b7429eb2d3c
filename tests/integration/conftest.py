"""What the tests with real processes share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import duckdb
import pytest
import simdjson

from jumpgate.client.session import Session
from jumpgate.codegen import toolchain
from jumpgate.dataflow.formats import formats
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.testing.lab import Lab
from jumpgate.testing.leaks import Watch, nothing_left
from tests.support import presto

HERE = Path(__file__).parent


#: modules whose programs are optimised before they run, as users' programs of much work are
OPTIMISED = ("test_operators", "test_aggregates", "test_large_tables")
#: those whose programs only a nightly run optimises
OPTIMISED_NIGHTLY = ("test_joins", "test_windows", "test_spill_faults")


@pytest.fixture(autouse=True)
def builds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    optimised = OPTIMISED if request.config.getoption("--run") == "ci" else OPTIMISED + OPTIMISED_NIGHTLY
    if request.path.stem in optimised:
        monkeypatch.setenv("JUMPGATE_QUICK_BUILDS", "never")


@pytest.fixture(scope="module")
def judge() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB alone."""
    with duckdb.connect() as found:
        yield found


@pytest.fixture(scope="session")
def scripted_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host program whose instances do what a test says; everything else in it is the runtime library's."""
    runtime = toolchain.runtime()
    program = tmp_path_factory.mktemp("scripted") / "jghost"
    sources = [HERE / "scripted_instance.cpp", HERE.parents[1] / "ncas/runtime/src/process/host_main.cpp"]
    command = [
        toolchain.compiler(), "-std=gnu++20", "-O1", *toolchain.VARIANTS[toolchain.default_variant()],
        "-I", runtime.include, "-isystem", Path(simdjson.__file__).parent, *sources, "-o", program,
        runtime.library, f"-Wl,-rpath,{runtime.library.parent}",
    ]  # fmt: skip
    subprocess.run(list(map(str, command)), check=True)
    return program


@pytest.fixture(scope="session")
def grpc_is_up() -> Iterator[None]:
    """What gRPC keeps open as long as anything uses it is not a test's leak."""
    service = embedded.start(local_hosts(1))
    with Session(service.address) as session:
        assert session.jobs() == []
        yield
    service.close()


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Every process and descriptor of the test must be gone at its end; records of jobs go to a folder of its own."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    with nothing_left() as watch:
        yield watch


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, in which only the runtime library is built already."""
    built = toolchain.runtime().library.parent.parent
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "runtime").symlink_to(built)
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(cache))
    return cache


def _service(hosts: int, folder: Path) -> Iterator[str]:
    """The address of a service with that many agents of its own, which have run a job already."""
    service = embedded.start(local_hosts(hosts))
    try:
        with Session(service.address, parallelism=hosts) as session:
            lab = Lab(session, folder)
            assert lab.run(lab.table({"a": "int64"}, [(1,)]).distinct()).num_rows == 1
        yield service.address
    finally:
        service.close()


@pytest.fixture(scope="session")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service on this machine, one for all tests."""
    yield from _service(1, tmp_path_factory.mktemp("one-host"))


@pytest.fixture(scope="session")
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service whose four agents stand for four hosts."""
    yield from _service(4, tmp_path_factory.mktemp("four-hosts"))


@pytest.fixture(scope="session")
def presto_answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> presto.Answers:
    """A Presto server's answers to the queries of all modules that are run."""
    return presto.shared_answers(_modules(request), "presto", tmp_path_factory)


@pytest.fixture(scope="session")
def trino_answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> presto.Answers:
    """A Trino server's answers to the queries of all modules that are run."""
    return presto.shared_answers(_modules(request), "trino", tmp_path_factory)


def _modules(request: pytest.FixtureRequest) -> list[ModuleType]:
    """Return the modules of all tests that were collected."""
    return list(dict.fromkeys(item.module for item in request.session.items if isinstance(item, pytest.Function)))


@pytest.fixture(scope="session")
def local(one_host: str) -> Iterator[Session]:
    """A session with one host, for all tests."""
    with Session(one_host) as session:
        session.jobs()  # connects
        yield session


@pytest.fixture(scope="session", params=(2, 4))
def cluster(four_hosts: str, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session with four hosts, in which each operator has two or four instances."""
    with Session(four_hosts, parallelism=request.param) as session:
        yield session


@pytest.fixture
def lab(local: Session, tmp_path: Path) -> Lab:
    """Tables in Parquet."""
    return Lab(local, tmp_path)


@pytest.fixture(params=tuple(formats()))
def any_lab(local: Session, tmp_path: Path, request: pytest.FixtureRequest) -> Lab:
    """Tables in each format."""
    return Lab(local, tmp_path, request.param)
