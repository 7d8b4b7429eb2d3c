"""A kind of device that no part of the tree knows: a disk that filters, in a package outside of it.

It stands at the leaves of plans; test_card.py has one that rows are sent to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.packages import install

SSD = Path(__file__).resolve().parents[1] / "packages" / "smart_ssd"
SCRIPT = """
import json, random
from pathlib import Path
from jumpgate.client import col, count, sum_
from jumpgate.client.session import Session
from jumpgate.service import embedded
from jumpgate.testing import oracle
from jumpgate.testing.lab import Lab

r = random.Random(3)
found = []
service = embedded.start()
with Session(service.address, prefer=("ssd_filter",)) as session:
    lab = Lab(session, Path.cwd())
    rows = [
        (None if r.random() < 0.1 else r.randrange(50), r.randrange(-9, 9), f"n{r.randrange(9)}") for _ in range(9000)
    ]
    table = lab.table({"k": "int32", "v": "int64", "name": "string"}, rows, files=3)
    few = table.filter((col("k") < 20) & (col("v") >= -3))
    for flow in (
        few.aggregate(by=["name"], n=count(), s=sum_("v")),
        few.filter(col("k") == 7),
        table.filter(col("k") > 99).aggregate(n=count()),
        few.join(table.select(i=col("k"), w=col("v")), left_on=col("k"), right_on=col("i")).aggregate(n=count()),
        table.filter(col("name") == "n3").aggregate(n=count()),
    ):
        difference = oracle.difference(session.run(flow).to_arrow(), flow.root)
        record = session.describe(session.jobs()[0].id).record
        found.append([difference, sorted({i["host"] for i in record["instances"] if i["nca"] == "ssd_filter"})])
    said = session.explain(flow)
service.close()
print(json.dumps([found, str(said)]))
"""


def test_plans_begin_on_a_disk_that_filters(tmp_path: Path) -> None:
    install(SSD, tmp_path / "packages")
    (tmp_path / "jumpgate.toml").write_text(
        f'[[device]]\nname = "ssd0"\nkind = "smart_ssd"\nfolder = "{tmp_path}"\nlink_bits_per_s = 1000000000\n'
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "packages")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found, said = json.loads(done.stdout.splitlines()[-1])
    assert found == [["", ["ssd0"]]] * 4 + [["", []]]
    assert "the disk compares whole numbers of Parquet files with constants" in said
