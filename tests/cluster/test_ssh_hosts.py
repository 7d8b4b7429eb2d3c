"""Hosts that a service reaches by SSH, on machines of their own: how they come to run jobs, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pyarrow as pa
import pytest

from jumpgate.codegen import cache, toolchain
from jumpgate.study.paper.network import line, permitted
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import certificates, tokens
from tests.cluster.lab import RIGHT, Lab, agents_of
from tests.cluster.sshd import Client, Server, installed

pytestmark = [
    pytest.mark.skipif(not permitted(), reason="network namespaces need root and iproute2"),
    pytest.mark.skipif(not installed(), reason="sshd is not installed (openssh-server)"),
]


def test_two_hosts_share_a_query_and_nothing_is_left_of_it(lab: Lab) -> None:
    """Cold hosts, one of them behind the other: the runtime is shipped to both."""
    one, two = lab.worker("worker1"), lab.worker("worker2")
    config = lab.client.ssh / "config"
    config.write_text(config.read_text().replace("Host worker2\n", "Host worker2\n  ProxyJump worker1\n"))
    service = lab.serve(lab.config("worker1", "worker2"))
    answer = service.answer("short")
    assert (answer.get("rows"), answer.get("hosts")) == (RIGHT, ["worker1", "worker2"]), answer
    shipped = toolchain.runtime().key
    assert all((server.cache / "runtime" / shipped / "jghost").exists() for server in (one, two))

    (agent,) = agents_of(two.machine)
    os.kill(agent, signal.SIGKILL)
    assert wait_until(lambda: agents_of(two.machine) not in ([], [agent]), 60), "it is started again"
    assert wait_until(lambda: service.answer("short").get("hosts") == ["worker1", "worker2"], 60)

    service.end()
    assert wait_until(lambda: not one.left() and not two.left(), 30)
    assert not [*one.cache.glob("agents/*.json"), *two.cache.glob("agents/*.json")]


def test_an_agent_that_is_killed_fails_its_job_with_the_hosts_name(lab: Lab) -> None:
    worker = lab.worker("worker1")
    service = lab.serve(lab.config("worker1"))
    asked = service.ask("long")
    assert "started" in line(asked)
    (agent,) = agents_of(worker.machine)
    os.kill(agent, signal.SIGKILL)
    failure = json.loads(line(asked))
    assert (failure["error"], failure["host"]) == ("instance_failed", "worker1"), failure
    answer = service.answer("short", retries=2)
    assert answer.get("rows") == RIGHT, answer
    service.end()
    assert wait_until(lambda: not worker.left(), 30)


def test_a_host_that_has_neither_jumpgate_nor_a_compiler(lab: Lab) -> None:
    """What it lacks is brought: Jumpgate itself, the runtime, and each program."""
    python = bare_python(lab.folder / "bare")
    worker = lab.worker("worker1", {"JUMPGATE_CXX": "no-such-compiler"})
    config = lab.config("worker1")
    config.write_text(config.read_text().replace(sys.executable, str(python)))
    _, found = lab.hosts("list")
    (row,) = found["hosts"]
    assert row["reached"] and row["jumpgate"] is None and row["compiler"] is None and row["cores"], row
    service = lab.serve(config)
    answer = service.answer("short")
    assert answer.get("rows") == RIGHT, answer
    assert [*worker.cache.glob("copies/*/jumpgate/hosts/agent.py")]
    assert [*worker.cache.glob(f"artifacts/{toolchain.runtime().key}/*.so")]
    service.end()


def test_agents_that_stay_up(lab: Lab) -> None:
    """Services use the one that is there, replace one of another version, and leave it; `stop` leaves nothing."""
    worker = lab.worker("worker1")
    config = lab.config("worker1")
    status, started = lab.hosts("start")
    assert (status, started["hosts"][0]["host"]) == (0, "worker1")
    assert started == lab.hosts("start")[1], "it runs already"
    (agent,) = agents_of(worker.machine)
    (row,) = lab.hosts("list", "worker1")[1]["hosts"]
    assert row["reached"] and row["jumpgate"] == row["ours"] and len(row["agents"]) == 1

    service = lab.serve(config)
    assert service.answer("short").get("rows") == RIGHT
    service.end()
    assert agents_of(worker.machine) == [agent]

    (file,) = worker.cache.glob("agents/*.json")
    file.write_text(file.read_text().replace(row["ours"], "0.0.1"))
    assert lab.hosts("start")[0] == 0
    assert agents_of(worker.machine) != [agent] and len(agents_of(worker.machine)) == 1

    assert lab.hosts("stop")[1] == {"hosts": [{"host": "worker1", "stopped": 1}]}
    assert wait_until(lambda: not worker.left(), 30)
    assert lab.hosts("logs")[0] == 0


def test_agents_get_certificates_over_ssh(lab: Lab) -> None:
    """Those of a service, of which none is left, and one that stays up, which goes with it."""
    workers = [lab.worker("worker1"), lab.worker("worker2")]
    authority, token = lab.folder / "certs", lab.folder / "token"
    certificates.init(authority)
    for name in ("service", "client"):
        certificates.issue(authority, name, [lab.here.address])
    token.write_text(tokens.new())
    plain = lab.config("worker1", "worker2").read_text()
    config = lab.folder / "jumpgate.toml"
    config.write_text(
        f'{plain}\n[tls]\nfolder = "{authority}/service"\n'
        f'[[client]]\nname = "c"\ntoken_file = "{token}"\nroots = ["{lab.folder}"]\n'
    )
    shown = {"JUMPGATE_TOKEN_FILE": str(token), "JUMPGATE_TLS": f"{authority}/client"}

    def certified(worker: Server) -> list[bool]:
        return [b"--tls" in Path(f"/proc/{pid}/cmdline").read_bytes() for pid in agents_of(worker.machine)]

    def answered() -> None:
        service = lab.serve(config, shown)
        answer = service.answer("short")
        assert (answer.get("rows"), answer.get("hosts")) == (RIGHT, ["worker1", "worker2"]), answer
        assert [certified(worker) for worker in workers] == [[True], [True]]
        service.end()

    answered()
    assert wait_until(lambda: not any(worker.left() for worker in workers), 30)
    assert not any([*worker.cache.glob("agents/tls-*")] for worker in workers)

    assert lab.hosts("start")[0] == 0
    answered()
    config.write_text(plain)
    service = lab.serve(config)
    refused = service.answer("short")
    service.end()
    assert refused["error"] == "config" and "encrypts, and there is no [tls] here" in refused["message"], refused
    assert lab.hosts("stop")[0] == 0
    assert not any([*worker.cache.glob("agents/tls-*")] for worker in workers)


def test_what_is_missing_is_said_with_the_remedy(lab: Lab) -> None:
    worker = lab.worker("ready")
    stranger = Client(lab.folder / "stranger", cache.root()).key
    knows = lab.client.knows
    knows("refused", worker.machine, worker.host_key, "IdentitiesOnly yes")
    knows("unknown", worker.machine, worker.host_key, "UserKnownHostsFile /dev/null")
    knows("changed", worker.machine, worker.host_key, f"UserKnownHostsFile {lab.folder}/others")
    knows("pythonless", worker.machine, worker.host_key)
    knows("gone", worker.machine, worker.host_key, "HostName 10.77.0.99")
    config = lab.client.ssh / "config"
    refused, rest = config.read_text().split("Host unknown")
    head, tail = refused.split("Host refused")
    tail = tail.replace(f"IdentityFile {lab.client.key}", f"IdentityFile {stranger}")
    rest = rest.replace(f"Host gone\n  HostName {worker.machine.address}\n", "Host gone\n")
    config.write_text(f"{head}Host refused{tail}Host unknown{rest}")
    other = stranger.with_suffix(".pub").read_text()
    (lab.folder / "others").write_text(f"[{worker.machine.address}]:2222 {other}")
    file = lab.config("ready", "refused", "unknown", "changed", "pythonless", "gone")
    before, _, after = file.read_text().partition('ssh = "pythonless"')
    file.write_text(f'{before}ssh = "pythonless"{after.replace(sys.executable, "no-such-python", 1)}')

    status, found = lab.hosts("check")
    said = {row["host"]: " ".join(row["lacks"]) for row in found["hosts"]}
    assert status == 1
    assert "error" not in said["ready"] and "host '" not in said["ready"]
    assert "takes none of our keys" in said["refused"] and "authorized_keys" in said["refused"]
    assert "is not known" in said["unknown"] and "ssh unknown" in said["unknown"]
    assert "is not the one in known_hosts" in said["changed"] and "ssh-keygen -R" in said["changed"]
    assert "has no no-such-python" in said["pythonless"] and "apt-get install python3" in said["pythonless"]
    assert "cannot reach gone by SSH" in said["gone"]
    assert lab.hosts("check", "ready")[0] == 0
    assert lab.hosts("check", "nobody")[1]["error"]["code"] == "not_found"


def bare_python(folder: Path) -> Path:
    """One that has what Jumpgate needs, but not Jumpgate."""
    venv.create(folder, symlinks=True)
    site = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    packages = Path(pa.__file__).parent.parent  # whose own .pth files, by which Jumpgate may be found, do not count
    (site / "others.pth").write_text(f"{packages}\n")
    python = folder / "bin" / "python"
    asked = [python, "-c", "import pyarrow, jumpgate"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=folder)
    assert "No module named 'jumpgate'" in found.stderr, found.stderr
    return python
