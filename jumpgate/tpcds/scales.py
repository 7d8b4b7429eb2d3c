"""Rows of the tables of TPC-DS by scale factor, and the tables whose rows its columns number (specification 2.13, table
3-2)."""

from __future__ import annotations

import math

#: the scale factors of ROWS
SCALES = (1, 1_000, 3_000, 10_000, 30_000, 100_000)
#: rows of the tables that grow
ROWS = {
    "call_center": (6, 42, 48, 54, 60, 60),
    "catalog_page": (11_718, 30_000, 36_000, 40_000, 46_000, 50_000),
    "catalog_returns": (144_067, 143_996_756, 432_018_033, 1_440_033_112, 4_319_925_093, 14_400_175_879),
    "catalog_sales": (1_441_548, 1_439_980_416, 4_320_078_880, 14_399_964_710, 43_200_404_822, 143_999_334_399),
    "customer": (100_000, 12_000_000, 30_000_000, 65_000_000, 80_000_000, 100_000_000),
    "customer_address": (50_000, 6_000_000, 15_000_000, 32_500_000, 40_000_000, 50_000_000),
    "inventory": (11_745_000, 783_000_000, 1_033_560_000, 1_311_525_000, 1_627_857_000, 1_965_337_830),
    "item": (18_000, 300_000, 360_000, 402_000, 462_000, 502_000),
    "promotion": (300, 1_500, 1_800, 2_000, 2_300, 2_500),
    "reason": (35, 65, 67, 70, 72, 75),
    "store": (12, 1_002, 1_350, 1_500, 1_704, 1_902),
    "store_returns": (287_514, 287_999_764, 863_989_652, 2_879_970_104, 8_639_952_111, 28_800_018_820),
    "store_sales": (2_880_404, 2_879_987_999, 8_639_936_081, 28_799_983_563, 86_399_341_874, 287_997_818_084),
    "warehouse": (5, 20, 22, 25, 27, 30),
    "web_page": (60, 3_000, 3_600, 4_002, 4_602, 5_004),
    "web_returns": (71_763, 71_997_522, 216_003_761, 720_020_485, 2_160_007_345, 7_199_904_459),
    "web_sales": (719_384, 720_000_376, 2_159_968_881, 7_199_963_324, 21_600_036_511, 71_999_670_164),
    "web_site": (30, 54, 66, 78, 84, 96),
}
#: ends of columns' names, and the table whose rows their values number
_NUMBERED = {
    "customer_sk": "customer",
    "customer_id": "customer",
    "addr_sk": "customer_address",
    "address_sk": "customer_address",
    "address_id": "customer_address",
    "item_sk": "item",
    "item_id": "item",
    "product_name": "item",
    "store_sk": "store",
    "store_id": "store",
    "promo_sk": "promotion",
    "promo_id": "promotion",
    "catalog_page_sk": "catalog_page",
    "catalog_page_id": "catalog_page",
    "web_page_sk": "web_page",
    "web_page_id": "web_page",
    "site_sk": "web_site",
    "site_id": "web_site",
    "warehouse_sk": "warehouse",
    "warehouse_id": "warehouse",
    "call_center_sk": "call_center",
    "call_center_id": "call_center",
    "reason_sk": "reason",
    "reason_id": "reason",
    "ticket_number": "store_sales",
    "cs_order_number": "catalog_sales",
    "cr_order_number": "catalog_sales",
    "ws_order_number": "web_sales",
    "wr_order_number": "web_sales",
}


def rows(table: str, scale: float) -> float | None:
    """Return the rows of a table at a scale factor of at least 1, between those of the specification on a line of
    powers; None for a table that does not grow.

    >>> rows("store_sales", 10_000), rows("date_dim", 10_000)
    (28799983563.0, None)
    >>> round(rows("customer", 2_000))
    21392101
    """
    if table not in ROWS:
        return None
    counts = ROWS[table]
    at = max(1, min(sum(known < scale for known in SCALES), len(SCALES) - 1))
    (low, high), (few, many) = SCALES[at - 1 : at + 1], counts[at - 1 : at + 1]
    if scale in (low, high):
        return float(few if scale == low else many)
    steps = math.log(scale / low) / math.log(high / low)
    return few * math.pow(many / few, steps)


def numbered(column: str) -> str:
    """Return the table whose rows the values of a column number, or nothing.

    >>> numbered("ss_item_sk"), numbered("cr_order_number"), numbered("d_year")
    ('item', 'catalog_sales', '')
    """
    return next((table for end, table in _NUMBERED.items() if column.endswith(end)), "")
