"""Seals: what is executed from the cache is what was put there.

A seal is an HMAC over a file's name and content (or a folder's), with a key that is kept apart from the cache: who can
write into the cache, but not read the user's secrets, cannot make one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

from jumpgate.trust import state

SUFFIX = ".seal"


def seal(path: Path, name: str = "") -> None:
    """Puts the seal of a file beside it, or of a folder's files into it. name: if it is to be renamed afterwards."""
    beside(path).write_text(_compute(path, name or path.name))


def is_sealed(path: Path) -> bool:
    """Return whether the content is what was sealed under this name."""
    try:
        return hmac.compare_digest(beside(path).read_text(), _compute(path, path.name))
    except (OSError, UnicodeDecodeError):
        return False


def owner() -> str:
    """Tells one key from others."""
    return hmac.new(_key(str(state.root())), b"owner", "sha256").hexdigest()[:16]


def remove(path: Path) -> None:
    """A file with its seal; nothing happens if they are gone."""
    for each in (path, beside(path)):
        with contextlib.suppress(OSError):
            each.unlink()


def beside(path: Path) -> Path:
    """Where the seal of a file or folder is."""
    return path / SUFFIX if path.is_dir() else path.with_name(path.name + SUFFIX)


def _compute(path: Path, name: str) -> str:
    code = hmac.new(_key(str(state.root())), name.encode(), "sha256")
    for relative, file in _files(path):
        with file.open("rb") as content:
            code.update(f"\0{relative}\0".encode() + hashlib.file_digest(content, "sha256").digest())
    return code.hexdigest()


def _files(path: Path) -> Iterator[tuple[str, Path]]:
    """A file, or all of a folder but for its seal; what links lead to is not content."""
    if not path.is_dir():
        yield "", path
        return
    for folder, _, names in sorted(os.walk(path)):
        for name in sorted(names):
            file = Path(folder, name)
            if name != SUFFIX and (file.exists() or not file.is_symlink()):  # a link to a folder that is gone
                yield str(file.relative_to(path)), file


@functools.cache
def _key(root: str) -> bytes:
    path = state.folder() / "seal.key"
    if not path.exists():
        staged = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        state.write(staged, secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):  # another process was first
            os.link(staged, path)
        staged.unlink()
    return path.read_bytes()


if __name__ == "__main__":  # of what was brought here by a service of the same user (jumpgate/hosts/remote.py)
    seal(Path(sys.argv[1]))
