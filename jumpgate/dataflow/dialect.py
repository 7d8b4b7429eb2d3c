"""The choices of the client's engine where SQL engines differ. A request carries them; an unsupported choice is
refused."""

from __future__ import annotations

from dataclasses import dataclass, fields

CHOICES = {
    "on_overflow": ("error", "null", "wrap"),
    "division_by_zero": ("error", "null", "ieee"),
    "to_integer": ("round", "truncate"),
    "nan": ("largest", "ieee"),
}


@dataclass(frozen=True)
class Dialect:
    """One engine's choices. Types never depend on them: a function that can fail is nullable under every dialect.

    Differences that change a result's type are functions of their own (`divide` gives a float, `int_divide` an
    integer), and each Cast says whether it fails or gives NULL.
    """

    #: add, subtract, multiply, negate, abs, … of integers and decimals, outside the result type's range (floats follow
    #: IEEE 754). `wrap` (two's complement) is accepted in a request but done by no accelerator here.
    on_overflow: str = "error"
    #: divide, int_divide and modulo by zero, floats included; `ieee`: floats follow IEEE 754 (infinity or NaN), and for
    #: integers and decimals it is an error
    division_by_zero: str = "error"
    #: cast of float and decimal to integers: `round` (floats half to even, decimals half away from zero) or `truncate`
    to_integer: str = "round"
    #: `largest`: NaN equals NaN and is greater than everything, as ORDER BY has it; `ieee`: NaN differs from everything
    nan: str = "largest"

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if value not in CHOICES[f.name]:
                raise ValueError(f"dialect: {f.name} is {value!r}; it can be {', '.join(CHOICES[f.name])}")


DEFAULT = Dialect()
