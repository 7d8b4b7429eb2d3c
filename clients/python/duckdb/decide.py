"""Decide whether a text that could be offloaded is. `auto` compares its cost as a job and in DuckDB, by figures and by
earlier runs. DuckDB answers small inputs at once, and others while programs are built."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql.experience import Experience
from jumpgate.errors import JumpgateError

if TYPE_CHECKING:
    from jumpgate.client.duckdb.planning import Offloaded
    from jumpgate.client.session import Session

SMALL = "it reads so little that DuckDB is through in a few milliseconds"
#: of Parquet files that a text reads: DuckDB is through with fewer in a few milliseconds
BYTES_MIN = 8 << 20
#: runs that were offloaded, and those that were not
JOB, HERE = "always", "never"


@dataclass
class Auto:
    """Decides for one connection, and learns from its runs."""

    experience: Experience = field(default_factory=Experience)

    def reason(self, text: str, found: Offloaded, session: Session) -> str:
        """Why DuckDB answers; empty if accelerators are expected to be faster, and ready."""
        took = self.experience.settled(text)
        if len(took) > 1:
            faster = took[JOB] <= took[HERE]
            return "" if faster else f"it took {_ms(took[JOB])} as a job and {_ms(took[HERE])} in DuckDB"
        from jumpgate.client.sql import calibrate
        from jumpgate.dataflow.builder import Dataflow
        from jumpgate.service import calibration

        flow = Dataflow(found.operator)
        try:
            estimate = session.estimate(flow, DUCKDB, elsewhere=calibrate.load(), cores=calibration.cores())
            if estimate.seconds is None:
                return "too little is known of what it reads"
            here = took.get(HERE, estimate.elsewhere_s)
            if estimate.seconds > here:
                return f"it would take {_ms(estimate.seconds)} as a job, and {_ms(here)} in DuckDB"
            wait = session.prepare(flow, DUCKDB, patience_s=here - estimate.seconds)
        except JumpgateError as error:
            return error.message
        if wait > here - estimate.seconds:
            return f"its programs are built, in about {_ms(wait)}; until then DuckDB answers"
        return ""


def small(files: Iterable[str]) -> bool:
    """Return whether DuckDB reads these files in no time."""
    return sum(map(os.path.getsize, files)) < BYTES_MIN


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
