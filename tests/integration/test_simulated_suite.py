"""`jumpgate simulate --suite`: TPC-DS on clusters and at scales that do not exist, from files of a small scale."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumpgate.cli.main import main
from jumpgate.converters import probe
from jumpgate.dataflow.types import int64
from jumpgate.simulate.suite import at_scale
from jumpgate.tpcds.data import SCALE_MIN, generate, path
from jumpgate.tpcds.suite import TPCDS

QUERIES = "3,15,96"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("tpcds")
    generate(found, SCALE_MIN, ["parquet"])
    return found


@pytest.fixture
def simulated(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*words: str, status: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["simulate", "--suite", "tpcds", "--data", str(folder), *words])
        captured = capsys.readouterr()
        assert int(ended.value.code or 0) == status, captured
        return " ".join((captured.out + captured.err).split())

    return run


def test_tables_and_keys_have_the_sizes_of_the_scale(folder: Path) -> None:
    files = {table: path(folder, table, "parquet") for table in TPCDS.tables}
    known = at_scale(probe.estimate, TPCDS, files, 10_000)

    def of(table: str) -> Any:
        return known((str(files[table]),), "parquet", ())

    assert of("store_sales").rows == pytest.approx(28_799_983_563)
    assert of("date_dim").rows == 73_049
    assert of("item").column("i_item_sk", int64).distinct == pytest.approx(402_000, rel=0.01)
    items = of("store_sales").column("ss_item_sk", int64).distinct
    assert 200_000 < items <= 402_000 * 1.01
    assert of("date_dim").column("d_year", int64) == probe.estimate(
        (str(files["date_dim"]),), "parquet", ()
    ).column("d_year", int64)  # fmt: skip


def test_queries_grow_with_the_scale_and_shrink_with_hosts(simulated: Callable[..., str], tmp_path: Path) -> None:
    def queries(*words: str) -> dict[int, dict[str, Any]]:
        found = json.loads(simulated("--queries", QUERIES, "--disk-gb-s", "1", "--json", *words))
        assert "disks of 1 GB/s" in found["cluster"]
        return {query["query"]: query for query in found["queries"]}

    small, large = queries("--scale", "1000", "--hosts", "4"), queries("--scale", "10000", "--hosts", "4")
    many = queries("--scale", "10000", "--hosts", "16", "-o", str(tmp_path / "a.svg"))
    assert list(small) == list(large) == [3, 15, 96]
    for number, query in large.items():
        assert not query["why"] and query["kept"] == 0
        assert 8 < query["read_bytes"] / small[number]["read_bytes"] < 12
        assert 6 < query["seconds"] / small[number]["seconds"] < 14
        assert 2.5 < query["seconds"] / many[number]["seconds"] < 5
    picture = ElementTree.parse(tmp_path / "a.svg")
    texts = " ".join(picture.getroot().itertext())
    assert "TPC-DS at scale 10,000 over 16 hosts, simulated" in texts and "query 15:" in texts


def test_table_and_page(simulated: Callable[..., str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    text = simulated("--queries", "96", "--scale", "100", "--hosts", "2", "-o", str(page))
    assert "TPC-DS at scale 100 over 2 hosts, simulated" in text and "1 of 1 queries" in text
    shown = page.read_text()
    assert "<svg" in shown and "href=" not in shown and "simulated; hosts of 16 cores" in shown


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--hosts", "2,4"), "a suite is simulated on one cluster; write one number"),
        (("--queries", "3,x"), "write numbers with commas, as in 3,7,19"),
        (("--queries", "100"), "there is no query 100"),
        (("--times", "10"), "--times is not of a --suite"),
        (("flow.py",), "say what to simulate: a FILE with a dataflow, or --suite tpcds"),
    ],
)
def test_mistakes(simulated: Callable[..., str], words: tuple[str, ...], why: str) -> None:
    assert why in simulated(*words, status=1)
