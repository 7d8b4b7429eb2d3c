"""The documentation's pages: all of them are in the site, and no link leads nowhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "dev", "site", "--site-dir", str(tmp_path / "site")],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "any network-connected accelerator" in (tmp_path / "site" / "index.html").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert (tmp_path / "site" / "docs" / f"{page.stem}.html").exists(), f"{page.name} is not in the site"
