"""Names of tables: spelled in any case, registered again, and left alone when registering fails."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jumpgate.client.sql.catalog import Catalog, Table, arrow_table
from jumpgate.errors import InvalidDataflow, NotFound


class Followers:
    """Takes changes of a catalog, and refuses tables whose name begins with `bad`."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}

    def __call__(self, name: str, table: Table | None) -> None:
        self.tables.pop(name, None)
        if table is not None:
            if table.schema.names == ["bad"]:
                raise OSError("it cannot be read")
            self.tables[name] = table


def test_registering_again_replaces() -> None:
    follower = Followers()
    catalog = Catalog(follower)
    first, second = arrow_table("t", pa.table({"a": [1]})), arrow_table("t", pa.table({"b": [1]}))
    assert catalog.add(first) is first and catalog.add(second) is second
    assert catalog["t"] is second and catalog.names == ("t",) and follower.tables == {"t": second}


def test_what_cannot_be_registered_leaves_everything_as_it_was() -> None:
    follower = Followers()
    catalog = Catalog(follower)
    bad = pa.table({"bad": [1]})
    with pytest.raises(OSError, match="cannot be read"):
        catalog.add(arrow_table("t", bad))
    assert catalog.names == () and "t" not in catalog
    good = catalog.add(arrow_table("t", pa.table({"a": [1]})))
    with pytest.raises(OSError, match="cannot be read"):
        catalog.add(arrow_table("t", bad))
    assert catalog["t"] is good and follower.tables == {"t": good}
    for name in ("", "a.b", 'a"b'):
        with pytest.raises(InvalidDataflow, match="cannot name a table"):
            catalog.add(arrow_table(name, bad))


def test_tables_are_found_in_any_case() -> None:
    catalog = Catalog(Followers())
    orders = catalog.add(arrow_table("Orders", pa.table({"a": [1]})))
    assert catalog["orders"] is catalog["ORDERS"] is catalog["Orders"] is orders and "oRDERS" in catalog
    small = catalog.add(arrow_table("orders", pa.table({"a": [1]})))
    assert catalog["orders"] is small and catalog["Orders"] is orders
    with pytest.raises(NotFound, match="there is no table 'ORDERS'; there are|did you mean"):
        catalog["ORDERS"]
    catalog.drop("orders")
    catalog.drop("ORDERS")
    assert catalog.names == ()
