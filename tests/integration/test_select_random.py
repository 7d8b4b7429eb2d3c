"""Random dataflows over random objects, of which a store computes what it can: DuckDB's answers.

The number of dataflows is small here; JUMPGATE_RANDOM_DATAFLOWS=1000 asks for more, JUMPGATE_RANDOM_SEED=n starts
elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from jumpgate.client import Dataflow
from jumpgate.compiler.mapping import filter_edges
from jumpgate.dataflow.operators import Read, rewrite
from jumpgate.dataflow.types import DataType
from jumpgate.ncas.s3_select.placing import with_nothing
from jumpgate.testing import dataflows
from jumpgate.testing.dataflows import Generator
from tests.support.select_double import SelectDouble
from tests.support.select_lab import SelectLab, lab

COUNT = int(os.environ.get("JUMPGATE_RANDOM_DATAFLOWS", "40"))
FIRST = int(os.environ.get("JUMPGATE_RANDOM_SEED", "0"))
#: what every dialect has, twice, so that most tables have such columns alone
PLAIN = tuple(DataType(kind) for kind in ("int8", "int16", "int32", "int64", "int64", "string", "string"))

#: those of CSV, likewise
TEXT = (*PLAIN, DataType("decimal", 9, 2), DataType("float64"), DataType("date"), DataType("timestamp"))
KINDS = (("hadro", "parquet"), ("aws", "parquet"), ("hadro", "csv"), ("hadro", "json"), ("aws", "csv"), ("aws", "json"))


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), hadro="hadro", aws="aws") as found:
        yield found


@pytest.mark.nightly(every=2)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize(("dialect", "format"), KINDS)
def test_random_dataflows(
    objects: SelectLab, dialect: str, format: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_edges, "WORTH", -1e9)  # filter edges wherever they are possible
    monkeypatch.setattr(filter_edges, "SAVED_MIN", -1e9)
    if dialect == "aws":
        monkeypatch.setattr(dataflows, "TYPES", TEXT if format == "csv" else PLAIN)
    objects.store.select = SelectDouble() if dialect == "aws" else None
    folder = objects.folder / dialect / f"{format}{seed}"
    folder.mkdir()
    made = Generator(seed, folder, [format]).dataflow(1 + seed % 5)
    if dialect == "hadro":
        made = rewrite(made, lambda node: with_nothing(node) if isinstance(node, Read) else node)

    objects.check(Dataflow(objects.named(made)))
