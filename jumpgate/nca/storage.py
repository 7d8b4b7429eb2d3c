"""The cost of asking a store: the seconds that its link and its own work take, and its prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace

#: of a request to a store nearby, about
NEAR_S = 0.0005


@dataclass(frozen=True)
class StoreLink:
    """A store as plans see it.

    latency_s: of a request. bytes_per_s: over the link. scanned_bytes_per_s: of objects that the store looks at itself.
    at_once: requests under way. Prices are of the bytes that it scans and returns, and of a request.
    """

    latency_s: float = 0.0
    bytes_per_s: float = 1.25e9
    scanned_bytes_per_s: float = 4e8
    at_once: int = 16
    scanned_price: float = 0.0
    returned_price: float = 0.0
    request_price: float = 0.0

    @property
    def beside(self) -> StoreLink:
        """Return the link of a host that is near the store."""
        assumed = StoreLink()
        return replace(
            self, latency_s=min(self.latency_s, NEAR_S), bytes_per_s=max(self.bytes_per_s, assumed.bytes_per_s)
        )


@dataclass(frozen=True)
class Asked:
    """The demand of a part of a plan on a store. returned_bytes: what crosses the link; charged_bytes: those of them
    that the store computed. core_s: seconds in which an instance takes the answers apart. segments: those of the files,
    and kept_segments those that are read from a disk instead."""

    requests: float
    returned_bytes: float
    scanned_bytes: float = 0.0
    charged_bytes: float = 0.0
    core_s: float = 0.0
    segments: float = 0.0
    kept_segments: float = 0.0

    def __add__(self, other: Asked) -> Asked:
        return Asked(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def seconds(self, link: StoreLink) -> float:
        """Return the seconds for which the plan waits."""
        turns = max(1.0, self.requests / link.at_once) if self.requests else 0.0
        moved = self.returned_bytes / link.bytes_per_s + self.scanned_bytes / link.scanned_bytes_per_s
        return turns * link.latency_s + moved + self.core_s

    def money(self, link: StoreLink) -> float:
        """Return what the store charges."""
        return (
            self.requests * link.request_price
            + self.charged_bytes * link.returned_price
            + self.scanned_bytes * link.scanned_price
        )


@dataclass(frozen=True)
class Segments:
    """The segments of a file that a read needs, as chunks of columns, and those of them on a disk of the hosts."""

    count: int
    bytes: float
    kept: int
    kept_bytes: float

    @property
    def are_kept(self) -> bool:
        """Return whether at least half of the bytes are on the disk."""
        return 2 * self.kept_bytes >= self.bytes


#: a file's name → the link to the store that has it; None: it is no object
LinkOf = Callable[[str], StoreLink | None]
#: files, their format and columns → the segments of each file; empty if they are unknown, or no disk has any
SegmentsOf = Callable[[tuple[str, ...], str, tuple[str, ...]], Sequence[Segments]]

#: bytes that a reader takes with one request, about
REQUEST_BYTES = 4e6


def by_ranges(files: int, bytes: float) -> Asked:
    """Return the demand of reading so many bytes of objects by ranges."""
    return Asked(max(float(files), bytes / REQUEST_BYTES), bytes)
