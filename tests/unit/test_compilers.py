"""Compilers that do not end, and what they have started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jumpgate.codegen import compilers
from jumpgate.errors import TimedOut
from jumpgate.testing.leaks import wait_until


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("stop", ["", "kill -STOP $$"])
def test_a_compiler_that_does_not_end_is_killed_with_all_below_it(stop: str, tmp_path: Path) -> None:
    """A stopped one, too, which uses no CPU time."""
    script = f"sh -c 'echo $$ > {tmp_path}/child; exec sleep 1000' & echo $$ > {tmp_path}/pid; {stop}\nsleep 1000"
    with pytest.raises(TimedOut, match="f0 was not compiled within 1 s: the compiler was ended"):
        compilers.run("f0", ["sh", "-c", script], "", dict(os.environ), 1.0)
    for name in ("pid", "child"):
        pid = int((tmp_path / name).read_text())
        assert wait_until(lambda pid=pid: is_gone(pid))  # type: ignore[misc]


def test_a_compiler_that_stays_stopped_is_ended(tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; kill -STOP $$; sleep 1000"
    with pytest.raises(TimedOut, match="f0 was not compiled: a signal had stopped the compiler, which was ended"):
        compilers.run("f0", ["sh", "-c", script], "", dict(os.environ), None)
    assert wait_until(lambda: is_gone(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize("wait", ["", "sleep 1.5;"])
def test_what_a_compiler_says_is_handed_on(wait: str) -> None:
    run, source = ["sh", "-c", f"{wait} cat >&2; exit 3"], "no such type\n" * 100_000
    assert compilers.run("f0", run, source, dict(os.environ), None) == (3, source)
