"""Builds C++: the runtime library once for each machine, and each job's generated program once for each content."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from jumpgate import debug, extras
from jumpgate.codegen import cache, compilers, prebuilt
from jumpgate.errors import BuildError
from jumpgate.machine import memory_bytes
from jumpgate.nca.quick_builds import UNOPTIMISED
from jumpgate.trust import seal

#: names of runtime builds, with what each adds to the compiler's command line for generated programs
VARIANTS = {
    "release": ("-O2",),
    "asan": ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
}
ARTIFACT_BYTES_MAX = 512 << 20
#: bytes that a process adds to the artifacts before it checks the total
ARTIFACT_BYTES_UNSEEN = 32 << 20
#: CPU seconds of the compiler for one generated program, which takes a second unless a query is huge
COMPILE_CPU_S = 120
RUNTIMES_MAX = 6
#: in a runtime's folder: whose secrets have sealed it
OWNER = ".owner"
#: runs a command when nothing else wants the processor
LEISURE = ("nice", "-n", "19")
SANITIZERS = "address,undefined"
#: the first include of generated programs; it is precompiled
HEADER = "jg/kernel.h"


@dataclass(frozen=True)
class Runtime:
    """A built runtime: the shared library, the program that hosts an instance, and the headers of generated code."""

    library: Path
    host_program: Path
    include: Path
    key: str


def default_variant() -> str:
    """$JUMPGATE_RUNTIME_VARIANT, else "release"."""
    return os.environ.get("JUMPGATE_RUNTIME_VARIANT") or "release"


@functools.cache
def compiler() -> str:
    """The C++ compiler's path: $JUMPGATE_CXX, else g++. Raises BuildError with the remedy."""
    wanted = os.environ.get("JUMPGATE_CXX") or "g++"
    found = shutil.which(wanted)
    if found is None:
        raise BuildError(
            f"no C++ compiler: '{wanted}' is not on the PATH. Install one (`apt-get install g++`), "
            "or set JUMPGATE_CXX to one that knows C++20.",
            compiler=wanted,
        )
    return found


@functools.cache
def compiler_version() -> str:
    """Return the compiler's version line, e.g. "g++ (Debian 12.2.0-14) 12.2.0"."""
    try:
        out = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"the C++ compiler {compiler()} does not run: {error}", compiler=compiler()) from error
    return out.stdout.partition("\n")[0].strip()


@dataclass(frozen=True)
class Building:
    """Progress of the runtime's build in this process: `done` of `of` steps (0 of 0: just begun)."""

    done: int = 0
    of: int = 0


#: set while this process builds the runtime or waits for another one
building: Building | None = None
#: set once somebody waits for the runtime; the step of its build that leaves the processors to others until then
_is_waited_for = threading.Event()
_at_leisure: subprocess.Popen[str] | None = None


def is_built() -> bool:
    """Return whether the runtime needs no build. Raises BuildError if none is possible."""
    variant = default_variant()
    return cache.is_usable(_home(variant)) or _given() is not None or _shipped(variant) is not None


def runtime(variant: str | None = None, *, at_leisure: bool = False) -> Runtime:
    """Return the runtime library for this machine: what the wheel brings, else built on first use (half a minute, with
    progress on stderr).

    Concurrent processes build once, and environments with the same versions share the result. It stays the same for the
    life of this process, even if sources change. A build that is started `at_leisure` leaves the processors to others
    until somebody else asks for the runtime.

    Raises BuildError: no compiler, a cache that is full or not writable, or the first error of the build.
    """
    variant = variant or default_variant()
    if not at_leisure:
        hurry()
    if variant not in VARIANTS:
        raise BuildError(f"unknown runtime variant '{variant}'; there are {', '.join(VARIANTS)}")
    found = _runtime(variant)
    if not found.library.exists():  # somebody has emptied the cache
        _runtime.cache_clear()
        found = _runtime(variant)
    return found


def hurry() -> None:
    """Say that somebody waits for the runtime: what builds it at leisure goes on at full speed."""
    global _at_leisure
    _is_waited_for.set()
    if (process := _at_leisure) is not None:
        _at_leisure = None
        process.terminate()  # ninja keeps what is compiled


@functools.cache
def _runtime(variant: str) -> Runtime:
    home = _home(variant)
    if not cache.is_usable(home):
        if _given():
            raise BuildError(f"{home}, the value of JUMPGATE_RUNTIME, holds none as it was shipped", directory=home)
        with (
            _building(),
            cache.locked(f"runtime-{variant}", lambda: _say("waiting for another process to build the runtime")),
        ):
            if not cache.is_usable(home):
                _discard(home)
                home = _build_runtime(variant)
                _evict_runtimes(keep=home)
    cache.hold(home)
    _link_arrow(home)
    return Runtime(home / prebuilt.LIBRARY, home / prebuilt.HOST_PROGRAM, home / "include", home.name)


@contextlib.contextmanager
def _building() -> Iterator[None]:
    global building
    building = Building()
    try:
        yield
    finally:
        building = None


def artifact(key: str, variant: str | None = None) -> Path | None:
    """Return the built program of that content key, or None; at once, also while the runtime is built. It belongs to
    the current runtime and is marked as used."""
    path = _artifact_path(key, variant)
    return path if cache.is_usable(path) else None


def _discard(home: Path) -> None:
    """Remove a damaged runtime with its programs; processes that run it keep their files."""
    for path in (home, cache.root() / "artifacts" / home.name):
        shutil.rmtree(path, ignore_errors=True)


def build_artifact(
    name: str,
    source: str,
    key: str,
    variant: str | None = None,
    *,
    at_leisure: bool = False,
    timeout_s: float | None = None,
) -> Path:
    """Compiles one generated C++ source into a shared library and caches it under `key`; returns its path.

    `name` says in errors what the program is for. Concurrent calls for one key compile once, except for those
    `at_leisure`, whose compiler leaves the processors to others: nobody waits for it. Raises BuildError, and TimedOut
    after timeout_s of a compiler.
    """
    path = _artifact_path(key, variant)
    if cache.is_usable(path):
        return path
    include = runtime(variant).include
    compile = functools.partial(_compile, name, source, path, variant or default_variant(), include, timeout_s)
    if at_leisure:
        compile(runner=LEISURE)
        return path
    try:
        with cache.locked(f"artifact-{key}"):
            if not cache.is_usable(path):
                compile()
    finally:
        with contextlib.suppress(OSError):
            (cache.root() / "locks" / f"artifact-{key}.lock").unlink()
    return path


def keep_artifact(key: str, content: bytes, variant: str | None = None) -> Path:
    """Cache a program that an equal machine has built for the same runtime; return its path."""
    path = _artifact_path(key, variant)
    cache.folder("artifacts", path.parent.name)
    with cache.scratch() as work, cache.explained():
        (work / "program.so").write_bytes(content)
        cache.publish(work / "program.so", path)
    _bound_artifacts(path)
    return path


#: bytes that this process has added to the artifacts since it last checked; other processes may have filled them before
_unseen_bytes = ARTIFACT_BYTES_UNSEEN


def _bound_artifacts(added: Path) -> None:
    """Keep the artifacts within ARTIFACT_BYTES_MAX, to ARTIFACT_BYTES_UNSEEN of each process, after one was added.

    Checking thousands of files takes as long as compiling half a program, so a background thread does it now and then.
    """
    global _unseen_bytes
    with contextlib.suppress(FileNotFoundError):  # another process may have evicted it
        _unseen_bytes += added.stat().st_size
    if _unseen_bytes > ARTIFACT_BYTES_UNSEEN:
        _unseen_bytes = 0
        paths = cache.folder("artifacts").glob("*/*.so")
        threading.Thread(target=cache.evict, args=(paths, ARTIFACT_BYTES_MAX), name="jumpgate-evict").start()


def _artifact_path(key: str, variant: str | None) -> Path:
    if not re.fullmatch(r"[0-9A-Za-z_.-]{1,128}", key):
        raise ValueError(f"not an artifact key: {key!r}")
    return cache.root() / "artifacts" / _home(variant or default_variant()).name / f"{key}.so"


def _compile(
    name: str,
    source: str,
    target: Path,
    variant: str,
    include: Path,
    timeout_s: float | None = None,
    runner: tuple[str, ...] = (),
) -> None:
    cache.folder("artifacts", target.parent.name)
    with cache.scratch() as work:
        output = work / "program.so"
        own = flags(variant, include, not source.startswith(UNOPTIMISED))
        command = [
            compiler(), *own, "-shared", "-pipe", "-x", "c++", "-", "-x", "none",
            *_libraries(source, variant), "-o", str(output),
        ]  # fmt: skip
        limited = ["sh", "-c", f'ulimit -S -t {COMPILE_CPU_S}; exec "$@"', "sh", *runner, *command]
        try:
            program = f"the generated program of {name}"
            status, said = compilers.run(program, limited, source, _environment(work), timeout_s)
        except OSError as error:
            raise BuildError(f"the C++ compiler {compiler()} does not run: {error}", compiler=compiler()) from error
        if status != 0 or debug.level() >= 4:
            kept = cache.folder("sources") / f"{target.stem}.cpp"
            with cache.explained():
                kept.write_text(source)
        if status != 0:
            raise _failure(program, said, kept)
        cache.publish(output, target)
    _bound_artifacts(target)


def flags(variant: str, include: Path, optimised: bool = True) -> tuple[str, ...]:
    """Return the compiler's flags for generated programs and for their precompiled header, which is only used with
    equal flags."""
    own = VARIANTS[variant] if optimised else ("-O0", *(f for f in VARIANTS[variant] if not f.startswith("-O")))
    return (
        "-std=gnu++20", *own, "-march=native", "-fPIC",
        "-ffp-contract=off",  # results do not depend on the machine or the optimisation level
        "-I", str(include), "-isystem", str(include.parent / "arrow" / "include"),
    )  # fmt: skip


def _libraries(source: str, variant: str) -> tuple[str, ...]:
    """Return the libraries that a program is linked with.

    The process that loads it has the libraries of C and C++ loaded. Searching these takes the linker 20 ms, and is
    needed to find the right version of a function. A program that includes only the runtime's headers calls one
    function with several versions: memcpy, and each will do.
    """
    is_plain = all(header.startswith('"jg/') for header in re.findall(r"^\s*#\s*include\s*(\S+)", source, re.MULTILINE))
    return ("-nodefaultlibs", "-lgcc") if is_plain and variant == "release" else ()


def _environment(work: Path) -> dict[str, str]:
    """Return the compiler's environment: temporary files go to the cache's disk, and messages are in English for
    parsing."""
    return {**os.environ, "TMPDIR": str(work), "LC_ALL": "C"}


def _failure(what: str, output: str, kept: Path) -> BuildError:
    """Return the BuildError for a compiler's output: disk full, out of memory, or the first error line."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return cache.unusable("no space left", full=True)
    if "Killed signal terminated program" in output:
        return BuildError(f"{what} did not compile: the compiler ran out of memory", log=kept)
    if "CPU time limit exceeded" in output:
        return BuildError(
            f"{what} did not compile: the compiler took more than {COMPILE_CPU_S} s; split the query into smaller ones",
            log=kept,
        )
    lines = output.splitlines()
    first = next((line for line in lines if re.search(r"\berror\b|undefined reference", line)), None)
    first = first or next((line for line in reversed(lines) if line.strip()), "the compiler gave no message")
    return BuildError(f"{what} did not compile: {first.strip()} (see {kept})", log=kept)


def _say(text: str) -> None:
    print(f"jumpgate: {text}", file=sys.stderr, flush=True)


def _package(name: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise BuildError(f"the Python package '{name}' is missing; run `pip install jumpgate-nca` again", package=name)
    return Path(next(iter(spec.submodule_search_locations)))


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield every file the runtime is built from, with a name that does not depend on where Jumpgate is installed."""
    for package in ("jumpgate.ncas.runtime", "jumpgate.converters", "jumpgate.udp"):
        base = _package(package)
        for path in sorted(base.rglob("*")):
            if path.suffix in (".cpp", ".h") or path.name == "CMakeLists.txt":
                yield f"{package}/{path.relative_to(base)}", path


@functools.cache
def _home(variant: str) -> Path:
    """The runtime's folder, for the life of this process."""
    return _given() or _own_home(variant)


def _own_home(variant: str) -> Path:
    """The folder of what is built here, another one where somebody with other secrets has built the same before."""
    home = runtime_home(variant)
    with contextlib.suppress(OSError):
        if (home / OWNER).read_text() != seal.owner():
            return home.with_name(f"{home.name}-{seal.owner()}")
    return home


def _given() -> Path | None:
    """Return $JUMPGATE_RUNTIME: a runtime built on an equal machine, whatever the sources and the compiler here."""
    given = os.environ.get("JUMPGATE_RUNTIME")
    return Path(given) if given else None


def sources_digest() -> str:
    """Return a digest of what the runtime is built from."""
    digest = hashlib.sha256()
    for name, path in _sources():
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def arrow_version() -> str:
    """Return the version in the names of pyarrow's libraries, e.g. 2600; empty if it has none."""
    return next(iter(sorted(p.name.rpartition(".so.")[2] for p in _package("pyarrow").glob("libarrow.so.*"))), "")


def _shipped(variant: str, sources: str = "") -> Path | None:
    """Return the folder of a runtime that came with this package and fits this machine. sources: their digest."""
    if variant != "release":
        return None
    return prebuilt.fitting(sources or sources_digest(), arrow_version(), _cpu_flags())


def runtime_home(variant: str | None = None) -> Path:
    """Return the folder for the runtime built from the current sources; it exists once that is built. Raises BuildError
    where it can neither be built nor came built."""
    from importlib.metadata import version  # takes 20 ms, which running cached programs does not need

    variant = variant or default_variant()
    sources = sources_digest()
    shipped = _shipped(variant, sources)
    try:
        builder = compiler_version()
    except BuildError:
        if not shipped:
            raise
        builder = "none"
    facts = (
        sources, variant, *flags(variant, Path("include")), *flags(variant, Path("include"), False),
        HEADER, builder, _cpu_flags(), platform.machine(),
        version("pyarrow"), version("pysimdjson"), shipped.name if shipped else "",
    )  # fmt: skip
    digest = hashlib.sha256("".join(f"{fact}\0" for fact in facts).encode())
    return cache.root() / "runtime" / f"{variant}-{digest.hexdigest()[:24]}"


def _cpu_flags() -> str:
    """Return what -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _build_runtime(variant: str) -> Path:
    """Take the runtime that came with this package, or build one; publish a copy under the content's key."""
    shipped = _shipped(variant)
    with cache.scratch() as work, cache.explained():
        staged = work / "runtime"
        staged.mkdir()
        if not (shipped and _starts(shipped, work)):
            shipped = compile_runtime(variant)
        shutil.copytree(_package("jumpgate.ncas.runtime") / "include", staged / "include")
        for name in (prebuilt.LIBRARY, prebuilt.HOST_PROGRAM):
            shutil.copy(shipped / name, staged / name)
            (staged / name).chmod(0o755)
        _precompile(variant, staged / "include", work)
        (staged / OWNER).write_text(seal.owner())
        home = _own_home(variant)  # sources may have changed during the build
        home.parent.mkdir(parents=True, exist_ok=True)
        if not home.exists():
            seal.seal(staged, home.name)
            staged.rename(home)
    return home


def _starts(shipped: Path, work: Path) -> bool:
    """Return whether the machine's C and C++ libraries can run a runtime that was built elsewhere."""
    trial = work / "trial"
    trial.mkdir()
    (trial / "arrow").symlink_to(_package("pyarrow"))
    for name in (prebuilt.LIBRARY, prebuilt.HOST_PROGRAM):
        shutil.copy(shipped / name, trial / name)
    program = trial / prebuilt.HOST_PROGRAM
    program.chmod(0o755)
    done = subprocess.run([program], capture_output=True, check=False)
    return done.returncode == 2 and b"jghost" in done.stderr  # how to use it


def compile_runtime(variant: str, march: str = "native") -> Path:
    """Build incrementally in a folder kept for each source tree; return that folder. march: as g++ takes it.

    Raises NotInstalled without cmake or ninja.
    """
    with extras.explained():
        import cmake
        import ninja

    source = _package("jumpgate.ncas.runtime")
    arrow = _package("pyarrow")
    place = hashlib.sha256(f"{source}\0{arrow}\0{compiler_version()}\0{compiler()}\0{march}".encode())
    build = cache.folder("build", f"{variant}-{place.hexdigest()[:16]}")
    log = build / "build.log"
    configure = [
        str(Path(cmake.CMAKE_BIN_DIR) / "cmake"), "-S", str(source), "-B", str(build), "-G", "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}",
        f"-DCMAKE_CXX_COMPILER={compiler()}",
        f"-DJG_ARROW_INCLUDE={arrow / 'include'}", f"-DJG_ARROW_LIB={arrow}", f"-DJG_ARROW_SO={arrow_version()}",
        f"-DJG_SIMDJSON={_package('simdjson')}", f"-DJG_CONVERTERS={_package('jumpgate.converters')}",
        f"-DJG_UDP={_package('jumpgate.udp') / 'include'}",
        f"-DJG_SANITIZE={SANITIZERS if variant == 'asan' else ''}", f"-DJG_MARCH={march}",
    ]  # fmt: skip
    jobs = min(os.cpu_count() or 1, max(1, memory_bytes() >> 30))
    compile_ = [str(Path(ninja.BIN_DIR) / "ninja"), "-C", str(build), "-j", str(jobs)]
    with cache.scratch() as work, log.open("w") as sink:
        for command in (configure, compile_):
            _run(command, sink, work, log, f"building the runtime library ({variant}; one time, half a minute)")
    return build


def _precompile(variant: str, include: Path, work: Path) -> None:
    """Precompile the header of generated programs, optimised and not, which saves a fifth of the smallest ones' time.
    g++ ignores those whose flags differ; a compiler that does not support it uses the header itself. Raises BuildError
    if it was interrupted. Without a compiler there are no programs."""
    header = include / HEADER
    try:
        compiler()
    except BuildError:
        return
    folder = header.with_name(f"{header.name}.gch")
    folder.mkdir(exist_ok=True)

    def precompiled(optimised: bool) -> subprocess.CompletedProcess[str]:
        made = folder / ("optimised" if optimised else "unoptimised")
        command = [compiler(), *flags(variant, include, optimised), "-x", "c++-header", str(header), "-o", str(made)]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=_environment(work))

    with ThreadPoolExecutor(2, "jumpgate-precompile") as pool:
        for done in pool.map(precompiled, (True, False)):
            if done.returncode < 0 or "Killed signal" in done.stderr:
                log = cache.folder("build") / "header.log"
                log.write_text(done.stderr)
                raise _failure("the runtime's header", done.stderr, log)


def _link_arrow(home: Path) -> None:
    """Point a runtime at an installed pyarrow, whose libraries it loads.

    Environments with the same versions share a runtime, so the one that built it may be gone.
    """
    link = home / "arrow"
    if (link / "include").exists() and link.lstat().st_uid == os.geteuid():
        return
    with cache.scratch() as work, cache.explained():
        (work / "arrow").symlink_to(_package("pyarrow"))
        (work / "arrow").rename(link)


def _run(command: list[str], sink: object, work: Path, log: Path, title: str) -> None:
    """Run one build step with its output in the log, at leisure until somebody waits for it."""
    status = 0 if _is_waited_for.is_set() else _step([*LEISURE, *command], sink, work, title, at_leisure=True)
    if _is_waited_for.is_set():
        status = _step(command, sink, work, title)
    if status != 0:
        sink.flush()  # type: ignore[attr-defined]
        raise _failure("the runtime library", log.read_text(errors="replace"), log)


def _step(command: list[str], sink: object, work: Path, title: str, *, at_leisure: bool = False) -> int:
    """Run a command with its output in the sink; return its status. Show ninja's "[7/23]" as progress."""
    global building, _at_leisure
    env = {**_environment(work), "NINJA_STATUS": "[%f/%t] "}
    bar = sys.stderr.isatty()
    said = False
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env=env,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            if at_leisure:
                _at_leisure = process
                if _is_waited_for.is_set():
                    hurry()
            for line in process.stdout:
                sink.write(line)  # type: ignore[attr-defined]
                step = re.match(r"\[(\d+)/(\d+)\]", line)
                if step:
                    building = Building(int(step[1]), int(step[2]))
                if step and bar:
                    print(f"\r{title} {step[1]}/{step[2]} ", end="", file=sys.stderr, flush=True)
                elif step and not said:
                    _say(title)
                said = said or bool(step)
        except BaseException:
            process.kill()
            raise
        finally:
            _at_leisure = None
    if bar and said:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return process.returncode


def _evict_runtimes(keep: Path) -> None:
    """Removes all but the most recently used builds, with the programs that belong to them, unless they are in use."""
    homes = sorted(keep.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for home in homes[RUNTIMES_MAX:]:
        with cache.unused(home) as is_unused:
            if is_unused and home != keep:
                _discard(home)
