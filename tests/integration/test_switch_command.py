"""`jumpgate switch` and the cache of programs, with the program written by hand in place of the compiler's output."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import jumpgate.p4.compiler
from jumpgate.cli.main import cli
from jumpgate.errors import ConfigError
from jumpgate.ntf.addresses import joined
from jumpgate.p4.compiler import P4Error
from jumpgate.p4.programs import render
from jumpgate.p4.switch.build import build
from jumpgate.p4.switch.device import program_of
from jumpgate.p4.switch.switch import Switch
from tests.support import switch_by_hand as by_hand


class Report:
    def to_dict(self) -> dict[str, int]:
        return {"stages": 1}

    def text(self) -> str:
        return "1 stage"


def compile_source(text: str, name: str, *, profile: str, includes: Sequence[Path] = ()) -> SimpleNamespace:
    with Switch(by_hand.program()) as switch:
        info = by_hand.p4info(switch)
    return SimpleNamespace(cpp=by_hand.SOURCE.read_text(), p4info=info, resources=Report())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "program.p4"
    path.write_text(f"// {tmp_path}\n")  # compiled anew in each test
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that reached the compiler."""
    seen: list[str] = []

    def compiler(text: str, name: str, **options: Any) -> SimpleNamespace:
        seen.append(text)
        return compile_source(text, name, **options)

    monkeypatch.setattr(jumpgate.p4.compiler, "compile_source", compiler, raising=False)
    return seen


def test_builds_are_kept(source: Path, compiled: list[str]) -> None:
    first = build(source)
    second = build(source)
    assert len(compiled) == 1 and first == second
    (source.parent / "headers.p4").write_text("// could be included")
    build(source)
    build(source, profile="tofino2")
    assert len(compiled) == 3
    first.program.unlink()
    assert build(source).program.exists()
    with pytest.raises(ConfigError, match="cannot read the P4 program"):
        build(source.parent / "nothing.p4")


def test_compile(source: Path, compiled: list[str], tmp_path: Path) -> None:
    info, blob = tmp_path / "info", tmp_path / "blob"
    words = ["switch", "compile", str(source), "--p4info", str(info), "--device-config", str(blob), "--json"]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    made = json.loads(done.output)
    assert made["tables"] == 5 and program_of(blob.read_bytes()) == Path(made["program"])
    assert 'name: "Ingress.exact_table"' in info.read_text()


def test_a_program_that_does_not_fit_is_compiled_when_asked(tmp_path: Path) -> None:
    source = tmp_path / "large.p4"
    source.write_text(render.render(render.PruneSizes(("join_bf",), bloom_bits=24)))
    done = CliRunner().invoke(cli, ["switch", "compile", str(source)])
    assert isinstance(done.exception, P4Error)
    assert re.search(rf"{source}:\d+:\d+: error: .*needs 129 stateful blocks in one stage", done.exception.message)
    done = CliRunner().invoke(cli, ["switch", "compile", str(source), "--profile", "none"], catch_exceptions=False)
    with Switch(Path(done.output.strip())) as switch:
        assert switch.register("bf_0_0_0").size == 1 << 24


def test_resources_are_shown_whether_a_program_fits_or_not(tmp_path: Path) -> None:
    fits, does_not = tmp_path / "fits.p4", tmp_path / "does_not.p4"
    fits.write_text(render.render(render.PruneSizes(("join_bf",))))
    does_not.write_text(render.render(render.PruneSizes(("join_bf",), bloom_bits=24)))
    done = CliRunner().invoke(cli, ["switch", "resources", str(fits)])
    assert done.exit_code == 0 and done.output.startswith("Tofino 1: ") and "does not fit" not in done.output
    done = CliRunner().invoke(cli, ["switch", "resources", str(does_not)])
    assert done.exit_code == 1 and f"does not fit: {does_not}:" in done.output
    done = CliRunner().invoke(cli, ["switch", "resources", str(does_not), "--json"])
    assert done.exit_code == 1 and "stateful blocks" in json.loads(done.output)["problems"][0]
    assert CliRunner().invoke(cli, ["switch", "resources", str(does_not), "--profile", "none"]).exit_code == 0


RUN = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import jumpgate.p4.compiler
from test_switch_command import compile_source
jumpgate.p4.compiler.compile_source = compile_source
from jumpgate.cli.main import main
main(sys.argv[1:])
"""


def run(source: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(Path(__file__).parent), "switch", "run", str(source), *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_run_until_stopped(source: Path, host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as peer:
        peer.bind((host, 0))
        peer.settimeout(20)
        back, here = joined(host, peer.getsockname()[1]), joined(host, 0)
        with run(source, "--port", f"1={here}/{back},frames", "--p4runtime", here) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(":")[2])
            assert process.stdout.readline().startswith("P4Runtime: port ")
            peer.sendto(by_hand.frame(0, 1, 5), (host, port))
            assert peer.recv(100) == by_hand.frame(0, 1, 5)
            process.send_signal(signal.SIGTERM)
            out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert "ingress_passes=1 sent=1" in out
    with socket.socket(family, socket.SOCK_DGRAM) as again:
        again.bind((host, port))  # nothing is left behind


def test_run_until_its_input_ends(source: Path) -> None:
    with run(source, "--p4runtime", "127.0.0.1:0", "--until-eof") as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline().startswith("P4Runtime: port ")
        process.stdin.close()
        assert process.wait(20) == 0


def test_run_with_a_port_in_use(source: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        number = taken.getsockname()[1]
        with run(source, "--port", f"1=127.0.0.1:{number}", "--p4runtime", "127.0.0.1:0") as process:
            errors = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert f"error: cannot open port 1 on 127.0.0.1:{number}: bind: Address already in use; choose another" in errors


def test_run_with_p4runtime_where_another_serves(source: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with run(source, "--p4runtime", address) as process:
            errors = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    said = errors.splitlines()[-1]  # gRPC logs before it, for this module has loaded it before the command could say no
    assert said.startswith(f"error: cannot serve P4Runtime on {address}: the port is in use"), errors
