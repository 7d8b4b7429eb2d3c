"""`jumpgate nca`: the accelerators that are installed, and help for those who write one."""

from __future__ import annotations

import contextlib
import inspect
from dataclasses import replace
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
    """What one accelerator is and where it comes from."""
    nca = registry().get(name)
    about = {**_about(nca), "description": inspect.getdoc(type(nca.operators)) or ""}
    if as_json:
        output.print_json(about)
        return
    print(f"{about['name']} ({about['class']})\n\n{about['description']}")


@command.command("check")
@click.argument("name")
@click.option("--cases", type=click.IntRange(1), default=50, show_default=True, help="Random dataflows.")
@json_option
@click.pass_context
def check(context: click.Context, name: str, cases: int, as_json: bool) -> None:
    """Run the conformance kit: random dataflows against a reference engine, and instances that are killed or misused.

    Exit code 1 if anything is found.
    """
    import jumpgate.client as client
    from jumpgate.dataflow.builder import Dataflow
    from jumpgate.hosts.config import load, this_machine
    from jumpgate.nca.conformance.kit import check as run_kit
    from jumpgate.service import embedded
    from jumpgate.testing.live import agents
    from jumpgate.testing.rig import LocalRig

    found = registry()
    nca = found.get(name)
    config = load()
    samples = tuple(getattr(nca, "sample_devices", ()))  # of its own, where the configuration has none of their kind
    if not {d.kind for d in samples} & {d.kind for d in config.devices}:
        config = replace(config, devices=(*config.devices, *samples))
    devices = (this_machine().device, *config.devices)
    with (
        contextlib.closing(embedded.start(config, found)) as service,
        client.connect(service.address, prefer=(name,)) as session,
        LocalRig(
            found, devices, runs=lambda plan, root: session.run(Dataflow(root)).to_arrow(), live_hosts=agents
        ) as rig,
    ):
        report = run_kit(nca, rig, cases)
    if as_json:
        output.print_json(report.to_dict())
    else:
        rows = [("dataflows asked about", report.asked), ("results compared", report.compared),
                ("life-cycles broken off", report.broken_off), ("findings", len(report.findings))]  # fmt: skip
        output.print_table(f"{name}: {'passed' if report.passed else 'FAILED'}", ("", ""), rows, right=("",))
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
