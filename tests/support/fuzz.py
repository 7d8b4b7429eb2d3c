"""Runs a fuzz target for a bounded time: libFuzzer where clang is installed, else a driver that mutates the seeds at
random; both under ASan and UBSan."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support import cpp

SECONDS = int(os.environ.get("JUMPGATE_FUZZ_SECONDS", "10"))
#: seed of libFuzzer's mutations: the inputs are the same each time, so a failure comes from a change; 0 tries others
SEED = int(os.environ.get("JUMPGATE_FUZZ_SEED", "1"))
BUILD_SECONDS_MAX = 580
#: a program that replaces a process takes over its peak of memory: that of a shell is small, that of the tests is not
_FORK = ("sh", "-c", '"$@"; exit $?', "sh")
_FUZZER = ("-O1", "-g", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined")


def fuzz(
    name: str,
    sources: Sequence[Path],
    driver: Path,
    corpus: Path,
    flags: Sequence[str] = (),
    options: Sequence[str] = (),
) -> int:
    """Builds the target and feeds it inputs made from the files in `corpus`; returns how many. `driver` is the main
    program without clang, `options` are libFuzzer's. Inputs that fail stay beside `corpus`; raises AssertionError with
    the report."""
    clang = shutil.which("clang++") or shutil.which("clang++-14")
    if clang is not None:
        program = cpp.build(f"{name}_fuzz", sources, (*_FUZZER, *flags), clang)
        command = [program, f"-max_total_time={SECONDS}", f"-seed={SEED}", f"-artifact_prefix={corpus.parent}/",
                   "-rss_limit_mb=4096", "-print_final_stats=1", *options, corpus]  # fmt: skip
    else:
        program = cpp.build(f"{name}_mutate", [*sources, driver], (*cpp.SANITIZED, *flags))
        command = [program, corpus, SECONDS]
    done = subprocess.run([*_FORK, *map(str, command)], cwd=corpus.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"inputs that fail are in {corpus.parent}:\n{done.stderr[-6000:]}"
    words = done.stderr.split() if clang else done.stdout.split()
    return int(words[words.index("stat::number_of_executed_units:") + 1] if clang else words[0])
