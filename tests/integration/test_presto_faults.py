"""A real Presto server that loses a part of Jumpgate, or its client: the right answer or one clear error, and nothing
that is left."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pyarrow as pa
import pytest

from tests.support import presto
from tests.support.jvm import CLIENTS
from tests.support.presto_faults_run import AGGREGATE, EARLY, FAULTS, STREAM, Fault

pytestmark = pytest.mark.timeout(900)  # a server starts, and on a new machine it is fetched first

ROWS, COPIES = 300_000, 12
AWAY = r"JUMPGATE_SERVICE: no Jumpgate service answers at 127\.0\.0\.1:\d+ .*; start one with `jumpgate serve`"
TEXT = "a text of some length {}"


def expected(query: str) -> list[list[Any]]:
    """Of rows k = 0, 1, … and s = TEXT with k."""
    if query == STREAM:
        lengths = sum(len(TEXT.format(k)) for k in range(ROWS))
        return [[ROWS, sum(range(ROWS)), lengths]]
    assert query == AGGREGATE
    groups = [range(rest, ROWS, 7) for rest in range(7)]
    return [[rest, len(group), max(TEXT.format(k) for k in group)] for rest, group in enumerate(groups)]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("presto")
    faults = pa.table({"k": pa.array(range(ROWS), pa.int64()), "s": [TEXT.format(k) for k in range(ROWS)]})
    few = pa.table({"k": pa.array(range(COPIES), pa.int64())})
    catalog = {name: presto.write_table(folder, name, table) for name, table in (("faults", faults), ("few", few))}
    (folder / "catalog.json").write_text(json.dumps({"main": catalog}))
    presto.install(folder / "plugin")
    command = presto.in_a_network("tests.support.presto_faults_run", folder, presto.library())
    done = subprocess.run(command, capture_output=True, text=True, timeout=presto.PATIENCE_S,
                          check=False, cwd=CLIENTS.parent)  # fmt: skip
    assert done.returncode == 0, done.stderr + (folder / "server.log").read_text()[-4000:]
    return {"log": (folder / "server.log").read_text(), **json.loads(done.stdout)}


def right(outcome: Any, query: str) -> bool:
    return isinstance(outcome["answer"], list) and sorted(outcome["answer"]) == expected(query)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_answer_is_right_or_one_error_says_why(fault: Fault, outcomes: dict[str, Any]) -> None:
    found = outcomes[str(fault)]
    if fault.victim == "service":
        assert re.match(AWAY, str(found["answer"])) or (fault.phase == "commit" and right(found, AGGREGATE)), found
    elif fault.phase == "commit":
        assert right(found, AGGREGATE), found
    else:  # rows may have come before; a host's only agent, started anew, may be late
        failed = re.match(rf"JUMPGATE_SERVICE: .*{fault.victim}", str(found["answer"]))
        again = found["retries"] > 0 or fault.phase == "plan"  # an agent may be started anew before it is missed
        assert failed or (right(found, STREAM) and again), found


@pytest.mark.parametrize("case", [str(EARLY), "another host"])
def test_a_job_that_fails_before_its_rows_is_run_again(case: str, outcomes: dict[str, Any]) -> None:
    assert right(outcomes[case], STREAM) and outcomes[case]["retries"] > 0, outcomes[case]


def test_a_job_is_run_again_without_the_host_that_failed(outcomes: dict[str, Any]) -> None:
    assert re.search(r"a job is run again without host[12]: instance \S+ was killed by SIGKILL", outcomes["log"])


def test_after_a_page_an_error_names_what_died(outcomes: dict[str, Any]) -> None:
    found = outcomes["after a page"]
    assert re.match(r"JUMPGATE_SERVICE: instance f0.0 was killed by SIGKILL .* on host 'local'", found["answer"]), found
    assert found["retries"] == 0 and found["jobs"] == ["failed"]


def test_a_job_ends_when_enough_rows_have_come(outcomes: dict[str, Any]) -> None:
    assert len(outcomes["limit"]["answer"]) == 5
    assert outcomes["limit"]["jobs"] == ["cancelled"]


@pytest.mark.parametrize("client", ["cancelled", "vanished"])
def test_a_job_ends_when_its_client_leaves(client: str, outcomes: dict[str, Any]) -> None:
    assert outcomes[client]["jobs"][0] == "cancelled"
