"""Which joins may go to disk: then a part of the build at a time is read with the rows that may have partners in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jumpgate.dataflow.operators import Join, Operator, numbered

#: the option of an instance that lists such joins by their numbers; only accelerators get it whose life-cycle has
#: `joins_on_disk = True`
OPTION = "joins_on_disk"


def may_go_to_disk(node: Join) -> bool:
    """Whether each left row's answer follows from the right rows with its keys, and nothing of right rows is left to
    do once all left ones are through."""
    return bool(node.left_keys) and not (node.builds_left or node.type.unmatched_right or node.type.marks)


def option(numbers: Sequence[int]) -> tuple[str, str]:
    """What an instance is told."""
    return OPTION, " ".join(map(str, numbers))


def joins_on_disk(options: Mapping[str, str]) -> frozenset[int]:
    """The numbers that an instance's options list."""
    return frozenset(map(int, options.get(OPTION, "").split()))


def candidates(root: Operator) -> dict[int, Join]:
    """The joins of a fragment that may go to disk, by number: those whose build is of no other join."""
    joins = {number: node for number, node in enumerate(numbered(root)) if isinstance(node, Join)}
    builds = [id(join.build) for join in joins.values()]
    return {n: j for n, j in joins.items() if may_go_to_disk(j) and builds.count(id(j.build)) == 1}
