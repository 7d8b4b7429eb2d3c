"""The C++ of workers under the thread sanitizer: several at a time, and a log that is closed meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path

from jumpgate.transactions import native
from tests.support import cpp

PROGRAM = Path(__file__).parents[1] / "cpp" / "transaction_workers.cpp"
FLAGS = ("-O1", "-g1", "-fno-omit-frame-pointer", "-fsanitize=thread")


def test_a_log_that_is_closed_has_what_was_acknowledged(tmp_path: Path) -> None:
    sources = [cpp.runtime_source() / "src" / "ntf" / "crc32c.cpp", native.SOURCE, PROGRAM]
    program = cpp.build("transaction_workers", sources, FLAGS)
    done = subprocess.run([program, tmp_path / "log"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
