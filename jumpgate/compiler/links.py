"""Bytes over the links of hosts that meet at one switch: the network model of joins in the network (ADMS 2019).

Each host has a link of two directions. Rows that go by a hash of their keys stay where they lie if that is their place;
a device in the network is sent each row once, whatever joins it answers, and sends each result once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

#: of the rows, that each host has, or that go there
Shares = Sequence[Fraction]


@dataclass(frozen=True)
class Links:
    """Bytes that leave each host and that reach it; `sent`: by all, devices too, each once."""

    up: tuple[Fraction, ...]
    down: tuple[Fraction, ...]
    sent: Fraction

    @property
    def busiest(self) -> Fraction:
        """Over the direction of a link that has most: what takes longest."""
        return max(*self.up, *self.down)

    def __add__(self, other: Links) -> Links:
        up = tuple(a + b for a, b in zip(self.up, other.up, strict=True))
        down = tuple(a + b for a, b in zip(self.down, other.down, strict=True))
        return Links(up, down, self.sent + other.sent)


def even(hosts: int) -> Shares:
    return (Fraction(1, hosts),) * hosts


def idle(hosts: int) -> Links:
    return Links((Fraction(0),) * hosts, (Fraction(0),) * hosts, Fraction(0))


def shuffled(bytes: float, lie: Shares, go: Shares) -> Links:
    """Rows go by their keys, whatever host they lie on."""
    b = Fraction(bytes)
    up = tuple(b * a * (1 - z) for a, z in zip(lie, go, strict=True))
    down = tuple(b * z * (1 - a) for a, z in zip(lie, go, strict=True))
    return Links(up, down, sum(up, Fraction(0)))


def copied(bytes: float, lie: Shares) -> Links:
    """All rows go to every host."""
    b = Fraction(bytes)
    up = tuple(b * a * (len(lie) - 1) for a in lie)
    return Links(up, tuple(b * (1 - a) for a in lie), sum(up, Fraction(0)))


def gathered(bytes: float, lie: Shares) -> Links:
    """All rows go to the first host."""
    return shuffled(bytes, lie, (Fraction(1), *(Fraction(0) for _ in lie[1:])))


def to_device(bytes: float, lie: Shares) -> Links:
    up = tuple(Fraction(bytes) * a for a in lie)
    return Links(up, (Fraction(0),) * len(lie), sum(up, Fraction(0)))


def from_device(bytes: float, go: Shares) -> Links:
    down = tuple(Fraction(bytes) * a for a in go)
    return Links((Fraction(0),) * len(go), down, sum(down, Fraction(0)))


@dataclass(frozen=True)
class Chain:
    """A left-deep chain of joins on different keys, as the paper's experiments have it: `probe` are the bytes of L and
    then of each join's result, `builds` those of each T_i, and all lie evenly on so many hosts."""

    hosts: int
    probe: tuple[int, ...]
    builds: tuple[int, ...]

    @property
    def shuffles(self) -> Iterable[tuple[int, int]]:
        """What each join has to move, of its probing and its build side."""
        return zip(self.probe[:-1], self.builds, strict=True)

    def by_hosts(self, go: Shares | None = None) -> list[Links]:
        """Each join's shuffles, `go` being what its keys give each host; what they leave lies evenly again."""
        at = even(self.hosts)
        return [shuffled(a, at, go or at) + shuffled(t, at, go or at) for a, t in self.shuffles]

    def by_hosts_in_place(self, goes: Sequence[Shares]) -> list[Links]:
        """The same where a join's rows lie on the hosts that made them: `goes` for each join."""
        found, lie = [], even(self.hosts)
        for (a, t), go in zip(self.shuffles, goes, strict=True):
            found.append(shuffled(a, lie, go) + shuffled(t, even(self.hosts), go))
            lie = go
        return found

    def by_device(self) -> list[Links]:
        """Build sides, then what probes, whose result returns to all hosts at the same time."""
        at = even(self.hosts)
        built = sum((to_device(t, at) for t in self.builds), idle(self.hosts))
        return [built, to_device(self.probe[0], at) + from_device(self.probe[-1], at)]


def taken(steps: Iterable[Links]) -> Fraction:
    """Bytes over the busiest link of each step, one step after the other."""
    return sum((step.busiest for step in steps), Fraction(0))
