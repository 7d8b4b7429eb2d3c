"""A query of Trino's that is cancelled, or whose service goes away, ends soon and leaves nothing."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pyarrow as pa
import pytest

from tests.support import presto, trino
from tests.support.jvm import CLIENTS

#: a pair for each two rows, three times over
ENDLESS = "SELECT count(*) FROM t a JOIN t b ON a.k = b.k JOIN t c ON b.k = c.k WHERE a.n + b.n + c.n <> 5"


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """States of the jobs of a cancelled query, and the error of one whose service went away."""
    folder = tmp_path_factory.mktemp("trino")
    rows = 100_000
    table = pa.table({"k": pa.array([7] * rows, pa.int64()), "n": pa.array(map(float, range(rows)), pa.float64())})
    catalog = {"main": {"t": presto.write_table(folder, "t", table)}}
    (folder / "catalog.json").write_text(json.dumps(catalog))
    trino.install(folder / "plugin")
    done = subprocess.run(
        presto.in_a_network("tests.support.trino_ends_run", folder, trino.library(), ENDLESS),
        capture_output=True, text=True, timeout=presto.PATIENCE_S, check=False, cwd=CLIENTS.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.nightly(like="tests/integration/test_presto_faults.py::TestOneServer")
def test_a_cancelled_query_ends_its_job(ends: Any) -> None:
    assert ends[0] == ["cancelled"]


@pytest.mark.nightly(like="tests/integration/test_presto_faults.py::TestOneServer")
def test_a_query_whose_service_goes_away_says_so(ends: Any) -> None:
    assert ends[1].startswith("JUMPGATE_SERVICE: ")
