"""Reads JSON objects strictly: a field that is not known by name, or has a value that is not, is never guessed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpgate.client.duckdb.reasons import Stays

Decoder = Callable[[Any], Any]


@dataclass(frozen=True)
class Shape:
    """An object of the format. `fields`: JSON name → (name of the argument of `build`, decoder). `fixed`: JSON name →
    the values under which the rest means what `build` takes it for. `ignored`: fields that do not bear on the answer.
    """

    build: Callable[..., Any]
    fields: Mapping[str, tuple[str, Decoder]] = field(default_factory=dict)
    fixed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()

    def decode(self, what: str, data: Mapping[str, Any]) -> Any:
        """`what` names the object in reasons. Raises Stays."""
        unknown = data.keys() - self.fields.keys() - self.fixed.keys() - self.ignored
        if unknown:
            raise Stays(f"{what} has the field '{min(unknown)}', which is not known")
        missing = (self.fields.keys() | self.fixed.keys()) - data.keys()
        if missing:
            raise Stays(f"{what} has no field '{min(missing)}'")
        for name, allowed in self.fixed.items():
            if data[name] not in allowed:
                raise Stays(f"{what} with {name} = {_short(data[name])} is not known")
        return self.build(**{argument: decoder(data[name]) for name, (argument, decoder) in self.fields.items()})


def known(shapes: Mapping[str, Shape], what: str, name: object) -> Shape:
    """The shape of that name. Raises Stays."""
    shape = shapes.get(name) if isinstance(name, str) else None
    if shape is None:
        raise Stays(f"{what} {str(name)[:80]} is not offloaded")
    return shape


def listed(decoder: Decoder) -> Decoder:
    """A list of what `decoder` reads, as a tuple."""

    def decode(data: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise Stays(f"a list was expected, not {_short(data)}")
        return tuple(map(decoder, data))

    return decode


def optional(decoder: Decoder) -> Decoder:
    """Return the value that `decoder` reads, or None."""
    return lambda data: None if data is None else decoder(data)


def whole(data: Any) -> int:
    """An integer. Raises Stays."""
    if not isinstance(data, int) or isinstance(data, bool):
        raise Stays(f"an integer was expected, not {_short(data)}")
    return data


def text(data: Any) -> str:
    """A string. Raises Stays."""
    if not isinstance(data, str):
        raise Stays(f"a text was expected, not {_short(data)}")
    return data


def flag(data: Any) -> bool:
    """A boolean. Raises Stays."""
    if not isinstance(data, bool):
        raise Stays(f"true or false was expected, not {_short(data)}")
    return data


def _short(data: Any) -> str:
    return str(data)[:60]
