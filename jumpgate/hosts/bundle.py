"""Archives that are shipped to hosts: this Jumpgate itself, as it would be installed, and a built runtime."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import tarfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import jumpgate
from jumpgate.trust import seal

#: what a host has no use for
LEFT_OUT = {".pyc", ".jar"}


@functools.cache
def package() -> tuple[str, bytes]:
    """(a name for the content, archive) of the Jumpgate that runs here, to be unpacked into a folder of sys.path."""
    files = {name: path.read_bytes() for name, path in sorted(_files())}
    distribution = importlib.metadata.distribution("jumpgate-nca")
    for name in ("METADATA", "entry_points.txt"):
        files[f"jumpgate_nca-{jumpgate.__version__}.dist-info/{name}"] = (distribution.read_text(name) or "").encode()
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return f"{jumpgate.__version__}-{digest.hexdigest()[:16]}", _archive((n, c, 0o644) for n, c in files.items())


def folder(path: Path) -> bytes:
    """All files of a folder, without its seal, symbolic links, and what is behind them."""
    found = [p for p in sorted(path.rglob("*")) if p.is_file() and not p.is_symlink() and p.name != seal.SUFFIX]
    return _archive((str(p.relative_to(path)), p.read_bytes(), p.stat().st_mode & 0o755) for p in found)


def secrets(files: Mapping[str, bytes]) -> bytes:
    """Files that only their user may read."""
    return _archive((name, content, 0o600) for name, content in files.items())


def _files() -> Iterator[tuple[str, Path]]:
    """(path below sys.path, file) of what is installed: that of a source tree where its packages are mapped."""
    base = Path(next(iter(jumpgate.__path__)))
    mapped = {"jumpgate": base}
    project = base.parent / "pyproject.toml"
    if project.exists():
        places = tomllib.loads(project.read_text())["tool"]["setuptools"]["package-dir"]
        mapped = {package.replace(".", "/"): base.parent / place for package, place in places.items()}
    for name, place in mapped.items():
        for path in place.rglob("*"):
            if path.is_file() and path.suffix not in LEFT_OUT and "__pycache__" not in path.parts:
                yield f"{name}/{path.relative_to(place)}", path


def _archive(files: Iterator[tuple[str, bytes, int]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=6) as archive:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()
