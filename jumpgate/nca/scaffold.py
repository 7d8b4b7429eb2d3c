"""`jumpgate nca new NAME`: a small package that works at once, to be made into an accelerator's integration."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from pathlib import Path

from jumpgate.errors import ConfigError

#: template → where its text goes; {package} is the name
FILES = {
    "pyproject.toml.j2": "pyproject.toml",
    "README.md.j2": "README.md",
    "package.py.j2": "{package}/__init__.py",
    "test.py.j2": "tests/test_{package}.py",
}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def scaffold(name: str, folder: Path, render: Callable[[str, dict[str, str]], str]) -> tuple[Path, ...]:
    """Writes the package under folder/name and returns its files.

    `render(template, values)` gives the text of a template of templates/nca with `package` and `title`. Raises
    ConfigError for a name that cannot be a package's, and where something is already there.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} cannot name an NCA: use lower-case letters, digits and _, a letter first", nca=name)
    root = folder / name
    if root.exists():
        raise ConfigError(f"{root} exists already: choose another name, or remove it", nca=name, file=root)
    values = {"package": name, "title": "".join(word.capitalize() for word in name.split("_"))}
    written = []
    for template, place in FILES.items():
        path = root / place.format(package=name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(template, values), encoding="utf-8")
        written.append(path)
    return tuple(written)
