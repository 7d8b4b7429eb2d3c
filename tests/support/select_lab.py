"""Dataflows over objects of a store, of which s3_select does its part in this process: quick, and without agents.

What other accelerators would run is interpreted over the same files, which DuckDB reads for the answer to compare with.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from pyarrow import parquet

from jumpgate.client import Dataflow, read
from jumpgate.compiler.plan import CompileOptions
from jumpgate.converters.probe import estimate
from jumpgate.dataflow.operators import Operator, Read, rewrite
from jumpgate.hosts.config import local_hosts
from jumpgate.nca.conformance import Case
from jumpgate.nca.interface import JobPlan
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.s3_select import pushback
from jumpgate.service import planning, store_links
from jumpgate.stores import objects, settings
from jumpgate.stores.settings import Store as StoreSettings
from jumpgate.testing import oracle
from jumpgate.testing.in_process import InProcess
from tests.support.object_store import Store

NAME = "s3_select"


class SelectLab:
    """`store` is what is asked, `dialects` its folders by what they compute. `asked` has what the last run counted."""

    def __init__(self, folder: Path, dialects: Mapping[str, str]) -> None:
        self.folder, self._nca = folder, default_registry().get(NAME)
        for name in dialects:
            (folder / name).mkdir()
        self.store = Store(folder)
        self._dialects = dialects
        self.configure()
        self._runs = InProcess(self._nca)

    def configure(self, select: bool = True) -> None:
        """Make this process know the store, which has S3 Select or not."""
        settings.configure(
            StoreSettings(
                f"s3://{name}",
                self.store.endpoint,
                anonymous=True,
                select=select,
                select_dialect=dialect,
                select_formats=("parquet", "csv", "json"),
            )
            for name, dialect in self._dialects.items()
        )

    def close(self) -> None:
        self._runs.close()
        self.store.close()
        settings.configure([])

    def table(self, bucket: str, name: str, rows: pa.Table, files: int = 2) -> Dataflow:
        """Return a new table of those rows, in so many objects."""
        folder = self.folder / bucket / name
        folder.mkdir(parents=True)
        each = -(-rows.num_rows // files)
        for part in range(files):
            parquet.write_table(rows.slice(part * each, each), folder / f"{part}.parquet")
        return read(f"s3://{bucket}/{name}/*.parquet")

    def plan(self, flow: Dataflow, prefer: tuple[str, ...] = (NAME,), **options: Any) -> JobPlan:
        options = {"prefer": prefer, "statistics": estimate, "link": store_links.of, **options}
        chosen = CompileOptions(**options)
        return planning.plan(flow.root, [host.device for host in local_hosts(1).hosts], default_registry(), chosen)

    def run(self, flow: Dataflow, plan: JobPlan | None = None) -> pa.Table:
        plan = plan or self.plan(flow)
        mine = (i if i.nca == NAME else replace(i, root=self.here(i.root)) for i in plan.instances)
        return self._runs(replace(plan, instances=tuple(mine)), Case("", flow.root))

    def check(self, flow: Dataflow, plan: JobPlan | None = None) -> pa.Table:
        """Return the answer, which is DuckDB's."""
        found = self.run(flow, plan)
        oracle.assert_same(found, self.here(flow.root))
        return found

    def here(self, root: Operator) -> Operator:
        """Return the same dataflow over the files of the objects."""
        return _over_files(root, lambda name: name.replace("s3://", f"{self.folder}/"))

    def named(self, root: Operator) -> Operator:
        """Return the same dataflow over the objects of files."""
        return _over_files(root, lambda name: name.replace(f"{self.folder}/", "s3://"))

    def selects(self) -> int:
        return sum(method == "POST" for method, _, _ in self.store.requests)


def _over_files(root: Operator, name: Callable[[str], str]) -> Operator:
    def change(node: Operator) -> Operator:
        return replace(node, files=tuple(map(name, node.files))) if isinstance(node, Read) else node

    return rewrite(root, change)


@contextlib.contextmanager
def lab(folder: Path, **dialects: str) -> Iterator[SelectLab]:
    """Yield a lab whose store has a bucket for each dialect. No answer is slow, however busy the machine is."""
    found = SelectLab(folder, dialects)
    try:
        with mock.patch.object(pushback, "SLOW_S", math.inf):
            yield found
    finally:
        found.close()
        objects.forget("")
