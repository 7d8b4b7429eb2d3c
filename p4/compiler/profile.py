"""The limits of a piece of hardware, which are data: profiles/NAME.toml."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files

from jumpgate.errors import ConfigError


@dataclass(frozen=True)
class Profile:
    """`stage`: what each stage has; the other groups are as in the file."""

    title: str
    stages: int
    stage: dict[str, int]
    memory: dict[str, int]
    phv: dict[str, int]
    parser: dict[str, int]
    register: dict[str, int]
    alu: dict[str, int]
    gateway: dict[str, int]
    vendor: dict[str, int]


@functools.cache
def load_profile(name: str) -> Profile:
    """Raises ConfigError for an unknown name."""
    folder = files(__package__) / "profiles"
    known = sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    if name not in known:
        raise ConfigError(f"there is no hardware profile '{name}'; there are {', '.join(known)}")
    return Profile(**tomllib.loads((folder / f"{name}.toml").read_text()))
