"""Accelerators by name: from entry points of installed packages and `[[nca]]` tables of the configuration."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jumpgate.errors import ConfigError, NotFound
from jumpgate.nca.interface import NCA, LifeCycle, OperatorInterface, StandsIn
from jumpgate.plugins import Problems, installed, load_value

#: packages announce their accelerators under this entry point group: `name = "package.module:object"`
GROUP = "jumpgate.ncas"


class Registry:
    """Accelerators by name, in the order of registration.

    A broken accelerator does not affect the others: `problems` maps its name to the typed error, which is raised when
    that name is requested. If two have the same name the first stays, and the other's path is in `problems`.
    """

    def __init__(self, ncas: Iterable[NCA] = ()) -> None:
        self._ncas: dict[str, NCA] = {}
        self.problems: Problems = {}
        for nca in ncas:
            self.register(nca)

    def register(self, nca: NCA) -> None:
        """Add one accelerator. Raises ConfigError if its name is taken."""
        if nca.name in self._ncas:
            raise ConfigError(
                f"two NCAs are called '{nca.name}': {_origin(self._ncas[nca.name])} and {_origin(nca)}. "
                "Rename one, or remove it from the configuration.",
                nca=nca.name,
            )
        self._ncas[nca.name] = nca

    def load(self, name: str, path: str) -> None:
        """Register the accelerator at `path` ("package.module:object"). One that cannot be loaded, or whose name is
        taken, goes to `problems`."""
        try:
            nca = _load(name, path)
            if self._ncas.get(nca.name) is not nca:  # both installed and in the configuration
                self.register(nca)
        except ConfigError as error:
            self.problems[path if name in self._ncas else name] = error

    def get(self, name: str) -> NCA:
        """Return the accelerator of that name. Raises its load error, or NotFound with a suggestion."""
        if name in self._ncas:
            return self._ncas[name]
        if name in self.problems:
            raise self.problems[name]
        close = difflib.get_close_matches(name, self._ncas, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(self._ncas)) or 'none'}"
        raise NotFound(f"no NCA is called '{name}'; {hint}", nca=name)

    def lifecycle(self, name: str) -> LifeCycle:
        """Return the life-cycle of the accelerator of that name; raises as `get` does."""
        return self.get(name).lifecycle

    @property
    def stand_ins(self) -> Registry:
        """Return the accelerators that run dataflows while the programs of others are built."""
        return Registry(_StandIn(nca.name, nca.stand_in, nca.lifecycle) for nca in self if isinstance(nca, StandsIn))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the accelerators' names in the order of registration."""
        return tuple(self._ncas)

    def __contains__(self, name: str) -> bool:
        return name in self._ncas

    def __iter__(self) -> Iterator[NCA]:
        return iter(self._ncas.values())

    def __len__(self) -> int:
        return len(self._ncas)


@dataclass
class _StandIn:
    """An accelerator as it is while the programs of others are built."""

    name: str
    operators: OperatorInterface
    lifecycle: LifeCycle


def _origin(nca: NCA) -> str:
    return f"{type(nca).__module__}.{type(nca).__qualname__}"


def _load(name: str, path: str) -> NCA:
    found = load_value("NCA", name, path)
    # looked up on the class too: a life-cycle may be made (and import much) when it is first used
    missing = [p for p in ("name", "operators", "lifecycle") if not hasattr(type(found), p) and not hasattr(found, p)]
    if missing:
        raise ConfigError(
            f"NCA '{name}' ({path}) lacks {', '.join(missing)}; it must offer what jumpgate.nca.interface.NCA lists",
            nca=name,
        )
    nca: NCA = found
    return nca


def load_registry(configuration: Iterable[tuple[str, str]] = ()) -> Registry:
    """Return all accelerators: those of installed packages, then those of `[[nca]]` tables: (name,
    "package.module:object")."""
    registry = Registry()
    for name, path in installed(GROUP):
        registry.load(name, path)
    for name, path in configuration:
        registry.load(name, path)
    return registry


@functools.cache
def default_registry() -> Registry:
    """Return the accelerators of installed packages; loaded once a process."""
    return load_registry()
