"""The tests of servers that lose a part of Jumpgate, of themselves, or their client: the right answer or one clear
error, and nothing that is left."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support import presto
from tests.support.faults import PHASES, Fault
from tests.support.jvm import CLIENTS
from tests.support.server_faults_run import AGGREGATE, EARLY, FAULTS, RETRIED, SPLITS, STREAM

ROWS, COPIES = 300_000, 60
AWAY = r"JUMPGATE_SERVICE: no Jumpgate service answers at 127\.0\.0\.1:\d+ .*; start one with `jumpgate serve`"
TEXT = "a text of some length {}"


def expected(query: str) -> list[list[Any]]:
    """Return the rows expected for k = 0, 1, … and s = TEXT with k."""
    if query == STREAM:
        lengths = sum(len(TEXT.format(k)) for k in range(ROWS))
        return [[ROWS, sum(range(ROWS)), lengths]]
    assert query == AGGREGATE
    groups = [range(rest, ROWS, 7) for rest in range(7)]
    return [[rest, len(group), max(TEXT.format(k) for k in group)] for rest, group in enumerate(groups)]


def right(outcome: Any, query: str) -> bool:
    return isinstance(outcome["answer"], list) and sorted(outcome["answer"]) == expected(query)


def outcomes_of(folder: Path, lib: Path, engine: str, workers: int) -> dict[str, Any]:
    """Return outcomes by trial; "log" has what the nodes' logs say of jobs that were run again."""
    ones = pa.array([1] * ROWS, pa.int64())
    columns = {"k": pa.array(range(ROWS), pa.int64()), "s": [TEXT.format(k) for k in range(ROWS)], "one": ones}
    few = {"k": columns["k"][:COPIES], "one": ones[:COPIES]}
    tables = {"faults": pa.table(columns), "few": pa.table(few)}
    catalog = {name: presto.write_table(folder, name, table) for name, table in tables.items()}
    (folder / "catalog.json").write_text(json.dumps({"main": catalog}))
    command = presto.in_a_network("tests.support.server_faults_run", folder, lib, engine, workers)
    done = subprocess.run(command, capture_output=True, text=True, timeout=presto.PATIENCE_S,
                          check=False, cwd=CLIENTS.parent)  # fmt: skip
    logs = [log.read_text() for log in sorted(folder.glob("**/server.log"))]
    assert done.returncode == 0, "".join(log[-4000:] for log in logs) + done.stderr
    again = [line for log in logs for line in log.splitlines() if RETRIED in line]
    return {"log": "\n".join(again), **json.loads(done.stdout)}


class ServerFaults:
    """Faults of a server whose class has the fixture `outcomes`."""

    @pytest.mark.parametrize("fault", FAULTS, ids=str)
    def test_the_answer_is_right_or_one_error_says_why(self, fault: Fault, outcomes: dict[str, Any]) -> None:
        found = outcomes[str(fault)]
        if fault.victim == "service":
            assert re.match(AWAY, str(found["answer"])) or (fault.phase == "commit" and right(found, AGGREGATE)), found
        elif fault.phase == "commit":
            assert right(found, AGGREGATE), found
        else:  # rows may have come before; a host's only agent, started anew, may be late
            failed = re.match(rf"JUMPGATE_SERVICE: .*{fault.victim}", str(found["answer"]))
            again = found["retries"] > 0 or fault.phase == "plan"  # an agent may be started anew before it is missed
            assert failed or (right(found, STREAM) and again), found

    def test_a_fault_that_comes_after_all_rows_changes_nothing(self, outcomes: dict[str, Any]) -> None:
        for victim, answer in outcomes["late"]:  # a server may not yet have heard of the service that all is well
            away = victim == "service" and re.match(AWAY, str(answer))
            assert away or right({"answer": answer}, STREAM), (victim, answer)

    @pytest.mark.parametrize("case", [str(EARLY), "another host"])
    def test_a_job_that_fails_before_its_rows_is_run_again(self, case: str, outcomes: dict[str, Any]) -> None:
        assert right(outcomes[case], STREAM) and outcomes[case]["retries"] > 0, outcomes[case]

    def test_a_job_is_run_again_without_the_host_that_failed(self, outcomes: dict[str, Any]) -> None:
        assert re.search(rf"{RETRIED} without host[12]: instance \S+ was killed by SIGKILL", outcomes["log"])

    def test_after_a_page_an_error_names_what_died(self, outcomes: dict[str, Any]) -> None:
        found = outcomes["after a page"]
        died = r"JUMPGATE_SERVICE: instance f0.0 was killed by SIGKILL .* on host 'local'"
        assert re.match(died, found["answer"]), found
        assert found["retries"] == 0 and found["jobs"] == ["failed"]

    def test_a_job_ends_when_enough_rows_have_come(self, outcomes: dict[str, Any]) -> None:
        assert len(outcomes["limit"]["answer"]) == 5
        assert outcomes["limit"]["jobs"][0] == "cancelled"

    @pytest.mark.parametrize("client", ["cancelled", "vanished"])
    def test_a_job_ends_when_its_client_leaves(self, client: str, outcomes: dict[str, Any]) -> None:
        assert outcomes[client]["jobs"][0] == "cancelled"


class WorkerFaults(ServerFaults):
    """Faults of a server that has workers."""

    def test_a_result_is_received_by_all_splits_of_one_job(self, outcomes: dict[str, Any]) -> None:
        found = outcomes["healthy"]
        assert right(found, STREAM) and found["jobs"] == ["done"] and found["receivers"] == [SPLITS]

    @pytest.mark.parametrize("phase", PHASES)
    def test_without_a_worker_the_answer_is_right_or_one_error(self, phase: str, outcomes: dict[str, Any]) -> None:
        found = outcomes[f"worker at {phase}"]
        query = AGGREGATE if phase == "commit" else STREAM
        gone = (
            r"(JUMPGATE_SERVICE: a receiver of the job's rows has gone away|REMOTE_|PAGE_TRANSPORT_|TOO_MANY_REQUESTS_)"
        )
        assert re.match(gone, str(found["answer"])) or right(found, query), found
