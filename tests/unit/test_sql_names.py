"""Names of tables and columns: spelled in any case, registered again, and left alone when registering fails."""

from __future__ import annotations

import pyarrow as pa
import pytest

from jumpgate.client.sql.catalog import Catalog, Table, arrow_table
from jumpgate.client.sql.preparation import prepare
from jumpgate.errors import InvalidDataflow, NotFound

TRIPS = arrow_table("Trips", pa.table({"VendorID": [1], "Date": [2], "fare": [3], "Größe": [4], "a b": [5]}))
OTHERS = (
    arrow_table("vendors", pa.table({"vendorid": [1], "Name": ["x"]})),
    arrow_table("twice", pa.table({"X": [1], "x": [2]})),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT VendorID FROM Trips", 'SELECT "VendorID" FROM "Trips"'),
        ("SELECT vendorid, FARE FROM TRIPS t", 'SELECT "VendorID", FARE FROM "Trips" t'),
        ('SELECT "vendorID" FROM "trips"', 'SELECT "VendorID" FROM "Trips"'),
        ("SELECT trips.vendorid AS vendorid FROM trips ORDER BY VENDORID",
         'SELECT "Trips"."VendorID" AS "VendorID" FROM "Trips" ORDER BY "VendorID"'),
        ("SELECT t.date, DATE '2024-01-01' FROM trips t", "SELECT t.\"Date\", DATE '2024-01-01' FROM \"Trips\" t"),
        ("SELECT größe, 'FARE' FROM \"Trips\" -- DATE", "SELECT \"Größe\", 'FARE' FROM \"Trips\" -- DATE"),
        ("SELECT vendorid(1), fare FROM \"Trips\"", None),
        ('SELECT VendorID FROM "Trips", vendors', None),
        ("SELECT name FROM vendors", 'SELECT "Name" FROM vendors'),
        ('SELECT X, "x" FROM twice', None),
        ("SELECT VendorID FROM unknown", None),
    ],
)  # fmt: skip
def test_names_are_spelled_as_the_tables_spell_them(text: str, expected: str | None) -> None:
    found = prepare(text, "datafusion", (TRIPS, *OTHERS))
    assert found.text == (expected or text)
    assert prepare(text, "datafusion").text is text


def test_spelling_and_meaning_are_written_together() -> None:
    text = "SELECT avg(VendorID) / 2 FROM Trips WHERE fare IS DISTINCT FROM VendorID AND fare = 1e3"
    assert prepare(text, "duckdb", [TRIPS]).text == (
        'SELECT avg(CAST("VendorID" AS DOUBLE)) *CAST(\'+1\' AS DOUBLE)/ 2 FROM "Trips" '
        "WHERE (fare IS DISTINCT FROM \"VendorID\") AND fare = CAST('+1e3' AS DOUBLE)"
    )


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
