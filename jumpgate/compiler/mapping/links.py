"""Models the traffic of hosts that are connected at one point: the network model of joins in the network (ADMS 2019).

Each host has a full-duplex link. Rows that are shuffled by a hash of their keys stay if their host is the target. A
device in the network receives each row once, whatever joins it answers, and sends each result once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jumpgate.compiler.estimate import Estimator, row_bytes
from jumpgate.compiler.mapping.filter_edges import SAVED_MIN, WORTH
from jumpgate.compiler.mapping.skew import goes
from jumpgate.dataflow.joins import with_partners
from jumpgate.dataflow.operators import Join
from jumpgate.nca.interface import Completeness, Match, Wire
from jumpgate.nca.matching import match_inputs

#: exact for whole bytes and fractional shares
Number = float | Fraction
#: fraction of the rows on each host, or sent to it
Shares = Sequence[Number]


@dataclass(frozen=True)
class Links:
    """Bytes that leave and reach each host; `sent` counts all bytes once, those of devices included."""

    up: tuple[Number, ...]
    down: tuple[Number, ...]
    sent: Number

    @property
    def busiest(self) -> Number:
        """Return the bytes of the busiest link direction, which takes longest."""
        return max(*self.up, *self.down)

    def __add__(self, other: Links) -> Links:
        up = tuple(a + b for a, b in zip(self.up, other.up, strict=True))
        down = tuple(a + b for a, b in zip(self.down, other.down, strict=True))
        return Links(up, down, self.sent + other.sent)


def even(hosts: int) -> Shares:
    return (Fraction(1, hosts),) * hosts


def idle(hosts: int) -> Links:
    return Links((0,) * hosts, (0,) * hosts, 0)


def shuffled(bytes: float, lie: Shares, go: Shares) -> Links:
    """Shuffle rows by their keys from the hosts they lie on."""
    up = tuple(bytes * (a * (1 - z)) for a, z in zip(lie, go, strict=True))
    down = tuple(bytes * (z * (1 - a)) for a, z in zip(lie, go, strict=True))
    return Links(up, down, sum(up))


def copied(bytes: float, lie: Shares) -> Links:
    """Copy all rows to every host."""
    up = tuple(bytes * (a * (len(lie) - 1)) for a in lie)
    return Links(up, tuple(bytes * (1 - a) for a in lie), sum(up))


def to_device(bytes: float, lie: Shares) -> Links:
    up = tuple(bytes * a for a in lie)
    return Links(up, (0,) * len(lie), sum(up))


def from_device(bytes: float, go: Shares) -> Links:
    down = tuple(bytes * a for a in go)
    return Links((0,) * len(go), down, sum(down))


def moved(match: Match, hosts: int, estimator: Estimator, broadcast_bytes_max: float) -> Links:
    """Estimate the traffic of a match's joins between hosts with evenly spread rows, or to and from a device that
    answers it."""
    if match.wire is not None:
        at = (1 / hosts,) * hosts
        came = estimator.rows(match.operators[0]) * row_bytes(match.wire.body.schema)
        to = at if match.wire.spreads else (1.0, *(0.0,) * (hosts - 1))
        return to_device(arriving(match, match.wire, hosts, estimator), at) + from_device(came, to)
    found = idle(hosts)
    for node in match.operators:
        if isinstance(node, Join):
            found += by_hosts(node, hosts, estimator, broadcast_bytes_max)
    return found


def by_hosts(join: Join, hosts: int, estimator: Estimator, broadcast_bytes_max: float) -> Links:
    """Estimate the traffic of a join on hosts, with known frequent keys; none if the build side's size is unknown."""
    known = estimator.of(join.right).bytes
    if known is None:
        return idle(hosts)
    at = (1 / hosts,) * hosts
    if join.type.marks or not join.left_keys or known <= broadcast_bytes_max:
        return copied(known, at)
    probing, building = estimator.of(join.left).bytes or 0.0, known
    if join.builds_left:
        probing, building = building, probing
    else:
        probing = _filtered(join, probing, hosts, estimator)
    return shuffled(probing, at, goes(join, hosts, estimator)) + shuffled(building, at, at)


def saved_by_device(join: Join, hosts: int, estimator: Estimator, broadcast_bytes_max: float) -> float:
    """Return the busiest link's bytes for a join on hosts, minus those of its build side on the way to a device."""
    built = to_device(estimator.of(join.build).bytes or 0.0, (1 / hosts,) * hosts)
    return float(by_hosts(join, hosts, estimator, broadcast_bytes_max).busiest - built.busiest)


def arriving(match: Match, wire: Wire, hosts: int, estimator: Estimator) -> float:
    """Return the bytes that reach a device for the match: of the probe rows, those that pass filters."""
    leaves = match_inputs(match)
    probing, *building = (estimator.rows(leaves[w.leaf]) * row_bytes(w.schema) for w in wire.inputs)
    for join in reversed(match.operators) if match.completeness is not Completeness.PRUNE else ():
        if isinstance(join, Join):
            probing = _filtered(join, probing, hosts, estimator)
    return probing + sum(building)


def _filtered(join: Join, bytes: float, hosts: int, estimator: Estimator) -> float:
    """Return the probe bytes that travel when the build keys are sent to their readers (filter_edges), where that
    pays."""
    if join.type.unmatched or join.type.marks or not join.left_keys or join.builds_left:
        return bytes
    partners = with_partners(join.left, join.right, join.left_keys, join.right_keys)
    kept = bytes * min(1.0, estimator.rows(partners) / max(1.0, estimator.rows(join.left)))
    keys = estimator.rows(join.right) * sum(key.type.width for key in join.right_keys if not key.type.is_text) * hosts
    return kept if bytes - kept > max(SAVED_MIN, WORTH * keys) else bytes


@dataclass(frozen=True)
class Chain:
    """A left-deep chain of joins on different keys, as in the paper's experiments: `probe` holds the bytes of L and of
    each join's result, `builds` those of each T_i. All lie evenly on `hosts` hosts."""

    hosts: int
    probe: tuple[int, ...]
    builds: tuple[int, ...]

    @property
    def shuffles(self) -> Iterable[tuple[int, int]]:
        """Return the bytes of each join's probe and build side."""
        return zip(self.probe[:-1], self.builds, strict=True)

    def by_hosts(self, go: Shares | None = None) -> list[Links]:
        """Return each join's shuffles, where `go` is each host's share of the keys; results lie evenly again."""
        at = even(self.hosts)
        return [shuffled(a, at, go or at) + shuffled(t, at, go or at) for a, t in self.shuffles]

    def by_hosts_in_place(self, goes: Sequence[Shares]) -> list[Links]:
        """Return each join's shuffles if results stay on the hosts that made them; `goes` has each join's shares."""
        found, lie = [], even(self.hosts)
        for (a, t), go in zip(self.shuffles, goes, strict=True):
            found.append(shuffled(a, lie, go) + shuffled(t, even(self.hosts), go))
            lie = go
        return found

    def by_device(self) -> list[Links]:
        """Return the build sides' traffic, then the probe's, whose result returns to all hosts at the same time."""
        at = even(self.hosts)
        built = sum((to_device(t, at) for t in self.builds), idle(self.hosts))
        return [built, to_device(self.probe[0], at) + from_device(self.probe[-1], at)]


def taken(steps: Iterable[Links]) -> Number:
    """Add the busiest link's bytes of each step, one step after the other."""
    return sum(step.busiest for step in steps)
