"""What a plan is to save, time or cost, and the most that it may take of either."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumpgate.errors import CannotPlace, InvalidDataflow

TIME, COST = "time", "cost"


@dataclass(frozen=True)
class Objective:
    """The order of plans. least: TIME or COST. seconds_max, cost_max: what no plan may be estimated to exceed. Cost is
    in the currency of the prices in jumpgate.toml. Raises InvalidDataflow: the values come from a request."""

    least: str = TIME
    seconds_max: float = math.inf
    cost_max: float = math.inf

    def __post_init__(self) -> None:
        if self.least not in (TIME, COST):
            raise InvalidDataflow(f"objective is {self.least!r}; it can be {TIME} or {COST}")
        for name in ("seconds_max", "cost_max"):
            if not getattr(self, name) > 0:
                raise InvalidDataflow(f"{name} is {getattr(self, name)}; it must be more than 0")

    def rank(self, seconds: float, cost: float) -> tuple[float, float, float]:
        """Return the sort key of a plan, or of a part of one; what exceeds a bound comes last."""
        # sums of the same figures differ in their last digits: take these for equal
        seconds, cost = float(f"{seconds:.9g}"), float(f"{cost:.9g}")
        return (self.exceeded(seconds, cost), *((seconds, cost) if self.least == TIME else (cost, seconds)))

    def exceeded(self, seconds: float, cost: float) -> bool:
        """Return whether a plan is beyond a bound."""
        return seconds > self.seconds_max or cost > self.cost_max

    def check(self, seconds: float | None, cost: float) -> None:
        """Raise CannotPlace if the best plan is beyond a bound, or if nothing tells how long it takes."""
        if seconds is None and self.seconds_max < math.inf:
            raise CannotPlace("seconds_max is set, but too little is known of the input to tell how long a plan takes")
        if self.exceeded(seconds or 0.0, cost):
            took = "" if seconds is None else f" and take {seconds:.3g} s"
            raise CannotPlace(
                f"no plan is within the bounds: the best one found would cost {cost:.3g}{took}; "
                "raise seconds_max or cost_max"
            )
