"""Accelerators by name: from entry points of installed packages and `[[nca]]` tables of the configuration."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jumpgate import extras
from jumpgate.errors import ConfigError, JumpgateError, NotFound
from jumpgate.nca.interface import NCA, LifeCycle

#: packages announce their accelerators under this entry point group: `name = "package.module:object"`
GROUP = "jumpgate.ncas"


class Registry:
    """Accelerators by name, in the order of registration.

    A broken accelerator does not take the others down: `problems` maps its name to the typed error, which is raised
    when that name is asked for.
    """

    def __init__(self, ncas: Iterable[NCA] = ()) -> None:
        self._ncas: dict[str, NCA] = {}
        self.problems: dict[str, JumpgateError] = {}
        for nca in ncas:
            self.register(nca)

    def register(self, nca: NCA) -> None:
        """Adds one accelerator. Raises ConfigError when its name is taken."""
        if nca.name in self._ncas:
            raise ConfigError(
                f"two NCAs are called '{nca.name}': {_origin(self._ncas[nca.name])} and {_origin(nca)}. "
                "Rename one, or remove it from the configuration.",
                nca=nca.name,
            )
        self._ncas[nca.name] = nca

    def load(self, name: str, path: str) -> None:
        """Registers what `path` ("package.module:object") holds; what cannot be loaded is kept in `problems`."""
        try:
            nca = _load(name, path)
        except ConfigError as error:
            self.problems[name] = error
        else:
            self.register(nca)

    def get(self, name: str) -> NCA:
        """The accelerator of that name. Raises its load error, or NotFound with a suggestion."""
        if name in self._ncas:
            return self._ncas[name]
        if name in self.problems:
            raise self.problems[name]
        close = difflib.get_close_matches(name, self._ncas, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(self._ncas)) or 'none'}"
        raise NotFound(f"no NCA is called '{name}'; {hint}", nca=name)

    def lifecycle(self, name: str) -> LifeCycle:
        """The life-cycle of the accelerator of that name; raises as `get`."""
        return self.get(name).lifecycle

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._ncas)

    def __contains__(self, name: str) -> bool:
        return name in self._ncas

    def __iter__(self) -> Iterator[NCA]:
        return iter(self._ncas.values())

    def __len__(self) -> int:
        return len(self._ncas)


def _origin(nca: NCA) -> str:
    return f"{type(nca).__module__}.{type(nca).__qualname__}"


def _load(name: str, path: str) -> NCA:
    module, colon, attribute = path.partition(":")
    if not colon or not module or not attribute:
        raise ConfigError(f"NCA '{name}': path {path!r} is not of the form 'package.module:object'", nca=name)
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        raise extras.not_installed(error, nca=name) or _broken(name, path, error) from error
    except Exception as error:  # whatever a third party's module does on import is its failure, not ours
        raise _broken(name, path, error) from error
    # looked up on the class too: a life-cycle may be made (and import much) when it is first used
    missing = [p for p in ("name", "operators", "lifecycle") if not hasattr(type(found), p) and not hasattr(found, p)]
    if missing:
        raise ConfigError(
            f"NCA '{name}' ({path}) lacks {', '.join(missing)}; it must offer what jumpgate.nca.interface.NCA lists",
            nca=name,
        )
    nca: NCA = found
    return nca


def _broken(name: str, path: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"NCA '{name}' ({path}) cannot be loaded: {type(error).__name__}: {error}. "
        "Repair or uninstall its package, or remove it from the configuration.",
        nca=name,
    )


def load_registry(configuration: Iterable[Mapping[str, Any]] = ()) -> Registry:
    """All accelerators of installed packages, then those of `[[nca]]` tables: {"path": "pkg.mod:Object", "name": …}."""
    registry = Registry()
    for entry in importlib.metadata.entry_points(group=GROUP):
        registry.load(entry.name, entry.value)
    for table in configuration:
        path = table.get("path")
        if not isinstance(path, str):
            raise ConfigError(f'[[nca]] needs path = "package.module:object", got {dict(table)!r}')
        registry.load(str(table.get("name", path)), path)
    return registry


@functools.cache
def default_registry() -> Registry:
    """The accelerators of installed packages; made once a process."""
    return load_registry()
