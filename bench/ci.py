"""How long CI takes, and which tests fail in some of its runs only: `.ci/run` in a fresh clone of the commit, the first
time without any cache.

    ./dev bench ci --json [--runs 10]

A run takes half an hour on two cores.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import click

from bench._measure import Figure, remark, report

ROOT = Path(__file__).parents[1]
#: settings of package managers, which a new home has, too
SETTINGS = (".config", ".gitconfig", ".m2/settings.xml", ".npmrc", ".pip", ".condarc")


def new_home(home: Path) -> None:
    """Make a home with the settings of the user's package managers, and nothing that they have cached."""
    for name in SETTINGS:
        source, target = Path.home() / name, home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.exists():
            shutil.copyfile(source, target)


def ran(clone: Path, home: Path, results: Path) -> float:
    """Run CI; return its minutes. What it prints goes to a log beside `results`."""
    begun = time.monotonic()
    log = results.with_suffix(".log")
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml={results}"
    environment = {**os.environ, "HOME": str(home), "PYTEST_ADDOPTS": options}
    with log.open("w") as printed:
        done = subprocess.run(
            [".ci/run"], cwd=clone, env=environment, check=False, stdout=printed, stderr=subprocess.STDOUT
        )
    minutes = (time.monotonic() - begun) / 60
    remark(f"  {minutes:.1f} minutes, exit status {done.returncode}")
    if not results.exists():
        raise SystemExit(f"CI ended before its tests:\n{log.read_text()[-4000:]}")
    return minutes


def failed(results: Path) -> list[str]:
    """Return the names of the tests that failed in a run."""
    cases = ElementTree.parse(results).iter("testcase")
    bad = (c for c in cases if c.find("failure") is not None or c.find("error") is not None)
    return [f"{c.get('classname')}::{c.get('name')}" for c in bad]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option(
    "--runs", default=10, show_default=True, type=click.IntRange(min=1), help="Runs, the cold one among them."
)
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="A folder for logs and results.")
def main(as_json: bool, runs: int, keep: Path | None) -> None:
    """Runs CI as often as told, and reports minutes and flakes."""
    with tempfile.TemporaryDirectory(prefix="ci-") as folder:
        kept = Path(folder) if keep is None else keep.absolute()
        kept.mkdir(parents=True, exist_ok=True)
        clone, home = Path(folder, "clone"), Path(folder, "home")
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        new_home(home)
        minutes, failures = [], Counter[str]()
        for number in range(runs):
            results = kept / f"{number}.xml"
            minutes.append(ran(clone, home, results))
            failures.update(failed(results))
    flaky = sorted(name for name, times in failures.items() if times < runs)
    for name, times in sorted(failures.items()):
        remark(f"  failed in {times} of {runs}: {name}")
    report(Figure("ci_cold_minutes", minutes[0], 45, "lower", "the first run, without any cache"), as_json)
    if runs > 1:
        warm = statistics.median(minutes[1:])
        report(Figure("ci_minutes", warm, 20, "lower", f"median of the {runs - 1} runs after it"), as_json)
        report(Figure("ci_flakes", len(flaky), 0, "lower", f"tests that failed in some of {runs} runs only"), as_json)


if __name__ == "__main__":
    main()
