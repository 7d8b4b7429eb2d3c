"""Places where the data of the conformance kit can lie, for accelerators that read no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpgate.dataflow.operators import Operator


@dataclass(frozen=True)
class Place:
    """A place where data can lie: files below `folder` have names below `prefix`, too. stores: tables [[store]] of
    jumpgate.toml that say how these names are reached. formats: those that are read there; empty: all. prepare: writes
    the files of a Read in the place's own notation, perhaps again, and returns how they are read then."""

    folder: Path
    prefix: str
    stores: tuple[Mapping[str, Any], ...] = ()
    formats: tuple[str, ...] = ()
    prepare: Callable[[Operator], Operator] = lambda read: read

    def name(self, file: str) -> str:
        """Return the other name of a file below the folder."""
        return f"{self.prefix}/{Path(file).relative_to(self.folder).as_posix()}"
