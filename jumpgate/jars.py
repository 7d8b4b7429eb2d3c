"""Plugins for the JVM in a wheel: what several jars hold is there once, and a jar is made whole when it is asked for.

Each has most of its bytes in libraries that all of them have.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

#: in the package, what jars share: the entry NAME is CHECKSUM/NAME there
SHARED = "shared_jars.zip"
#: in a jar, the entries that it has in common with others, one a line
LIST = "META-INF/jumpgate-shared"


def share(jars: Iterable[Path], shared: Path) -> None:
    """Move what several of the jars hold to another file."""
    found = {jar: _entries(jar) for jar in jars}
    counts = Counter(known for entries in found.values() for known in entries)
    with ZipFile(shared, "w", ZIP_DEFLATED) as together:
        written: set[str] = set()
        for jar, entries in found.items():
            common = [known for known in entries if counts[known] > 1]
            part = jar.with_suffix(".part")
            with ZipFile(jar) as whole, ZipFile(part, "w", ZIP_DEFLATED) as own:
                for known, info in entries.items():
                    if known not in common:
                        own.writestr(info, whole.read(info), ZIP_DEFLATED)
                    elif known not in written:
                        together.writestr(known, whole.read(info))
                        written.add(known)
                own.writestr(LIST, "\n".join(common))
            part.replace(jar)


def whole(jar: Path) -> Path:
    """Return the jar with all that belongs into it: itself, or one in the user's cache. Raises BuildError where that
    cannot be written."""
    with ZipFile(jar) as own:
        if LIST not in own.namelist():
            return jar
        from jumpgate.codegen import cache

        folder = cache.folder("jars", hashlib.sha256(jar.read_bytes()).hexdigest()[:16])
        made = folder / jar.name
        if made.exists():
            return made
        with cache.explained():
            descriptor, part = tempfile.mkstemp(dir=folder)
            with (
                os.fdopen(descriptor, "wb") as file,
                ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as target,
                ZipFile(Path(__file__).with_name(SHARED)) as shared,
            ):
                for info in own.infolist():
                    if info.filename != LIST:
                        target.writestr(info, own.read(info))
                for known in own.read(LIST).decode().splitlines():
                    target.writestr(known.partition("/")[2], shared.read(known))
            os.replace(part, made)
    return made


def _entries(jar: Path) -> dict[str, ZipInfo]:
    """Return a jar's files by checksum, size and name."""
    with ZipFile(jar) as file:
        found = [info for info in file.infolist() if not info.is_dir()]
    return {f"{info.CRC:08x}{info.file_size:x}/{info.filename}": info for info in found}
