"""Runs on a host over SSH, before Jumpgate is there: this file's text is sent to a Python, so it imports the
standard library alone. Each verb prints one line of JSON; errors of the system are {"error": SENTENCE}.

    facts                     what the host has
    unpack FOLDER             a tar archive from standard input, whole or not at all
    depend FOLDER             installs what the Jumpgate in FOLDER needs and the host lacks
    start COMMAND…            an agent that outlives this connection
    stop PID…                 ends these agents of this user, or all
    logs LINES                the last lines that agents wrote
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from typing import Any

#: for an agent to end what it runs
STOP_S = 10.0
LOG_BYTES_MAX = 1 << 20


def facts() -> dict[str, Any]:
    compiler = shutil.which(os.environ.get("JUMPGATE_CXX") or "g++")
    root = cache()
    os.makedirs(root, exist_ok=True)
    return {
        "python": platform.python_version(),
        "jumpgate": version("jumpgate-nca") if importlib.util.find_spec("jumpgate") else None,
        "pyarrow": version("pyarrow"),
        "pip": importlib.util.find_spec("pip") is not None,
        "compiler": compiler,
        "machine": platform.machine(),
        "cpu": cpu(),
        "libc": " ".join(platform.libc_ver()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cache": root,
        "free_bytes": shutil.disk_usage(root).free,
        "address": (os.environ.get("SSH_CONNECTION", "").split() + ["", "", ""])[2],
        "runtimes": [os.path.basename(path) for path in glob.glob(os.path.join(root, "runtime", "*"))],
        "copies": [os.path.basename(path) for path in glob.glob(os.path.join(root, "copies", "*"))],
        "speeds": speeds(root),
        "agents": agents(),
    }


def cache() -> str:
    """As jumpgate.codegen.cache.root."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.abspath(os.path.expanduser(os.environ.get("JUMPGATE_CACHE_DIR") or os.path.join(base, "jumpgate")))


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def cpu() -> str:
    """Equal where programs compiled for one run on the other."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(flags.encode()).hexdigest()[:16]


def speeds(root: str) -> dict[str, float]:
    """Return the speeds that `jumpgate calibrate` measured there."""
    name = "".join(c if c.isalnum() else "-" for c in platform.node()) or "localhost"
    try:
        with open(os.path.join(root, "calibration", name + ".json")) as file:
            return dict(json.load(file)["seconds"]["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def unpack(folder: str) -> dict[str, Any]:
    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    staged = tempfile.mkdtemp(dir=parent, prefix=".")
    try:
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz") as archive:
            archive.extractall(staged)
        os.chmod(staged, 0o700)
        os.rename(staged, folder)
    except OSError as error:  # hosts may share a home: somebody else has brought it
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
            raise
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return {}


def depend(folder: str) -> dict[str, Any]:
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    wanted = [text for text in importlib.metadata.requires("jumpgate-nca") or () if ";" not in text]
    missing = [text for text in wanted if not satisfied(text)]
    if missing:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, *missing]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            return {"error": f"cannot install {', '.join(missing)} there: {said}"}
    return {"installed": missing}


def satisfied(requirement: str) -> bool:
    """Return whether a package is there in a version that is asked for: `name>=1.2,<2`."""
    name, limits = re.fullmatch(r"([\w.-]+)\s*\(?([^)]*)\)?", requirement.strip()).groups()  # type: ignore[union-attr]
    found = version(name)
    if found is None:
        return False
    compare = {
        ">=": lambda a, b: a >= b,
        "<": lambda a, b: a < b,
        "==": lambda a, b: a == b,
    }
    for limit in filter(None, (part.strip() for part in limits.split(","))):
        relation, number = re.fullmatch(r"(>=|<|==)\s*([\d.]+)", limit).groups()  # type: ignore[union-attr]
        if not compare[relation](numbers(found), numbers(number)):
            return False
    return True


def numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text.partition("+")[0])]


def agents() -> list[dict[str, Any]]:
    """Return the agents that run, by the files that they keep in the cache; remove the files of others."""
    found = []
    for path in sorted(glob.glob(os.path.join(cache(), "agents", "*.json"))):
        with contextlib.suppress(OSError, ValueError):
            with open(path) as file:
                agent = json.load(file)
            if is_agent(int(agent["pid"])):
                found.append(agent)
            else:
                os.unlink(path)
                forget(agent)
    return found


def forget(agent: dict[str, Any]) -> None:
    """Removes the certificate of an agent that has ended, if it was brought here."""
    folder = agent.get("tls")
    if folder and os.path.dirname(folder) == os.path.join(cache(), "agents"):
        shutil.rmtree(folder, ignore_errors=True)


def is_agent(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"jumpgate.hosts.agent" in file.read()
    except OSError:
        return False


def start(*command: str) -> dict[str, Any]:
    """COMMAND gets a token in a file, which only this user can read; the answer is what the agent says first."""
    folder = os.path.join(cache(), "agents")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    token = os.path.join(folder, "token")
    with (
        contextlib.suppress(FileExistsError),
        open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f,
    ):
        f.write(secrets.token_hex(16) + "\n")
    with open(log(), "ab") as sink:
        process = subprocess.Popen(
            [*command, "--token-file", token],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink,
            start_new_session=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    return dict(json.loads(line)) if line else {"error": f"the agent ended while it started; {log()} there says why"}


def log() -> str:
    """The file to which agents write; the older half of what is too long goes to another."""
    path = os.path.join(cache(), "agents", "log")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with contextlib.suppress(OSError):
        if os.path.getsize(path) > LOG_BYTES_MAX:
            os.replace(path, path + ".old")
    return path


def stop(*pids: str) -> dict[str, Any]:
    running = [agent for agent in agents() if not pids or str(agent["pid"]) in pids]
    for agent in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(agent["pid"], signal.SIGTERM)
    until = time.monotonic() + STOP_S
    for agent in running:
        while is_agent(agent["pid"]) and time.monotonic() < until:
            time.sleep(0.02)
        if is_agent(agent["pid"]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent["pid"], signal.SIGKILL)
        forget(agent)
    agents()  # without the files of those
    return {"stopped": [agent["pid"] for agent in running]}


def logs(lines: str) -> dict[str, Any]:
    try:
        with open(log(), errors="replace") as file:
            return {"lines": file.read().splitlines()[-int(lines) :]}
    except FileNotFoundError:
        return {"lines": []}


def main(verb: str, *arguments: str) -> None:
    verbs = {f.__name__: f for f in (facts, unpack, depend, start, stop, logs)}
    try:
        answer = verbs[verb](*arguments)
    except OSError as error:
        answer = {"error": f"{error.strerror or error}: {error.filename or 'standard input'}"}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
