"""One meaning on all roads: every row of support.roads from each format, with offload always, auto and never."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.dataflow.formats import formats
from jumpgate.errors import DataError
from tests.support import roads_run, tables


@pytest.mark.nightly(but=("parquet", "arrow"))
@pytest.mark.parametrize("format", roads_run.FORMATS)
def test_every_road_gives_the_same(one_host: str, tmp_path: Path, format: str) -> None:
    with jumpgate.connect(one_host) as connection:
        results = list(roads_run.run(connection, tmp_path, (format,)))
    assert len(results) > 200
    wrong = [f"{r.text}\n  {r.road}: {r.wrong}" for r in results if r.wrong]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("format", tuple(formats()))
def test_a_file_replaced_by_one_without_a_column_is_an_error(one_host: str, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"t.{format}"
    source = tables.write(pa.table({"a": [1, 2], "b": ["x", None]}), path, format)
    with jumpgate.connect(one_host) as connection:
        connection.register("t", source.data, **source.options)
        assert connection.sql("SELECT count(b) AS n FROM t").to_pylist() == [{"n": 1}]
        tables.write(pa.table({"a": [1, 2, 3]}), path, format)
        for mode in roads_run.MODES:
            if format == "json":  # where every row has keys of its own
                assert connection.sql("SELECT count(b) AS n FROM t", offload=mode).to_pylist() == [{"n": 0}]
                continue
            with pytest.raises(DataError, match="b"):
                connection.sql("SELECT count(b) AS n FROM t", offload=mode).to_arrow()
