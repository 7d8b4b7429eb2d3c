"""`jumpgate nca new NAME`: creates a small working package as the start of an accelerator's integration."""

from __future__ import annotations

import importlib.resources
import importlib.util
import keyword
import re
from pathlib import Path

from jumpgate.errors import ConfigError
from jumpgate.nca.registry import default_registry

#: template → path of its text; {package} is the name
FILES = {
    "pyproject.toml.j2": "pyproject.toml",
    "README.md.j2": "README.md",
    "package.py.j2": "{package}/__init__.py",
    "worker.py.j2": "{package}/worker.py",
    "test.py.j2": "tests/test_{package}.py",
}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def scaffold(name: str, folder: Path) -> tuple[Path, ...]:
    """Write the package under folder/name from templates/nca; return its files.

    Raises ConfigError for a name that is invalid or taken as a package name, or if the folder exists.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} cannot name an NCA: use a-z, 0-9 and _, a letter first", nca=name)
    if name in default_registry():
        raise ConfigError(f"there is an NCA called '{name}' already: choose another name", nca=name)
    if importlib.util.find_spec(name) is not None:
        raise ConfigError(f"there is a Python package called '{name}' already: choose another name", nca=name)
    root = folder / name
    if root.exists():
        raise ConfigError(f"{root} exists already: choose another name, or remove it", nca=name, file=root)
    values = {"package": name, "title": "".join(word.capitalize() for word in name.split("_"))}
    written = []
    for template, place in FILES.items():
        path = root / place.format(package=name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_rendered(template, values), encoding="utf-8")
        written.append(path)
    return tuple(written)


def _rendered(template: str, values: dict[str, str]) -> str:
    import jinja2  # only needed here, not for looking accelerators up

    text = importlib.resources.files("jumpgate.templates").joinpath("nca", template).read_text(encoding="utf-8")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(text).render(values)
