"""Agents on hosts that are reached by SSH: what a host has and lacks, what is copied there, how an agent is started.

What blocks runs on threads. On the host everything is below the user's cache folder (jumpgate.codegen.cache.root).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import platform
import secrets
import shlex
import ssl
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jumpgate
from jumpgate import debug
from jumpgate.codegen import toolchain
from jumpgate.errors import BuildError, ConfigError, JumpgateError, Unreachable, from_dict
from jumpgate.hosts import bundle, far_end
from jumpgate.hosts.client import AgentHost
from jumpgate.hosts.config import HostConfig
from jumpgate.hosts.local import START_TIMEOUT_S
from jumpgate.hosts.ssh import Shell
from jumpgate.ntf.addresses import host_of, joined
from jumpgate.trust import tls
from jumpgate.trust.tls import Identity

if TYPE_CHECKING:
    import paramiko

T = TypeVar("T")

PYTHON_MIN = (3, 11)
#: to copy or to install something
COPY_TIMEOUT_S = 900.0
FREE_BYTES_MIN = 1 << 30
#: an agent of ours ends when we have not been connected for so long
ALONE_S = 10.0
#: hosts that are connected to at the same time
_THREADS = ThreadPoolExecutor(32, "jumpgate-ssh")
#: tells a Python that is too old before it meets what it cannot read
_BOOT = (
    "import sys; v=sys.version_info; n={size}; "
    'print(\'{{"python": "%d.%d.%d"}}\' % v[:3]) if v < {least} else exec(sys.stdin.buffer.read(n))'
)


@dataclass
class Found:
    """The facts about a host (far_end.facts), or why they are not known."""

    facts: dict[str, Any] = field(default_factory=dict)
    error: JumpgateError | None = None

    @property
    def python_is_fit(self) -> bool:
        return tuple(map(int, str(self.facts.get("python", "0")).split(".")[:2])) >= PYTHON_MIN

    @property
    def is_installed(self) -> bool:
        """Return whether the Jumpgate that is installed there is of our version."""
        return self.facts.get("jumpgate") == jumpgate.__version__

    @property
    def is_usable(self) -> bool:
        """Return whether jobs run there, or will once they have brought what they need."""
        if self.error is not None or "version" in self.facts:  # an agent answered
            return self.error is None
        if not self.python_is_fit:
            return False
        python = self.is_installed or self.facts["pip"] or self.facts["pyarrow"] is not None
        return python and (self.facts["compiler"] is not None or self.is_alike)

    @property
    def is_alike(self) -> bool:
        """Return whether what is compiled here runs there. What is not there yet will be alike."""
        return all(self.facts.get(name) in (value, None) for name, value in _here().items())

    def lacks(self) -> list[str]:
        """One sentence of remedy for each thing that keeps the host from being used, or makes it worse."""
        facts = self.facts
        if self.error is not None:
            return [self.error.message]
        if "version" in facts:  # an agent answered
            return []
        if not self.python_is_fit:
            least = ".".join(map(str, PYTHON_MIN))
            return [
                f"its Python is {facts.get('python')}: install {least} or later, and name it as `python` in [[host]]"
            ]
        found = []
        if not self.is_installed and not facts["pip"] and facts["pyarrow"] is None:
            found.append("it has neither Jumpgate nor pip: `apt-get install python3-pip`, or install Jumpgate there")
        if facts["compiler"] is None and not self.is_alike:
            found.append(
                "it has no C++ compiler, and is not like this machine (processor, C library, pyarrow): "
                "`apt-get install g++`"
            )
        if facts["free_bytes"] < FREE_BYTES_MIN:
            found.append(
                f"the disk of {facts['cache']} is almost full: free some space, or set JUMPGATE_CACHE_DIR there"
            )
        if not facts["speeds"]:
            found.append("how fast it is was not measured: run `jumpgate calibrate` there")
        return found


class Remote:
    """One host, over one SSH connection."""

    def __init__(self, config: HostConfig, shell: Shell, identity: Identity | None) -> None:
        self.config, self.shell, self.identity = config, shell, identity
        self.name = config.device.name

    @staticmethod
    def connect(config: HostConfig, identity: Identity | None) -> Remote:
        """identity: what we show to agents there, and they to us; None: connections to them are not encrypted. Raises
        what Shell.connect does."""
        assert config.ssh is not None
        return Remote(config, Shell.connect(config.device.name, config.ssh), identity)

    def ask(
        self,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> Any:
        """The answer of far_end's verb. Raises ConfigError with what is missing there, Unreachable."""
        script = Path(far_end.__file__).read_bytes()
        boot = _BOOT.format(size=len(script), least=PYTHON_MIN)
        words = [self.config.python, "-c", boot, verb, *arguments]
        done = self.shell.run(f"exec {_command(words, variables or {})}", script + stdin, timeout_s)
        if done.status in (126, 127):
            raise ConfigError(
                f"host '{self.name}' has no {self.config.python}: install Python 3.11 or later there "
                "(`apt-get install python3`), or name the one that it has as `python` in [[host]]",
                host=self.name,
            )
        try:
            answer = json.loads(done.out.splitlines()[-1])
        except (ValueError, IndexError):
            said = (done.err.splitlines() or [f"exit status {done.status}"])[-1]
            raise ConfigError(
                f"host '{self.name}': {self.config.python} does not run there: {said}", host=self.name
            ) from None
        if "error" in answer:
            raise _error(answer["error"], self.name)
        return answer

    def look(self) -> Found:
        return Found(self.ask("facts"))

    def prepare(self, found: Found) -> dict[str, str]:
        """Brings there what is missing; returns the variables of the environment in which an agent finds it."""
        if not found.python_is_fit:
            raise ConfigError(f"host '{self.name}': {found.lacks()[0]}", host=self.name)
        variables = {}
        if not found.is_installed:
            variables["PYTHONPATH"] = self._copy(found)
            found.facts = self.ask("facts", variables=variables)
        if found.is_alike and (home := self._ship_runtime(found, variables)):
            variables["JUMPGATE_RUNTIME"] = home
        return variables

    def _copy(self, found: Found) -> str:
        """This Jumpgate in a folder there, with what it needs."""
        name, archive = bundle.package()
        folder = f"{found.facts['cache']}/copies/{name}"
        if name not in found.facts["copies"]:
            _note(self.name, f"Jumpgate is copied to {folder}")
            self.ask("unpack", folder, stdin=archive, timeout_s=COPY_TIMEOUT_S)
        self.ask("depend", folder, timeout_s=COPY_TIMEOUT_S)
        return folder

    def _ship_runtime(self, found: Found, variables: Mapping[str, str]) -> str | None:
        """Our runtime's folder there; None where it has to be built there, as nothing can be built here."""
        try:
            home = toolchain.runtime().host_program.parent
        except BuildError:
            if found.facts["compiler"] is None:
                raise
            return None
        folder = f"{found.facts['cache']}/runtime/{home.name}"
        if home.name not in found.facts["runtimes"]:
            _note(self.name, f"the runtime is shipped to {folder}")
            self.ask("unpack", folder, stdin=bundle.folder(home), timeout_s=COPY_TIMEOUT_S)
            sealing = [self.config.python, "-m", "jumpgate.trust.seal", folder]
            self.shell.run(f"exec {_command(sealing, variables)}", timeout_s=COPY_TIMEOUT_S)
        return folder

    def agents(self, found: Found) -> list[dict[str, Any]]:
        """Return the agents that run there by themselves and have our version; end the others."""
        own = [agent for agent in found.facts.get("agents", ()) if agent["token_file"]]
        other = [agent for agent in own if agent["version"] != jumpgate.__version__]
        if other:
            _note(self.name, f"an agent of version {other[0]['version']} is replaced")
            self.ask("stop", *(str(agent["pid"]) for agent in other))
        return [agent for agent in own if agent not in other]

    def start(self, found: Found) -> str:
        """Starts an agent that stays up, unless one runs; returns its address."""
        if running := self.agents(found):
            return str(running[0]["address"])
        variables = self.prepare(found)
        command = self.command(found, self.certify(found))
        started = self.ask("start", *command, variables=variables, timeout_s=START_TIMEOUT_S)
        return joined(self.address(found), int(started["port"]))

    def command(self, found: Found, certified: str | None) -> list[str]:
        """An agent that listens where the file says, else by which address SSH reached the host. certified: the folder
        there of its certificate."""
        bind = self._said("data_bind") or str(found.facts["address"])
        words = [self.config.python, "-m", "jumpgate.hosts.agent", "--listen", joined(bind, 0)]
        return [*words, "--tls", certified] if certified else words

    def certify(self, found: Found) -> str | None:
        """The folder of a new certificate there, which believes whoever signed ours; None if nothing is encrypted."""
        if self.identity is None:
            return None
        from jumpgate.trust import certificates  # of the extra `tls`

        certificate, key = certificates.for_agent(self.address(found))
        folder = f"{found.facts['cache']}/agents/tls-{secrets.token_hex(8)}"
        files = {tls.CA: self.identity.ca, tls.CERTIFICATE: certificate, tls.KEY: key}
        self.ask("unpack", folder, stdin=bundle.secrets(files))
        return folder

    def context(self, folder: str | None) -> ssl.SSLContext | None:
        """For connections to the agent that has the certificate in that folder, which SSH vouches for."""
        if self.identity is None or folder is None:
            return None
        return replace(self.identity, ca=self._text(f"{folder}/{tls.CERTIFICATE}")).context(server=False)

    def token(self, agent: Mapping[str, Any]) -> str:
        """The secret of an agent that runs there."""
        return self._text(agent["token_file"]).decode().strip()

    def _text(self, file: str) -> bytes:
        return self.shell.run(f"cat {shlex.quote(file)}").out

    def address(self, found: Found) -> str:
        """Where we reach it."""
        return self._said("data_address") or str(found.facts["address"])

    def _said(self, key: str) -> str | None:
        return str(dict(self.config.device.properties)[key]) if key in self.config.said else None

    def stop(self) -> list[int]:
        return list(self.ask("stop")["stopped"])

    def logs(self, lines: int) -> list[str]:
        return list(self.ask("logs", str(lines))["lines"])


class SshAgent:
    """A connection to an agent on a host that is reached by SSH: one of our own, which ends with `stop`, with this
    process and with the connection, or one that stays up (`jumpgate hosts start`)."""

    def __init__(self, remote: Remote, channel: paramiko.Channel | None, host: AgentHost) -> None:
        self._remote, self._channel, self.host = remote, channel, host

    @staticmethod
    async def start(config: HostConfig, identity: Identity | None) -> SshAgent:
        """identity: as Remote's. Raises what keeps an agent from being used there: Unreachable, ConfigError, BuildError
        and NotInstalled."""
        remote = await _aside(Remote.connect, config, identity)
        channel = None
        try:
            found = await _aside(remote.look)
            if running := await _aside(remote.agents, found):
                agent = running[0]
                if (identity is None) != (agent.get("tls") is None):
                    other = (
                        "does not encrypt, and [tls] wants it" if identity else "encrypts, and there is no [tls] here"
                    )
                    raise ConfigError(
                        f"host '{remote.name}': the agent that runs there {other}: `jumpgate hosts stop` ends it",
                        host=remote.name,
                    )
                address = joined(remote.address(found), int(agent["address"].rpartition(":")[2]))
                token = await _aside(remote.token, agent)
                context = await _aside(remote.context, agent.get("tls"))
            else:
                token = secrets.token_hex(16)
                channel, address, context = await _aside(_start_ours, remote, found, token)
            host = await _connect(config, address, token, context)
        except BaseException:
            _close(remote, channel)
            raise
        host.builds_here = found.facts["compiler"] is None
        return SshAgent(remote, channel, host)

    def hang_up(self) -> None:
        """Tells the agent to end, if it is ours, and does not wait for it."""
        if self._channel is not None:
            with contextlib.suppress(OSError, EOFError):
                self._channel.shutdown_write()

    def stop(self) -> None:
        """Ends the agent, if it is ours, and the connection; may be called twice."""
        self.hang_up()
        if self._channel is not None:
            self._channel.status_event.wait(far_end.STOP_S)
        _close(self._remote, self._channel)


def _start_ours(remote: Remote, found: Found, token: str) -> tuple[paramiko.Channel, str, ssl.SSLContext | None]:
    """An agent whose standard input is ours, and how to connect to it. It keeps its certificate in memory."""
    variables = remote.prepare(found)
    certified = remote.certify(found)
    try:
        channel, address = _run_ours(remote, found, token, remote.command(found, certified), variables)
        return channel, address, remote.context(certified)
    finally:
        if certified:
            remote.shell.run(f"rm -rf {shlex.quote(certified)}")


def _run_ours(
    remote: Remote, found: Found, token: str, command: list[str], variables: Mapping[str, str]
) -> tuple[paramiko.Channel, str]:
    agent = _command([*command, "--alone-s", str(ALONE_S)], variables)
    folder = shlex.quote(f"{found.facts['cache']}/agents")
    script = f"mkdir -p -m 700 {folder}; exec {agent} 2>>{folder}/log"
    channel = remote.shell.start(f"exec sh -c {shlex.quote(script)}", START_TIMEOUT_S)
    try:
        channel.sendall(token.encode() + b"\n")
        line = channel.makefile("rb").readline()
        answer = json.loads(line) if line.endswith(b"\n") else {}
    except (OSError, EOFError, ValueError) as error:
        channel.close()
        raise Unreachable(f"host '{remote.name}': its agent does not start: {error}", host=remote.name) from error
    if "port" not in answer:
        channel.close()
        raise _error(
            answer.get("error", "the agent ended while it started; `jumpgate hosts logs` says why"), remote.name
        )
    return channel, joined(remote.address(found), int(answer["port"]))


async def _connect(config: HostConfig, address: str, token: str, encryption: ssl.SSLContext | None) -> AgentHost:
    port = int(address.rpartition(":")[2])
    try:
        return await AgentHost.connect(config.device, host_of(address), port, token, encryption)
    except Unreachable as error:
        name = config.device.name
        raise Unreachable(
            f"host '{name}': its agent runs, but {error.message}: let its firewall accept TCP from here", host=name
        ) from None


async def _aside(function: Callable[..., T], *arguments: object) -> T:
    """On a thread of these: hosts that do not answer keep nobody else waiting."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, functools.partial(function, *arguments))


def _note(host: str, text: str) -> None:
    if debug.level() >= 1:
        debug.note("agent", host, text)


def _command(words: list[str], variables: Mapping[str, str]) -> str:
    """For a login shell of any kind."""
    return shlex.join([*(("env", *(f"{k}={v}" for k, v in variables.items())) if variables else ()), *words])


def _close(remote: Remote, channel: paramiko.Channel | None) -> None:
    if channel is not None:
        channel.close()
    remote.shell.close()


def _error(said: Any, host: str) -> JumpgateError:
    """Return the error of an agent's or a verb's answer, with the host's name."""
    if isinstance(said, dict):
        error = from_dict(said)
        error.message = f"host '{host}': {error.message}"
        error.args = (error.message,)
        error.fields["host"] = host
        return error
    return ConfigError(f"host '{host}': {said}", host=host)


@functools.cache
def _here() -> dict[str, str]:
    """The facts that must agree for compiled programs to be exchanged."""
    return {
        "machine": platform.machine(),
        "cpu": far_end.cpu(),
        "libc": " ".join(platform.libc_ver()),
        "pyarrow": far_end.version("pyarrow") or "",
    }
