"""What tests of several hosts share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpgate.codegen import toolchain
from jumpgate.study.paper.network import Network
from tests.cluster.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    toolchain.runtime()  # before anybody's time is limited
    network = Network()
    try:
        yield Lab(network, tmp_path)
    finally:
        network.close()
