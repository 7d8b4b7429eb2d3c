"""A card in a package outside the tree: its kind of device, its transport, its join; real jobs beside DuckDB's answers.

Everything happens in processes that find the package as an installed one, and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jumpgate.testing.packages import install

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
