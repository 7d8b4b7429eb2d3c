"""Skew of rows that are partitioned by a hash of their keys, as far as samples know frequent keys."""

from __future__ import annotations

from jumpgate.compiler.estimate import Estimator
from jumpgate.dataflow.operators import Join

#: a key with this fraction of an instance's average rows is a heavy hitter
HEAVY_SHARE = 0.25


def dealt_out(join: Join, count: int, estimator: Estimator) -> tuple[int, ...]:
    """Find heavy hitters: keys of the left side so frequent that the instance they hash to would become a straggler.

    Their rows go to all of the `count` instances in turn, and the right side's rows of these keys to all instances.
    Empty if a row of the right side must know whether it matched.
    """
    if count == 1 or len(join.left_keys) != 1 or join.type.unmatched_right or join.builds_left:
        return ()
    _, known = estimator.base(join.left, join.left_keys[0])
    return tuple(value for value, share in known.heavy if share * count >= HEAVY_SHARE)


def goes(join: Join, hosts: int, estimator: Estimator) -> tuple[float, ...]:
    """Return the fraction of the probe rows that each host gets when they are shuffled for the join."""
    keys = join.right_keys if join.builds_left else join.left_keys
    if len(keys) != 1:
        return (1 / hosts,) * hosts
    _, known = estimator.base(join.probe, keys[0])
    dealt = dealt_out(join, hosts, estimator)
    found = [0.0] * hosts
    for value, share in known.heavy:
        if value not in dealt:
            found[value % (1 << 64) % hosts] += share
    others = max(0.0, 1 - sum(found)) / hosts
    return tuple(share + others for share in found)
