"""A runtime that came built is taken where sources, pyarrow and processor are those that it was built for."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from jumpgate.codegen import prebuilt, toolchain
from jumpgate.errors import BuildError

HOST = "#!/bin/sh\necho 'jghost is started by others' >&2\nexit {status}\n"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runtimes for two levels, of which every processor has one, and an empty cache."""
    folder = tmp_path / prebuilt.FOLDER
    for level in ("best", "plain"):
        (folder / level).mkdir(parents=True)
        (folder / level / prebuilt.LIBRARY).write_text(level)
        (folder / level / prebuilt.HOST_PROGRAM).write_text(HOST.format(status=2))
    manifest(folder)
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(prebuilt.jumpgate, "__path__", [str(tmp_path)])
    return folder


def manifest(folder: Path, sources: str = "", arrow: str = "", machine: str = "") -> None:
    facts = sources or toolchain.sources_digest(), arrow or toolchain.arrow_version()
    prebuilt.Manifest(*facts, machine or prebuilt.platform.machine(), "g++ 1", {"best": ("warp",), "plain": ()}).write(
        folder
    )


def found(folder: Path, flags: str = "flags : fpu", arrow: str = "") -> str | None:
    fit = prebuilt.fitting(toolchain.sources_digest(), arrow or toolchain.arrow_version(), flags, folder)
    return fit and fit.name


def test_the_best_level_that_the_processor_has(shipped: Path) -> None:
    assert found(shipped) == "plain"
    assert found(shipped, "flags : fpu warp") == "best"


def test_what_was_built_for_others_does_not_fit(shipped: Path) -> None:
    assert found(shipped, arrow="9900") is None
    for other in ({"sources": "0"}, {"arrow": "9900"}, {"machine": "vax"}):
        manifest(shipped, **other)
        assert found(shipped) is None
    (shipped / prebuilt.MANIFEST).write_text("{}")
    assert found(shipped) is None
    (shipped / prebuilt.MANIFEST).unlink()
    assert found(shipped) is None


def test_levels_are_sorted_and_the_compiler_knows_them() -> None:
    for levels in prebuilt.LEVELS.values():
        needs = [set(level.needs) for level in levels]
        assert all(better > worse for better, worse in zip(needs, needs[1:], strict=False))


def taken(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build a runtime, but for what a compiler would do."""
    monkeypatch.setattr(toolchain, "compile_runtime", lambda variant: pytest.fail("it is compiled"))
    monkeypatch.setattr(toolchain, "_precompile", lambda *_: None)
    return toolchain._build_runtime("release")


def test_it_is_taken_without_a_compiler(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise BuildError("no C++ compiler")

    monkeypatch.setattr(toolchain, "compiler_version", none)
    home = taken(monkeypatch)
    assert (home / prebuilt.LIBRARY).read_text() == "plain"
    assert stat.S_IMODE((home / prebuilt.HOST_PROGRAM).stat().st_mode) == 0o755
    assert (home / "include" / toolchain.HEADER).exists()
    assert toolchain.seal.is_sealed(home) and toolchain.runtime_home("release") == home
    (shipped / prebuilt.MANIFEST).unlink()
    with pytest.raises(BuildError, match="no C"):
        toolchain.runtime_home("release")


def test_one_that_does_not_start_is_built(shipped: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (shipped / "plain" / prebuilt.HOST_PROGRAM).write_text(HOST.format(status=1))  # as the loader's, of a symbol
    (tmp_path / prebuilt.LIBRARY).write_text("built here")
    (tmp_path / prebuilt.HOST_PROGRAM).touch()
    monkeypatch.setattr(toolchain, "compile_runtime", lambda variant: tmp_path)
    monkeypatch.setattr(toolchain, "_precompile", lambda *_: None)
    assert (toolchain._build_runtime("release") / prebuilt.LIBRARY).read_text() == "built here"


def test_its_key_is_not_that_of_one_built_here(shipped: Path) -> None:
    with_it = toolchain.runtime_home("release")
    assert toolchain.runtime_home("asan").name.startswith("asan-")
    (shipped / prebuilt.MANIFEST).unlink()
    assert toolchain.runtime_home("release") != with_it
