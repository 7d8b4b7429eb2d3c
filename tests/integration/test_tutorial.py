"""docs/tutorial.md works when it is pasted, and docs/notebook.ipynb has what its cells print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"}
#: whatever the script started ends with it, also when it fails
END = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"


def test_the_tutorial_works_when_pasted(tmp_path: Path) -> None:
    page = (DOCS / "tutorial.md").read_text().partition("## Make data")[2]
    script = "".join(f"{line[4:]}\n" for line in page.splitlines() if line.startswith("    "))
    assert script.count("--port 7411 --flight 7412") == 1  # others may have these ports
    script = re.sub(r"\b7411\b", "17411", script.replace("--flight 7412", "--flight 0"))
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-m"], input=f"{END}{script}wait || true\n", cwd=tmp_path, env=ENVIRONMENT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "brand 0" in done.stdout and "{'day': [0, 1, 2, 3, 4, 5, 6], 'paid': [" in done.stdout
    assert (tmp_path / "days.parquet").stat().st_size > 0 and "<svg" in (tmp_path / "report.html").read_text()


def test_the_notebook_has_what_its_cells_show(tmp_path: Path) -> None:
    notebook = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    kept = [shown(cell) for cell in notebook.cells]
    assert sum(map(len, kept)) >= 5
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [shown(cell) for cell in notebook.cells] == kept


def shown(cell: Any) -> list[str]:
    """Return what a cell printed or gave, without plans, whose estimates are a machine's own."""
    texts = [
        output.get("text") or (output["data"].get("text/html") or output["data"]["text/plain"])
        for output in cell.get("outputs", ())
        if output["output_type"] in ("stream", "execute_result") and output.get("name") != "stderr"
    ]
    return [re.sub(r"<details>.*</details>", "…", text, flags=re.DOTALL) for text in texts]
