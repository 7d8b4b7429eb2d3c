"""Tables of Delta Lake and Iceberg that were changed in many ways, asked with the plugin and without."""

from __future__ import annotations

from pathlib import Path

from tests.support.spark_peer import Peer

EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)  # fmt: skip
ALWAYS, OWN = (
    {"spark.jumpgate.enabled": "true", "spark.jumpgate.offload": "always"},
    {"spark.jumpgate.enabled": "false"},
)
ROWS = "select cast(id as int) a, concat('r', id) b, cast(id % 3 as int) p from range(1000)"


def made(kind: str, property: str = "", partitions: str = "") -> str:
    """Return the statement that makes a table of ROWS."""
    by = f" partitioned by ({partitions})" if partitions else ""
    name, _, value = property.partition("=")
    return (
        f"create table t using {kind}{by}" + (f" tblproperties ('{name}' = '{value}')" if name else "") + f" as {ROWS}"
    )


PARTS = (
    "create table t using {} as select id a, named_struct('x', id, 'y', concat('r', id)) s, "
    "array(named_struct('x', id)) l, map('k', named_struct('x', id, 'y', 1)) m from range(1000)"
)
RENAMED_PARTS = (
    "alter table t rename column s.x to u", "alter table t rename column l.element.x to v",
    "alter table t rename column m.value.y to w", "insert into t select a + 1000, s, l, m from t where a > 990",
)  # fmt: skip
MERGED = "write.delete.mode=merge-on-read"
INSERTED, DELETED = "insert into t values (7777, 'x', null)", "delete from t where a = 777"
VECTORS, NAMED = "delta.enableDeletionVectors=true", "delta.columnMapping.mode=name"
#: statements, and whether a query over table `t` is offloaded afterwards
CASES: dict[str, dict[str, tuple[list[str], bool]]] = {
    "delta": {
        "plain": ([made("delta")], True),
        "partitioned": ([made("delta", partitions="p")], True),
        "appended": ([made("delta"), INSERTED], True),
        "overwritten": ([made("delta"), "insert overwrite t values (1, 'x', 1)"], True),
        "rows deleted from files": ([made("delta"), DELETED], True),
        "rows deleted by vectors": ([made("delta", VECTORS), DELETED], True),
        "partitions with vectors": ([
            made("delta", VECTORS, "p"), "delete from t where a % 7 = 1 or a > 950", DELETED], True),
        "updated by vectors": ([made("delta", VECTORS), "update t set b = 'u' where a between 5 and 700"], True),
        "merged by vectors": ([
            made("delta", VECTORS), "merge into t using (select explode(sequence(990, 1010)) a) s on t.a = s.a "
            "when matched then delete when not matched then insert (a, b, p) values (s.a, 'm', 2)"], True),
        "vectors that are purged": ([made("delta", VECTORS), DELETED, "reorg table t apply (purge)"], True),
        "a renamed column": ([
            made("delta", NAMED), "alter table t rename column p to q", "alter table t add column p int",
            "insert into t values (1, 'y', 2, 3)"], True),
        "a dropped column": ([
            made("delta", NAMED), "alter table t drop column b", "alter table t add column b string",
            "insert into t values (1, 2, 'z')"], True),
        "mapped by id": ([
            made("delta", "delta.columnMapping.mode=id"), "alter table t rename column b to c", INSERTED], True),
        "renamed parts of columns": ([
            PARTS.format("delta tblproperties ('delta.columnMapping.mode' = 'name')"), *RENAMED_PARTS], True),
        "an added column alone": ([made("delta"), "alter table t add column z int"], True),
        "updated": ([made("delta"), "update t set b = null where a < 10"], True),
        "merged": ([
            made("delta"), "merge into t using (select 5 a) s on t.a = s.a when matched then delete"], True),
    },
    "iceberg": {
        "plain": ([made("iceberg")], True),
        "hidden partitions": ([made("iceberg", partitions="bucket(4, a), p")], True),
        "appended": ([made("iceberg"), INSERTED], True),
        "rows deleted from files": ([made("iceberg"), DELETED], True),
        "rows deleted by position": ([made("iceberg", MERGED), DELETED, INSERTED], True),
        "partitions with positions": ([
            made("iceberg", MERGED, "bucket(3, a)"), "delete from t where a % 7 = 1 or a > 950", DELETED], True),
        "rows deleted by vectors": ([
            made("iceberg", MERGED), "alter table t set tblproperties ('format-version' = '3')",
            "delete from t where a % 5 = 1", DELETED], True),
        "rows deleted by values": ([
            made("iceberg", MERGED), "insert into t values (2000, null, null)", "delete equal a 5 600 601 5000",
            "delete equal p 2 null", "insert into t values (5, 'again', null), (6, 'x', 2)", DELETED], True),
        "rows deleted by values of a renamed column": ([
            made("iceberg"), "alter table t rename column a to c", "delete equal c 5 700",
            "insert into t values (5, 'x', 1)"], True),
        "updated by positions": ([
            made("iceberg", "write.update.mode=merge-on-read"), "update t set b = 'u' where a between 5 and 700"],
            True),
        "an added column alone": ([made("iceberg"), "alter table t add column z int"], True),
        "a column added": ([
            made("iceberg"), "alter table t add column z int", "insert into t values (1, 'x', 1, 2)"], True),
        "a renamed column": ([made("iceberg"), "alter table t rename column p to q"], True),
        "a column renamed twice": ([
            made("iceberg", MERGED), "alter table t rename column b to c", "insert into t values (1, 'y', 2)",
            "alter table t rename column c to d", "insert into t values (2, 'z', 3)", DELETED], True),
        "a column dropped and added": ([
            made("iceberg"), "alter table t drop column p", "alter table t add column p int",
            "insert into t values (1, 'y', 2)"], True),
        "a wider type": ([
            made("iceberg"), "alter table t alter column a type bigint", "insert into t values (5000000000, 'x', 1)"],
            True),
        "renamed parts of columns": ([
            PARTS.format("iceberg"), *RENAMED_PARTS, "alter table t drop column s.y",
            "alter table t add column s.y string",
            "insert into t select a + 2000, named_struct('u', 1, 'y', 'w'), l, m from t where a > 990"], True),
        "an initial default": ([
            made("iceberg", "format-version=3"), "add default z 5", "insert into t values (7777, 'x', null, 9)",
            "insert into t values (7778, 'y', 1, null)"], True),
        "files of ORC": ([made("iceberg", "write.format.default=orc"), "alter table t rename column p to q"], True),
        "files of two formats": ([
            made("iceberg", "write.format.default=orc"), "alter table t set tblproperties "
            "('write.format.default' = 'parquet')", INSERTED], True),
    },
}  # fmt: skip
QUERIES = (
    "select * from t",
    "select count(*), sum(a) from t where a > 500",
    "select p, count(*) from t where p = 1 group by p",
)


def catalogs(warehouse: Path) -> dict[str, str]:
    """Return settings of an application with both kinds of tables, which are kept in the warehouse."""
    return {
        "spark.sql.extensions": ",".join(EXTENSIONS), "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog", "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(warehouse / "iceberg"),
    }  # fmt: skip


def compared(application: Peer, kind: str, name: str) -> tuple[int, list[str]]:
    """Make a table, and return how many queries were asked, and what is wrong with the answers."""
    statements, is_offloaded = CASES[kind][name]
    number = [*CASES[kind]].index(name)
    schema = f"ice.s{number}" if kind == "iceberg" else f"spark_catalog.d{number}"
    made = [f"create database if not exists {schema}", f"use {schema}", *statements]
    has_names = "alter table t rename" not in str(made) and "drop column" not in str(made)
    queries = QUERIES if has_names else QUERIES[:1]
    problems = []
    for query in queries:
        try:
            own = application.answer(query, OWN, made)
            made = []
            ours = application.answer(query, ALWAYS)
            is_right = own["digest"] == ours["digest"] and ("100 %" in ours["offloaded"]) == is_offloaded
            problem = "" if is_right else f"{ours} instead of {own}"
        except RuntimeError as error:
            problem = str(error)
        problems += [f"{kind}, {name}: {query}: {problem}"] if problem else []
    return len(queries), problems
