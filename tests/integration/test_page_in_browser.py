"""The live page in headless Chromium: it fits a phone, and is dark where its reader's screen is."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest

from jumpgate.observe.overview import html
from tests.unit.test_overview import sample

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
#: shows the page, which has no scripts, as wide as asked: Chromium's own windows are 500 wide at least
FRAME = """<iframe width="{width}" height="1400" style="border: 0" srcdoc="{page}"></iframe><script>
document.querySelector("iframe").onload = event => {{
  const window = event.target.contentWindow, shown = window.document;
  document.title = [shown.documentElement.scrollWidth, window.getComputedStyle(shown.body).backgroundColor,
    [...shown.querySelectorAll(".jobs td")].every(cell => cell.getBoundingClientRect().right <= window.innerWidth)
  ].join("|");
}}
</script>"""


def measured(folder: Path, width: int, *options: str) -> list[str]:
    """The page's width, its colour, and whether all cells of jobs are in sight."""
    file = folder / "page.html"
    file.write_text(FRAME.format(width=width, page=escape(html(sample()))))
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1400,1500", *options, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search("<title>(.*?)</title>", done.stdout)
    assert found is not None
    return found[1].split("|")


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_the_window(width: int, tmp_path: Path) -> None:
    page_width, _, in_sight = measured(tmp_path, width)
    assert int(page_width) <= width
    assert in_sight == "true"


def test_the_page_is_dark_where_the_screen_is(tmp_path: Path) -> None:
    light, dark = (measured(tmp_path, 400, *o)[1] for o in ((), ("--blink-settings=preferredColorScheme=0",)))
    assert light == "rgb(246, 247, 249)"
    assert dark == "rgb(18, 22, 29)"
