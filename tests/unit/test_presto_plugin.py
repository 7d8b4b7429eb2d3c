"""`jumpgate presto-plugin` and `trino-plugin` write the connector's jars, or say what is missing."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from jumpgate import presto, trino
from jumpgate.errors import ConfigError, FileUnreadable


def test_the_jars_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "built").mkdir()
    with ZipFile(tmp_path / "built" / "a.jar", "w") as jar:
        jar.writestr("own", b"jar")
    monkeypatch.setattr(presto, "_JARS", tmp_path / "built")
    written = presto.write_plugin(tmp_path / "plugin" / "jumpgate")
    assert written == [tmp_path / "plugin" / "jumpgate" / "a.jar"]
    assert written[0].read_bytes() == (tmp_path / "built" / "a.jar").read_bytes()


def test_a_connector_that_was_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presto, "_JARS", tmp_path)
    monkeypatch.setattr(trino, "_JARS", tmp_path)
    for engine in (presto, trino):
        name = engine.__name__.rpartition(".")[2]
        with pytest.raises(
            ConfigError, match=rf"has not been built; in a checkout, run `./dev jvm --projects jvm,{name}"
        ):
            engine.write_plugin(tmp_path / "plugin")
    assert not (tmp_path / "plugin").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(tmp_path / "a.jar", "w") as jar:
        jar.writestr("own", b"jar")
    monkeypatch.setattr(presto, "_JARS", tmp_path)
    with pytest.raises(FileUnreadable, match=r"cannot write the plugin into .*a\.jar: File exists"):
        presto.write_plugin(tmp_path / "a.jar")
