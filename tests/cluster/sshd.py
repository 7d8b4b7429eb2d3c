"""Machines that are reached by SSH, each with a cache of its own, and what a client of theirs has in ~/.ssh."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from jumpgate.study.paper.network import Machine
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import state

PORT = 2222


def installed() -> bool:
    return shutil.which("sshd", path="/usr/sbin:/usr/bin") is not None and shutil.which("ssh-keygen") is not None


class Client:
    """A home with a key, ~/.ssh/config and known_hosts. `variables` make programs use it."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.home = folder / "home"
        self.ssh = self.home / ".ssh"
        self.ssh.mkdir(parents=True, mode=0o700)
        self.key = keygen(self.ssh / "id_ed25519")
        self.variables = {
            "HOME": str(self.home),
            "JUMPGATE_CACHE_DIR": str(cache),
            "JUMPGATE_STATE_DIR": str(state.root()),
            "SSH_AUTH_SOCK": "",
        }

    def knows(self, alias: str, machine: Machine, host_key: Path, *options: str) -> None:
        """`ssh ALIAS` reaches the machine."""
        lines = (f"HostName {machine.address}", "User root", f"Port {PORT}", f"IdentityFile {self.key}", *options)
        with (self.ssh / "config").open("a") as file:
            file.write(f"Host {alias}\n" + "".join(f"  {line}\n" for line in lines))
        public = host_key.with_suffix(".pub").read_text()
        with (self.ssh / "known_hosts").open("a") as file:
            file.write(f"[{machine.address}]:{PORT} {public}")


class Server:
    """A machine's sshd, which lets a key in; whoever logs in has these variables, a cache in `folder`, and `folder`'s
    subfolder `private` as what the path `private` is there."""

    def __init__(
        self,
        machine: Machine,
        folder: Path,
        key: Path,
        variables: Mapping[str, str] | None = None,
        private: Path | None = None,
    ) -> None:
        self.machine, self.cache = machine, folder / "cache"
        folder.mkdir(exist_ok=True)
        self.host_key = keygen(folder / "host_key")
        keys = folder / "authorized_keys"
        shutil.copyfile(key.with_suffix(".pub"), keys)
        env = {"JUMPGATE_CACHE_DIR": str(self.cache), **(variables or {})}
        (folder / "sshd_config").write_text(
            f"Port {PORT}\nListenAddress {machine.address}\nHostKey {self.host_key}\nPidFile none\n"
            f"AuthorizedKeysFile {keys}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxStartups 100\n"
            f"SetEnv {' '.join(f'{k}={v}' for k, v in env.items())}\n"
        )
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd insists on it
        sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", folder / "sshd_config"]
        if private is not None:  # `ip netns exec` gives each program a view of the file systems of its own
            (folder / "private").mkdir()
            private.mkdir(exist_ok=True)
            sshd = ["sh", "-c", 'mount --bind "$1" "$2"; shift 2; exec "$@"', "sh", folder / "private", private, *sshd]
        self.process = machine.start(*sshd)
        assert wait_until(self._listens, 20)

    def _listens(self) -> bool:
        shown = subprocess.run(
            ["ip", "netns", "exec", self.machine.namespace, "cat", "/proc/net/tcp"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        return f":{PORT:04X} " in shown

    def left(self) -> set[int]:
        """Processes on the machine but for the server itself."""
        return set(self.machine.pids()) - {self.process.pid}


def keygen(file: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    return file
