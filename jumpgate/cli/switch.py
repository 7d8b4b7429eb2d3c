"""`jumpgate switch`: the software switch and its P4 compiler."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import click

from jumpgate.cli import output
from jumpgate.errors import ConfigError

SOURCE = click.argument("source", type=click.Path(path_type=Path, dir_okay=False))
PROFILE = click.option(
    "--profile", default="tofino1", show_default=True, help="The hardware whose limits hold: tofino1, tofino2 or none."
)

INCLUDES = click.option(
    "-I", "includes", multiple=True, metavar="FOLDER", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Look for #include files there, too.",
)  # fmt: skip


@click.group("switch")
def command() -> None:
    """Run the software switch; compile P4 programs for it."""


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", file=path) from error


def _await_eof(then: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    then.set()


@command.command("compile")
@SOURCE
@PROFILE
@INCLUDES
@click.option("--p4info", type=click.Path(path_type=Path), help="Write the P4Info, as text, to this file.")
@click.option("--device-config", type=click.Path(path_type=Path), help="Write what a P4Runtime client sends beside it.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON.")
def compile_(
    source: Path,
    profile: str,
    includes: tuple[Path, ...],
    p4info: Path | None,
    device_config: Path | None,
    as_json: bool,
) -> None:
    """Compile SOURCE into the cache."""
    from google.protobuf import text_format

    from jumpgate.p4.switch.build import build
    from jumpgate.p4.switch.device import device_config as config_of

    built = build(source, profile, includes)
    if p4info is not None:
        _write(p4info, text_format.MessageToString(built.p4info).encode())
    if device_config is not None:
        _write(device_config, config_of(built.program))
    if as_json:
        output.print_json({"program": str(built.program), "tables": len(built.p4info.tables)})
    else:
        print(built.program)


@command.command("resources")
@SOURCE
@PROFILE
@INCLUDES
@click.option("--chain", is_flag=True, help="Show the longest chain of statements that wait for each other, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def resources(source: Path, profile: str, includes: tuple[Path, ...], chain: bool, as_json: bool) -> None:
    """Show what SOURCE takes of each stage of the hardware; end with status 1 if it does not fit."""
    from jumpgate.p4.compiler import front_end, report
    from jumpgate.p4.compiler.allocation.chain import chain_text
    from jumpgate.p4.switch.build import read

    text = read(source)
    found = report(text, str(source), profile, includes)
    if as_json:
        output.print_json(found.to_dict())
    else:
        print(found.text())
    if chain and not as_json:
        print(chain_text(front_end(text, str(source), includes=includes), text))
    if found.problems:
        raise SystemExit(1)


@command.command("verify")
@SOURCE
@click.option("--compiler", metavar="PATH", help="p4c-barefoot or bf-p4c; otherwise $JUMPGATE_P4C says where it is.")
@click.option("--seconds", type=float, default=1200, show_default=True, help="How long each of its steps may take.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(source: Path, compiler: str | None, seconds: float, as_json: bool) -> None:
    """Ask a Tofino 1's own compiler whether SOURCE fits; ends with status 1 unless it does.

    What it takes stands beside what `switch resources` claims.
    """
    from jumpgate.p4.compiler import P4Error, report
    from jumpgate.p4.compiler.judge import find, judge
    from jumpgate.p4.switch.build import read

    judging = find(compiler)
    text = read(source)
    verdict = judge(source, judging, seconds)
    refused = ""
    claimed: dict[str, int] = {}
    try:
        model = report(text, str(source))
        claimed = {"stages": len(model.stages), **model.totals}
        refused = "\n".join(f"{position}: error: {problem}" for position, problem in model.problems)
    except P4Error as error:
        refused = error.message
    if as_json:
        output.print_json({**verdict.to_dict(), "claimed": claimed, "model_refuses": refused})
    else:
        for problem in verdict.problems:
            print(problem)
        said = "accepts" if verdict.accepts else "refuses"
        print(f"{verdict.compiler} {said} {source}; the model {'refuses it' if refused else 'accepts it'}")
        if refused and verdict.accepts:
            print(refused)
        rows = [
            (what, getattr(verdict, key), claimed.get(key))
            for what, key in (("stages", "stages"), ("stateful ALUs", "stateful_alus"), ("SRAM blocks", "sram_blocks"))
        ]
        output.print_table("", ("", verdict.compiler, "claimed"), rows, right=(verdict.compiler, "claimed"))
    if not verdict.accepts:
        raise SystemExit(1)


@command.command("entries")
@click.argument("address", metavar="HOST:PORT")
@click.option("--device-id", default=1, show_default=True)
@click.option("--tls", metavar="FOLDER", help="The certificate to show there. [default: it is not encrypted]")
@click.option("--token-file", metavar="FILE", help="The token to show there. [default: that of your own switch]")
@click.option("--bfrt", metavar="PROGRAM", help="Print Python for a Tofino's bfshell, which loads them into PROGRAM.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def entries(
    address: str, device_id: int, tls: str | None, token_file: str | None, bfrt: str | None, as_json: bool
) -> None:
    """Show the table entries of the switch at HOST:PORT (P4Runtime), except constant ones."""
    from jumpgate.p4.switch.credentials import Credentials
    from jumpgate.p4.switch.dump import bfrt_script, read_entries

    found = read_entries(address, device_id, Credentials.load(tls, token_file, "this command"))
    if as_json:
        output.print_json([entry.to_dict() for entry in found])
    elif bfrt is not None:
        print(bfrt_script(found, bfrt), end="")
    else:
        for entry in found:
            print(entry.text())


@command.command("run")
@SOURCE
@PROFILE
@click.option(
    "--port", "ports", multiple=True,
    metavar="N=HOST:PORT[/PEER_HOST:PORT][,frames|,as=PORT] | N=@INTERFACE | N=loopback",
    help="May be repeated. Without a peer datagrams go where their headers say. See p4/switch/README.md.",
)  # fmt: skip
@click.option("--p4runtime", default="127.0.0.1:9559", show_default=True, help="Where controllers connect.")
@click.option(
    "--anyone", is_flag=True, help="Controllers need no token: whoever reaches P4Runtime controls the switch."
)
@click.option("--token-file", metavar="FILE", help="The token that controllers show. [default: found by your own]")
@click.option("--tls", metavar="FOLDER", help="Encrypt P4Runtime; controllers show certificates of the same authority.")
@click.option("--device-id", default=1, show_default=True)
@click.option("--cpu-port", default=64, show_default=True, help="The port that leads to the controllers.")
@click.option("--until-eof", is_flag=True, help="End when standard input does: with the program that started it.")
def run(
    source: Path,
    profile: str,
    ports: tuple[str, ...],
    p4runtime: str,
    anyone: bool,
    token_file: str | None,
    tls: str | None,
    device_id: int,
    cpu_port: int,
    until_eof: bool,
) -> None:
    """Run SOURCE until interrupted; nothing is left behind."""
    if anyone and token_file:
        raise click.UsageError("--anyone asks for no token; leave out --token-file")
    from finsy.proto import p4r

    from jumpgate.p4.switch.build import build
    from jumpgate.p4.switch.device import Device, device_config
    from jumpgate.p4.switch.p4runtime import Server
    from jumpgate.p4.switch.switch import PortSpec
    from jumpgate.trust import tokens
    from jumpgate.trust.tls import Identity

    identity = Identity.load(tls) if tls else None
    token = tokens.read(token_file, "this switch") if token_file else None
    built = build(source, profile)
    specs = [PortSpec.parse(text) for text in ports]
    stopped = threading.Event()
    with contextlib.ExitStack() as stack:
        machine = Device(specs, cpu_port)
        stack.callback(machine.close)
        server = Server(machine, p4runtime, device_id, anyone=anyone, token=token, identity=identity)
        stack.callback(server.close)
        config = p4r.ForwardingPipelineConfig(p4info=built.p4info, p4_device_config=device_config(built.program))
        server.service.install(config)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        for spec in machine.ports:
            print(f"port {spec.number}: {spec}", flush=True)
        print(f"P4Runtime: port {server.port}, device {device_id}", flush=True)
        if until_eof:
            threading.Thread(target=_await_eof, args=(stopped,), daemon=True).start()
        stopped.wait()
        assert machine.switch is not None
        lost = {name: count for name, count in machine.switch.counts().items() if count}
    print(" ".join(f"{name}={count}" for name, count in lost.items()), flush=True)
