"""Decide whether a text that could be offloaded is. `auto` compares its cost as a job and in DuckDB, by figures and by
earlier runs. DuckDB answers small inputs at once, and others while programs are built."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jumpgate.client.duckdb.dialect import DUCKDB
from jumpgate.client.sql.experience import TEXTS_MAX, Experience
from jumpgate.errors import JumpgateError

if TYPE_CHECKING:
    from jumpgate.client.session import Estimate, Session
    from jumpgate.dataflow.operators import Operator

SMALL = "it reads so little that DuckDB is through in a few milliseconds"
FIRST = "it is the first text that could be a job: DuckDB answers it before a service has started"
#: of Parquet files that a text reads: DuckDB is through with fewer in a few milliseconds
BYTES_MIN = 8 << 20
#: of DuckDB's, for a text that it answers before a job is planned; what it takes to start a service
QUICK_S, STARTING_S = 0.02, 0.5
#: of DuckDB's time, what a first job hardly saves more of
SAVED = 0.5
#: of a core, for a byte of a file's columns, before the text has run
BYTE_S = 4e-9
#: for each file that a job reads for DuckDB
FILE_S = 2e-4
#: runs that were offloaded, and those that were not
JOB, HERE = "always", "never"


@dataclass
class Auto:
    """Decides for one connection, and learns from its runs."""

    experience: Experience = field(default_factory=Experience)
    _estimates: OrderedDict[str, tuple[Operator, Estimate]] = field(default_factory=OrderedDict)
    _is_first: bool = True
    _stamp: int = 0  # of the measured speeds that the estimates are made with

    def early(self, text: str, bytes: float, has_jobs: bool) -> str:
        """Why DuckDB answers, without a look at the plan; empty if that is worth it. bytes: of the columns that the
        text reads; has_jobs: a service has started, or reads tables for DuckDB."""
        from jumpgate.service import calibration

        took = self.experience.seen(text)
        if JOB in took:
            return ""
        here = took.get(HERE, bytes * BYTE_S / calibration.cores())
        if here < QUICK_S:
            return SMALL
        was_first, self._is_first = self._is_first, False
        return FIRST if was_first and not has_jobs and here * SAVED < STARTING_S else ""

    def reason(self, text: str, operator: Operator, session: Session, files: int = 0) -> str:
        """Why DuckDB answers; empty if accelerators are expected to be faster, and ready. What ran one way is compared
        with what is expected of the other, which is corrected by what other texts took. files: that jobs read for
        DuckDB, all of them whatever the text filters."""
        took = self.experience.settled(text)
        if len(took) > 1:
            faster = took[JOB] <= took[HERE]
            return "" if faster else f"it took {_ms(took[JOB])} as a job and {_ms(took[HERE])} in DuckDB"
        from jumpgate.dataflow.builder import Dataflow

        flow = Dataflow(operator)
        try:
            estimate = self._estimate(text, operator, session)
            if estimate.seconds is None:
                return "too little is known of what it reads"
            expected = {JOB: estimate.seconds, HERE: max(estimate.elsewhere_s, files * FILE_S)}
            seen = {kind: self.experience.factor(kind) * seconds for kind, seconds in expected.items()}
            took = self.experience.seen(text)
            seen |= took
            job, here = seen[JOB], seen[HERE]
            self.experience.expect(text, expected)
            if job > here:
                return f"it would take {_ms(job)} as a job, and {_ms(here)} in DuckDB"
            if JOB in took:
                return ""  # its programs are built
            wait = session.prepare(flow, DUCKDB, patience_s=here - job)
        except JumpgateError as error:
            return error.message
        if wait > here - job:
            return f"its programs are built, in about {_ms(wait)}; until then DuckDB answers"
        return ""

    def _estimate(self, text: str, operator: Operator, session: Session) -> Estimate:
        """The service's estimate, which is asked for once."""
        from jumpgate.client.sql import calibrate
        from jumpgate.dataflow.builder import Dataflow
        from jumpgate.service import calibration

        if (stamp := calibration.stamp()) != self._stamp:
            self._stamp = stamp
            self._estimates.clear()
            self.experience.forget_expected()
        known, found = self._estimates.get(text, (None, None))
        if found is None or known is not operator:
            found = session.estimate(Dataflow(operator), DUCKDB, elsewhere=calibrate.load(), cores=calibration.cores())
            self._estimates[text] = operator, found
            if len(self._estimates) > TEXTS_MAX:
                self._estimates.popitem(last=False)
        return found


def small(files: Iterable[str]) -> bool:
    """Return whether DuckDB reads these files in no time."""
    return sum(map(os.path.getsize, files)) < BYTES_MIN


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
