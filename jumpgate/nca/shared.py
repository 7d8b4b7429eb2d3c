"""What a message for many instances says once: values by name, and objects that refer to them.

An object {"$": NAME, …} stands for the value NAME, an object itself, with its other members beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

REFERENCE = "$"


class Shared:
    """Values that one job's messages share, each made and encoded once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._joined: dict[frozenset[str], bytes] = {}
        self._used: set[str] = set()

    def __call__(self, name: str, make: Callable[[], dict[str, Any]], **own: Any) -> dict[str, Any]:
        """An object that refers to the value called `name`, which is made if it is new. What is made refers to none."""
        if name not in self._texts:
            self._texts[name] = json.dumps(make(), separators=(",", ":"))
        self._used.add(name)
        return {REFERENCE: name, **own}

    def used(self) -> bytes:
        """The values that were referred to since this was asked last, as one object."""
        names = frozenset(self._used)
        self._used.clear()
        if names not in self._joined:
            members = (f"{json.dumps(name)}:{self._texts[name]}" for name in sorted(names))
            self._joined[names] = f"{{{','.join(members)}}}".encode()
        return self._joined[names]


def filled(value: Any, shared: Mapping[str, Any]) -> Any:
    """The value with what it refers to in place. Raises KeyError for what is not there."""
    if isinstance(value, dict):
        own = {name: filled(member, shared) for name, member in value.items() if name != REFERENCE}
        return {**shared[value[REFERENCE]], **own} if REFERENCE in value else own
    return [filled(item, shared) for item in value] if isinstance(value, list) else value
