"""Which part of the C++ runtime and of the P4 compiler may know which. An arrow that is not listed is a defect."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_tidy import ROOT, imports

RUNTIME, CONVERTERS, P4 = ROOT / "ncas" / "runtime", ROOT / "converters", ROOT / "p4" / "compiler"

#: folder of the runtime's sources → those whose headers it may include besides `jg`, the interface for all
RUNTIME_LAYERS: dict[str, set[str]] = {
    "base": set(),
    "ntf": set(),
    "edges": {"ntf"},
    "objects": {"base", "edges"},
    "datagrams": {"base", "edges", "ntf"},
    "functions": set(),
    "tables": {"base"},
    "executor": {"base", "edges", "datagrams", "tables"},
    "process": {"base"},  # knows an instance by its interface
}
#: folder of the converters → the others; no format knows another one, and none the runtime but for `jg`
CONVERTER_LAYERS: dict[str, set[str]] = {
    "common": set(),
    "text": {"common"},
    "csv": {"common", "text"},
    "json": {"common", "text"},
    "orc": {"common"},
    "parquet": {"common"},
    "": {"common", "text"},
}
#: headers of `jg` for whoever runs instances; the others are for all
OF_INSTANCES = {"jg/host.h", "jg/instance.h"}
RUN_INSTANCES = {"executor", "process"}

#: phase of the P4 compiler → the phases and modules beside them that it may import
P4_LAYERS: dict[str, set[str]] = {
    "frontend": set(),
    "ir": {"frontend"},
    "walk": {"ir"},
    "profile": set(),
    "elaboration": {"frontend", "ir", "walk"},
    "checks": {"frontend", "elaboration", "ir", "profile", "walk"},
    "allocation": {"frontend", "checks", "ir", "profile", "walk"},
    "output": {"ir", "walk"},
    "interpret": {"elaboration", "ir", "walk"},
    "judge": {"frontend"},
    "compile": {"frontend", "elaboration", "checks", "allocation", "output", "ir", "profile", "walk"},
    "": {"compile", "frontend"},
}

#: what the JVM's client is made of: gRPC and protobuf for the service, ASM for classes that it generates
JVM_MAY_IMPORT = (
    "java.",
    "javax.net.ssl.",
    "io.jumpgate.",
    "io.grpc.",
    "com.google.",
    "org.objectweb.asm.",
    "sun.misc.Unsafe",
)


def headers(folder: Path) -> list[tuple[Path, str]]:
    """(file, what it includes in quotes) of every C++ file below a folder."""
    paths = [path for suffix in ("cpp", "h") for path in sorted(folder.rglob(f"*.{suffix}"))]
    assert paths, folder
    return [(path, name) for path in paths for name in re.findall(r'^\s*#\s*include\s+"(.+)"', path.read_text(), re.M)]


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def defects(base: Path, layers: dict[str, set[str]]) -> list[str]:
    found = []
    for path, name in headers(base):
        part, other = folder_of(path.relative_to(base).as_posix()), folder_of(name)
        if other == "jgudp":  # what the software switch shares
            allowed = part == "datagrams"
        elif other == "jg":
            allowed = name not in OF_INSTANCES or part in RUN_INSTANCES
        else:
            allowed = name == "simdjson.h" or other in layers[part] | {part}
            assert name == "simdjson.h" or (base / name).exists(), f"{path} includes {name}: say its folder"
        if not allowed:
            found.append(f"{path.relative_to(ROOT)} includes {name}: {part or 'it'} may include {sorted(layers[part])}")
    return found


@pytest.mark.parametrize(("base", "layers"), [(RUNTIME / "src", RUNTIME_LAYERS), (CONVERTERS, CONVERTER_LAYERS)])
def test_sources_include_only_what_they_may_know(base: Path, layers: dict[str, set[str]]) -> None:
    assert not defects(base, layers)


def test_the_interface_includes_nothing_but_itself() -> None:
    assert not [(path, name) for path, name in headers(RUNTIME / "include") if folder_of(name) != "jg"]


def test_layers_have_no_cycle() -> None:
    for layers in (RUNTIME_LAYERS, CONVERTER_LAYERS, P4_LAYERS):
        left = dict(layers)
        while free := [name for name, below in left.items() if not below & set(left)]:
            left = {name: below for name, below in left.items() if name not in free}
        assert not left


def test_phases_of_the_p4_compiler_know_earlier_ones() -> None:
    package = "jumpgate.p4.compiler"
    for path in sorted(P4.rglob("*.py")):
        inner = path.relative_to(P4).with_suffix("").parts
        part = inner[0].replace("__init__", "")
        for name in imports(ast.parse(path.read_text()), ".".join((package, *inner)), path.stem == "__init__"):
            if name.startswith(package + "."):
                other = name.removeprefix(package + ".").split(".")[0]
                assert other in P4_LAYERS[part] | {part}, f"{path} imports {name}"


def test_the_jvm_client_knows_no_engine() -> None:
    """Engines that run on the JVM have plug-ins of their own, which import this."""
    sources = sorted((ROOT / "clients" / "jvm" / "src" / "main").rglob("*.java"))
    assert sources
    for path in sources:
        for name in re.findall(r"^import (?:static )?([\w.]+)", path.read_text(), re.M):
            assert name.startswith(JVM_MAY_IMPORT), f"{path.relative_to(ROOT)} imports {name}"
