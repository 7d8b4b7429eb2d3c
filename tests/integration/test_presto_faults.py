"""A real Presto server, alone or with two workers, that loses a part of Jumpgate, a worker, or its client."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import presto
from tests.support.server_faults import ServerFaults, WorkerFaults, outcomes_of


def outcomes(made: pytest.TempPathFactory, workers: int) -> dict[str, Any]:
    folder = made.mktemp("presto")
    presto.install(folder / "plugin")
    return outcomes_of(folder, presto.library(), "Presto", workers)


class TestOneServer(ServerFaults):
    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        return outcomes(tmp_path_factory, workers=0)


@pytest.mark.nightly(like="tests/integration/test_presto_faults.py::TestOneServer")
class TestTwoWorkers(WorkerFaults):
    @pytest.fixture(scope="class")
    @classmethod
    def outcomes(cls, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        return outcomes(tmp_path_factory, workers=2)
