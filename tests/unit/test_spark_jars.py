"""Which of the plugin's jars is for whom."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from jumpgate import spark
from jumpgate.errors import ConfigError

POM = Path(__file__).resolve().parents[2] / "clients/spark/pom.xml"


def test_the_build_has_a_profile_for_each_version() -> None:
    assert re.findall("<id>spark-(.+)</id>", POM.read_text()) == list(spark.VERSIONS)


@pytest.mark.parametrize(("release", "version"), [("4.2.0", "4.2_2.13"), ("4.0.1", "4.0_2.13"), ("3.5.8", "3.5_2.12")])
def test_pyspark_gets_the_plugin_of_its_version(monkeypatch: pytest.MonkeyPatch, release: str, version: str) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: release)
    assert spark.installed() == version


def test_without_pyspark_it_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert spark.installed() == spark.VERSIONS[0]


def test_another_version_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"there is no plugin for Spark 2\.4; there is one for 4\.2_2\.13, "):
        spark.jar("2.4")


def test_what_is_not_built_says_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spark, "_JARS", tmp_path)
    with pytest.raises(ConfigError, match=r"run `\./dev jvm package -P spark-4\.0_2\.13`"):
        spark.jar("4.0_2.13")
