"""A link of the network, as devices carry it into plans."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link of the network, which is a tree: the way up from the device or network `name`, with the same speed in each
    direction (0: unknown), and its delay in seconds."""

    name: str
    bits_per_s: int = 0
    delay_s: float = 0.0
