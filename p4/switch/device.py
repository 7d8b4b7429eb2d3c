"""A switch as a machine: ports that stay while pipelines come and go."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from jumpgate.codegen import cache
from jumpgate.errors import ConfigError
from jumpgate.p4.switch.switch import CPU_PORT, PortSpec, Switch


class Device:
    """Runs at most one program over its ports. Ports open with the first program; close it when done."""

    def __init__(self, ports: Sequence[PortSpec], cpu_port: int = CPU_PORT) -> None:
        self.ports = list(ports)
        self.cpu_port = cpu_port
        self.switch: Switch | None = None
        self._lock = threading.Lock()

    def install(self, program: Path) -> Switch:
        """Replaces what runs: its tables, registers and packets under way are gone. Raises ConfigError."""
        with self._lock:
            made = Switch(program, cpu_port=self.cpu_port)
            if self.switch is not None:
                self.switch.close()
            self.switch = made
            for i, spec in enumerate(self.ports):
                bound = made.add_port(spec)  # the system's choice of a port stays
                self.ports[i] = dataclasses.replace(spec, port=bound)
            made.start()
            return made

    def close(self) -> None:
        with self._lock:
            if self.switch is not None:
                self.switch.close()
                self.switch = None


def device_config(program: Path) -> bytes:
    """Return the bytes that a P4Runtime client sends as `p4_device_config` to have a compiled program installed."""
    return json.dumps({"jumpgate_program": program.stem}).encode()


def program_of(config: bytes) -> Path:
    """The compiled program in this machine's cache that a `device_config` names. Raises ConfigError.

    It names, rather than contains, the program: clients must not bring machine code.
    """
    try:
        name = json.loads(config)["jumpgate_program"]
        valid = isinstance(name, str) and name.isalnum()
    except (ValueError, KeyError, TypeError):
        valid = False
    if not valid:
        raise ConfigError("p4_device_config is not one that `jumpgate switch compile --device-config` wrote")
    path = cache.root() / "switch" / "programs" / f"{name}.so"
    if not cache.is_usable(path):
        raise ConfigError(f"the program {name} is not in this machine's cache; run `jumpgate switch compile` here")
    return path
