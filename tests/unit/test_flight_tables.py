"""Views of the tables of jumpgate.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpgate.flight.tables import files_of, view_of
from jumpgate.hosts.config import TableConfig


@pytest.mark.parametrize(
    ("inside", "kind"), [("_delta_log/0.json", "Delta"), ("metadata/v1.metadata.json", "Iceberg"), ("", "")]
)
def test_a_table_with_a_log_is_not_served_as_its_files(tmp_path: Path, inside: str, kind: str) -> None:
    (tmp_path / "a.parquet").touch()
    if inside:
        (tmp_path / inside).parent.mkdir()
        (tmp_path / inside).touch()
    for path, is_named in ((tmp_path, False), (tmp_path / "*.parquet", False), (tmp_path / "a.parquet", True)):
        table = TableConfig(name="t", paths=(str(path),), format="parquet")
        (source,) = files_of([table]).values()
        assert source.files == (str(tmp_path / "a.parquet"),)
        view = view_of(table, source)
        assert (f"is a table of {kind}, not of plain files" in view) == bool(inside and not is_named), view
        assert ("read_parquet" in view) == (not inside or is_named)
