"""What must hold of the repository as a whole: who may know whom, what text may not mention, how long a file may be."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES_MAX = 650

#: folder of the repository → package that it is installed as
PACKAGES = {
    "jumpgate": "jumpgate",
    "ncas": "jumpgate.ncas",
    "converters": "jumpgate.converters",
    "templates": "jumpgate.templates",
    "p4": "jumpgate.p4",
    "clients/python": "jumpgate.client",
    "clients/spark/python": "jumpgate.spark",
    "clients/presto/python": "jumpgate.presto",
    "clients/trino/python": "jumpgate.trino",
}

#: part → the other parts that it may import. `errors` and `debug` are free for all; an arrow not listed is a defect.
MAY_KNOW = {
    "v1": set(),  # generated from the .proto files
    "stores": set(),
    "dataflow": {"v1", "stores"},  # of stores: what their objects are
    "ntf": {"dataflow", "trust", "v1"},  # column types only; encrypted edges
    "trust": {"ntf"},  # addresses only
    "nca": {"dataflow", "ntf", "trust"},  # a job's certificate
    "codegen": {"dataflow", "ntf", "nca", "templates", "trust"},
    "converters": {"dataflow", "nca", "stores"},  # of nca: Statistics
    "ncas": {"dataflow", "ntf", "nca", "codegen", "converters", "p4", "stores", "trust", "udp"},
    "compiler": {"dataflow", "ntf", "nca"},
    "lakes": {"dataflow", "converters", "stores"},
    # of converters: what a host's files hold
    "hosts": {"dataflow", "ntf", "nca", "codegen", "converters", "stores", "trust"},
    "orchestrator": {"dataflow", "ntf", "nca", "hosts"},
    "observe": {"dataflow", "ntf", "templates"},
    "tpcds": {"dataflow"},
    "tpch": {"dataflow", "tpcds"},
    # a runtime and a switch's program for the paper's evaluation
    "study": {"dataflow", "tpcds", "tpch", "client", "observe", "templates", "codegen", "p4"},
    # of study: its pages; of client: the jobs of a suite's queries
    "simulate": {"dataflow", "nca", "compiler", "converters", "study", "tpcds", "client"},
    # to start one; schemas; the cache folder; numbers for people
    "client": {"dataflow", "ntf", "v1", "service", "converters", "codegen", "lakes", "stores", "trust"},
    # of converters: columns of files; of hosts: the configuration
    "flight": {"client", "converters", "dataflow", "hosts", "ntf", "service", "stores", "trust", "v1"},
    "spark": set(),  # finds a jar
    "presto": set(),  # copies one
    "trino": {"presto"},  # copies one likewise
    "templates": set(),
    "transactions": {"ncas", "p4"},  # of ncas: the switch's controller
    "udp": set(),  # headers of C++
    "p4": {"ntf", "templates", "codegen", "trust", "udp"},  # packet headers; programs and generated C++
}
#: these may know everybody
FREE = {"service", "cli", "testing"}
#: what `import jumpgate` must not load
HEAVY = ("grpc", "google.protobuf", "pyarrow", "paramiko", "duckdb", "jinja2", "rich", "click", "simdjson", "cmake")

#: what users and authors of accelerators, formats and functions import: folders of modules, and modules
PUBLIC = (
    "clients/python", "clients/python/sql/connection.py", "clients/python/sql/query.py", "jumpgate/__init__.py",
    "jumpgate/errors.py", "jumpgate/words.py", "jumpgate/nca", "jumpgate/nca/conformance", "jumpgate/ntf/descriptor.py",
    "jumpgate/testing/check.py", "jumpgate/testing/rig.py", "jumpgate/testing/in_process.py",
    *(f"jumpgate/dataflow/{name}.py" for name in (
        "builder", "unresolved", "measures", "types", "function", "formats", "join_types", "layouts", "operators",
        "operator_parts", "traits",
    )),
)  # fmt: skip

# assembled here, so that this file does not contain what it looks for
FORBIDDEN = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\w.])/(?:work|tmp/jg)\b",
        r"\b(?:pypi|files\.pythonhosted|repo\.maven|proxy\.golang|registry\.npmjs|deb\.debian)\.(?:org|apache\.org)\b",
        r"\b(?:Claude|Anthropic|ChatGPT|Copilot)\b",
        r"\bissues? #?\d+\b",
    )
]
MARKERS = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
TEXT = {
    ".py",
    ".cpp",
    ".h",
    ".j2",
    ".md",
    ".toml",
    ".proto",
    ".txt",
    ".json",
    ".yaml",
    ".yml",
    ".cfg",
    ".sh",
    "",
    ".java",
    ".xml",
}


def files() -> list[Path]:
    """Everything that git would commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    else:
        found = [path for base in (*PACKAGES, "tests", "bench") for path in (ROOT / base).rglob("*")]
    return sorted(path for path in found if path.is_file())


def texts() -> Iterator[tuple[Path, str]]:
    for path in files():
        if path.suffix in TEXT and path != Path(__file__):
            yield path.relative_to(ROOT), path.read_text(errors="replace")


def may_name_what_it_checks(path: Path) -> bool:
    """Tests, pages and benchmarks may name one format or type of join; what tests share counts as code."""
    if "src/test/" in path.as_posix():  # of the clients for the JVM
        return True
    return path.parts[0] in ("tests", "docs", "bench") and path.parts[:2] != ("tests", "support")


def is_generated(path: Path) -> bool:
    return path.stem.endswith(("_pb2", "_pb2_grpc")) or path.suffix == ".pyi"


def modules() -> Iterator[tuple[str, Path]]:
    """(dotted name, file) of every Python module that is installed."""
    for folder, package in PACKAGES.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join((package, *(p for p in parts if p != "__init__"))), path


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Dotted names that a module imports, also inside functions; not those for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield from imports(ast.Module([other], []), module, is_package)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")[: None if is_package else -1]
                base = ".".join([*above[: len(above) - node.level + 1], *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, module, is_package)


def part_of(name: str) -> str | None:
    """`jumpgate.ncas.cpp` → `ncas`; None for what is not ours, or free for all."""
    words = name.split(".")
    if (
        words[0] != "jumpgate"
        or len(words) < 2
        or words[1] in ("errors", "deadline", "debug", "extras", "jars", "machine", "plugins", "words", "__version__")
    ):
        return None
    return words[1]


def test_names_of_test_files_differ() -> None:
    """pytest imports them by name alone."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)


def test_parts_import_only_what_they_may_know() -> None:
    defects = []
    for name, path in modules():
        part = part_of(name)
        if part is None or part in FREE or is_generated(path):
            continue
        tree = ast.parse(path.read_text())
        for imported in imports(tree, name, path.stem == "__init__"):
            other = part_of(imported)
            if other is not None and other != part and other not in MAY_KNOW[part]:
                defects.append(f"{path.relative_to(ROOT)} imports {imported}: {part} may know {sorted(MAY_KNOW[part])}")
    assert not defects, "\n".join(defects)


def test_every_part_has_a_rule() -> None:
    parts = {part for name, _ in modules() if (part := part_of(name)) is not None}
    assert parts <= set(MAY_KNOW) | FREE


def test_the_installed_kit_is_what_authors_run() -> None:
    """The rest of what tests share is in tests/support, which nothing that is installed imports."""
    known = dict(modules())
    wanted = {"jumpgate.testing", *(f"jumpgate.testing.{name}" for name in ("check", "in_process", "rig"))}
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        found.add(name)
        tree = ast.parse(known[name].read_text())
        used = {n for i in imports(tree, name, False) for n in (i, i.rpartition(".")[0]) if n in known}
        wanted |= {n for n in used if n.startswith("jumpgate.testing.")} - found
    assert found == {name for name in known if name.startswith("jumpgate.testing")}
    for name, path in known.items():
        tree = ast.parse(path.read_text())
        assert not [i for i in imports(tree, name, False) if i.split(".")[0] == "tests"], path


def test_every_invariant_names_the_tests_that_hold_it() -> None:
    parts = [p for p in (ROOT / "ARCHITECTURE.md").read_text().split("\n\n") if "*Invariant:" in p]
    assert len(parts) > 10
    for part in parts:
        held = part.partition("Held by ")[2]
        names = re.findall(r"`(?:(\w+/test_\w+)(?:::)?)?(test_\w+)?`", held)
        assert names, part
        for name in re.findall(r"`(\w+Test)`", held):
            assert list((ROOT / "clients" / "jvm" / "src" / "test").rglob(f"{name}.java")), f"there is no {name}"
        text = ""
        for file, name in names:
            if file:
                text = (ROOT / "tests" / f"{file}.py").read_text()
            assert not name or re.search(rf"^def {name}\(", text, re.M), f"there is no test {file}::{name}"


def definitions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, str | None]]:
    """(name, docstring) of every public function, class and method."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, ast.get_docstring(node)
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{node.name}.")


def test_public_functions_say_what_they_do() -> None:
    """Of the modules that users and authors import. A method may leave it to the one of another class with its name."""
    found = {}
    for place in PUBLIC:
        for path in [ROOT / place] if place.endswith(".py") else sorted((ROOT / place).glob("*.py")):
            found |= {(path, name): text for name, text in definitions(ast.parse(path.read_text()).body)}
    assert len(found) > 300
    said = {name.partition(".")[2] for (_, name), text in found.items() if text} - {""}
    silent = [key for key, text in found.items() if not text and key[1].partition(".")[2] not in said]
    assert not silent, silent


def test_compiler_names_no_accelerator() -> None:
    names = [
        path.name for path in (ROOT / "ncas").iterdir() if (path / "__init__.py").exists() and path.name != "runtime"
    ]
    for path in sorted((ROOT / "jumpgate" / "compiler").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in [f"jumpgate.ncas.{name}" for name in names], path


def test_compiler_opens_neither_sockets_nor_files() -> None:
    for path in sorted((ROOT / "jumpgate" / "compiler").rglob("*.py")):
        tree = ast.parse(path.read_text())
        used = {name.split(".")[0] for name in imports(tree, "jumpgate.compiler.x", False)}
        assert not used & {"socket", "asyncio", "subprocess", "pathlib", "shutil"}, path
        calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert "open" not in calls, path


def test_arrow_parses_text_outside_of_its_thread_pool() -> None:
    """Scans may hold the pool's threads while they wait for what is parsed, and objects are parsed side by side
    anyway."""
    calls = [
        (path, node)
        for part in ("jumpgate", "ncas", "converters", "clients/python")
        for path in sorted((ROOT / part).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ReadOptions"
    ]
    assert calls
    for path, call in calls:
        values = {k.arg: k.value for k in call.keywords}
        use = values.get("use_threads")
        assert isinstance(use, ast.Constant) and use.value is False, f"{path}:{call.lineno}"


def test_text_mentions_no_machine_and_no_registry() -> None:
    defects = [
        f"{path}:{text[: match.start()].count(chr(10)) + 1}: {match.group()}"
        for path, text in texts()
        for pattern in FORBIDDEN
        for match in pattern.finditer(text)
    ]
    assert not defects, "\n".join(defects)


def test_nothing_is_left_for_later() -> None:
    defects = [
        str(path)
        for path, text in texts()
        if MARKERS.search(text) and path.suffix in (".py", ".cpp", ".h", ".j2", ".java")
    ]
    assert not defects


def test_files_are_short() -> None:
    long = {
        str(path): lines
        for path, text in texts()
        if path.suffix in (".py", ".cpp", ".h", ".java")
        and not is_generated(path)
        and (lines := text.count("\n")) > LINES_MAX
    }
    assert not long, f"longer than {LINES_MAX} lines; usually these are two ideas: {long}"


def test_what_jvm_clients_share_knows_no_engine() -> None:
    engines = re.compile(
        r"import (?:static )?(?:org\.apache\.spark|com\.facebook\.presto|io\.trino|scala|org\.apache\.arrow)\b"
    )
    for path, text in texts():
        if path.is_relative_to("clients/jvm"):
            assert not engines.search(text), path


def test_package_list_is_complete() -> None:
    import tomllib

    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    there = {name for name, path in modules() if path.stem == "__init__"}
    assert set(setup["packages"]) == there | {"jumpgate.docs"}  # pages, no modules
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        folder = next((f for f in PACKAGES if name.startswith(f + "/") and f != "jumpgate"), None)
        if folder is None and not name.startswith("jumpgate/"):
            continue
        if path.suffix == ".py" or path.suffix in (".md", ".pyi") or path.name == "py.typed":
            continue
        assert any(
            path in set((ROOT / source_folder(package)).glob(pattern))
            for package, patterns in setup["package-data"].items()
            for pattern in patterns
        ), f"{name} is missing from package-data in pyproject.toml: an installed wheel would lack it"


def source_folder(package: str) -> str:
    for folder, name in PACKAGES.items():
        if folder != "jumpgate" and (package == name or package.startswith(name + ".")):
            return folder + package.removeprefix(name).replace(".", "/")
    return package.replace(".", "/")


def test_import_loads_nothing_heavy() -> None:
    code = "import jumpgate, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not [name for name in loaded if name.startswith(HEAVY)]


def test_help_loads_no_command() -> None:
    code = """
import sys
from jumpgate.cli.main import main
try:
    main(["--help"])
except SystemExit:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in done.stdout
    heavy = set(HEAVY) - {"click"}
    assert not [name for name in done.stderr.split() if name.startswith(tuple(heavy))]


def test_generated_protocol_code_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "dev"), "proto", "--check"],
        env={**os.environ, "JUMPGATE_VENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
