"""The build cache: content keys, one build for many callers, eviction, and what each failure says."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jumpgate.codegen import cache, toolchain
from jumpgate.errors import BuildError, NotInstalled

SOURCE = 'extern "C" int answer(void) { return 42; }\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache with a runtime that consists of headers only."""
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("JUMPGATE_DEBUG", raising=False)
    include = tmp_path / "include"
    include.mkdir()
    fake = toolchain.Runtime(include / "lib.so", include / "jghost", include, "release-0")
    monkeypatch.setattr(toolchain, "runtime", lambda variant=None, at_leisure=False: fake)
    monkeypatch.setattr(toolchain, "_home", lambda variant: tmp_path / fake.key)
    toolchain.compiler.cache_clear()
    toolchain.compiler_version.cache_clear()
    yield tmp_path / "cache"
    toolchain.compiler.cache_clear()
    toolchain.compiler_version.cache_clear()


def test_artifact_is_built_once_and_found_again(home: Path) -> None:
    assert toolchain.artifact("k1") is None
    path = toolchain.build_artifact("a test", SOURCE, "k1")
    assert ctypes.CDLL(str(path)).answer() == 42
    assert toolchain.artifact("k1") == path
    assert toolchain.build_artifact("a test", "this is no C++", "k1") == path
    assert not list((home / "tmp").iterdir())


def test_concurrent_builds_compile_once(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    wrapper = tmp_path / "slow-g++"
    wrapper.write_text(f'#!/bin/sh\necho x >> "{log}"\nsleep 0.2\nexec {toolchain.compiler()} "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JUMPGATE_CXX", str(wrapper))
    toolchain.compiler.cache_clear()
    found: list[Path] = []
    threads = [
        threading.Thread(target=lambda: found.append(toolchain.build_artifact("a test", SOURCE, "k1")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1
    assert log.read_text() == "x\n"


def test_a_build_at_leisure_leaves_the_processors_to_others(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrapper = tmp_path / "nice-g++"
    wrapper.write_text(f'#!/bin/sh\nnice >> "{tmp_path}/niceness"\nexec {toolchain.compiler()} "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    toolchain.compiler_version()  # which a process asks for once
    monkeypatch.setenv("JUMPGATE_CXX", str(wrapper))
    toolchain.compiler.cache_clear()
    path = toolchain.build_artifact("a test", SOURCE, "k1", at_leisure=True)
    assert ctypes.CDLL(str(path)).answer() == 42
    assert toolchain.build_artifact("a test", SOURCE, "k1", at_leisure=True) == path
    toolchain.build_artifact("a test", SOURCE, "k2")
    assert (tmp_path / "niceness").read_text().split() == ["19", str(os.nice(0))]
    assert not list((home / "tmp").iterdir())


def test_error_of_a_generated_program_names_it_and_keeps_its_source(home: Path) -> None:
    with pytest.raises(
        BuildError, match="the generated program of fragment f0 did not compile: .*'nonsense'"
    ) as caught:
        toolchain.build_artifact("fragment f0", "int f() { return nonsense; }\n", "k1")
    kept = Path(str(caught.value.fields["log"]))
    assert kept.read_text() == "int f() { return nonsense; }\n"
    assert toolchain.artifact("k1") is None
    assert not list((home / "tmp").iterdir()) and not list((home / "locks").iterdir())


def test_source_is_kept_on_request(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain.build_artifact("a test", SOURCE, "k1")
    assert not (home / "sources").exists()
    monkeypatch.setenv("JUMPGATE_DEBUG", "4")
    toolchain.build_artifact("a test", SOURCE, "k2")
    assert (home / "sources" / "k2.cpp").read_text() == SOURCE


def test_missing_compiler_has_a_remedy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CXX", "no-such-compiler")
    with pytest.raises(BuildError, match=r"'no-such-compiler' is not on the PATH.*apt-get install g\+\+.*JUMPGATE_CXX"):
        toolchain.build_artifact("a test", SOURCE, "k1")


def test_a_program_that_takes_too_long_is_given_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "COMPILE_CPU_S", 1)
    endless = """
constexpr unsigned turns(unsigned n) { unsigned x = 0; for (unsigned i = 0; i < n; i++) x = x * 31 + i; return x; }
template <unsigned N> struct More { static constexpr unsigned value = turns(200000 + N) + More<N - 1>::value; };
template <> struct More<0> { static constexpr unsigned value = 0; };
unsigned answer = More<800>::value;
"""
    with pytest.raises(BuildError, match="took more than 1 s; split the query into smaller ones"):
        toolchain.build_artifact("a test", endless, "k1")


def test_full_disk_has_a_remedy(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wrapper = tmp_path / "g++"
    wrapper.write_text("#!/bin/sh\necho 'fatal error: error writing to /x.s: No space left on device' >&2\nexit 1\n")
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JUMPGATE_CXX", str(wrapper))
    with pytest.raises(BuildError, match="the disk of the cache .* is full: free some space.*JUMPGATE_CACHE_DIR"):
        toolchain.build_artifact("a test", SOURCE, "k1")


def test_unusable_cache_has_a_remedy(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(BuildError, match="cannot write to the cache .*make it writable or set JUMPGATE_CACHE_DIR"):
        toolchain.build_artifact("a test", SOURCE, "k1")


def test_key_that_is_no_file_name_is_refused(home: Path) -> None:
    with pytest.raises(ValueError, match="not an artifact key"):
        toolchain.build_artifact("a test", SOURCE, "../../etc/passwd")


def test_eviction_removes_the_least_recently_used(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    cache.mark_used(tmp_path / "old")
    cache.evict(tmp_path.iterdir(), 200)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]


def test_eviction_leaves_what_was_used_of_late_or_meanwhile(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"x" * 100)
        os.utime(tmp_path / name, (1_000_000, 1_000_000))
    cache.mark_used(tmp_path / "a")

    def listed() -> Iterator[Path]:
        yield from sorted(tmp_path.iterdir())
        cache.mark_used(tmp_path / "b")

    cache.evict(listed(), 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "jumpgate-evict"]


def _await_eviction() -> None:
    for thread in _threads():
        thread.join(60)
        assert not thread.is_alive()


def test_artifacts_of_earlier_processes_are_evicted_after_the_first_build(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = cache.folder("artifacts", "release-0")
    for n in range(20):
        (others / f"old{n}.so").write_bytes(b"x" * 10_000)
        os.utime(others / f"old{n}.so", (1_000_000 + n, 1_000_000 + n))
    monkeypatch.setattr(toolchain, "ARTIFACT_BYTES_MAX", 100_000)
    monkeypatch.setattr(toolchain, "_unseen_bytes", toolchain.ARTIFACT_BYTES_UNSEEN)  # as in a new process
    built = toolchain.build_artifact("a test", SOURCE, "k1")
    _await_eviction()
    left = {path.name: path.stat().st_size for path in others.parent.glob("*/*.so")}
    assert built.name in left and sum(left.values()) <= 100_000
    assert sorted(left, key=lambda name: (len(name), name))[-1] == "old19.so" and "old0.so" not in left


def test_artifacts_are_looked_at_once_in_so_many_bytes_and_nobody_waits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, may_end = [], threading.Event()

    def slow(paths: Iterator[Path], bytes_max: int) -> None:
        looks.append(sorted(path.name for path in paths))
        may_end.wait(60)

    monkeypatch.setattr(cache, "evict", slow)
    monkeypatch.setattr(toolchain, "ARTIFACT_BYTES_UNSEEN", 250_000)
    monkeypatch.setattr(toolchain, "_unseen_bytes", 0)
    for n in range(6):
        toolchain.keep_artifact(f"k{n}", b"x" * 100_000)
    assert not may_end.is_set() and len(_threads()) == 2  # the six returned while both looks go on
    may_end.set()
    _await_eviction()
    assert len(looks) == 2


def test_program_of_plain_headers_loads_without_libraries_and_others_are_linked_with_theirs(home: Path) -> None:
    plain = """
extern "C" void* malloc(unsigned long);
extern "C" void* memcpy(void*, const void*, unsigned long);
extern "C" const char* copied(const char* text, unsigned long n) { return (char*)memcpy(malloc(n), text, n); }
"""
    assert ctypes.CDLL(str(toolchain.build_artifact("a test", plain, "k1"))).copied
    with_headers = """
#include <stdexcept>
#include <string>
extern "C" int length(int n) {
  try {
    throw std::runtime_error(std::string(n, 'x'));
  } catch (const std::exception& e) {
    return std::string(e.what()).size();
  }
}
"""
    assert ctypes.CDLL(str(toolchain.build_artifact("a test", with_headers, "k2"))).length(100) == 100
    needed = [b"libstdc++.so" in toolchain.build_artifact("a test", "", key).read_bytes() for key in ("k1", "k2")]
    assert needed == [False, True]


def test_unknown_variant() -> None:
    with pytest.raises(BuildError, match="unknown runtime variant 'debug'; there are release, asan"):
        toolchain.runtime("debug")


def test_runtime_key_depends_on_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = toolchain._package
    for name in ("runtime", "converters"):
        (tmp_path / name).mkdir()
    source = tmp_path / "runtime" / "a.cpp"
    source.write_text("int a;")
    fakes = {"jumpgate.ncas.runtime": tmp_path / "runtime", "jumpgate.converters": tmp_path / "converters"}
    monkeypatch.setattr(toolchain, "_package", lambda name: fakes.get(name) or package(name))
    before = toolchain.runtime_home("release")
    assert toolchain.runtime_home("release") == before
    assert toolchain.runtime_home("asan") != before
    source.write_text("int b;")
    assert toolchain.runtime_home("release") != before


def test_environments_share_a_runtime_and_any_of_them_may_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = toolchain._package
    home = tmp_path / "runtime"
    home.mkdir()
    keys = set()
    for name in ("first", "second"):
        (tmp_path / name / "include").mkdir(parents=True)
        monkeypatch.setattr(
            toolchain, "_package", lambda asked, name=name: tmp_path / name if asked == "pyarrow" else package(asked)
        )
        keys.add(toolchain.runtime_home("release"))
        toolchain._link_arrow(home)
        assert (home / "arrow").readlink() == tmp_path / "first"
    assert len(keys) == 1
    toolchain.seal.seal(home)
    (tmp_path / "first").rename(tmp_path / "gone")
    assert toolchain.seal.is_sealed(home)  # it is not built again
    toolchain._link_arrow(home)
    assert (home / "arrow").readlink() == tmp_path / "second"


def test_header_whose_compiler_was_ended_is_none(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    include = tmp_path / "include"
    (include / "jg").mkdir()
    (include / toolchain.HEADER).write_text("#pragma once\n")
    compiler = tmp_path / "compiler"
    compiler.touch(0o755)
    monkeypatch.setenv("JUMPGATE_CXX", str(compiler))

    def precompile(script: str) -> None:
        compiler.write_text(f"#!/bin/sh\n{script}\n")
        toolchain._precompile("release", include, tmp_path)

    for ended in ("kill -TERM $$", "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1"):
        with pytest.raises(BuildError, match="the runtime's header did not compile"):
            precompile(ended)
    precompile("exit 1")  # it makes none


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, where a runtime is built at once."""
    home = tmp_path / "cache" / "runtime" / "release-1"

    def build(variant: str) -> Path:
        target = toolchain._own_home(variant)
        target.mkdir(parents=True)
        for name in ("libjgruntime.so", "jghost", toolchain.OWNER):
            (target / name).write_text(toolchain.seal.owner())
        toolchain.seal.seal(target)
        return target

    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "runtime_home", lambda variant=None: home)
    monkeypatch.setattr(toolchain, "_build_runtime", build)
    monkeypatch.setattr(toolchain, "_link_arrow", lambda home: None)
    monkeypatch.setattr(cache, "_held", {})
    toolchain._runtime.cache_clear()
    toolchain._home.cache_clear()
    yield home
    for handle in cache._held.values():
        os.close(handle)
    toolchain._runtime.cache_clear()
    toolchain._home.cache_clear()


def test_services_with_secrets_of_their_own_share_a_cache(
    places: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither runs what the other has built, nor takes it away."""
    first = toolchain.runtime("release").library
    assert first.parent == places
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(tmp_path / "other"))
    toolchain._runtime.cache_clear()
    toolchain._home.cache_clear()
    second = toolchain.runtime("release").library
    assert second.parent.parent == places.parent and second.parent != places
    assert first.exists() and first.read_text() != second.read_text()
    assert toolchain._artifact_path("k1", "release").parent.name == second.parent.name


def test_a_runtime_that_is_gone_is_built_again(places: Path) -> None:
    toolchain.runtime("release")
    shutil.rmtree(places.parents[1])
    assert toolchain.runtime("release").library.exists()
    with cache.unused(places) as is_unused:
        assert not is_unused


def test_runtimes_in_use_are_not_evicted(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "RUNTIMES_MAX", 1)
    for n, name in enumerate(("old", "used", "new")):
        (places.parent / name).mkdir(parents=True)
        os.utime(places.parent / name, (1_000_000 + n, 1_000_000 + n))
    cache.hold(places.parent / "used")
    toolchain._evict_runtimes(keep=places.parent / "new")
    assert sorted(path.name for path in places.parent.iterdir()) == ["new", "used"]


def test_a_runtime_without_its_builders_names_the_extra(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmake", None)
    with pytest.raises(NotInstalled, match=r"cmake is not installed; run `pip install 'jumpgate-nca\[build\]'`"):
        toolchain.compile_runtime("release")


def test_a_build_that_nobody_waits_for_leaves_the_processors_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once somebody does, it goes on at full speed."""
    monkeypatch.setattr(toolchain, "_is_waited_for", threading.Event())
    log, own = tmp_path / "log", os.nice(0)
    with log.open("w") as sink, ThreadPoolExecutor(1) as pool:
        command = ["sh", "-c", f"nice; if mkdir {tmp_path}/begun; then exec sleep 60; fi"]
        built = pool.submit(toolchain._run, command, sink, tmp_path, log, "building")
        ended = time.monotonic() + 30
        while not (tmp_path / "begun").exists() and time.monotonic() < ended:
            time.sleep(0.01)
        assert not built.done()
        toolchain.hurry()
        built.result(timeout=30)
    first, *_, last = (int(line) for line in log.read_text().splitlines() if line.isdigit())
    assert (first, last) == (min(19, own + 19), own)
