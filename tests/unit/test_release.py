"""`./dev tag` in a repository of its own: it tags what is committed and described, and nothing else."""

from __future__ import annotations

import importlib.metadata
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from test_tidy import ROOT

import jumpgate
from jumpgate import plugins
from jumpgate.hosts import bundle, far_end

NOTES = "# Changelog\n\n## 9.8.7\n\n- Everything is new.\n\n## 0.1.0\n\n- It began.\n"

#: folders whose texts say how to install it
TEXTS = ("jumpgate", "clients/python", "ncas", "converters", "docs", "examples")


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copyfile(ROOT / "dev", folder / "dev")
        (folder / "jumpgate").mkdir()
        self.write("jumpgate/__init__.py", '"""A package."""\n\n__version__ = "9.8.7"\n')
        self.write("CHANGELOG.md", NOTES)
        self.git("init", "--quiet")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        names = {
            f"GIT_{who}_{what}": "tester@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        environment = {**os.environ, **names, "JUMPGATE_VENV": sys.prefix}
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A change")

    def tag(self) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "dev", "tag")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_release_is_a_tag_with_the_notes(repository: Repository) -> None:
    done = repository.tag()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "tagged v9.8.7; to publish it: git push origin v9.8.7, and upload what ./dev release makes\n"
    assert repository.git("cat-file", "-t", "v9.8.7") == "tag\n"
    assert repository.git("tag", "--list", "--format=%(contents)") == "Jumpgate 9.8.7\n\n- Everything is new.\n"
    again = repository.tag()
    assert again.returncode == 1 and "there is a tag v9.8.7 already" in again.stderr


def test_what_is_not_committed_is_not_released(repository: Repository) -> None:
    repository.write("left.txt", "over")
    done = repository.tag()
    assert done.returncode == 1 and "commit or remove these first:\n?? left.txt" in done.stderr
    assert not repository.git("tag", "--list")


@pytest.mark.parametrize("notes", [NOTES.replace("9.8.7", "Unreleased"), NOTES.replace("- Everything is new.\n", "")])
def test_a_release_is_described(repository: Repository, notes: str) -> None:
    repository.write("CHANGELOG.md", notes)
    repository.commit()
    done = repository.tag()
    assert done.returncode == 1 and "must begin with a section '## 9.8.7' that says what is new" in done.stderr
    assert not repository.git("tag", "--list")


def test_there_is_one_version_number() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pyproject["project"]["dynamic"] == ["version"]
    assert pyproject["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "jumpgate.__version__"}
    assert jumpgate.__version__.count(".") == 2


def test_the_distribution_has_one_name() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    assert importlib.metadata.version(name) == far_end.facts()["jumpgate"] == jumpgate.__version__
    with tarfile.open(fileobj=io.BytesIO(bundle.package()[1])) as archive:
        described = {path.split("/")[0] for path in archive.getnames() if path.endswith("METADATA")}
    assert described == {f"{name.replace('-', '_')}-{jumpgate.__version__}.dist-info"}
    own = [entry.dist.name for entry in importlib.metadata.entry_points(group="jumpgate.ncas") if entry.dist]
    assert name in own and plugins.installed("jumpgate.ncas")[0][1].startswith("jumpgate.")
    texts = [path for kind in ("*.py", "*.md") for top in TEXTS for path in (ROOT / top).rglob(kind)]
    wrong = re.compile(r"pip install '?jumpgate(?!-nca)\b|\bjumpgate\[[a-z]+[],]")
    assert not [str(p.relative_to(ROOT)) for p in [*texts, ROOT / "README.md"] if wrong.search(p.read_text())]
