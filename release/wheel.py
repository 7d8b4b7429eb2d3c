"""Makes the wheel of a platform: the one for all platforms, with the runtime built for each level of its processors.

    python -m release.wheel dist/jumpgate_nca-1.2.3-py3-none-any.whl

The tag follows from the symbols that the libraries use (auditwheel); pyarrow brings Arrow's own.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from jumpgate import jars
from jumpgate.codegen import prebuilt, toolchain

ARROW = ("libarrow.so.*", "libparquet.so.*")


def build(folder: Path) -> None:
    """Build the runtime for each level of this machine's architecture, into the folder."""
    levels = prebuilt.LEVELS.get(platform.machine())
    if not levels:
        sys.exit(f"there are no levels of processors for {platform.machine()} in jumpgate/codegen/prebuilt.py")
    for level in levels:
        print(f"building the runtime for {level.name}", file=sys.stderr, flush=True)
        add(folder / level.name, toolchain.compile_runtime("release", level.march))
    describe(folder, {level.name: level.needs for level in levels})


def add(folder: Path, built: Path) -> None:
    """Copy a built runtime, without symbols that nothing links with."""
    folder.mkdir(parents=True)
    for name in (prebuilt.LIBRARY, prebuilt.HOST_PROGRAM):
        shutil.copy(built / name, folder / name)
        subprocess.run(["strip", "--strip-unneeded", folder / name], check=True)


def describe(folder: Path, levels: Mapping[str, Iterable[str]]) -> None:
    """Write what the folder's runtimes fit. levels: folder → flags that the processor needs, the best first."""
    facts = toolchain.sources_digest(), toolchain.arrow_version(), platform.machine(), toolchain.compiler_version()
    prebuilt.Manifest(*facts, levels).write(folder)


def thin(pure: Path) -> None:
    """Let the jars in a wheel share what several of them have: each would bring the same libraries."""
    with tempfile.TemporaryDirectory() as work:
        _run("wheel", "unpack", "--dest", work, str(pure))
        (tree,) = Path(work).iterdir()
        if found := sorted(tree.glob("jumpgate/*/jars/*.jar")):
            jars.share(found, tree / "jumpgate" / jars.SHARED)
            _run("wheel", "pack", "--dest-dir", str(pure.parent), str(tree))


def pack(pure: Path, runtimes: Path, output: Path) -> Path:
    """Return a wheel for this machine with what the pure one has, and the runtimes."""
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        _run("wheel", "unpack", "--dest", work, str(pure))
        (tree,) = Path(work).iterdir()
        shutil.copytree(runtimes, tree / "jumpgate" / prebuilt.FOLDER)
        (facts,) = tree.glob("*.dist-info/WHEEL")
        text = facts.read_text().replace("Root-Is-Purelib: true", "Root-Is-Purelib: false")
        facts.write_text(text.replace("Tag: py3-none-any", f"Tag: py3-none-linux_{platform.machine()}"))
        _run("wheel", "pack", "--dest-dir", str(output), str(tree))
    (made,) = output.glob(f"*-linux_{platform.machine()}.whl")
    return made


def tag(wheel: Path, output: Path) -> None:
    """Give a wheel the tag of the oldest C library that it runs with."""
    left = [word for name in ARROW for word in ("--exclude", name)]
    _run("auditwheel", "repair", "--disable-isa-ext-check", *left, "--wheel-dir", str(output), str(wheel))


def _run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


def main(pure: Path) -> None:
    """Make the wheel thin, and put the platform's beside it."""
    thin(pure)
    with tempfile.TemporaryDirectory() as work:
        build(Path(work) / "runtimes")
        tag(pack(pure, Path(work) / "runtimes", Path(work)), pure.parent)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
