"""Jars of a wheel: what they share is there once, and each is whole again when it is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest

from jumpgate import jars


def written(jar: Path, **entries: bytes) -> Path:
    with ZipFile(jar, "w") as file:
        file.mkdir("folder")
        for name, data in entries.items():
            file.writestr(name, data, ZIP_STORED)
    return jar


def entries(jar: Path) -> dict[str, bytes]:
    with ZipFile(jar) as file:
        assert file.testzip() is None
        return {info.filename: file.read(info) for info in file.infolist() if not info.is_dir()}


def test_shared_entries_are_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "__file__", str(tmp_path / "jars.py"))
    library, other = os.urandom(50_000), os.urandom(40_000)
    contents = {
        "a.jar": {"library": library, "other": other, "own": b"a", "empty": b""},
        "b.jar": {"library": library, "own": b"b", "both": b"x"},
        "c.jar": {"other": other, "library": other, "both": b"x", "own": b"c"},  # one name, another content
    }
    made = [written(tmp_path / name, **found) for name, found in contents.items()]
    jars.share(made, tmp_path / jars.SHARED)
    assert sum(path.stat().st_size for path in (*made, tmp_path / jars.SHARED)) < 140_000
    for path, found in zip(made, contents.values(), strict=True):
        again = jars.whole(path)
        assert entries(again) == found
        assert jars.whole(path) == again != path
    assert not list((tmp_path / "cache").rglob("tmp*"))


def test_a_jar_that_was_built_here_is_whole(tmp_path: Path) -> None:
    jar = written(tmp_path / "a.jar", own=b"a")
    assert jars.whole(jar) == jar
