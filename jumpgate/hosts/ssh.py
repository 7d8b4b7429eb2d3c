"""A shell on another machine over SSH, reached as ~/.ssh/config says: names, users, ports, keys, jumps, known hosts.

It blocks: who runs an event loop calls it on a thread. Only a machine whose host key is known is talked to.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jumpgate import extras
from jumpgate.errors import ConfigError, JumpgateError, Unreachable
from jumpgate.ntf import liveness

if TYPE_CHECKING:
    import paramiko

CONNECT_TIMEOUT_S = 8.0
#: between machines through which one is reached
JUMPS_MAX = 8
_TARGET = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[0-9A-Fa-f:.%]+\]|[^@:\s\[\]]+)(?::(?P<port>\d{1,5}))?")


class Target(NamedTuple):
    """The parts of `[user@]host[:port]`; None where ~/.ssh/config or the defaults decide."""

    user: str | None
    host: str
    port: int | None

    @staticmethod
    def parse(text: str) -> Target | None:
        """None if the text is no such thing."""
        found = _TARGET.fullmatch(text)
        if found is None:
            return None
        return Target(found["user"], found["host"].strip("[]"), int(found["port"]) if found["port"] else None)


class Done(NamedTuple):
    """How a command ended, and what it wrote."""

    status: int
    out: bytes
    err: str


class Shell:
    """A connection to one machine, `name` in errors; commands run beside each other."""

    def __init__(self, name: str, clients: list[paramiko.SSHClient]) -> None:
        self.name, self._clients = name, clients

    @staticmethod
    def connect(name: str, target: str) -> Shell:
        """Raises Unreachable, ConfigError (host key, login, ~/.ssh/config), NotInstalled."""
        with extras.explained():
            import paramiko  # noqa: F401 (loaded by who needs it)
        logging.getLogger("paramiko").addHandler(logging.NullHandler())  # what goes wrong is raised
        clients: list[paramiko.SSHClient] = []
        try:
            with _explained(name, target):
                for hop in _way(target, name):
                    clients.append(_connect(hop, clients[-1] if clients else None))
        except BaseException:
            for client in reversed(clients):
                client.close()
            raise
        return Shell(name, clients)

    @property
    def alive(self) -> bool:
        transport = self._clients[-1].get_transport()
        return transport is not None and transport.is_active()

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 60.0) -> Done:
        """Runs a command of the login shell to its end. Raises Unreachable."""
        with self.start(command, timeout_s) as channel, self._lost():
            channel.sendall(stdin)
            channel.shutdown_write()
            out, err = channel.makefile("rb").read(), channel.makefile_stderr("rb").read()
            return Done(channel.recv_exit_status(), out, err.decode(errors="replace").strip())

    def start(self, command: str, timeout_s: float | None = None) -> paramiko.Channel:
        """The running command's standard streams; what is written to and read from them waits `timeout_s` at most."""
        with self._lost():
            transport = self._clients[-1].get_transport()
            if transport is None:
                raise EOFError
            channel = transport.open_session(timeout=CONNECT_TIMEOUT_S)
            channel.settimeout(timeout_s)
            channel.exec_command(command)
            return channel

    def close(self) -> None:
        for client in reversed(self._clients):
            client.close()

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        import paramiko

        try:
            yield
        except (OSError, EOFError, paramiko.SSHException) as error:
            reason = "no answer" if isinstance(error, TimeoutError) else str(error) or "it was closed"
            raise Unreachable(f"host '{self.name}': its SSH connection is lost: {reason}", host=self.name) from error


def _way(target: str, name: str, jumps_left: int = JUMPS_MAX) -> list[dict[str, Any]]:
    """The settings of the machines through which the target is reached, and last its own."""
    if jumps_left < 0:
        raise ConfigError(f"host '{name}': ~/.ssh/config reaches {target} by more than {JUMPS_MAX} jumps", host=name)
    settings = _settings(target, name)
    jumps = settings.get("proxyjump", "none")
    if jumps == "none":
        return [settings]
    first, *others = (jump.strip() for jump in jumps.split(","))
    before = [*_way(first, name, jumps_left - 1), *(_settings(jump, name) for jump in others)]
    return [*before, {**settings, "proxycommand": None}]


def _settings(target: str, name: str) -> dict[str, Any]:
    import paramiko

    wanted = Target.parse(target)
    if wanted is None:
        raise ConfigError(f"host '{name}': {target!r} is not [USER@]HOST[:PORT]", host=name)
    file = Path("~/.ssh/config").expanduser()
    config = paramiko.SSHConfig.from_path(str(file)) if file.exists() else paramiko.SSHConfig()
    settings: dict[str, Any] = dict(config.lookup(wanted.host))
    settings["port"] = wanted.port or int(settings.get("port", 22))
    settings["user"] = wanted.user or settings.get("user")
    return settings


def _connect(settings: dict[str, Any], through: paramiko.SSHClient | None) -> paramiko.SSHClient:
    import paramiko

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    known = settings.get("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2").split()
    for file in (*known, "/etc/ssh/ssh_known_hosts"):
        if Path(file).expanduser().exists():
            client.load_system_host_keys(str(Path(file).expanduser()))
    address = (settings["hostname"], settings["port"])
    sock: Any = None
    if through is not None:
        transport = through.get_transport()
        assert transport is not None
        sock = transport.open_channel("direct-tcpip", address, ("127.0.0.1", 0), timeout=CONNECT_TIMEOUT_S)
    elif settings.get("proxycommand") not in (None, "none"):
        sock = paramiko.ProxyCommand(settings["proxycommand"])
    only_named = settings.get("identitiesonly", "no") == "yes"
    try:
        client.connect(
            *address,
            username=settings["user"],
            key_filename=[file for file in settings.get("identityfile", ()) if Path(file).exists()] or None,
            timeout=CONNECT_TIMEOUT_S,
            banner_timeout=CONNECT_TIMEOUT_S,
            auth_timeout=CONNECT_TIMEOUT_S,
            allow_agent=not only_named,
            look_for_keys=not only_named,
            sock=sock,
        )
        transport = client.get_transport()
        if transport is not None and isinstance(transport.sock, socket.socket):
            liveness.bound(transport.sock, liveness.CONTROL_S)
    except BaseException:
        client.close()
        raise
    return client


@contextlib.contextmanager
def _explained(name: str, target: str) -> Iterator[None]:
    """Typed errors, which say what to do, in place of the library's."""
    import paramiko

    try:
        yield
    except JumpgateError:
        raise
    except paramiko.BadHostKeyException as error:
        raise ConfigError(
            f"host '{name}': the SSH host key of {target} is not the one in known_hosts: somebody may pretend to "
            f"be it. If it was installed anew, remove the old key (`ssh-keygen -R {error.hostname}`)",
            host=name,
        ) from error
    except paramiko.PasswordRequiredException as error:
        raise ConfigError(
            f"host '{name}': the key for {target} needs a passphrase: load it into an agent (`ssh-add`)", host=name
        ) from error
    except paramiko.AuthenticationException as error:
        raise ConfigError(
            f"host '{name}': {target} takes none of our keys: put the public key into ~/.ssh/authorized_keys there, or "
            "name the right one as IdentityFile in ~/.ssh/config",
            host=name,
        ) from error
    except paramiko.ConfigParseError as error:
        raise ConfigError(f"host '{name}': ~/.ssh/config cannot be read: {error}", host=name) from error
    except paramiko.SSHException as error:
        if "not found in known_hosts" in str(error):
            raise ConfigError(
                f"host '{name}': the SSH host key of {target} is not known: run `ssh {target}` once, and compare its "
                "fingerprint before you accept it",
                host=name,
            ) from error
        raise Unreachable(f"host '{name}': no SSH connection to {target}: {error}", host=name) from error
    except (OSError, EOFError) as error:
        reason = "no answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or str(error)
        raise Unreachable(f"host '{name}': cannot reach {target} by SSH: {reason}", host=name) from error
