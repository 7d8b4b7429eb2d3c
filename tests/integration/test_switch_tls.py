"""P4Runtime over TLS: a switch that runs with --tls, controllers with the right certificate, another one, none."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
from click.testing import CliRunner
from finsy.proto import p4r, p4r_grpc

import jumpgate.p4.programs
from jumpgate.cli.main import cli
from jumpgate.client import sum_
from jumpgate.client.session import Session
from jumpgate.errors import ConfigError, JumpgateError, Unauthenticated
from jumpgate.hosts.config import Config, local_hosts
from jumpgate.nca.interface import Device, Property
from jumpgate.ncas.switch.driver import SwitchDriver
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.p4.switch.device import Device as Machine
from jumpgate.p4.switch.p4runtime import Server
from jumpgate.service import embedded
from jumpgate.testing.lab import Lab
from jumpgate.trust import certificates
from jumpgate.trust.tls import Identity

PROGRAM = Path(jumpgate.p4.programs.__file__).with_name("aggregate.p4")
MAIN = "from jumpgate.cli.main import main; main()"


class Running(NamedTuple):
    p4runtime: str
    data: str
    certificates: Path  #: folders `controller`, and of another authority `other/controller`
    token_file: Path

    def device(self, tls: Path | None, **properties: Property) -> Device:
        shown = {} if tls is None else {"tls": str(tls)}
        return SWITCH.device(
            "tor", program="aggregate", p4runtime=self.p4runtime, data=self.data, **shown, **properties
        )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A switch as an operator starts it."""
    folder = tmp_path_factory.mktemp("authority")
    for authority in (folder, folder / "other"):
        certificates.init(authority)
        certificates.issue(authority, "controller", [])
    certificates.issue(folder, "switch", ["127.0.0.1"])
    token_file = folder / "token"
    token_file.write_text("a secret\n")
    words = [
        "switch", "run", str(PROGRAM), "--profile", "none", "--port", "1=127.0.0.1:0,as=9801",
        "--p4runtime", "127.0.0.1:0", "--tls", str(folder / "switch"), "--token-file", str(token_file), "--until-eof",
    ]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        data = process.stdout.readline().rpartition(" ")[2].strip()
        port = re.findall(r"P4Runtime: port (\d+)", process.stdout.readline())[0]
        yield Running(f"127.0.0.1:{port}", data, folder, token_file)
        process.stdin.close()
        assert process.wait(30) == 0


def refused(device: Device) -> JumpgateError:
    with pytest.raises(JumpgateError) as found:
        asyncio.run(SwitchDriver.reach(device))
    assert isinstance(found.value, Unauthenticated) and found.value.fields["device"] == "tor"
    return found.value


def test_a_query_through_it(running: Running, tmp_path: Path) -> None:
    device = running.device(running.certificates / "controller", token_file=str(running.token_file))
    service = embedded.start(Config(local_hosts(1).hosts, (device,)))
    try:
        with Session(service.address, prefer=("switch_aggregate",)) as session:
            lab = Lab(session, tmp_path)
            lab.check(lab.table({"k": "int32", "v": "int64"}, [(i % 7, i) for i in range(1000)])
                      .aggregate(by=["k"], s=sum_("v")))  # fmt: skip
            record = session.describe(session.jobs()[0].id).record
            assert record is not None and "tor" in {instance["host"] for instance in record["instances"]}
    finally:
        service.close()


def test_a_stranger_is_not_served(running: Running) -> None:
    """Not in clear, nor without a certificate, nor with one of another authority."""
    ca = (running.certificates / "ca.pem").read_bytes()
    other = Identity.load(running.certificates / "other/controller")
    for credentials in (
        None, grpc.ssl_channel_credentials(ca), grpc.ssl_channel_credentials(ca, other.key, other.certificate),
    ):  # fmt: skip
        with (
            grpc.secure_channel(running.p4runtime, credentials) if credentials
            else grpc.insecure_channel(running.p4runtime)
        ) as channel:  # fmt: skip
            shown = (("authorization", "Bearer a secret"),)
            with pytest.raises(grpc.RpcError) as found:
                p4r_grpc.P4RuntimeStub(channel).Capabilities(p4r.CapabilitiesRequest(), metadata=shown, timeout=30)
            assert found.value.code() is grpc.StatusCode.UNAVAILABLE


def test_what_a_controller_without_the_right_certificate_is_told(running: Running, tmp_path: Path) -> None:
    token = {"token_file": str(running.token_file)}
    for tls, message in (
        (None, r"hung up on a connection that is not encrypted\. Name a folder of certificates .* `tls` of the"),
        (running.certificates / "other/controller", "its certificate does not hold: .*of the same authority for this"),
    ):
        error = refused(running.device(tls, **token))
        assert re.search(rf"switch 'tor' at {running.p4runtime}: .*{message}", error.message), error.message
    mixed = tmp_path / "mixed"  # believes the switch, and shows it what it does not believe
    mixed.mkdir()
    for name, whose in (("ca.pem", "controller"), ("cert.pem", "other/controller"), ("key.pem", "other/controller")):
        (mixed / name).write_bytes((running.certificates / whose / name).read_bytes())
        (mixed / name).chmod(0o600)
    assert f"it hung up on the certificate in {mixed}. Does it" in refused(running.device(mixed, **token)).message


def test_a_certificate_alone_is_not_enough(running: Running, tmp_path: Path) -> None:
    mine = running.certificates / "controller"
    assert "show the token" in refused(running.device(mine)).message
    wrong = tmp_path / "token"
    wrong.write_text("another")
    assert "show the token" in refused(running.device(mine, token_file=str(wrong))).message


def test_a_switch_that_is_not_who_it_should_be(running: Running, tmp_path: Path) -> None:
    """Its certificate is for another address, or it does not encrypt."""
    certificates.issue(running.certificates, "elsewhere", ["10.0.0.1"])
    for tls, message in (("elsewhere", "its certificate does not hold: IP address mismatch"), ("", "failed: ")):
        identity = Identity.load(running.certificates / tls) if tls else None
        machine = Machine([])
        server = Server(machine, "127.0.0.1:0", identity=identity)
        try:
            device = SWITCH.device(
                "tor", program="aggregate", p4runtime=f"127.0.0.1:{server.port}", data=running.data,
                tls=str(running.certificates / "controller"),
            )  # fmt: skip
            assert message in refused(device).message
        finally:
            server.close()
            machine.close()


def test_its_entries_are_read_with_the_same(running: Running) -> None:
    shown = ["--tls", str(running.certificates / "controller"), "--token-file", str(running.token_file)]
    done = CliRunner().invoke(cli, ["switch", "entries", running.p4runtime, "--json", *shown], catch_exceptions=False)
    assert json.loads(done.output) == []
    done = CliRunner().invoke(cli, ["switch", "entries", running.p4runtime])
    assert isinstance(done.exception, Unauthenticated) and "not encrypted" in done.exception.message


def test_others_are_not_served_in_clear() -> None:
    machine = Machine([])
    with pytest.raises(ConfigError, match="others can reach 0.0.0.0:0, .* --tls .* --anyone"):
        Server(machine, "0.0.0.0:0")  # noqa: S104 (refused)
    machine.close()


def test_what_says_less_than_it_should() -> None:
    with pytest.raises(ConfigError, match="needs p4runtime and data beside tls and token_file"):
        SWITCH.device("tor", program="aggregate", tls="/tls")
    done = CliRunner().invoke(cli, ["switch", "run", str(PROGRAM), "--anyone", "--token-file", "/t"])
    assert done.exit_code == 2 and "--anyone asks for no token" in done.output
