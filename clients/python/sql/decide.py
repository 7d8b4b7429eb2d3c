"""Decide whether a sub-plan goes to accelerators: where the service's estimate of the job, and of the work on its
result, is less than what DataFusion would take here. What a query holds twice runs once as a job, but twice in the
client. A job that would have to wait too long for its programs or hosts is prepared meanwhile, for the next time.
`always` takes all that maps."""

from __future__ import annotations

from collections.abc import Callable

from jumpgate.client.session import Estimate
from jumpgate.client.sql.cuts import Candidate
from jumpgate.dataflow.operators import Operator, numbered
from jumpgate.errors import JumpgateError

#: what a dataflow takes as a job, and in DataFusion
Ask = Callable[[Operator], Estimate]
#: seconds until it could begin as a job, for which it is prepared if they are more than so many
Prepare = Callable[[Operator, float], float]


def always(candidate: Candidate) -> str | None:
    """For offload = always."""
    return None


class Auto:
    """Decides on one plan for offload = auto, from its root down; each operator is asked about once.

    spool_s: seconds for a byte of a result that DataFusion goes on with; begin_s: what DataFusion takes for any query,
    which is part of all estimates. `waits`: jobs are prepared that would be faster; the next decision may be another.
    """

    def __init__(self, ask: Ask, prepare: Prepare, spool_s: float = 0.0, begin_s: float = 0.0) -> None:
        self._ask, self._prepare, self._spool_s, self._begin_s = ask, prepare, spool_s, begin_s
        self.waits = False
        #: by identity of the operator, which is kept, so that its id stays its own
        self._known: dict[int, tuple[Operator, Estimate | str]] = {}
        self._hopeless: dict[int, str] = {}  # below these nothing is worth a job

    def __call__(self, candidate: Candidate) -> str | None:
        operator = candidate.operator
        if id(operator) in self._hopeless:
            return self._hopeless[id(operator)]
        found = self._estimate(operator)
        if isinstance(found, str):
            return found
        if found.seconds is None:
            return "offload = auto: too little is known of what it reads"
        ours, theirs = found.seconds, candidate.uses * found.elsewhere_s
        if not candidate.is_whole:  # DataFusion does the rest
            ours += found.bytes * self._spool_s
            theirs = candidate.uses * max(0.0, found.elsewhere_s - self._begin_s)
        if ours <= theirs:
            wait_s = self._prepare(operator, theirs - ours)
            if wait_s <= theirs - ours:
                return None
            self.waits = True
            prepared = f"once it is prepared, in about {_ms(wait_s)}"
            reason = (
                f"offload = auto: as a job it would take {_ms(ours)} {prepared}; until then in the client {_ms(theirs)}"
            )
            self._leave(operator, reason)
            return reason
        reason = f"offload = auto: as a job it would take {_ms(ours)}, in the client {_ms(theirs)}"
        if candidate.uses == 1 and found.gain_s <= found.overhead_s:
            self._leave(operator, reason)
        return reason

    def _leave(self, operator: Operator, reason: str) -> None:
        """To DataFusion, with all below it."""
        self._hopeless.update((id(node), reason) for node in numbered(operator))

    def _estimate(self, operator: Operator) -> Estimate | str:
        if id(operator) not in self._known:
            try:
                found: Estimate | str = self._ask(operator)
            except JumpgateError as error:
                found = error.message  # nobody takes it, or its files cannot be read
            self._known[id(operator)] = operator, found
        return self._known[id(operator)][1]


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
