"""Loads values that other packages declare under an entry point group."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from jumpgate import extras
from jumpgate.errors import ConfigError, JumpgateError

Declaration = TypeVar("Declaration")
#: errors of values that cannot be loaded: by name, or by path if the name is taken
Problems = dict[str, JumpgateError]


@functools.cache
def installed(group: str) -> tuple[tuple[str, str], ...]:
    """Return (name, "package.module:object") of each entry point of the group: those of Jumpgate first, then by
    package."""

    def order(entry: importlib.metadata.EntryPoint) -> tuple[bool, str]:
        package = entry.dist.name if entry.dist is not None else ""
        return package != "jumpgate-nca", package

    found = sorted(importlib.metadata.entry_points(group=group), key=order)
    return tuple(dict.fromkeys((entry.name, entry.value) for entry in found))


def load_value(what: str, name: str, path: str) -> Any:
    """Load the value at `path` ("package.module:object"), which messages call a `what`. Raises ConfigError if its
    import fails."""
    field = {what.lower().replace(" ", "_"): name}
    module, colon, attribute = path.partition(":")
    if not colon or not module or not attribute:
        raise ConfigError(f"{what} '{name}': path {path!r} is not of the form 'package.module:object'", **field)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise extras.not_installed(error, **field) or _broken(what, name, path, error) from error
    except Exception as error:  # whatever a third party's module does on import is its failure, not ours
        raise _broken(what, name, path, error) from error
    return found


def declared(
    group: str, what: str, accept: Callable[[str, Any, tuple[Declaration, ...]], Declaration]
) -> tuple[tuple[Declaration, ...], Mapping[str, ConfigError]]:
    """Load the values that packages declare under a group. `accept(name, value, found)` returns a value if it can stand
    beside those found before, and raises ConfigError otherwise. Return the accepted values and, by name, the errors of
    the others."""
    found: list[Declaration] = []
    problems: dict[str, ConfigError] = {}
    for name, path in installed(group):
        try:
            value = load_value(what, name, path)
        except ConfigError as error:
            problems[name] = error
            continue
        try:
            found.append(accept(name, value, tuple(found)))
        except ConfigError as error:
            problems[name] = ConfigError(f"{what} '{name}' ({path}): {error.message}", **{what: name})
    return tuple(found), problems


def _broken(what: str, name: str, path: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"{what} '{name}' ({path}) cannot be loaded: {type(error).__name__}: {error}. "
        "Repair or uninstall its package, or remove it from the configuration.",
        **{what.lower().replace(" ", "_"): name},
    )
