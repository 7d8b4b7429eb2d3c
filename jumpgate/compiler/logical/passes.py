"""The passes of this package, in order."""

from collections.abc import Callable

from jumpgate.compiler.logical.common_subplans import common_subplans
from jumpgate.compiler.logical.first_rows import first_rows
from jumpgate.compiler.logical.look_ahead import look_ahead
from jumpgate.compiler.logical.member_columns import member_columns
from jumpgate.compiler.logical.narrow_builds import narrow_builds
from jumpgate.compiler.logical.normalise import normalise
from jumpgate.compiler.logical.opaque_columns import opaque_columns
from jumpgate.compiler.logical.order_joins import order_joins
from jumpgate.compiler.logical.prune_columns import prune_columns
from jumpgate.compiler.logical.push_filters import push_filters
from jumpgate.compiler.logical.push_limits import push_limits
from jumpgate.compiler.logical.reduce_groups import reduce_groups
from jumpgate.compiler.logical.reduce_outer_joins import reduce_outer_joins
from jumpgate.compiler.logical.reduce_scans import reduce_scans
from jumpgate.compiler.logical.semi_joins import existence_joins, semi_joins
from jumpgate.compiler.logical.share_scans import share_scans
from jumpgate.compiler.plan import Plan

#: push_filters runs again for filters that outer joins held back
PASSES: tuple[Callable[[Plan], Plan], ...] = (
    opaque_columns,
    member_columns,
    normalise,
    push_filters,
    reduce_outer_joins,
    push_filters,
    push_limits,
    existence_joins,
    look_ahead,
    semi_joins,
    first_rows,
    common_subplans,
    order_joins,
    reduce_groups,
    prune_columns,
    share_scans,
    reduce_scans,
    narrow_builds,
)
