"""Seven queries of TPC-DS as dataflows, each beside its SQL. Orders are made total, so that results can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.measures import avg, count, sum_
from jumpgate.dataflow.unresolved import col, f

#: gives the dataflow that reads a table, by the table's name
Tables = Callable[[str], Dataflow]


@dataclass(frozen=True)
class Query:
    number: int
    dataflow: Callable[[Tables], Dataflow]
    sql: str
    tables: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"Q{self.number}"


def q3(table: Tables) -> Dataflow:
    """Brands of one manufacturer: their sales in each November."""
    dates = table("date_dim").filter(col("d_moy") == 11).select("d_date_sk", "d_year")
    items = table("item").filter(col("i_manufact_id") == 128).select("i_item_sk", "i_brand_id", "i_brand")
    return (
        table("store_sales")
        .join(dates, left_on="ss_sold_date_sk", right_on="d_date_sk")
        .join(items, left_on="ss_item_sk", right_on="i_item_sk")
        .aggregate(by=["d_year", "i_brand", "i_brand_id"], sum_agg=sum_("ss_ext_sales_price"))
        .select("d_year", col("i_brand_id").alias("brand_id"), col("i_brand").alias("brand"), "sum_agg")
        .top(100, "d_year", col("sum_agg").desc(), "brand_id", "brand")
    )


Q3_SQL = """
SELECT d_year, i_brand_id AS brand_id, i_brand AS brand, sum(ss_ext_sales_price) AS sum_agg
FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manufact_id = 128 AND d_moy = 11
GROUP BY d_year, i_brand, i_brand_id
ORDER BY d_year, sum_agg DESC, brand_id, brand
LIMIT 100
"""


def q12(table: Tables) -> Dataflow:
    """Web sales of items in a month, and each item's share of its class. The window is an aggregate joined back."""
    dates = table("date_dim").filter(col("d_date").between("1999-02-22", "1999-03-24")).select("d_date_sk")
    keys = ["i_item_id", "i_item_desc", "i_category", "i_class", "i_current_price"]
    items = table("item").filter(col("i_category").isin(["Sports", "Books", "Home"])).select("i_item_sk", *keys)
    revenue = (
        table("web_sales")
        .join(dates, left_on="ws_sold_date_sk", right_on="d_date_sk")
        .join(items, left_on="ws_item_sk", right_on="i_item_sk")
        .aggregate(by=keys, itemrevenue=sum_("ws_ext_sales_price"))
    )
    classes = revenue.aggregate(by=[col("i_class").alias("class")], class_revenue=sum_("itemrevenue"))
    return (
        revenue.join(  # equal classes, where NULL equals NULL as in PARTITION BY
            classes,
            left_on=[f.coalesce(col("i_class"), ""), col("i_class").is_null()],
            right_on=[f.coalesce(col("class"), ""), col("class").is_null()],
        )
        .select(
            *keys, "itemrevenue",
            revenueratio=col("itemrevenue").cast("float64") * 100.0 / col("class_revenue").cast("float64"),
        )
        .top(100, "i_category", "i_class", "i_item_id", "i_item_desc", "revenueratio")
    )  # fmt: skip


Q12_SQL = """
SELECT i_item_id, i_item_desc, i_category, i_class, i_current_price, sum(ws_ext_sales_price) AS itemrevenue,
       sum(ws_ext_sales_price) * 100.0000 / sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class) AS revenueratio
FROM web_sales, item, date_dim
WHERE ws_item_sk = i_item_sk AND i_category IN ('Sports', 'Books', 'Home') AND ws_sold_date_sk = d_date_sk
  AND d_date BETWEEN DATE '1999-02-22' AND DATE '1999-03-24'
GROUP BY i_item_id, i_item_desc, i_category, i_class, i_current_price
ORDER BY i_category, i_class, i_item_id, i_item_desc, revenueratio
LIMIT 100
"""


def q42(table: Tables) -> Dataflow:
    """Sales by category in one November."""
    dates = table("date_dim").filter(col("d_moy") == 11, col("d_year") == 2000).select("d_date_sk", "d_year")
    items = table("item").filter(col("i_manager_id") == 1).select("i_item_sk", "i_category_id", "i_category")
    return (
        table("store_sales")
        .join(dates, left_on="ss_sold_date_sk", right_on="d_date_sk")
        .join(items, left_on="ss_item_sk", right_on="i_item_sk")
        .aggregate(by=["d_year", "i_category_id", "i_category"], sales=sum_("ss_ext_sales_price"))
        .top(100, col("sales").desc(), "d_year", "i_category_id", "i_category")
    )


Q42_SQL = """
SELECT d_year, i_category_id, i_category, sum(ss_ext_sales_price) AS sales
FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id = 1 AND d_moy = 11 AND d_year = 2000
GROUP BY d_year, i_category_id, i_category
ORDER BY sales DESC, d_year, i_category_id, i_category
LIMIT 100
"""


def q52(table: Tables) -> Dataflow:
    """Sales by brand in one November."""
    dates = table("date_dim").filter(col("d_moy") == 11, col("d_year") == 2000).select("d_date_sk", "d_year")
    items = table("item").filter(col("i_manager_id") == 1).select("i_item_sk", "i_brand_id", "i_brand")
    return (
        table("store_sales")
        .join(dates, left_on="ss_sold_date_sk", right_on="d_date_sk")
        .join(items, left_on="ss_item_sk", right_on="i_item_sk")
        .aggregate(by=["d_year", "i_brand", "i_brand_id"], ext_price=sum_("ss_ext_sales_price"))
        .select("d_year", col("i_brand_id").alias("brand_id"), col("i_brand").alias("brand"), "ext_price")
        .top(100, "d_year", col("ext_price").desc(), "brand_id", "brand")
    )


Q52_SQL = """
SELECT d_year, i_brand_id AS brand_id, i_brand AS brand, sum(ss_ext_sales_price) AS ext_price
FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id = 1 AND d_moy = 11 AND d_year = 2000
GROUP BY d_year, i_brand, i_brand_id
ORDER BY d_year, ext_price DESC, brand_id, brand
LIMIT 100
"""


def q55(table: Tables) -> Dataflow:
    """Brands of one manager in one November."""
    dates = table("date_dim").filter(col("d_moy") == 11, col("d_year") == 1999).select("d_date_sk")
    items = table("item").filter(col("i_manager_id") == 28).select("i_item_sk", "i_brand_id", "i_brand")
    return (
        table("store_sales")
        .join(dates, left_on="ss_sold_date_sk", right_on="d_date_sk")
        .join(items, left_on="ss_item_sk", right_on="i_item_sk")
        .aggregate(by=["i_brand", "i_brand_id"], ext_price=sum_("ss_ext_sales_price"))
        .select(col("i_brand_id").alias("brand_id"), col("i_brand").alias("brand"), "ext_price")
        .top(100, col("ext_price").desc(), "brand_id", "brand")
    )


Q55_SQL = """
SELECT i_brand_id AS brand_id, i_brand AS brand, sum(ss_ext_sales_price) AS ext_price
FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id = 28 AND d_moy = 11 AND d_year = 1999
GROUP BY i_brand, i_brand_id
ORDER BY ext_price DESC, brand_id, brand
LIMIT 100
"""


def q65(table: Tables) -> Dataflow:
    """Items that sell at a tenth of their store's average revenue or less. Revenue is computed once and used twice."""
    dates = table("date_dim").filter(col("d_month_seq").between(1176, 1187)).select("d_date_sk")
    sales = (
        table("store_sales")
        .join(dates, left_on="ss_sold_date_sk", right_on="d_date_sk")
        .aggregate(by=["ss_store_sk", "ss_item_sk"], revenue=sum_("ss_sales_price"))
    )
    averages = sales.aggregate(by=[col("ss_store_sk").alias("store_sk")], ave=avg("revenue"))
    stores = table("store").select("s_store_sk", "s_store_name")
    details = ["i_item_desc", "i_current_price", "i_wholesale_cost", "i_brand"]
    items = table("item").select("i_item_sk", *details)
    return (
        sales.join(averages, left_on="ss_store_sk", right_on="store_sk")
        .filter(col("revenue").cast("float64") <= 0.1 * col("ave"))
        .join(stores, left_on="ss_store_sk", right_on="s_store_sk")
        .join(items, left_on="ss_item_sk", right_on="i_item_sk")
        .top(
            100,
            col("s_store_name").asc(nulls_first=True),
            col("i_item_desc").asc(nulls_first=True),
            "revenue",
            "ss_item_sk",
        )
        .select("s_store_name", "i_item_desc", "revenue", "i_current_price", "i_wholesale_cost", "i_brand")
    )


Q65_SQL = """
WITH sa AS (
  SELECT ss_store_sk, ss_item_sk, sum(ss_sales_price) AS revenue
  FROM store_sales, date_dim
  WHERE ss_sold_date_sk = d_date_sk AND d_month_seq BETWEEN 1176 AND 1187
  GROUP BY ss_store_sk, ss_item_sk
), sb AS (
  SELECT ss_store_sk, avg(revenue) AS ave FROM sa GROUP BY ss_store_sk
)
SELECT s_store_name, i_item_desc, sa.revenue, i_current_price, i_wholesale_cost, i_brand
FROM store, item, sb, sa
WHERE sb.ss_store_sk = sa.ss_store_sk AND sa.revenue <= 0.1 * sb.ave
  AND s_store_sk = sa.ss_store_sk AND i_item_sk = sa.ss_item_sk
ORDER BY s_store_name NULLS FIRST, i_item_desc NULLS FIRST, sa.revenue, sa.ss_item_sk
LIMIT 100
"""


def q96(table: Tables) -> Dataflow:
    """Count the sales of one chain in half an hour of the evening to households of one size."""
    times = table("time_dim").filter(col("t_hour") == 20, col("t_minute") >= 30).select("t_time_sk")
    households = table("household_demographics").filter(col("hd_dep_count") == 7).select("hd_demo_sk")
    stores = table("store").filter(col("s_store_name") == "ese").select("s_store_sk")
    return (
        table("store_sales")
        .join(times, left_on="ss_sold_time_sk", right_on="t_time_sk")
        .join(households, left_on="ss_hdemo_sk", right_on="hd_demo_sk")
        .join(stores, left_on="ss_store_sk", right_on="s_store_sk")
        .aggregate(sales=count())
    )


Q96_SQL = """
SELECT count(*) AS sales
FROM store_sales, household_demographics, time_dim, store
WHERE ss_sold_time_sk = t_time_sk AND ss_hdemo_sk = hd_demo_sk AND ss_store_sk = s_store_sk
  AND t_hour = 20 AND t_minute >= 30 AND hd_dep_count = 7 AND s_store_name = 'ese'
"""

_SALES = ("store_sales", "date_dim", "item")
QUERIES = {
    query.name: query
    for query in (
        Query(3, q3, Q3_SQL, _SALES),
        Query(12, q12, Q12_SQL, ("web_sales", "item", "date_dim")),
        Query(42, q42, Q42_SQL, _SALES),
        Query(52, q52, Q52_SQL, _SALES),
        Query(55, q55, Q55_SQL, _SALES),
        Query(65, q65, Q65_SQL, (*_SALES, "store")),
        Query(96, q96, Q96_SQL, ("store_sales", "household_demographics", "time_dim", "store")),
    )
}
