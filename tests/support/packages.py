"""Packages that are not installed, as if they were: for processes that are started with a folder on PYTHONPATH."""

from __future__ import annotations

import shutil
import sys
import tomllib
import types
from pathlib import Path

import pytest

from jumpgate import plugins


def install(source: Path, folder: Path) -> None:
    """Puts the package in `source` (a folder with pyproject.toml) into `folder`, as an installer would."""
    project = tomllib.loads((source / "pyproject.toml").read_text())
    for package in project["tool"]["setuptools"]["packages"]:
        shutil.copytree(source / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    name, version = project["project"]["name"], project["project"]["version"]
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["project"].get("entry-points", {})
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in found.items()) for group, found in groups.items()]
    (about / "entry_points.txt").write_text("\n".join(lines))


def declare(monkeypatch: pytest.MonkeyPatch, package: str, **objects: object) -> None:
    """Make these objects, by their names, all the entry points there are, in a module called as the package."""
    module = types.ModuleType(package)
    vars(module).update(objects)
    monkeypatch.setitem(sys.modules, package, module)
    monkeypatch.setattr(plugins, "installed", lambda group: tuple((name, f"{package}:{name}") for name in objects))
