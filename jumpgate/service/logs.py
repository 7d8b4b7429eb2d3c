"""The log of `jumpgate serve` on standard error: a line for each event, as text or JSON.

No line has a text or data of a request: of a job's SQL it has a hash, of an error the code.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from jumpgate.errors import Forbidden, JumpgateError, Unauthenticated
from jumpgate.orchestrator.record import JobRecord
from jumpgate.service.traffic import result_rows

logger = logging.getLogger("jumpgate.service")

LEVELS = ("debug", "info", "warning", "error")
#: refusals of one machine with one code that follow each other within these seconds are counted, and not said
REFUSALS_S = 10.0
#: machines and codes that are remembered for it
REFUSALS_MAX = 1000
#: a text that needs no quotes beside others
PLAIN = re.compile(r"[\w.:,/+@\[\]-]*")


def begin(as_json: bool, level: str, stream: TextIO | None = None) -> None:
    """Write events of at least that level to the stream, standard error unless given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Json() if as_json else _Text())
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(level.upper())


def say(level: int, event: str, **facts: Any) -> None:
    """Log an event."""
    logger.log(level, event, extra={"facts": facts})


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        words = [f"{name}={_quoted(value)}" for name, value in facts.items()]
        what = [] if record.getMessage() in facts else [record.getMessage()]
        return " ".join((_time(record), "jumpgate:", *what, *words))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said = {"time": _time(record), "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**said, **getattr(record, "facts", {})}, default=str)


def _time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z"


def _quoted(value: Any) -> str:
    if isinstance(value, dict):
        text = ",".join(f"{name}:{part:.3f}" for name, part in value.items())
    else:
        text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)


def job_facts(record: JobRecord) -> dict[str, Any]:
    """Return the job's id, state, client, peer, a hash of its text, rows of its result, seconds, and the error's code.

    >>> facts = job_facts(JobRecord("j1", text="SELECT 1", state="done", submitted_ns=0, ended_ns=1_500_000_000))
    >>> list(facts.values())
    ['j1', 'done', '', '', 'e004ebd5b553', 0, 1.5, '']
    """
    return {
        "job": record.job,
        "state": record.state,
        "client": record.client,
        "peer": record.peer,
        "text": hashlib.sha256(record.text.encode()).hexdigest()[:12] if record.text else "",
        "rows": result_rows(record),
        "seconds": (record.ended_ns - record.submitted_ns) / 1e9,
        "error": (record.error or {}).get("code", ""),
    }


def job_ended(record: JobRecord, slow_s: float = 0.0) -> None:
    """Log a job; a slow one, by a limit that is not 0, again with the seconds of its phases."""
    facts = job_facts(record)
    say(logging.INFO, "job", **facts)
    if slow_s and facts["seconds"] >= slow_s:
        phases = {p.name: (p.end_ns - p.start_ns) / 1e9 for p in record.phases if p.end_ns}
        traits = {"programs": record.programs, "compiled": record.compiled, "instances": len(record.instances)}
        shown = {name: facts[name] for name in ("job", "client", "text", "seconds")}
        say(logging.WARNING, "slow", **shown, **traits, phases=phases)


def logged_in(client: str, peer: str) -> None:
    """Log a client of Flight SQL that was let in."""
    say(logging.INFO, "login", client=client, peer=peer)


def host_changed(name: str, answers: bool) -> None:
    """Log a host that does not answer any more, or answers again."""
    say(logging.INFO if answers else logging.WARNING, "host_answers" if answers else "host_lost", host=name)


class Refusals:
    """Logs calls that were refused, and where one machine makes many of them how many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[str, str], tuple[float, int]] = {}  # when last, and how many since

    def failed(self, client: str, peer: str, error: JumpgateError) -> None:
        """Log a call that ended in an error, if that says that the client may not have what it asks for."""
        if not isinstance(error, Unauthenticated | Forbidden):
            return
        key, now = (peer.rpartition(":")[0], error.code), self._clock()
        last, more = self._said.pop(key, (now - REFUSALS_S, 0))
        if now - last < REFUSALS_S:
            self._said[key] = last, more + 1
            return
        self._said[key] = now, 0
        if len(self._said) > REFUSALS_MAX:
            del self._said[next(iter(self._said))]
        say(logging.WARNING, "refused", client=client, peer=peer, error=error.code, more=more)
