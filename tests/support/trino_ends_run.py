"""How a query ends that is cancelled, and one whose service goes away, in a network namespace of their own:

    python -m tests.support.trino_ends_run FOLDER LIB QUERY

FOLDER has catalog.json and plugin/, LIB the server's jars; the query takes longer than anybody waits. What the
cancelled one left (its jobs' states), and the text of the other's error, go to stdout as a JSON list.
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from pathlib import Path

from jumpgate.service.embedded import Embedded
from jumpgate.testing.leaks import wait_until
from tests.support.presto_run import TRINO, URL, ask, serving

WAIT_S = 60.0


def main(folder: Path, lib: Path, query: str) -> None:
    with serving(folder, lib, "SELECT count(*) FROM t", engine=TRINO) as service:
        left = cancelled(service, query)
        error = abandoned(service, query)
    json.dump([left, error], sys.stdout)


def running(service: Embedded) -> bool:
    return any(job.state.startswith("running") for job in service.engine.jobs())


def cancelled(service: Embedded, query: str) -> list[str]:
    """Return its jobs' states after it was cancelled while they ran."""
    headers = {"X-Trino-User": "test", "X-Trino-Catalog": "jumpgate", "X-Trino-Schema": "main"}
    request = urllib.request.Request(f"{URL}/v1/statement", query.encode(), headers)
    before = {job.job for job in service.engine.jobs()}
    answer = {}
    while not running(service):
        with urllib.request.urlopen(request, timeout=WAIT_S) as response:
            answer = json.load(response)
        assert "nextUri" in answer, answer
        request = urllib.request.Request(answer["nextUri"])
    urllib.request.urlopen(urllib.request.Request(answer["nextUri"], method="DELETE"), timeout=WAIT_S).close()
    assert wait_until(lambda: not running(service), WAIT_S), "a job outlives its query"
    return [job.state for job in service.engine.jobs() if job.job not in before]


def abandoned(service: Embedded, query: str) -> str:
    """Return its error when its service ends while its job runs."""
    errors: list[str] = []
    asking = threading.Thread(target=lambda: errors.append(str(ask(query, "", TRINO))))
    asking.start()
    assert wait_until(lambda: running(service), WAIT_S), "no job has begun"
    service.close()
    asking.join(WAIT_S)
    assert not asking.is_alive(), "the query waits for a service that is gone"
    return errors[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
