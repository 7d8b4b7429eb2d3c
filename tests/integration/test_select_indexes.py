"""Index tables of CSV and JSON Lines objects: few bytes are read, and answers are DuckDB's whatever happens to them."""

from __future__ import annotations

import gzip
import json
import random
import stat
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from jumpgate.cli.main import cli
from jumpgate.client import Dataflow, col, read
from jumpgate.compiler.explain import explain_text
from jumpgate.dataflow.unresolved import Unresolved
from jumpgate.errors import CannotPlace, FileChanged, JumpgateError, MalformedData, NotFound
from jumpgate.ncas.s3_select import indexing
from jumpgate.ncas.s3_select.intervals import GAP_BYTES
from jumpgate.stores import indexes, objects, settings
from jumpgate.stores.settings import Store as Settings
from tests.support.select_lab import SelectLab, lab
from tests.support.upload_store import UploadStore

TYPES = {"i": "int64", "n": "decimal(9, 2)", "d": "date", "t": "timestamp", "s": "string", "x": "float64"}
CONDITIONS: dict[str, tuple[str, Unresolved]] = {
    "an integer": ("i", col("i") == 40),
    "the least": ("i", col("i") == -(2**63)),
    "integers": ("i", col("i").isin([3, 40, 12345, 2**63 - 1])),
    "a range of integers": ("i", (col("i") > 10) & (col("i") <= 13)),
    "either": ("i", (col("i") == 10) | (col("i") > 7) & (col("i") < 9)),
    "nothing": ("i", (col("i") == 10) & (col("i") == 11)),
    "a decimal": ("n", col("n") == Decimal("0.05")),
    "decimals": ("n", (col("n") >= Decimal("-0.03")) & (col("n") < Decimal("0.04"))),
    "days": ("d", (col("d") > date(2024, 1, 30)) & (col("d") <= date(2024, 2, 2))),
    "a moment": ("t", col("t") == datetime(2024, 1, 5, 12)),
    "moments": ("t", col("t") < datetime(2024, 1, 1, 5)),
    "a text": ("s", col("s") == "a,b"),
    "texts": ("s", (col("s") >= "é") & (col("s") < "ê")),
    "empty text": ("s", col("s") == ""),
    "a text of lines": ("s", col("s") == 'first\nsecond "third"'),
    "more columns": ("i", (col("i") == 40) & (col("s") != "v") & (col("x") > 0)),
}  # fmt: skip
TEXTS = ("", "a,b", 'first\nsecond "third"', "é", "éclair", "v", "NA", "\r\n")


@pytest.fixture(scope="module")
def objects_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SelectLab]:
    with lab(tmp_path_factory.mktemp("store"), aws="aws") as found:
        yield found


@pytest.fixture(autouse=True)
def folder(objects_: SelectLab, tmp_path: Path) -> Iterator[Path]:
    """Keep indexes in a folder of the test's, over a store without Select."""
    objects_.configure(select=False)
    indexes.configure(tmp_path)
    yield tmp_path
    indexes.configure(None)
    objects_.store.before = lambda number: ""


def rows_of(rng: random.Random, count: int) -> list[dict[str, Any]]:
    def some(value: object) -> object:
        return None if rng.random() < 0.1 else value

    return [
        {
            "i": some(rng.choice([-(2**63), 2**63 - 1]) if rng.random() < 0.01 else rng.randrange(60)),
            "n": some(f"{rng.randrange(-20, 20) / 100:.2f}"),
            "d": some(f"2024-0{rng.randrange(1, 4)}-0{rng.randrange(1, 9)}"),
            "t": some(f"2024-01-0{rng.randrange(1, 9)} {rng.choice(['00:00:00', '12:00:00', '12:00:00.000001'])}"),
            "s": some(rng.choice(TEXTS)),
            "x": some(rng.choice(["1.5", "-2.25", "nan", "1e3"])),
        }
        for _ in range(count)
    ]


def as_csv(rows: list[dict[str, Any]], end: str = "\n") -> str:
    """Return records of which text is quoted, NULL is nothing, and the last one has no end."""

    def written(value: object, name: str) -> str:
        if value is None:
            return ""
        return '"' + str(value).replace('"', '""') + '"' if name == "s" else str(value)

    lines = [",".join(TYPES), *(",".join(written(row[name], name) for name in TYPES) for row in rows)]
    lines.insert((len(lines) + 1) // 2, "")
    return end.join(lines)


def put(objects_: SelectLab, name: str, text: str | bytes) -> str:
    file = objects_.folder / "aws" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    objects.forget(f"s3://aws/{name}")
    return f"s3://aws/{name}"


def index(flow: Dataflow, column: str, **options: str) -> indexes.Index:
    return indexing.create(flow.root, column, "t", **options)


def said(objects_: SelectLab, flow: Dataflow) -> str:
    return explain_text(objects_.plan(flow).explain)


def test_conditions_over_random_rows(objects_: SelectLab) -> None:
    for seed in range(4):
        rng, made = random.Random(seed), []
        for part in range(3):
            rows = rows_of(rng, part * 700)
            made.append(put(objects_, f"csv{seed}/{part}.csv", as_csv(rows, ("\n", "\r\n")[seed % 2])))
            put(objects_, f"json{seed}/{part}.json", "\n\n".join(json.dumps(row) for row in rows[1:]))
        for kind in ("csv", "json"):
            table = read(f"s3://aws/{kind}{seed}/*.{kind}", schema=TYPES)
            for column in TYPES:
                if column != "x":
                    index(table, column)
            for about, (column, condition) in CONDITIONS.items():
                flow = table.filter(condition).select("s", "x", "i", "n", "d", "t")
                try:
                    assert f"by the index over {column}" in said(objects_, flow)
                    objects_.check(flow)
                except Exception as error:
                    raise AssertionError(f"{about} of {kind}, seed {seed}") from error


def test_few_bytes_are_read(objects_: SelectLab) -> None:
    """A row of a megabyte takes one request; two rows near each other take one, too."""
    lines = ["k,v", *(f"{n},{'v' * 90}{n}" for n in range(10_000))]
    table = read(put(objects_, "large.csv", "\n".join(lines) + "\n"), schema={"k": "int64", "v": "string"})
    index(table, "k")
    for condition, requests in ((col("k") == 5000, 1), (col("k").isin([1, 9, 9000]), 2), (col("k") == -1, 0)):
        flow = table.filter(condition)
        plan = objects_.plan(flow)
        objects_.store.requests.clear()
        objects_.check(flow, plan)
        ranges = [range for method, _, range in objects_.store.requests if method == "GET"]
        assert len(ranges) == requests
        assert sum(int(r.partition("-")[2]) - int(r.partition("-")[0][6:]) for r in ranges) < 2 * GAP_BYTES
    text = said(objects_, table.filter(col("k") == 5000))
    assert "about 1 row by the index over k" in text and "asks stores: 1 request, 103 B returned" in text


def test_an_index_of_a_store(objects_: SelectLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its tables are objects. One that is removed, replaced or damaged is not used, and the answer is the same."""
    table = read(put(objects_, "far.csv", as_csv(rows_of(random.Random(7), 3000))), schema=TYPES)
    made = index(table, "i")
    (one,) = made.tables.values()
    place = objects_.folder / "aws" / "index.parquet"
    place.write_bytes(Path(one.place).read_bytes())
    tag = objects.ask("s3://aws/index.parquet").tag
    told = indexes.Table(**{**vars(one), "place": "s3://aws/index.parquet", "place_tag": tag})
    indexing.drop(made)
    assert not indexes.found() and not list(tmp_path.iterdir())
    indexes.keep(indexes.Index("t", "i", "int64", made.reading, {"s3://aws/far.csv": told}))
    flow = table.filter(col("i") == 40)
    plan = objects_.plan(flow)

    def gets(of: str) -> int:
        objects_.store.requests.clear()
        objects_.check(flow, plan)
        return sum(method == "GET" and path.endswith(of) for method, path, _ in objects_.store.requests)

    assert gets("index.parquet") > 0
    content = place.read_bytes()
    place.write_bytes(content[:2000] + b"\xff" * 20 + content[2020:])
    assert gets("far.csv") > 0
    place.write_bytes(content[:3000])
    assert gets("far.csv") > 0
    place.unlink()
    assert gets("far.csv") > 0


def test_an_object_that_changes_is_read_without_its_index(objects_: SelectLab) -> None:
    rng = random.Random(3)
    name = put(objects_, "changing/0.csv", as_csv(rows_of(rng, 500)))
    table = read("s3://aws/changing/*.csv", schema=TYPES)
    made = index(table, "i")
    flow = table.filter(col("i") == 40)
    plan = objects_.plan(flow)
    put(objects_, "changing/0.csv", as_csv(rows_of(rng, 600)))
    objects.ask(name)
    with pytest.raises(FileChanged):
        objects_.run(flow, plan)
    text = said(objects_, flow)
    assert (
        "the index over 'i' does not have 's3://aws/changing/0.csv' as it is now" in text and "by the index" not in text
    )
    put(objects_, "changing/1.csv", as_csv(rows_of(rng, 10)))
    wider = read("s3://aws/changing/*.csv", schema=TYPES)
    index(wider, "i")
    assert [i.id for i in indexes.found()] != [made.id] and len(indexes.found()) == 1
    flow = wider.filter(col("i") == 40)
    plan = objects_.plan(flow)
    indexing.drop(indexes.found()[0])  # between plan and run: objects are read whole
    objects_.check(flow, plan)


def test_an_object_that_changes_while_it_is_read_is_an_error(objects_: SelectLab) -> None:
    table = read(put(objects_, "now.csv", as_csv(rows_of(random.Random(1), 500))), schema=TYPES)
    index(table, "i")
    plan = objects_.plan(flow := table.filter(col("i") == 40))

    def before(number: int) -> str:
        put(objects_, "now.csv", as_csv(rows_of(random.Random(2), 500)))
        return ""

    objects_.store.before = before
    with pytest.raises(FileChanged, match="was replaced while a query read it"):
        objects_.run(flow, plan)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("q.csv", 'i,s\n1,a"b\n', MalformedData, "quotes within fields"),
        ("q2.csv", 'i,s\n1,"a"b\n', MalformedData, "quotes within fields"),
        ("open.csv", 'i,s\n1,"ab\n', MalformedData, "quotes within fields"),
        ("cr.csv", "i,s\r1,a\r2,b\r", MalformedData, "carriage returns"),
        ("type.csv", "i,s\nx,a\n", MalformedData, "not of type int64"),
        ("wide.csv", "i,s\n1,a,b\n", MalformedData, "Expected 2 columns, got 3"),
        ("packed.csv.gz", gzip.compress(b"i,s\n1,a\n", mtime=0), CannotPlace, "is packed"),
        ("two.json", '{"i": 1, "s": "a"} {"i": 2, "s": "b"}\n', MalformedData, "Extra data"),
    ],
)  # fmt: skip
def test_objects_that_are_not_indexed(
    objects_: SelectLab, folder: Path, name: str, text: str | bytes, error: type[JumpgateError], message: str
) -> None:
    table = read(put(objects_, name, text), schema={"i": "int64", "s": "string"})
    with pytest.raises(error, match=message):
        index(table, "i")
    assert not list(folder.iterdir())


def test_columns_and_formats_that_are_not_indexed(objects_: SelectLab, tmp_path: Path) -> None:
    table = read(put(objects_, "few.csv", as_csv(rows_of(random.Random(1), 5))), schema=TYPES)
    for column, message in (("x", "it is float64"), ("y", "the columns are i, n, d, t, s, x")):
        with pytest.raises(CannotPlace, match=message):
            index(table, column)
    with pytest.raises(CannotPlace, match="'/there' is no folder of a store"):
        index(table, "i", to="/there")
    pq.write_table(objects_.run(table), objects_.folder / "aws/few.parquet")
    with pytest.raises(CannotPlace, match="Parquet has page indexes and statistics of its own"):
        index(read("s3://aws/few.parquet"), "i")
    with pytest.raises(CannotPlace, match="local files are read whole"):
        index(read(str(objects_.folder / "aws/few.csv"), schema=TYPES), "i")
    with pytest.raises(CannotPlace, match="ragged = null"):
        index(read("s3://aws/few.csv", schema=TYPES, ragged="null"), "i")


def test_reads_of_another_kind_do_not_use_an_index(objects_: SelectLab) -> None:
    name = put(objects_, "kinds.csv", "i,s\n1,a\n2,b\n")
    table = read(name, schema={"i": "int64", "s": "string"})
    index(table, "i")
    index(table, "s")
    for other, condition in (
        (read(name, schema={"i": "decimal(5, 2)", "s": "string"}), col("i") == Decimal(1)),
        (read(name, schema={"i": "int64", "s": "string"}, header="skip"), col("i") == 1),
        (read(name, schema={"i": "int64", "s": "string"}, null="a"), col("s") == "a"),
    ):
        assert "of objects that are read otherwise" in said(objects_, other.filter(condition))
        objects_.check(other.filter(condition))
    same = read(name, schema={"i": "int64", "s": "string"}, header=True, delimiter=",")
    assert "by the index over i" in said(objects_, same.filter(col("i") == 1))
    for condition in (col("i") != 1, col("i").is_null(), (col("i") == 1) | (col("s") == "b"), ~(col("i") == 1)):
        assert "by the index" not in said(objects_, table.filter(condition))
    indexes.configure(indexes.folder(), reads_files=False)
    assert "is on this machine, and not all hosts are" in said(objects_, table.filter(col("i") == 1))


def test_an_index_that_does_not_pay_is_not_used(objects_: SelectLab) -> None:
    lines = ["k,v", *(f"{n % 3},{'v' * 90}{n}" for n in range(10_000))]
    table = read(put(objects_, "wide/0.csv", "\n".join(lines)), schema={"k": "int64", "v": "string"})
    index(table, "k")
    plan = objects_.plan(table.filter(col("k") == 1), prefer=())
    assert {i.nca for i in plan.instances} == {"cpp"}


def test_the_command(objects_: SelectLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUMPGATE_STATE_DIR", str(tmp_path / "state"))
    put(objects_, "cli/0.csv", "i;s\n1;a\n2;b\n;c\n")
    config = tmp_path / "jumpgate.toml"
    store = f'[[store]]\nurl = "s3://aws"\nendpoint = "{objects_.store.endpoint}"\nanonymous = true\n'
    config.write_text(store + '[[table]]\nname = "sales"\npaths = ["s3://aws/cli/*.csv"]\n')

    def run(*words: str) -> Any:
        done = CliRunner().invoke(cli, ["index", *words, "--config", str(config), "--json"], catch_exceptions=False)
        return json.loads(done.output)

    made = run("create", "sales", "i", "--option", "delimiter=;", "--type", "int32")
    assert (made["objects"], made["rows"], made["type"], made["source"]) == (1, 2, "int32", "sales")
    assert run("list")["indexes"] == [made]
    assert run("create", "sales", "i", "--option", "delimiter=;")["type"] == "int64"
    (found,) = run("list")["indexes"]
    with pytest.raises(NotFound, match="there is no index over 's' of 'sales'"):
        run("drop", "sales", "s")
    assert run("drop", "sales", "i") == {"dropped": [found]}
    assert run("list") == {"indexes": []} and not list((tmp_path / "state/indexes").iterdir())
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.fixture
def uploads(objects_: SelectLab, monkeypatch: pytest.MonkeyPatch) -> Iterator[UploadStore]:
    """A store that takes objects into the folder that the lab's store serves, and is asked about by that."""
    found, ask = UploadStore(objects_.folder), objects.ask

    def asked(name: str) -> objects.Object:
        objects_.configure(select=False)
        return ask(name)

    sent = Settings("s3://aws/indexes", found.endpoint, anonymous=True)
    settings.configure([Settings("s3://aws", objects_.store.endpoint, anonymous=True), sent])
    monkeypatch.setattr(indexing.objects, "ask", lambda name: asked(name) if "/indexes/" in name else ask(name))
    yield found
    found.close()


def test_tables_in_a_store(objects_: SelectLab, uploads: UploadStore, folder: Path) -> None:
    """They are sent together, read by their versions, and removed with the index."""
    table = read(put(objects_, "sent.csv", as_csv(rows_of(random.Random(4), 2000))), schema=TYPES)
    made = index(table, "i", to="s3://aws/indexes/")
    assert [file.name for file in folder.iterdir()] == [f"{made.id}.json"] and not uploads.uploads
    flow = table.filter(col("i") == 40)
    assert "asks stores: " in said(objects_, flow) and "by the index over i" in said(objects_, flow)
    objects_.store.requests.clear()
    objects_.check(flow)
    assert any(f"/indexes/{made.id}/0.parquet" in path for _, path, _ in objects_.store.requests)
    settings.configure([Settings("s3://aws", uploads.endpoint, anonymous=True)])
    indexing.drop(made)
    assert not list(folder.iterdir()) and not list((objects_.folder / "aws/indexes").rglob("*.parquet"))


def test_nothing_is_left_of_an_index_that_fails(objects_: SelectLab, uploads: UploadStore, folder: Path) -> None:
    for part, text in enumerate(("i,s\n1,a\n", "i,s\nx,a\n")):
        put(objects_, f"bad/{part}.csv", text)
    with pytest.raises(MalformedData):
        index(read("s3://aws/bad/*.csv", schema={"i": "int64", "s": "string"}), "i", to="s3://aws/indexes")
    assert not list(folder.iterdir()) and not uploads.uploads
    assert not list((objects_.folder / "aws").rglob("indexes/*/*.parquet"))
