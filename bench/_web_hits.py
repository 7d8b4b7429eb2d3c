"""Hits of web sites: one wide table of skewed integers and texts, and 43 queries of the kinds that ClickBench asks.

Rows lie by site, and within a site roughly by day and user, as they do where such a table is filled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import jumpgate
from bench._measure import Figure, alternate, geometric_mean, medians, remark

FIGURE, TARGET = "clickbench_vs_duckdb", 1.2
THREADS = len(os.sched_getaffinity(0))
RUNS, SECONDS_MAX = 5, 20.0
GROUP_ROWS = 500_000

#: a number in [0, 1) of a row or of a group of rows, another one for each name
MACROS = """
CREATE MACRO part(i, name) AS (hash(hash(i, name)) >> 11)::DOUBLE / 9007199254740992;
CREATE MACRO pick(i, name, n) AS floor(part(i, name) * n)::BIGINT;
CREATE MACRO skewed(i, name, n) AS floor(pow(part(i, name), 4) * n)::BIGINT;
CREATE MACRO word(n) AS ['garden', 'winter', 'ticket', 'cheap', 'map', 'how to', 'recipe', 'online', 'price', 'blue',
    'used', 'car', 'football', 'news', 'weather', 'film', 'photo', 'song', 'école', 'мост', 'video', 'house', 'city',
    'hotel', 'river', 'train', 'piano', 'school', 'doctor', 'lamp', 'boat'][1 + n % 31];
CREATE MACRO words(n) AS concat_ws(' ', word(n), word(n // 31), word(n // 961 + 5), n % 97);
CREATE MACRO address(n) AS concat('http', CASE WHEN n % 3 = 0 THEN 's' ELSE '' END, '://',
    CASE WHEN n % 5 = 0 THEN 'www.' ELSE '' END, word(n // 7), '-', n % 1009, '.example.',
    ['com', 'org', 'net', 'info'][1 + n % 4], '/', word(n // 11), '/', word(n // 13), '/page', n,
    CASE WHEN n % 71 = 3 THEN '?from=google' WHEN n % 2 = 0 THEN concat('?id=', n * 7919) ELSE '' END);
"""

#: column → its SQL, of row i of `rows`; queries use these
COLUMNS = {
    "hit_id": "(hash(i, 'hit') >> 1)::BIGINT",
    "site_id": "(1 + floor(2000 * pow(i / rows, 4)))::INTEGER",
    "hit_date": "DATE '2021-07-01' + ((i % 60000) * 31 // 60000)::INTEGER",
    "hit_time": "(DATE '2021-07-01' + ((i % 60000) * 31 // 60000)::INTEGER) + to_seconds(pick(i, 'second', 86400)) ",
    "user_id": "(hash(skewed(i // 6, 'user', rows // 4), 'id') >> 1)::BIGINT",
    "region_id": "(skewed(i // 6, 'region', 3000))::INTEGER",
    "client_ip": "(hash(skewed(i // 6, 'user', rows // 5), 'ip') >> 33)::INTEGER",
    "system_id": "(skewed(i // 6, 'system', 60))::TINYINT",
    "agent_id": "(skewed(i // 6, 'agent', 90))::SMALLINT",
    "agent": "concat('Mozilla/5.0 (', ['X11', 'Windows NT 10.0', 'Macintosh', 'Linux'][1 + skewed(i // 6, 'system', 60)"
    " % 4], ') Browser/', skewed(i // 6, 'agent', 90), '.', skewed(i // 6, 'minor', 40))",
    "phone_id": "(CASE WHEN part(i // 6, 'phone') < 0.1 THEN 1 + skewed(i // 6, 'model', 80) ELSE 0 END)::SMALLINT",
    "phone_model": "CASE WHEN part(i // 6, 'phone') < 0.06 THEN concat(['Nova ', 'Pixel', 'i', 'Desk ', 'One '][1 +"
    " skewed(i // 6, 'model', 80) % 5], skewed(i // 6, 'model', 80)) ELSE '' END",
    "engine_id": "(CASE WHEN part(i, 'searched') < 0.13 THEN 1 + skewed(i, 'engine', 40) ELSE 0 END)::SMALLINT",
    "phrase": "CASE WHEN part(i, 'searched') < 0.13 THEN words(skewed(i, 'phrase', rows // 5)) ELSE '' END",
    "campaign_id": "(CASE WHEN part(i, 'campaign') < 0.006 THEN 1 + skewed(i, 'which', 30) ELSE 0 END)::TINYINT",
    "source_id": "(pick(i, 'source', 12) - 1)::TINYINT",
    "url": "address(page)",
    "url_hash": "(hash(page, 'url') >> 1)::BIGINT",
    "title": "concat(words(page // 3), ' | ', word(page), CASE WHEN page % 83 = 1 THEN ' on Google' ELSE '' END)",
    "referer": "CASE WHEN part(i, 'referred') < 0.8 THEN address(skewed(i, 'referer', rows // 2)) ELSE '' END",
    "referer_hash": "(hash(skewed(i, 'referer', rows // 2), 'referer') >> 1)::BIGINT",
    "is_refresh": "(part(i, 'refresh') < 0.1)::TINYINT",
    "is_link": "(part(i, 'link') < 0.05)::TINYINT",
    "is_download": "(part(i, 'download') < 0.01)::TINYINT",
    "is_counted": "(part(i, 'counted') < 0.95)::TINYINT",
    "screen_width": "([0, 1024, 1280, 1366, 1440, 1920, 2560][1 + skewed(i // 6, 'screen', 7)] +"
    " pick(i // 6, 'odd', 3))::SMALLINT",
    "window_width": "pick(i // 6, 'width', 2000)::SMALLINT",
    "window_height": "pick(i // 6, 'height', 1200)::SMALLINT",
}
#: kind of the other columns → how many there are, and SQL of the n-th: most are small, rare or the same in all rows
OTHERS = {
    "flag": (30, "(part(i, {n}) < 0.0{n})::TINYINT"),
    "nothing": (12, "0::SMALLINT"),
    "small": (12, "skewed(i // 6, {n}, 250)::UTINYINT"),
    "medium": (8, "skewed(i, {n}, 40000)::USMALLINT"),
    "count": (4, "skewed(i, {n}, 3000000000)::UINTEGER"),
    "hash": (3, "hash(skewed(i, {n}, 100000), {n})"),
    "label": (3, "CASE WHEN part(i, {n}) < 0.02 THEN word(pick(i, {n}, 31)) ELSE '' END"),
}

_SUMS = ", ".join(f"sum(screen_width + {n}) s{n}" for n in range(90))
_COUNTED = "site_id = 7 AND hit_date BETWEEN DATE '2021-07-01' AND DATE '2021-07-31'"
#: kind → text; the order of each result is complete, so that an answer is one answer
QUERIES = {
    "all": "SELECT count(*) n FROM hits",
    "rare integer": "SELECT count(*) n FROM hits WHERE campaign_id <> 0",
    "sums": "SELECT sum(campaign_id) s, count(*) n, avg(screen_width) a FROM hits",
    "mean of long": "SELECT avg(user_id) a FROM hits",
    "distinct long": "SELECT count(DISTINCT user_id) n FROM hits",
    "distinct text": "SELECT count(DISTINCT phrase) n FROM hits",
    "first and last day": "SELECT min(hit_date) a, max(hit_date) b FROM hits",
    "rare groups": "SELECT campaign_id, count(*) n FROM hits WHERE campaign_id <> 0 GROUP BY 1 ORDER BY n DESC, 1",
    "distinct by region": "SELECT region_id, count(DISTINCT user_id) u FROM hits GROUP BY 1 ORDER BY u DESC, 1"
    " LIMIT 10",
    "many by region": "SELECT region_id, sum(campaign_id) s, count(*) n, avg(screen_width) a, count(DISTINCT user_id) u"
    " FROM hits GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "distinct by model": "SELECT phone_model, count(DISTINCT user_id) u FROM hits WHERE phone_model <> ''"
    " GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "distinct by phone, model": "SELECT phone_id, phone_model, count(DISTINCT user_id) u FROM hits"
    " WHERE phone_model <> '' GROUP BY 1, 2 ORDER BY u DESC, 1, 2 LIMIT 10",
    "phrases": "SELECT phrase, count(*) n FROM hits WHERE phrase <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "distinct by phrase": "SELECT phrase, count(DISTINCT user_id) u FROM hits WHERE phrase <> ''"
    " GROUP BY 1 ORDER BY u DESC, 1 LIMIT 10",
    "engine, phrase": "SELECT engine_id, phrase, count(*) n FROM hits WHERE phrase <> ''"
    " GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "users": "SELECT user_id, count(*) n FROM hits GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "user, phrase": "SELECT user_id, phrase, count(*) n FROM hits GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "user, phrase by key": "SELECT user_id, phrase, count(*) n FROM hits GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 10",
    "user, minute, phrase": "SELECT user_id, extract(minute FROM hit_time) m, phrase, count(*) n FROM hits"
    " GROUP BY 1, 2, 3 ORDER BY n DESC, 1, 2, 3 LIMIT 10",
    "one user": "SELECT user_id, hit_id FROM hits WHERE user_id = {user} ORDER BY 2 LIMIT 1000",
    "like": "SELECT count(*) n FROM hits WHERE url LIKE '%google%'",
    "least url by phrase": "SELECT phrase, min(url) u, count(*) n FROM hits WHERE url LIKE '%google%' AND phrase <> ''"
    " GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "like and unlike": "SELECT phrase, min(url) u, min(title) t, count(*) n, count(DISTINCT user_id) d FROM hits"
    " WHERE title LIKE '%Google%' AND url NOT LIKE '%.org%' AND phrase <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "all columns": "SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY hit_time, hit_id LIMIT 10",
    "first phrases": "SELECT phrase FROM hits WHERE phrase <> '' ORDER BY hit_time, phrase LIMIT 10",
    "least phrases": "SELECT phrase FROM hits WHERE phrase <> '' ORDER BY phrase LIMIT 10",
    "first and least phrases": "SELECT hit_time, phrase FROM hits WHERE phrase <> '' ORDER BY 1, 2 LIMIT 10",
    "length by site": "SELECT site_id, avg(length(url)) l, count(*) n FROM hits WHERE url <> ''"
    " GROUP BY 1 HAVING count(*) > 1000 ORDER BY l DESC, 1 LIMIT 25",
    "domains of referers": r"SELECT regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1') k,"
    " avg(length(referer)) l, count(*) n, min(referer) m FROM hits WHERE referer <> '' AND is_refresh = 1"
    " GROUP BY 1 HAVING count(*) > 10 ORDER BY l DESC, 1 LIMIT 25",
    "90 sums": f"SELECT {_SUMS} FROM hits",
    "engine, address": "SELECT engine_id, client_ip, count(*) n, sum(is_refresh) r, avg(screen_width) a FROM hits"
    " WHERE phrase <> '' GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "hit, address of phrases": "SELECT hit_id, client_ip, count(*) n, sum(is_refresh) r, avg(screen_width) a FROM hits"
    " WHERE phrase <> '' GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "hit, address": "SELECT hit_id, client_ip, count(*) n, sum(is_refresh) r, avg(screen_width) a FROM hits"
    " GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "urls": "SELECT url, count(*) n FROM hits GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "one, url": "SELECT 1 one, url, count(*) n FROM hits GROUP BY 1, 2 ORDER BY n DESC, 2 LIMIT 10",
    "addresses less one": "SELECT client_ip, client_ip - 1 a, client_ip - 2 b, client_ip - 3 c, count(*) n FROM hits"
    " GROUP BY 1, 2, 3, 4 ORDER BY n DESC, 1 LIMIT 10",
    "urls of a site": f"SELECT url, count(*) n FROM hits WHERE {_COUNTED} AND is_counted = 1 AND is_refresh = 0"
    " AND url <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "titles of a site": f"SELECT title, count(*) n FROM hits WHERE {_COUNTED} AND is_counted = 1 AND is_refresh = 0"
    " AND title <> '' GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10",
    "links of a site": f"SELECT url, count(*) n FROM hits WHERE {_COUNTED} AND is_refresh = 0 AND is_link <> 0"
    " AND is_download = 0 GROUP BY 1 ORDER BY n DESC, 1 LIMIT 10 OFFSET 100",
    "ways into a site": "SELECT source_id, engine_id, campaign_id,"
    " CASE WHEN engine_id = 0 AND campaign_id = 0 THEN referer ELSE '' END f, url t, count(*) n"
    f" FROM hits WHERE {_COUNTED} AND is_refresh = 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY n DESC, 1, 2, 3, 4, 5"
    " LIMIT 10 OFFSET 1000",
    "hashes of a site": f"SELECT url_hash, hit_date, count(*) n FROM hits WHERE {_COUNTED} AND is_refresh = 0"
    " AND source_id IN (-1, 6) GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10 OFFSET 100",
    "windows of a site": f"SELECT window_width, window_height, count(*) n FROM hits WHERE {_COUNTED}"
    " AND is_refresh = 0 AND is_counted = 1 GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10 OFFSET 1000",
    "minutes of a site": "SELECT date_trunc('minute', hit_time) m, count(*) n FROM hits WHERE site_id = 7"
    " AND hit_date BETWEEN DATE '2021-07-20' AND DATE '2021-07-21' AND is_refresh = 0 AND is_counted = 1"
    " GROUP BY 1 ORDER BY 1 LIMIT 10 OFFSET 100",
}


def rows_of(facts: int) -> int:
    """Return how many hits are measured beside so many rows of facts."""
    return facts // 2


def generated(rows: int, folder: Path) -> Path:
    """Return the file of so many hits, made where it is missing."""
    file = folder / "hits.parquet"
    if file.exists():
        return file
    remark(f"generating {rows:,} hits in {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    others = {f"{kind}_{n}": text.format(n=n) for kind, (count, text) in OTHERS.items() for n in range(1, count + 1)}
    columns = ", ".join(f"{text} AS {name}" for name, text in (COLUMNS | others).items())
    with duckdb.connect(config={"threads": THREADS}) as duck:
        duck.execute(MACROS)
        unfinished = file.with_suffix(".part")
        writer = None
        for begin in range(0, rows, GROUP_ROWS):
            some = f"range({begin}, {min(begin + GROUP_ROWS, rows)}) numbers(i)"
            numbered = f"SELECT i, {rows}::BIGINT AS rows, skewed(i, 'page', {rows} // 3) AS page FROM {some}"
            table = duck.execute(f"SELECT {columns} FROM ({numbered})").to_arrow_table()
            writer = writer or pq.ParquetWriter(unfinished, table.schema)
            writer.write_table(table, row_group_size=GROUP_ROWS)
        assert writer is not None
        writer.close()
    unfinished.rename(file)
    return file


def figure(rows: int, folder: Path, names: tuple[str, ...] = ()) -> Figure:
    """DuckDB's time ÷ Jumpgate's over all queries, or those named; their answers are compared first."""
    file = generated(rows, folder)
    with jumpgate.connect(offload="always") as jg, duckdb.connect(config={"threads": THREADS}) as duck:
        jg.register("hits", file)
        duck.execute(f"CREATE VIEW hits AS FROM '{file}'")
        user = duck.execute("SELECT user_id FROM hits GROUP BY 1 HAVING count(*) = 12 ORDER BY 1 LIMIT 1").fetchone()
        ratios = []
        for name, text in QUERIES.items():
            if names and name not in names:
                continue
            asked = text.format(user=user[0]) if name == "one user" else text
            ratios.append(_ratio(name, asked, jg, duck))
    what = f"geometric mean of {len(ratios)} queries of ClickBench's kinds, beside DuckDB, {rows:,} rows"
    return Figure(FIGURE, geometric_mean(ratios), TARGET, "higher", what)


def _ratio(name: str, text: str, jg: Any, duck: duckdb.DuckDBPyConnection) -> float:
    contenders: dict[str, Callable[[], pa.Table]] = {
        "jumpgate": lambda: jg.sql(text).to_arrow(),
        "duckdb": lambda: duck.execute(text).to_arrow_table(),
    }
    answers = {engine: _rows_of(run()) for engine, run in contenders.items()}
    if answers["jumpgate"] != answers["duckdb"]:
        raise SystemExit(f"{name}: jumpgate and duckdb differ")
    times = medians(alternate(contenders, RUNS, SECONDS_MAX))
    ratio = times["duckdb"] / times["jumpgate"]
    words = ", ".join(f"{engine} {seconds * 1000:.0f}" for engine, seconds in times.items())
    remark(f"  {name}: {ratio:.2f} (ms: {words})")
    return ratio


def _rows_of(table: pa.Table) -> list[list[Any]]:
    """The rows in their order, floats by nine digits."""
    return [[f"{v:.9g}" if isinstance(v, float) else v for v in row.values()] for row in table.to_pylist()]
