"""What a message for many instances says once: values with gaps, and for each instance what fills them.

{"$": NAME, "#": FILLINGS} stands for the value NAME with FILLINGS[n] wherever that has {"#": n}.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

REFERENCE, GAP = "$", "#"


class Gap:
    """A part of a template that each instance has of its own; `of` gives it for one."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of


class Template:
    """A value in which gaps stand for what differs."""

    def __init__(self, value: Any) -> None:
        self._gaps: list[Callable[[Any], Any]] = []
        self.value = self._numbered(value)

    def _numbered(self, value: Any) -> Any:
        if isinstance(value, Gap):
            self._gaps.append(value.of)
            return {GAP: len(self._gaps) - 1}
        if isinstance(value, dict):
            return {name: self._numbered(member) for name, member in value.items()}
        return [self._numbered(item) for item in value] if isinstance(value, list) else value

    def fillings(self, instance: Any) -> list[Any]:
        """What is in its gaps for an instance."""
        return [of(instance) for of in self._gaps]

    def filled(self, instance: Any) -> Any:
        """The whole value for an instance."""
        return _filled(self.value, self.fillings(instance))


class Shared:
    """Templates that one job's messages share, each made and encoded once."""

    def __init__(self) -> None:
        self._templates: dict[Hashable, tuple[str, Template]] = {}
        self._texts: dict[str, str] = {}
        self._joined: dict[frozenset[str], bytes] = {}
        self._used: set[str] = set()

    def __call__(self, key: Hashable, make: Callable[[], Template], instance: Any) -> dict[str, Any]:
        """What an instance is told, by reference to the template of that key, which is made if it is new."""
        if key not in self._templates:
            name, template = str(len(self._templates)), make()
            self._templates[key] = name, template
            self._texts[name] = json.dumps(template.value, separators=(",", ":"))
        name, template = self._templates[key]
        self._used.add(name)
        return {REFERENCE: name, GAP: template.fillings(instance)}

    def used(self) -> bytes:
        """The values that were referred to since this was asked last, as one object."""
        names = frozenset(self._used)
        self._used.clear()
        if names not in self._joined:
            members = (f'"{name}":{self._texts[name]}' for name in sorted(names))
            self._joined[names] = f"{{{','.join(members)}}}".encode()
        return self._joined[names]


def filled(told: Mapping[str, Any], shared: Mapping[str, Any]) -> Any:
    """What a message tells an instance, in full. Raises KeyError for a reference to what is not there, IndexError for
    a gap that nothing fills."""
    return _filled(shared[told[REFERENCE]], told[GAP]) if REFERENCE in told else told


def _filled(value: Any, fillings: list[Any]) -> Any:
    if isinstance(value, dict):
        if GAP in value:
            return fillings[value[GAP]]
        return {name: _filled(member, fillings) for name, member in value.items()}
    return [_filled(item, fillings) for item in value] if isinstance(value, list) else value
