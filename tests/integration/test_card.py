"""A card in a package outside the tree: its kind of device, its transport, its join; real jobs beside DuckDB's answers.

Everything happens in processes that find the package as an installed one, and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.packages import install

CARD = Path(__file__).resolve().parents[1] / "packages" / "card"

TABLES = """
import random, sys, json
from decimal import Decimal
from pathlib import Path
from jumpgate.client import col, count, sum_, max_
from jumpgate.client.session import Session
from jumpgate.errors import JumpgateError
from jumpgate.service import embedded
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab

r = random.Random(7)
TYPES = {"item": "int32", "n": "int64", "price": "decimal(7, 2)", "name": "string"}
def rows(count, items):
    return [(None if r.random() < 0.05 else r.randrange(-5, items), r.randrange(-2**62, 2**62),
             None if r.random() < 0.1 else Decimal(r.randrange(-9999, 9999)) / 100, f"n{r.randrange(30)}")
            for _ in range(count)]

def ncas(session):
    return sorted({i["nca"] for i in session.describe(session.jobs()[0].id).record["instances"]})

service = embedded.start()
with Session(service.address, prefer=("card_join",)) as session:
    lab = Lab(session, Path("."))
    sales = lab.table(TYPES, rows(5000, 400), files=3)
    items = lab.table({"i": "int32", "label": "string", "big": "int64"},
                      [(None if k % 50 == 0 else k % 300, f"l{k}", k << 40) for k in range(500)], files=2)
    joined = sales.join(items, left_on=col("item"), right_on=col("i"))
"""


@pytest.fixture
def card(tmp_path: Path) -> Callable[..., Any]:
    """Runs a script in a folder whose jumpgate.toml has a card; returns what its last line says, as JSON."""
    install(CARD, tmp_path / "packages")

    def run(script: str, card: str = "", before: str = TABLES) -> Any:
        (tmp_path / "jumpgate.toml").write_text(f'[[device]]\nname = "c1"\nkind = "join_card"\n{card}\n')
        text = before + textwrap.indent(textwrap.dedent(script), "    ") if before else textwrap.dedent(script)
        done = python(tmp_path, "-c", text)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder / "packages")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_joins_on_the_card_are_right(card: Callable[..., Any]) -> None:
    found = card("""
        answers = []
        for flow in (
            joined,
            joined.aggregate(by=["label"], n=count(), s=sum_("price")),
            sales.filter(col("n") < 0).join(items.filter(col("big") > 0), left_on=col("item"), right_on=col("i")),
            sales.filter(col("item") > 10**6).join(items, left_on=col("item"), right_on=col("i")),
            sales.join(items.filter(col("big") < 0), left_on=col("item"), right_on=col("i")),
            sales.join(items.select(k=(col("i") * 3), label="label"), left_on=col("item") * 2, right_on=col("k")),
        ):
            difference = oracle.difference(session.run(flow).to_arrow(), flow.root)
            answers.append([difference, "card_join" in ncas(session)])
        print(json.dumps(answers))
        service.close()
    """)
    assert found == [["", True]] * 6


def test_what_the_card_refuses_is_said(card: Callable[..., Any]) -> None:
    found = card("""
        flow = sales.join(items, left_on=col("name"), right_on=col("label"), how="left")
        right = oracle.difference(session.run(flow).to_arrow(), flow.root) == ""
        print(json.dumps([right, ncas(session), str(session.explain(flow))]))
        service.close()
    """)
    assert found[0] and "card_join" not in found[1]
    assert "the card finds partners; a left join needs more" in found[2]


def test_an_estimate_that_is_too_large_leaves_the_card_out(card: Callable[..., Any]) -> None:
    found = card("""
        right = oracle.difference(session.run(joined).to_arrow(), joined.root) == ""
        print(json.dumps([right, ncas(session), session.explain(joined)]))
        service.close()
    """, "rows = 499")  # fmt: skip
    assert found[0] and "card_join" not in found[1]
    assert "it is for 499 rows; 500 are expected" in found[2]


def test_a_card_that_is_full_is_planned_without(card: Callable[..., Any]) -> None:
    """The estimate is far too low: the filter lets all rows pass."""
    found = card("""
        odd = (col("big") + col("big") + 1) % 2 == 1
        build = items.filter(odd & ((col("big") * 2 + 1) % 2 == 1) & ((col("big") * 4 + 1) % 2 == 1))
        flow = sales.join(build, left_on=col("item"), right_on=col("i"))
        said = session.explain(flow)
        result = session.run(flow)
        right = oracle.difference(result.to_arrow(), flow.root) == ""
        states = [job.state for job in session.jobs()[:2]]
        print(json.dumps([right, ncas(session), "card_join, stage" in said, states]))
        service.close()
    """, "rows = 300")  # fmt: skip
    assert found == [True, found[1], True, ["done", "failed"]]
    assert "card_join" not in found[1]


def test_that_a_card_was_full_is_known_the_next_time(card: Callable[..., Any]) -> None:
    found = card("""
        from jumpgate.service import full
        odd = (col("big") + col("big") + 1) % 2 == 1
        build = items.filter(odd & ((col("big") * 2 + 1) % 2 == 1) & ((col("big") * 4 + 1) % 2 == 1))
        flow = sales.join(build, left_on=col("item"), right_on=col("i"))
        other = flow.aggregate(rows=count())
        states = []
        for one in (flow, flow, other, other):
            assert oracle.difference(session.run(one).to_arrow(), one.root) == ""
            states.append([job.state for job in session.jobs()])
        said = session.explain_job(session.jobs()[0].id)
        full.FULL_S = -1.0
        third = other.filter(col("rows") > 0)
        session.run(third).to_arrow(), session.run(third).to_arrow()
        states.append([job.state for job in session.jobs()])
        print(json.dumps([[s.count("failed") for s in states], said]))
        service.close()
    """, "rows = 300")  # fmt: skip
    assert found[0] == [1, 1, 2, 2, 4]
    assert "c1: it was full, or failed, before; planned without it" in found[1]


def test_every_client_uses_the_card(card: Callable[..., Any], tmp_path: Path) -> None:
    found = card("""
        import jumpgate, pyarrow.parquet as pq
        from jumpgate.client import dbapi
        pq.write_table(session.run(sales).to_arrow(), "sales.parquet")
        pq.write_table(session.run(items).to_arrow(), "items.parquet")
        text = "SELECT count(*), sum(price) FROM sales JOIN items ON item = i"
        answers = []
        for prefer in ((), ("card_join",)):
            with jumpgate.connect(service.address, offload="always", prefer=prefer) as connection:
                connection.register("sales", "sales.parquet")
                connection.register("items", "items.parquet")
                answers.append(str(connection.sql(text).to_arrow().to_pydict()))
                answers.append("card_join" in ncas(session))
        print(json.dumps(answers))
        service.close()
    """)
    assert found[1] is False and found[3] is True
    assert found[0] == found[2]
    query = (
        "from jumpgate.client import read, col\n"
        'dataflow = read("sales.parquet").join(read("items.parquet"), left_on=col("item"), right_on=col("i"))\n'
    )
    (tmp_path / "query.py").write_text(query)
    program = "from jumpgate.cli.main import main; main()"
    done = python(tmp_path, "-c", program, "explain", "--prefer", "card_join", "query.py")
    assert done.returncode == 0 and "card_join" in done.stdout and "over join_card" in done.stdout, done.stderr


def test_what_cannot_be_loaded_is_said_and_harms_nobody(card: Callable[..., Any], tmp_path: Path) -> None:
    broken = tmp_path / "packages" / "broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text(
        "[jumpgate.ncas]\nbad = no_such_module:NCA\njoin = card:NCA\n"
        "[jumpgate.device_kinds]\nbad_kind = no_such_module:KIND\n"
    )
    program = "from jumpgate.cli.main import main; main()"
    for words in (("nca", "list"), ("doctor",)):
        done = python(tmp_path, "-c", program, *words, "--json")
        assert done.returncode == 0, done.stderr
        for part in ("card_join", "join_card", "bad", "bad_kind", "No module named 'no_such_module'"):
            assert part in done.stdout, part
    found = card("""
        print(json.dumps([session.run(joined.aggregate(n=count())).to_pylist()[0]["n"] > 0, ncas(session)]))
        service.close()
    """)
    assert found[0] and "card_join" in found[1]


def test_the_tutorial_quotes_what_is_there() -> None:
    """Each indented block of docs/build-a-card.md after a file's name stands in that file; the package is as short."""
    text = (CARD.parents[2] / "docs" / "build-a-card.md").read_text()
    blocks = re.findall(r"From\s`(card/\w+\.py)`:\n\n((?:    [^\n]*\n|\n)+)", text)
    assert len(blocks) >= 9
    for name, block in blocks:
        lines = [line[4:] for line in block.rstrip().splitlines()]
        assert "\n".join(lines) in (CARD / name).read_text(), f"{name} does not hold:\n{block}"
    files = [path for path in (CARD / "card").glob("*.py") if path.name != "device.py"]
    assert sum(len(path.read_text().splitlines()) for path in files) < 350
