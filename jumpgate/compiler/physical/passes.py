"""The passes of this package, in order."""

from collections.abc import Callable
from typing import Any

from jumpgate.compiler.physical.build_quickly import build_quickly
from jumpgate.compiler.physical.cut import cut
from jumpgate.compiler.physical.figures import figures
from jumpgate.compiler.physical.keep_rows import keep_rows
from jumpgate.compiler.physical.limit_memory import limit_memory
from jumpgate.compiler.plan import PhysicalPlan

#: each takes the kind of plan that the one before returns
PASSES: tuple[Callable[[Any], PhysicalPlan], ...] = (
    cut,
    figures,
    keep_rows,
    limit_memory,
    build_quickly,
)
