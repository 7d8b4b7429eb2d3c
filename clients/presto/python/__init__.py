"""The connector for Presto: where a server finds it."""

from __future__ import annotations

import shutil
from pathlib import Path

from jumpgate import jars
from jumpgate.errors import ConfigError, FileUnreadable

_JARS = Path(__file__).parent / "jars"


def write_plugin(folder: Path) -> list[Path]:
    """Writes what goes below a Presto server's `plugin/`, and returns its files.

    Raises ConfigError: the connector has not been built; FileUnreadable: the folder cannot be written.
    """
    return copy_jars("Presto", _JARS, folder)


def copy_jars(engine: str, built: Path, folder: Path) -> list[Path]:
    """The same for the engine whose connector is built into a folder."""
    found = sorted(built.glob("*.jar"))
    if not found:
        raise ConfigError(
            f"the connector for {engine} has not been built; in a checkout, run "
            f"`./dev jvm --projects jvm,{engine.lower()} -DskipTests package`"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(jars.whole(jar), folder)) for jar in found]
    except OSError as e:
        raise FileUnreadable(f"cannot write the plugin into {folder}: {e.strerror}") from None
