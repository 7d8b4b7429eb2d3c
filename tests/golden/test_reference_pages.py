"""docs/errors.md, docs/accelerators.md and docs/passes.md are made from the code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpgate import errors
from jumpgate.compiler.compile import PASSES
from jumpgate.nca.device_kind import DeviceKinds
from jumpgate.nca.registry import default_registry
from jumpgate.ncas.cpp import OPERATORS

DOCS = Path(__file__).parents[2] / "docs"
MADE = "This page is made from the code: `./dev golden --update-golden`."


def errors_page() -> str:
    """Every error by its code, below the more general one."""
    lines = [
        "# Errors",
        "",
        "Whatever goes wrong is a `jumpgate.errors.JumpgateError`: one sentence for people, a `code` and `fields`",
        "for programs, the same in Python, over gRPC and in `--json` output. Where trying again, or",
        "elsewhere, may succeed, `is_unreachable` is true.",
        MADE,
        "",
        "| code | class | what it means | may pass |",
        "| --- | --- | --- | --- |",
    ]
    depths = {errors.JumpgateError: 0}
    for kind in errors.kinds():
        if kind is not errors.JumpgateError:
            depths[kind] = depths[kind.__base__] + 1  # type: ignore[index]
        if kind.__module__ != "jumpgate.errors":
            continue  # of a client or a test
        meaning = " ".join((inspect.getdoc(kind) or "").split())
        indent = "&emsp;" * depths[kind]
        lines.append(
            f"| `{kind.code}` | {indent}`{kind.__name__}` | {meaning} | {'yes' if kind.is_unreachable else ''} |"
        )
    return "\n".join([*lines, ""])


def accelerators_page() -> str:
    """The accelerators that come with Jumpgate, and the kinds of devices that they drive."""
    lines = [
        "# Accelerators",
        "",
        "What comes with Jumpgate; `jumpgate nca list` also shows those of other packages, and",
        "`jumpgate nca show NAME` says more.",
        MADE,
        "",
        "| name | what it does |",
        "| --- | --- |",
    ]
    for nca in sorted(default_registry(), key=lambda nca: nca.name):
        if type(nca).__module__.startswith("jumpgate."):
            lines.append(f"| `{nca.name}` | {(inspect.getdoc(type(nca.operators)) or '').partition(chr(10))[0]} |")
    lines += ["", "## What `cpp` runs", "", "| operator | how |", "| --- | --- |"]
    lines += [f"| {operator.__name__} | {how} |" for operator, how in OPERATORS.items()]
    for kind in DeviceKinds().all():
        lines += ["", f"## Devices of kind `{kind.name}`", "", kind.summary, "", "| key | type | default | meaning |"]
        lines.append("| --- | --- | --- | --- |")
        for key in kind.keys:
            default = "required" if key.required else "" if key.default is None else f"`{key.default}`"
            lines.append(f"| `{key.name}` | {key.type.__name__} | {default} | {key.meaning} |")
    return "\n".join([*lines, ""])


def passes_page() -> str:
    """The passes of the compiler in their order, by what their modules say."""
    lines = [
        "# Passes of the compiler",
        "",
        "In the order in which they run; the plan is verified after each, and `jumpgate explain --verbose` prints it.",
        "Each is one module of jumpgate/compiler/logical, mapping or physical.",
        MADE,
        "",
        "| pass | what it does |",
        "| --- | --- |",
    ]
    for run in PASSES:
        text = (inspect.getdoc(sys.modules[run.__module__]) or "").partition("\n\n")[0]
        lines.append(f"| `{run.__name__}` | {' '.join(text.split())} |")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    ("name", "page"),
    [("errors.md", errors_page), ("accelerators.md", accelerators_page), ("passes.md", passes_page)],
)
def test_page_is_up_to_date(request: pytest.FixtureRequest, name: str, page: Callable[[], str]) -> None:
    if request.config.getoption("--update-golden"):
        (DOCS / name).write_text(page(), encoding="utf-8")
    assert page() == (DOCS / name).read_text(encoding="utf-8"), f"docs/{name} differs: run ./dev golden --update-golden"


def test_every_error_says_what_it_means() -> None:
    assert not [kind for kind in errors.kinds() if kind.__module__ == "jumpgate.errors" and not kind.__doc__]
