"""Shared parts of a message for many instances: JSON with gaps, and each instance's fillings.

{"$": NAME, "#": FILLINGS} stands for the pieces of text NAME with FILLINGS[n] between piece n and the next.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Hashable, Mapping
from typing import Any

REFERENCE, GAP = "$", "#"
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Gap:
    """A part of a template that differs by instance; `of` returns it for one."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of


class Template:
    """A value with gaps, stored as the `pieces` of its JSON between them."""

    def __init__(self, value: Any) -> None:
        self._gaps: list[Callable[[Any], Any]] = []
        mark = secrets.token_hex(16)  # cannot occur in a text by chance or intent

        def noted(gap: Any) -> str:
            if not isinstance(gap, Gap):
                raise TypeError(f"{type(gap).__name__} is neither JSON nor a gap")
            self._gaps.append(gap.of)
            return mark

        self.pieces = json.dumps(value, separators=(",", ":"), default=noted).split(f'"{mark}"')

    def fillings(self, instance: Any) -> list[Any]:
        """Return the contents of the gaps for an instance."""
        return [of(instance) for of in self._gaps]

    def filled(self, instance: Any) -> Any:
        """Return the whole value for an instance."""
        return json.loads(_joined(self.pieces, self.fillings(instance)))


class Shared:
    """Templates that one job's messages share, each made and encoded once."""

    def __init__(self) -> None:
        self._templates: dict[Hashable, tuple[str, Template]] = {}
        self._texts: dict[str, str] = {}
        self._joined: dict[frozenset[str], bytes] = {}
        self._used: set[str] = set()

    def __call__(self, key: Hashable, make: Callable[[], Template], instance: Any) -> dict[str, Any]:
        """Return an instance's reference to the template of that key, which is made on first use."""
        if key not in self._templates:
            name, template = str(len(self._templates)), make()
            self._templates[key] = name, template
            self._texts[name] = _encode(template.pieces)
        name, template = self._templates[key]
        self._used.add(name)
        return {REFERENCE: name, GAP: template.fillings(instance)}

    def used(self) -> bytes:
        """Return the templates that were referred to since the last call, as one object."""
        names = frozenset(self._used)
        self._used.clear()
        if names not in self._joined:
            members = (f'"{name}":{self._texts[name]}' for name in sorted(names))
            self._joined[names] = f"{{{','.join(members)}}}".encode()
        return self._joined[names]


def filled(told: Mapping[str, Any], shared: Mapping[str, Any]) -> bytes:
    """Return an instance's message in full, as JSON. Raises KeyError for a reference to a missing template, IndexError
    for a gap that nothing fills."""
    text = _joined(shared[told[REFERENCE]], told[GAP]) if REFERENCE in told else _encode(told)
    return text.encode()


def _joined(pieces: list[str], fillings: list[Any]) -> str:
    parts = [pieces[0]]
    for number, piece in enumerate(pieces[1:]):
        parts += (_encode(fillings[number]), piece)
    return "".join(parts)
