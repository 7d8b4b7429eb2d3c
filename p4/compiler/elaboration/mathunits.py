"""Math units of stateful ALUs: how they are configured, and what they give for a number.

The ALU looks at the highest set bit of a number and the three behind it, as a floating-point number of four bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from jumpgate.p4.compiler import ir

#: the members of MathOp_t
MATH_OPERATIONS = ("MUL", "SQR", "SQRT", "DIV", "RSQR", "RSQRT")
#: of all but RSQR, for which p4c makes no table of 1/x²: whether the exponent is inverted, its shift, the function
OPERATIONS: dict[str, tuple[bool, int, Callable[[float], float]]] = {
    "MUL": (False, 0, lambda x: x),
    "SQR": (False, 1, lambda x: x * x),
    "SQRT": (False, -1, math.sqrt),
    "DIV": (True, 0, lambda x: 1 / x),
    "RSQRT": (True, -1, lambda x: 1 / math.sqrt(x)),
}
SCALES = range(-32, 32)
VALUES = 16


def configured(operation: str, factor: float) -> ir.MathUnit:
    """Return the unit for `factor` times a function: the largest scale at which all values fit in 8 bits.

    >>> configured("MUL", 1 / 2).values[8:]
    (128, 144, 160, 176, 192, 208, 224, 240)
    """
    invert, shift, function = OPERATIONS[operation]
    first = 4 if shift < 0 else 8  # the highest bit may be in the second place where places are rounded up
    scale = math.floor(math.log2(factor * max(function(i / 8) for i in range(first, VALUES)))) - 7
    scale = min(max(scale, SCALES[0]), SCALES[-1])
    values = [0] * first + [round(function(i / 8) * factor * 2.0**-scale) for i in range(first, VALUES)]
    return ir.MathUnit(invert, shift, scale, tuple(min(v, 255) for v in values))


def approximate(unit: ir.MathUnit, x: int) -> int:
    """Return what the unit gives for a number of 32 bits.

    >>> approximate(configured("SQR", 1), 10), approximate(configured("MUL", 1 / 2), 100)
    (100, 48)
    """
    place = max(x.bit_length() - 1, 0)
    if unit.shift < 0:
        place += place & 1
    value = unit.values[(x << 3 >> place) & 15]
    moved = place // 2 if unit.shift < 0 else place << unit.shift
    by = (-moved if unit.invert else moved) + unit.scale
    if abs(by) >= 32:
        return 0
    return value >> -by if by < 0 else value << by
