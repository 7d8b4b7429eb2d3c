"""Structs, arrays and maps of files: passed on, and taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark_cases import ANSI, FALLS_BACK, OFFLOADED, REFUSED, WHOLE, Case, catalog, files, text

#: as the three formats have them that hold such values
FORMATS = ("parquet", "orc", "json")
SCHEMA = """id int, s struct<a:int,b:string,d:date,n:decimal(9,2),in:struct<x:double,y:array<int>>>, l array<int>,
            t array<string>, m map<string,bigint>, r array<struct<k:int,v:string>>, w decimal(25,3)"""
ROWS = """select * from values
    (1, named_struct('a', 7, 'b', 'x', 'd', date'2024-02-29', 'n', 1.50bd,
                     'in', named_struct('x', 0.5d, 'y', array(1, null, 3))),
     array(1, 2, null), array('p', '', null), map('k', 1L, 'j', null), array(named_struct('k', 1, 'v', 'one'), null),
     1.5bd),
    (2, named_struct('a', null, 'b', null, 'd', null, 'n', null, 'in', null), array(), array(), map(),
     array(), null),
    (3, null, null, null, null, null, -2.001bd),
    (4, named_struct('a', 7, 'b', 'äöü', 'd', date'1969-07-20', 'n', -2.25bd,
                     'in', named_struct('x', null, 'y', array())),
     array(5), array('long text of more than a few bytes'), map('', -1L), array(named_struct('k', null, 'v', 'z')),
     0.0bd)
    as v(id, s, l, t, m, r, w)"""
#: over rows of these
QUERIES = {
    "fields": "select id, s.a, s.b, s.d, s.n, s.`in`.x, s.a + 1 c, s.b || '!' e from t",
    "a filter by a field": "select id from t where s.a = 7 and s.b <> 'x' or s.`in`.x > 0.1 or s.d < date'2000-01-01'",
    "a filter by a struct": "select id, s is null n, s.`in` is not null i from t where s is not null",
    "groups by a field": "select s.a, count(*), sum(s.n), max(s.b), min(s.d) from t group by s.a",
    "a join by a field": "select x.id, y.s.b from t x join t y on x.s.a = y.s.a and x.id < y.id",
    "an order by a field": "select id, s.b from t order by s.n desc nulls last, id limit 3",
    "whole values": "select id, s, l, t, m, r, w from t",
    "whole values of a filter": "select s.`in`, l, m, r from t where id <> 3",
    "whole values of a join": "select x.l, x.s, y.r from t x join t y on x.id + 1 = y.id",
    "elements": "select id, e from t lateral view explode(l) v as e",
    "elements or none": "select id, e from t lateral view outer explode(t) v as e where id <> 4",
    "elements that are structs": "select id, e.k, e.v from t lateral view explode(r) v as e",
    "a field of elements": "select id, e.v from t lateral view explode(r) v as e where e.k is not null",
    "structs as columns": "select id, k, v from t lateral view inline(r) i as k, v",
    "elements of a field": "select id, e from t lateral view explode(s.`in`.y) v as e",
    "entries": "select id, k, v from t lateral view explode(m) x as k, v",
    "entries or none": "select id, k, v + 1 from t lateral view outer explode(m) x as k, v where k is null or k <> 'j'",
    "groups of entries": "select k, count(v), sum(v) from t lateral view explode(m) x as k, v group by k",
    "sizes": "select id, size(l), size(m), size(r), array_size(t), cardinality(s.`in`.y) from t where size(l) <> 1",
    "elements by place": """select id, get(l, 0), get(l, 1), try_element_at(t, -1), get(r, 0).v,
        try_element_at(s.`in`.y, 3) from t""",
    "elements that arrays have": """select id, array_contains(l, 1), array_contains(t, 'p'), array_contains(l, id),
        array_contains(s.`in`.y, 4) from t""",
    "places and extremes of elements": """select id, array_position(l, 3), array_position(t, ''), array_position(l, id),
        array_min(l), array_max(t), array_min(s.`in`.y) from t""",
    "values of keys": "select id, m['k'], element_at(m, 'j') + 1, m[s.b] from t where m[''] is null",
    "arrays of arrays' elements": """select id, array_distinct(l), array_distinct(t), sort_array(l),
        sort_array(t, false), array_sort(l), slice(l, 2, 1), slice(t, -2, 9), concat(l, s.`in`.y),
        concat(t, t, array('q', null))
        from t where array_distinct(l) is null or id < 9""",
    "arrays as sets": """select id, array_union(l, array(1, 9, null)), array_intersect(l, array(2, null)),
        array_except(t, array('p')), array_union(t, t), array_except(l, s.`in`.y) from t""",
    "texts of arrays": "select id, array_join(t, '-'), array_join(t, ', ', '?'), array_join(t, s.b) from t",
    "keys and values of maps": """select id, map_keys(m), map_values(m), map_contains_key(m, 'k'), size(map_keys(m)),
        map_from_arrays(map_keys(m), map_values(m)) from t""",
    "arrays of several": """select id, array(id, s.a, null), array(s.b, '', 'ä'), array(l, s.`in`.y),
        flatten(array(l, array(7))), flatten(array(l, s.`in`.y)), arrays_zip(l, t), array(s.n, 0.5bd) from t""",
    "structs and maps of several": """select id, named_struct('a', id, 'b', t, 'C', s.n), struct(id, s.b).b,
        map(id, s.b, -1, 'none'), map('k', l), struct(s.`in`.y as y, w), map('a', array(1), 'b', null) from t""",
    "rows of structs that are collected": """select e.id, e.b, k from (select s.a k, collect_list(struct(id, s.b b)) c
        from t group by s.a) lateral view explode(c) v as e""",
    "structs that are collected": """select s.a, size(collect_list(s)), size(collect_list(id)), sum(id)
        from t group by s.a""",
    "groups of elements": "select e, count(*) from t lateral view explode(l) v as e group by e",
}  # fmt: skip
#: what is Spark's, above a table that is not
KEPT = (
    "s.`in` = named_struct('x', 0.5d, 'y', array(1, null, 3))", "l = array(5)", "to_json(s)",
    "transform(l, x -> x + 1)", "exists(l, x -> x > 1)", "array_distinct(r)",
)  # fmt: skip


def other_case(format: str) -> Case:
    """Spark finds fields of Parquet and ORC by names in any case."""

    def make(session: SparkSession, folder: Path) -> DataFrame:
        for n, name in enumerate(("a", "A")):
            frame = session.sql(f"select {n} id, named_struct('{name}', {n}, 'c', 1) s")
            frame.coalesce(1).write.mode("append").format(format).save(str(folder / "t"))
        return session.read.format(format).schema("id int, s struct<a:int,c:int>").load(str(folder / "t"))

    return Case(f"{format} of fields in other cases", FALLS_BACK, make, {}, "select id, s.a, s.c from t")


def cases() -> Iterator[Case]:
    for format in FORMATS:
        table = files(format, SCHEMA, ROWS)
        for name, query in QUERIES.items():
            # days in a struct that is passed on as a whole may be of the Julian calendar
            outcome = FALLS_BACK if format == "orc" and name in ("whole values", "whole values of a join") else WHOLE
            yield Case(f"{format}: {name}", outcome, table, {}, query)
        lacking = files(
            format, "id int, s struct<a:int,z:string>", "select 1 id, named_struct('a', 1, 'z', 'y') s",
            "select 2 id, named_struct('a', 2) s", "select 3 id, cast(null as struct<a:int>) s",
        )  # fmt: skip
        yield Case(f"{format} that lacks a field", WHOLE, lacking, {}, "select id, s.a, s.z, s.z is null n from t")
        yield Case(f"{format} that lacks a field of whole values", WHOLE, lacking, {}, "select id, s from t")
    for format in ("parquet", "orc"):
        yield other_case(format)
    table = files("parquet", SCHEMA, ROWS)
    for kept in KEPT:
        yield Case(f"a table below {kept}", OFFLOADED, table, {}, f"select id, {kept} c from t where id > 0")
    places = "select id, l[id], l[-1], get(l, id - 1), try_element_at(t, -id), element_at(l, id), m[s.b] from t"
    for ansi, outcome in (("false", WHOLE), ("true", FALLS_BACK)):
        yield Case(f"places of each row, ansi={ansi}", outcome, table, {ANSI: ansi}, places)
    present = "select id, l[id - 1], element_at(t, id) from t where id = 1"
    yield Case("places of each row that has them", WHOLE, table, {ANSI: "true"}, present)
    for failing in ("element_at(l, id - 1)", "slice(l, id - 1, 1)", "map(id, 1, 1, 2)", "map(s.b, 1)"):
        yield Case(f"an error of {failing}", FALLS_BACK, table, {}, f"select id, {failing} from t")
    yield Case("groups by a struct", OFFLOADED, table, {}, "select s, count(*) from t group by s")
    yield Case("distinct arrays", OFFLOADED, table, {}, "select distinct l from t")
    early = files("orc", "s struct<d:date>", "select named_struct('d', date'1500-03-01') s")
    yield Case("orc of early days in structs", FALLS_BACK, early)
    moments = "select named_struct('m', timestamp'2024-02-29 12:30:00.123456') s, 1 i"
    for format, outcome in (("parquet", WHOLE), ("orc", REFUSED), ("json", REFUSED)):
        table = files(format, "s struct<m:timestamp>, i int", moments)
        yield Case(f"{format} of moments in structs", outcome, table, {}, "select s.m from t")
    yield Case("json of another type in a struct", FALLS_BACK,
               text("json", '{"s":{"a":1,"b":"x"}}\n{"s":{"a":2}}\n', "s struct<a:int,b:int>"))  # fmt: skip
    yield Case("json of another type in a field that is not read", OFFLOADED,
               text("json", '{"s":{"a":1,"b":"x"}}\n', "s struct<a:int,b:int>"), {}, "select s.a from t")  # fmt: skip
    yield Case("json of a struct that is none", FALLS_BACK, text("json", '{"s":1}\n', "s struct<a:int>"))
    yield Case("json of an array that is none", FALLS_BACK, text("json", '{"l":{"a":1}}\n', "l array<int>"))
    yield Case("a struct in a catalog", WHOLE, catalog(
        "create table m (a int, s struct<x:int,Y:string>) using parquet location 'FOLDER/m'",
        "insert into m values (1, named_struct('x', 1, 'y', 'z')), (2, null)"),
        {}, "select a, s.x, s.Y, s from t")  # fmt: skip
