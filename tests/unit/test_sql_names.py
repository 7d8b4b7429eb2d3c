"""Names of tables: spelled in any case, registered again, and left alone when registering fails."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate
from jumpgate.client.sql.catalog import Catalog, arrow_table
from jumpgate.errors import FileUnreadable, InvalidDataflow, NotFound


def test_registering_again_replaces() -> None:
    changed: list[str] = []
    catalog = Catalog(changed.append)
    first, second = arrow_table("t", pa.table({"a": [1]})), arrow_table("t", pa.table({"b": [1]}))
    assert catalog.add(first) is first and catalog.add(second) is second
    assert catalog["t"] is second and catalog.names == ("t",) and changed == ["t", "t"]


def test_a_change_is_told_after_it_is_seen() -> None:
    seen: list[bool] = []
    catalog = Catalog(lambda name: seen.append(name in catalog))
    catalog.add(arrow_table("t", pa.table({"a": [1]})))
    catalog.drop("T")
    assert seen == [True, False]


def test_what_cannot_be_registered_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with jumpgate.connect() as connection:
        good = connection.register("t", pa.table({"a": [1]}))
        with pytest.raises(FileUnreadable):
            connection.register("t", tmp_path / "missing.parquet")
        for name in ("", "a.b", 'a"b'):
            with pytest.raises(InvalidDataflow, match="cannot name a table"):
                connection.register(name, pa.table({"a": [1]}))
        assert connection.tables.names == ("t",) and connection.tables["t"] is good


def test_tables_are_found_in_any_case() -> None:
    catalog = Catalog(lambda name: None)
    orders = catalog.add(arrow_table("Orders", pa.table({"a": [1]})))
    assert catalog["orders"] is catalog["ORDERS"] is catalog["Orders"] is orders and "oRDERS" in catalog
    small = catalog.add(arrow_table("orders", pa.table({"a": [1]})))
    assert catalog["orders"] is small and catalog["Orders"] is orders
    with pytest.raises(NotFound, match="there is no table 'ORDERS'; there are|did you mean"):
        catalog["ORDERS"]
    catalog.drop("orders")
    catalog.drop("ORDERS")
    assert catalog.names == ()
