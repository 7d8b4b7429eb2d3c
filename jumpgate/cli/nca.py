"""`jumpgate nca`: the accelerators that are installed, and help for those who write one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from jumpgate.cli import output
from jumpgate.cli.options import json_option
from jumpgate.dataflow.formats import formats
from jumpgate.nca.device_kind import DeviceKind, DeviceKinds
from jumpgate.nca.interface import NCA
from jumpgate.nca.registry import Registry


@click.group("nca")
def command() -> None:
    """List, show, check and create accelerators."""


def registry() -> Registry:
    """Installed accelerators and those of jumpgate.toml."""
    from jumpgate.hosts.config import load
    from jumpgate.service.embedded import configured_registry

    return configured_registry(load())


def _about(nca: NCA) -> dict[str, str]:
    documentation = inspect.getdoc(type(nca.operators)) or ""
    return {
        "name": nca.name,
        "summary": documentation.partition("\n")[0],
        "class": f"{type(nca).__module__}.{type(nca).__qualname__}",
    }


def _kinds() -> DeviceKinds:
    """Installed kinds of devices and those of jumpgate.toml."""
    from jumpgate.hosts.config import load

    return DeviceKinds(load().device_kinds)


def _about_kind(kind: DeviceKind) -> dict[str, Any]:
    keys = [
        {"name": k.name, "type": k.type.__name__, "default": k.default, "required": k.required, "meaning": k.meaning}
        for k in kind.keys
    ]
    return {"name": kind.name, "summary": kind.summary, "keys": keys}


@command.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The accelerators, and the kinds of devices that jumpgate.toml may name."""
    found, kinds = registry(), _kinds()
    known = [_about_kind(kind) for kind in kinds.all()]
    broken = {**formats().broken, **found.problems, **kinds.problems}
    if as_json:
        problems = {name: error.to_dict() for name, error in broken.items()}
        output.print_json({"ncas": [_about(nca) for nca in found], "device_kinds": known, "problems": problems})
        return
    accelerators = [(about["name"], about["summary"]) for about in map(_about, found)]
    output.print_table("", ("accelerator", "what it does"), accelerators)
    if known:
        kinds_shown = [(k["name"], k["summary"], ", ".join(key["name"] for key in k["keys"])) for k in known]
        output.print_table("", ("kind of device", "what it is", "its keys in jumpgate.toml"), kinds_shown)
    for name, error in broken.items():
        print(f"not used: {name}: {error.message}")


@command.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show what one accelerator is and where it comes from."""
    nca = registry().get(name)
    about = {**_about(nca), "description": inspect.getdoc(type(nca.operators)) or ""}
    if as_json:
        output.print_json(about)
        return
    print(f"{about['name']} ({about['class']})\n\n{about['description']}")


@command.command("check")
@click.argument("name")
@click.option("--cases", type=click.IntRange(1), default=50, show_default=True, help="Random dataflows.")
@click.option("--directed", type=click.IntRange(1), default=8, show_default=True,
              help="Directed dataflows of each operator that run on real processes.")  # fmt: skip
@click.option("--dataflows", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A Python file of your own: its `dataflows` is a dictionary of names and dataflows.")  # fmt: skip
@click.option("--format", "of", multiple=True, metavar="FORMAT",
              help="Formats of the files that random dataflows read; by default all. May be repeated.")  # fmt: skip
@json_option
@click.pass_context
def check(
    context: click.Context,
    name: str,
    cases: int,
    directed: int,
    dataflows: Path | None,
    of: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run the conformance kit: directed and random dataflows against a reference engine, instances that are killed.

    Exit code 1 if anything is found.
    """
    from jumpgate.cli.load import load_dataflows
    from jumpgate.hosts.config import load
    from jumpgate.nca.conformance import Case
    from jumpgate.testing.check import check_nca

    found = registry()
    own = [] if dataflows is None else [Case(f"{dataflows.name}: {n}", d.root) for n, d in load_dataflows(dataflows)]
    wanted = [formats()[name].name for name in of]
    report = check_nca(found.get(name), found, load(), cases, directed, own, wanted or None)
    if as_json:
        output.print_json(report.to_dict())
    else:
        rows = [("dataflows asked about", report.asked), ("results compared", report.compared),
                *((f"… with {kind}", count) for kind, count in sorted(report.operators.items())),
                ("life-cycles broken off", report.broken_off), ("findings", len(report.findings))]  # fmt: skip
        output.print_table(f"{name}: {'passed' if report.passed else 'FAILED'}", ("", ""), rows, right=("",))
        if report.parts:
            parts = sorted(report.parts.items())
            output.print_table("", ("what results had", "compared"), parts, right=("compared",))
        refused = sorted(report.refused.items(), key=lambda item: -item[1])
        if refused:
            output.print_table("", ("what it refused", "times"), refused, right=("times",))
        for finding in report.findings:
            print(finding)
    if not report.passed:
        context.exit(1)


@command.command("new")
@click.argument("name")
@click.option("--output", "-o", "folder", type=click.Path(path_type=Path), default=Path(), help="Where it goes.")
@json_option
def new(name: str, folder: Path, as_json: bool) -> None:
    """Create a small package that works at once, to be made into an accelerator's integration."""
    from jumpgate.nca.scaffold import scaffold

    files = scaffold(name, folder)
    if as_json:
        output.print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        print(file)
    print(f"\nnext: pip install -e {folder / name} && jumpgate nca check {name}")
