"""Files to objects, all or nothing: an upload in parts each, which are completed together or aborted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jumpgate.errors import FileUnreadable
from jumpgate.stores import providers

#: of a part; a store takes 10,000 parts of an object
PART_BYTES = 64 << 20


@dataclass
class _Upload:
    name: str
    id: str
    tags: list[str] = field(default_factory=list)


@contextlib.contextmanager
def together() -> Iterator[Callable[[Path, str], None]]:
    """Yield a function that sends a file as an object of that name. Objects appear at the end of the block; where it
    raises, or an upload fails, none does, and no part is left. Raises FileUnreadable, Forbidden."""
    started: list[_Upload] = []

    def send(file: Path, name: str) -> None:
        upload = _Upload(name, providers.of(name).begin(name))
        started.append(upload)
        _send(file, upload)

    try:
        yield send
        for upload in started:
            providers.of(upload.name).complete(upload.name, upload.id, upload.tags)
    except BaseException:
        for upload in started:
            with contextlib.suppress(Exception):  # the error that leads here says more
                _undo(upload)
        raise


def remove(name: str) -> None:
    """Remove an object, which may be gone. Raises FileUnreadable, Forbidden."""
    providers.of(name).remove(name)


def _send(file: Path, upload: _Upload) -> None:
    provider = providers.of(upload.name)
    with file.open("rb") as source:
        while (part := source.read(PART_BYTES)) or not upload.tags:
            upload.tags.append(provider.send(upload.name, upload.id, len(upload.tags) + 1, part))


def _undo(upload: _Upload) -> None:
    """Abort an upload; one that is gone was completed, whatever its answer was, and has made an object."""
    try:
        providers.of(upload.name).abort(upload.name, upload.id)
    except FileUnreadable as error:
        if error.fields.get("missing"):
            remove(upload.name)
