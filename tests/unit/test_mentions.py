"""What varies is declared once: how many files know a scalar function, by example."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: a declaration with its body, the runtime's header and routine, cases
FILES_MAX = 4
#: texts that anybody could write, or that are made from the declarations
TEXTS = (
    "docs/", "CHANGELOG.md", "tests/support/random_words.py", "tests/support/duckdb_texts.py",
    "tests/integration/test_sql_scalars.py", "tests/golden/requests/",
)  # fmt: skip
#: engines have names of their own for functions, which their connectors translate
ENGINES = ("clients/", "tests/integration/test_engine_functions.py", "tests/support/spark_")


@pytest.mark.parametrize("name", ["split_part", "octet_length", "atan2", "day_of_year", "days_between"])
def test_a_function_is_in_few_files(name: str) -> None:
    """Other text may say `translate`; these names are said of the function alone."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    word = re.compile(rf"\b(jg_)?{name}\b")
    ours = Path(__file__).relative_to(ROOT).as_posix()
    files = [
        f for f in listed.stdout.splitlines() if not f.startswith((ours, *TEXTS, *ENGINES)) and (ROOT / f).is_file()
    ]
    found = [f for f in files if word.search((ROOT / f).read_text(errors="ignore"))]
    assert 2 <= len(found) <= FILES_MAX, found
