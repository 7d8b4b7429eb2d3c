"""`jumpgate.toml`: the hosts (and other devices) that a service may use. With none, everything runs on this machine.

    [service]                       # all optional
    stall_timeout_ms = 60000

    [[host]]
    name = "worker1"
    agent = "10.0.0.7:7400"         # absent: an agent of our own on this machine
    token_file = "/etc/jumpgate/token"
    cores = 16                      # absent: what the agent sees
    data_bind = "0.0.0.0"           # where instances accept edges; default 127.0.0.1
    data_address = "10.0.0.7"       # how other hosts reach them

    [[device]]                      # a switch, a board, a store: its NCA knows the other keys
    name = "tor1"
    kind = "switch"

    [[nca]]
    name = "mine"
    path = "my_package.my_module:NCA"
"""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jumpgate.errors import ConfigError
from jumpgate.nca.interface import Device

_KEYS = {
    "": {"service", "host", "device", "nca"},
    "service": {"stall_timeout_ms", "memory_limit_bytes", "result_timeout_ms"},
    "host": {"name", "agent", "token_file", "cores", "memory_bytes", "data_bind", "data_address"},
    "nca": {"name", "path"},
}


@dataclass(frozen=True)
class HostConfig:
    """A host. `agent` is host:port of a running agent; None: one is started on this machine."""

    device: Device
    agent: str | None = None
    token_file: str | None = None


@dataclass(frozen=True)
class Config:
    hosts: tuple[HostConfig, ...]
    devices: tuple[Device, ...] = ()
    ncas: tuple[tuple[str, str], ...] = ()
    service: dict[str, int] = field(default_factory=dict)


def this_machine(name: str = "local", cores: int = 0) -> HostConfig:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return HostConfig(Device(name, "host", cores or len(os.sched_getaffinity(0)), memory))


def local_hosts(count: int, cores: int = 0) -> Config:
    """`count` agents on this machine that stand for as many hosts."""
    return Config(tuple(this_machine(f"host{i + 1}" if count > 1 else "local", cores) for i in range(count)))


def load(path: str | Path | None = None) -> Config:
    """The configuration in `path`, else $JUMPGATE_CONFIG, else ./jumpgate.toml, else this machine alone."""
    chosen = path or os.environ.get("JUMPGATE_CONFIG")
    if chosen is None:
        if not Path("jumpgate.toml").exists():
            return local_hosts(1)
        chosen = "jumpgate.toml"
    try:
        with open(chosen, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"cannot read {chosen}: {error.strerror}", file=chosen) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{chosen}: {error}", file=chosen) from error
    return parse(data, str(chosen))


def parse(data: dict[str, Any], where: str = "jumpgate.toml") -> Config:
    _check_keys(data, "", where)
    _check_keys(data.get("service", {}), "service", where)
    hosts = tuple(_host(h, where) for h in data.get("host", []))
    devices = tuple(_device(d, where) for d in data.get("device", []))
    names = [h.device.name for h in hosts] + [d.name for d in devices]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}: two devices are called '{twice}'; rename one", file=where)
    for nca in data.get("nca", []):
        _check_keys(nca, "nca", where)
    ncas = tuple((str(n["name"]), str(n["path"])) for n in data.get("nca", []))
    return Config(hosts or local_hosts(1).hosts, devices, ncas, dict(data.get("service", {})))


def _host(data: dict[str, Any], where: str) -> HostConfig:
    _check_keys(data, "host", where)
    if "name" not in data:
        raise ConfigError(f"{where}: a [[host]] has no name", file=where)
    local = this_machine().device
    properties = tuple((k, str(data[k])) for k in ("data_bind", "data_address") if k in data)
    cores = int(data.get("cores", local.cores))
    memory = int(data.get("memory_bytes", local.memory_bytes))
    device = Device(str(data["name"]), "host", cores, memory, properties)
    return HostConfig(device, data.get("agent"), data.get("token_file"))


def _device(data: dict[str, Any], where: str) -> Device:
    if "name" not in data or "kind" not in data:
        raise ConfigError(f"{where}: a [[device]] needs a name and a kind (switch, board, store, …)", file=where)
    properties = tuple((k, str(v)) for k, v in data.items() if k not in ("name", "kind"))
    return Device(str(data["name"]), str(data["kind"]), properties=properties)


def _check_keys(data: dict[str, Any], table: str, where: str) -> None:
    for key in data:
        if key not in _KEYS[table]:
            close = difflib.get_close_matches(key, _KEYS[table], 1)
            hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(_KEYS[table]))}"
            place = f"[[{table}]]" if table else "the top level"
            raise ConfigError(f"{where}: unknown key '{key}' in {place}; {hint}", file=where)
