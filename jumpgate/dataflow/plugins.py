"""Objects of installed packages, which announce them as entry points: `name = "package.module:object"`."""

from __future__ import annotations

import importlib
from typing import Any

from jumpgate.errors import ConfigError


def load(what: str, name: str, path: str) -> Any:
    """The object at `path` ("package.module:object"). Raises ConfigError, which says `what` ("NCA") it was to be."""
    fields = {what.lower(): name}
    module, colon, attribute = path.partition(":")
    if not colon or not module or not attribute:
        raise ConfigError(f"{what} '{name}': path {path!r} is not of the form 'package.module:object'", **fields)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a third party's module does on import is its failure, not ours
        raise ConfigError(
            f"{what} '{name}' ({path}) cannot be loaded: {type(error).__name__}: {error}. "
            "Repair or uninstall its package, or remove it from the configuration.",
            **fields,
        ) from error
    return found
