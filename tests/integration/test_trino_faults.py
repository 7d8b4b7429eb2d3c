"""A real Trino server that loses a part of Jumpgate, a worker, or its client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import trino
from tests.support.server_faults import WorkerFaults, outcomes_of


@pytest.mark.nightly(like="tests/integration/test_presto_faults.py::TestOneServer")
class TestTwoWorkers(WorkerFaults):
    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("trino")
        trino.install(folder / "plugin")
        return outcomes_of(folder, trino.library(), "Trino", workers=2)
