"""The passes of this package, in order."""

from collections.abc import Callable
from typing import Any

from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.mapping.choose import choose
from jumpgate.compiler.mapping.compare import compare
from jumpgate.compiler.mapping.filter_edges import filter_edges
from jumpgate.compiler.mapping.keep_bounds import keep_bounds
from jumpgate.compiler.mapping.map_operators import map_operators
from jumpgate.compiler.mapping.parallelise import parallelise
from jumpgate.compiler.plan import MappedPlan

#: each takes the kind of plan that the one before returns; prune_columns runs again to narrow the edges that
#: parallelise has made
PASSES: tuple[Callable[[Any], MappedPlan], ...] = (
    map_operators,
    compare,
    keep_bounds,
    choose,
    parallelise,
    prune_columns,
    filter_edges,
)
