"""The connector for Trino: where a server finds it."""

from __future__ import annotations

from pathlib import Path

from jumpgate.presto import copy_jars

_JARS = Path(__file__).parent / "jars"


def write_plugin(folder: Path) -> list[Path]:
    """Writes what goes below a Trino server's `plugin/`, and returns its files.

    Raises ConfigError: the connector has not been built; FileUnreadable: the folder cannot be written.
    """
    return copy_jars("Trino", _JARS, folder)
