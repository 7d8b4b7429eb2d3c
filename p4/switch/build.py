"""From a P4 source file to what runs: the compiled program, its P4Info and its resource report, kept by content."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpgate.codegen import cache, toolchain
from jumpgate.errors import ConfigError
from jumpgate.p4.switch import library

if TYPE_CHECKING:
    from finsy.proto import p4i

INCLUDED = (".p4", ".h", ".p4h", ".inc")
BUILDS_BYTES_MAX = 64 << 20


@dataclass(frozen=True)
class Built:
    """`resources` is the report as data, `report` as text."""

    program: Path
    p4info_bytes: bytes
    resources: dict[str, Any]
    report: str

    @cached_property
    def p4info(self) -> p4i.P4Info:
        """The message; the modules behind it take longer to load than a kept program."""
        from finsy.proto import p4i

        return p4i.P4Info.FromString(self.p4info_bytes)


def build(source: Path, profile: str = "tofino1", includes: Sequence[Path] = ()) -> Built:
    """Compiles, unless neither the source, nor a file beside it that it could include, nor the compiler has changed.

    Raises ConfigError (unreadable), the compiler's errors, BuildError.
    """
    text = read(source)
    kept = cache.folder("switch", "builds") / f"{_key(source, text, profile, includes)}.json"
    found = _load(kept)
    if found is None:
        found = _compile(source, text, profile, kept, includes)
    return found


def read(source: Path) -> str:
    """The text of a program. Raises ConfigError."""
    try:
        return source.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the P4 program {source}: {error}", file=source) from error


def _load(kept: Path) -> Built | None:
    if not cache.mark_used(kept):
        return None
    data = json.loads(kept.read_text())
    program = cache.root() / "switch" / "programs" / data["program"]
    if not cache.is_usable(program):
        return None
    return Built(program, bytes.fromhex(data["p4info"]), data["resources"], data["report"])


def _compile(source: Path, text: str, profile: str, kept: Path, includes: Sequence[Path]) -> Built:
    from jumpgate.p4.compiler import compile_source

    compiled = compile_source(text, str(source), profile=profile, includes=includes)
    program = library.build_program(source.name, compiled.cpp)
    info = compiled.p4info.SerializeToString(deterministic=True)
    built = Built(program, info, compiled.resources.to_dict(), compiled.resources.text())
    data = {
        "program": program.name,
        "p4info": info.hex(),
        "resources": built.resources,
        "report": built.report,
    }
    with cache.scratch() as work, cache.explained():
        made = work / kept.name
        made.write_text(json.dumps(data))
        made.rename(kept)
    cache.evict(kept.parent.glob("*.json"), BUILDS_BYTES_MAX)
    return built


def _key(source: Path, text: str, profile: str, includes: Sequence[Path]) -> str:
    """Return a hash of everything that the outcome depends on."""
    beside = [
        path
        for folder in (source.parent, *includes)
        for pattern in ("*", "*/*", "*/*/*")
        for path in folder.glob(pattern)
        if path.suffix in INCLUDED and path.is_file()
    ]
    package = _folder("jumpgate.p4")
    compiler = [
        *(path for path in (package / "compiler").rglob("*") if path.is_file() and path.suffix != ".pyc"),
        *(path for path in (package / "include").rglob("*") if path.is_file()),
        *(_folder("jumpgate.templates") / "cpp").glob("switch*"),
    ]
    parts: list[bytes | str] = [library.base_key(toolchain.default_variant()), str(source), text, profile]
    parts += [str(folder) for folder in includes]
    for path in sorted(beside) + sorted(compiler):
        parts += [path.name, path.read_bytes()]
    return library.digest(*parts)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent
