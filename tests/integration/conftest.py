"""What the tests with real processes share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import simdjson

from jumpgate.codegen import toolchain
from jumpgate.testing.leaks import Watch, nothing_left

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def scripted_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host program whose instances do what a test says; everything else in it is the runtime library's."""
    runtime = toolchain.runtime()
    program = tmp_path_factory.mktemp("scripted") / "jghost"
    sources = [HERE / "scripted_instance.cpp", HERE.parents[1] / "ncas/runtime/src/host_main.cpp"]
    command = [
        toolchain.compiler(), "-std=gnu++20", "-O1", *toolchain.VARIANTS[toolchain.default_variant()],
        "-I", runtime.include, "-isystem", Path(simdjson.__file__).parent, *sources, "-o", program,
        runtime.library, f"-Wl,-rpath,{runtime.library.parent}",
    ]  # fmt: skip
    subprocess.run(list(map(str, command)), check=True)
    return program


@pytest.fixture
def watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Every process and descriptor of the test must be gone at its end; records of jobs go to a folder of its own."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    with nothing_left() as watch:
        yield watch
