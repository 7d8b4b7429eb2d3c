"""Machines in network namespaces for benchmarks."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jumpgate.codegen import toolchain
from jumpgate.study.paper.network import Network, ending_on_sigterm
from tests.cluster.lab import Lab


@contextlib.contextmanager
def lab() -> Iterator[Lab]:
    toolchain.runtime()
    with ending_on_sigterm(), tempfile.TemporaryDirectory() as folder:
        network = Network()
        try:
            yield Lab(network, Path(folder))
        finally:
            network.close()
