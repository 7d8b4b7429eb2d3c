"""Tables of Delta Lake and Iceberg beside Parquet's, in Spark 3.5 with the plugin, and what is done to such tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench._measure import Figure, counted, geometric_mean, remark
from bench._runs import Journal, Run
from bench._spark_comet import common, environment, fetched, plugged
from jumpgate.codegen import cache
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.tpcds.data import path
from jumpgate.tpcds.suite import TPCDS
from tests.support.spark_lakes import ALWAYS, CASES, OWN, catalogs, compared
from tests.support.spark_peer import Peer

JARS = (
    ("io.delta", "delta-spark_2.12", "3.3.2"), ("io.delta", "delta-storage", "3.3.2"),
    ("org.apache.iceberg", "iceberg-spark-runtime-3.5_2.12", "1.10.0"),
)  # fmt: skip
#: schemas of the same tables
WAYS = {"parquet": "spark_catalog.plain", "delta": "spark_catalog.delta", "iceberg": "ice.db"}
BESIDE = "lakes beside Parquet"


@contextlib.contextmanager
def peer(warehouse: Path, cores: int) -> Iterator[Peer]:
    """An application of Spark 3.5 with the plugin and both kinds of tables; Iceberg's are kept in the warehouse."""
    folder = cache.folder("comet")
    jars = [str(fetched(folder, *jar)) for jar in JARS]
    service = embedded.start(local_hosts(1))
    own = plugged(service.address)
    settings = {
        **common(folder, cores), **own, "spark.jars": ",".join([own["spark.jars"], *jars]),
        "spark.driver.extraClassPath": ":".join(jars), **catalogs(warehouse),
    }  # fmt: skip
    application = Peer(environment(folder), settings, {})
    try:
        yield application
    finally:
        application.close()
        service.close()


def beside_parquet(data: Path, cores: int, texts: Mapping[int, str], journal: Journal) -> list[Run]:
    """Run each query over all kinds of tables, once to warm up and once for the clock."""
    wanted = [n for n in texts if (n, BESIDE) not in journal.runs]
    if wanted:
        with peer(data / "lakes", cores) as application:
            for statement in _written(data):
                application.answer(statement, OWN)
            for number in counted(wanted, BESIDE):
                seconds = {}
                for way, schema in WAYS.items():
                    try:
                        for _ in range(2):
                            answer = application.answer(texts[number], ALWAYS, [f"use {schema}"])
                        seconds[way] = float(answer["seconds"])
                        remark(f"query {number} over {way}: {answer['offloaded']}")
                    except RuntimeError as error:
                        remark(f"query {number} over {way}: {error}")
                journal.add(Run(number, BESIDE, seconds))
    return [journal.runs[n, BESIDE] for n in texts]


def _written(data: Path) -> Iterator[str]:
    """Yield statements that make all tables, unless they are there from before."""
    for schema in WAYS.values():
        yield f"create database if not exists {schema}"
    for table in TPCDS.tables:
        file, delta = path(data, table, "parquet"), data / "lakes" / "delta" / table
        yield f"create table plain.{table} using parquet location '{file}'"
        rows = "" if (delta / "_delta_log").exists() else f" as select * from parquet.`{file}`"
        yield f"create table delta.{table} using delta location '{delta}'{rows}"
        yield f"create table if not exists ice.db.{table} using iceberg as select * from parquet.`{file}`"


def versus_parquet(runs: list[Run], way: str) -> Figure:
    found = [run.seconds["parquet"] / run.seconds[way] for run in runs if {way, "parquet"} <= run.seconds.keys()]
    compared = f"seconds over Parquet ÷ over {way}, both offloaded, {len(found)} queries, the least {min(found):.2f}"
    return Figure(f"{way}_vs_parquet", geometric_mean(found), 0.9, "higher", compared)


def lakes_right(cores: int) -> Figure:
    """Compare rows of tables that were changed in many ways, and whether they are offloaded."""
    count, found = 0, []
    with TemporaryDirectory() as folder, peer(Path(folder), cores) as application:
        for kind, name in ((kind, name) for kind, cases in CASES.items() for name in cases):
            asked, problems = compared(application, kind, name)
            count, found = count + asked, found + problems
    for problem in found:
        remark(problem)
    return Figure(
        "lakes_right", count - len(found), count, "higher", f"of {count} queries over tables of Delta Lake and Iceberg"
    )
