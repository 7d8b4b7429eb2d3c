"""`jumpgate switch entries`: what a switch's tables hold, for people, programs, and a Tofino's shell."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from finsy.proto import p4r

from jumpgate.cli.main import cli
from jumpgate.errors import ConfigError, Unreachable
from jumpgate.p4.switch.device import Device, device_config
from jumpgate.p4.switch.dump import PRIORITY_MAX, read_entries
from jumpgate.p4.switch.p4runtime import Server
from jumpgate.p4.switch.switch import Entry, Switch
from tests.support import switch_by_hand as by_hand

ENTRIES = {
    "exact_table": [Entry((0xFFFFFFFF,), (0,), 0, 1, (5,)), Entry((7,), (0,), 0, 1, (6,))],
    "lpm_table": [Entry((0x0A000000,), (0xFF000000,), 0, 1, (7,)), Entry((0,), (0,), 0, 1, (8,))],
    "ternary_table": [
        Entry((0x10, 3), (0xF0, 255), 1, 1, (9,)), Entry((0x10, 0), (0xFF, 0), 2, 1, (10,)),
        Entry((0, 0), (0, 0), 1, 1, (11,)),
    ],
    "range_table": [Entry((5, 0), (9, 255), 4, 1, (12,)), Entry((0, 2), (2**32 - 1, 3), 3, 1, (13,))],
}  # fmt: skip


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device([])
    yield made
    made.close()


@pytest.fixture
def server(device: Device) -> Iterator[Server]:
    served = Server(device, "127.0.0.1:0")  # wants the token, which this user's commands find
    yield served
    served.close()


@pytest.fixture
def filled(device: Device, server: Server) -> Server:
    program = by_hand.program()
    with Switch(program) as switch:
        info = by_hand.p4info(switch)
    for table in info.tables:
        table.is_const_table = table.preamble.name.endswith("const_table")
    config = p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=device_config(program))
    server.service.install(config)
    assert device.switch is not None
    for name, entries in ENTRIES.items():
        for entry in entries:
            device.switch.insert(device.switch.table(name), entry)
    return server


def ran(server: Server, *options: str) -> str:
    words = ["switch", "entries", f"127.0.0.1:{server.port}", *options]
    return CliRunner().invoke(cli, words, catch_exceptions=False).output


def test_entries_of_every_kind(filled: Server) -> None:
    found = json.loads(ran(filled, "--json"))
    assert len(found) == sum(map(len, ENTRIES.values()))
    by_table: dict[str, list[tuple[Any, ...]]] = {}
    for e in found:
        by_table.setdefault(e["table"], []).append((list(e["key"].values()), e["priority"], list(e["data"].values())))
    assert by_table == {
        "Ingress.exact_table": [([4294967295], 0, [5]), ([7], 0, [6])],
        "Ingress.lpm_table": [([[0, 0]], 0, [8]), ([[0x0A000000, 8]], 0, [7])],
        "Ingress.ternary_table": [
            ([[16, 255], [0, 0]], 2, [10]), ([[0, 0], [0, 0]], 1, [11]), ([[16, 240], [3, 255]], 1, [9]),
        ],
        "Ingress.range_table": [([[5, 9], 0], 4, [12]), ([[0, 2**32 - 1], 2], 3, [13])],
    }  # fmt: skip
    lines = ran(filled).splitlines()
    assert len(lines) == len(found) and all(line.endswith(")") and ": " in line for line in lines)


def test_a_shell_of_a_tofino_takes_the_script(filled: Server) -> None:
    """It is run with a stand-in for the shell's tables, which takes what theirs takes."""
    taken: dict[str, list[dict[str, Any]]] = {}
    done = []

    class Node:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, word: str) -> Node:
            return Node(f"{self.name}.{word}" if self.name else word)

        def add_from_json(self, text: str) -> None:
            rows = json.loads(text)
            assert all(row["table_name"] == self.name for row in rows)
            taken.setdefault(self.name, []).extend(rows)

    shell = SimpleNamespace(by_hand=Node(""), complete_operations=lambda: done.append(True))
    exec(ran(filled, "--bfrt", "by_hand"), {"bfrt": shell})  # noqa: S102
    assert done == [True] and {name: len(rows) for name, rows in taken.items()} == {
        f"pipe.Ingress.{name}": len(entries) for name, entries in ENTRIES.items()
    }
    for rows in taken.values():
        assert all(set(row) == {"table_name", "key", "data", "action"} for row in rows)
    (first, *_), exact = taken["pipe.Ingress.ternary_table"], taken["pipe.Ingress.exact_table"]
    assert first["key"]["$MATCH_PRIORITY"] == PRIORITY_MAX - 2  # the least is first there
    assert list(first["key"].values())[:2] == [[16, 255], [0, 0]] and list(first["data"].values()) == [10]
    assert all("$MATCH_PRIORITY" not in row["key"] for row in exact)


def test_nothing_to_read(server: Server) -> None:
    with pytest.raises(ConfigError, match="runs no program: install one of p4/programs"):
        read_entries(f"127.0.0.1:{server.port}")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    with pytest.raises(Unreachable, match=f"the switch at {address}: .*Is it running?"):
        read_entries(address)
