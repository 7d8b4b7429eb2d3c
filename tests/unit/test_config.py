"""jumpgate.toml: what it may say, and the error for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpgate.errors import ConfigError
from jumpgate.hosts.config import load, parse, this_machine


def test_without_a_file_everything_runs_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JUMPGATE_CONFIG", raising=False)
    assert load().hosts == (this_machine(),)
    assert this_machine().device.cores > 0 and this_machine().device.memory_bytes > 0


def test_a_file_is_found_by_argument_variable_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("jumpgate", "variable", "argument"):
        (tmp_path / f"{name}.toml").write_text(f'[[host]]\nname = "{name}"\n')
    monkeypatch.delenv("JUMPGATE_CONFIG", raising=False)
    assert load().hosts[0].device.name == "jumpgate"
    monkeypatch.setenv("JUMPGATE_CONFIG", "variable.toml")
    assert load().hosts[0].device.name == "variable"
    assert load("argument.toml").hosts[0].device.name == "argument"


def test_everything_that_a_file_can_say() -> None:
    config = parse(
        {
            "service": {"stall_timeout_ms": 5, "memory_limit_bytes": 6},
            "host": [
                {
                    "name": "a",
                    "agent": "10.0.0.7:7400",
                    "token_file": "/t",
                    "cores": 3,
                    "memory_bytes": 9,
                    "data_bind": "0.0.0.0",
                    "data_address": "10.0.0.7",
                },
                {"name": "b"},
            ],
            "device": [{"name": "tor1", "kind": "switch", "program": "aggregate", "jobs": 2, "memory_bytes": 7}],
            "nca": [{"name": "mine", "path": "m:NCA"}],
            "device_kind": [{"name": "board", "path": "m:KIND"}],
        }
    )
    a, b = config.hosts
    assert (a.agent, a.token_file, a.device.cores, a.device.memory_bytes) == ("10.0.0.7:7400", "/t", 3, 9)
    assert a.device.properties == (("data_bind", "0.0.0.0"), ("data_address", "10.0.0.7"))
    assert b.agent is None and b.device.cores == this_machine().device.cores
    assert dict(b.device.properties).keys() == {"data_bind", "data_address"}
    (tor1,) = config.devices
    assert (tor1.kind, tor1.cores, tor1.memory_bytes) == ("switch", 1, 7)
    assert dict(tor1.properties) == {"program": "aggregate", "profile": "none", "jobs": 2, "success": 1.0}
    assert tor1.offer.claims == ("buckets",) and tor1.offer.ports == 64
    assert config.ncas == (("mine", "m:NCA"),)
    assert config.device_kinds == (("board", "m:KIND"),)
    assert config.service == {"stall_timeout_ms": 5, "memory_limit_bytes": 6}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"hosts": []}, r"unknown key 'hosts' in the top level; did you mean 'host'\?"),
        (
            {"zzz": 1},
            "unknown key 'zzz' in the top level; known: client, device, device_kind, host, nca, network, service, "
            "store, table, tls",
        ),
        ({"host": [{"name": "a", "core": 1}]}, r"unknown key 'core' in \[\[host\]\]; did you mean 'cores'\?"),
        ({"service": {"stall_timeout": 1}}, r"unknown key .* in \[service\]; did you mean 'stall_timeout_ms'\?"),
        ({"service": [{}]}, r"write \[service\], not \[\[service\]\]"),
        ({"host": {"name": "a"}}, r"write \[\[host\]\], not \[host\]"),
        ({"host": [1]}, r"write \[\[host\]\]"),
        ({"host": [{}]}, r"a \[\[host\]\] has no name"),
        ({"device": [{"name": "x", "kind": "switch", "prog": "y"}]}, "unknown key 'prog' .* did you mean 'program'"),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "prune", "p4runtime": "h:1"}]},
            "needs p4runtime .* and data .* together",
        ),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "prune", "jobs": 3}]},
            "jobs of .* is 3, not a power of two up to 16",
        ),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "prune", "success": 1.5}]},
            "success of .* is 1.5, not a probability",
        ),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "prune", "data": "h", "p4runtime": "h:1"}]},
            "data of .* not ADDRESS:PORT",
        ),
        (
            {"device": [{"name": n, "kind": "switch", "pool": "p", "program": n} for n in ("prune", "aggregate")]},
            "the devices of pool 'p' share rows, so they must be alike, and differ in program: write the same",
        ),
        (
            {"device": [{"name": "x", "kind": "switch"}]},
            r"the \[\[device\]\] 'x' has no program; there are aggregate, ",
        ),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "agregate"}]},
            "program of .* is 'agregate'; did you mean 'aggregate'",
        ),
        ({"device": [{"name": "x", "kind": "switch", "program": "x"}]}, "program of .* is 'x'; there are aggregate, "),
        (
            {"device": [{"name": "x", "kind": "swich"}]},
            r"no accelerator knows devices of kind 'swich'; did you mean 'sw",
        ),
        ({"device": [{"name": "x", "kind": "gpu"}]}, "no .* 'gpu'; known: .*switch.*Install the package that drives"),
        ({"device": [{"name": "x", "kind": "host"}]}, r"'x' is a host: write \[\[host\]\]"),
        (
            {"device_kind": [{"name": "b", "path": "nowhere.at_all:KIND"}], "device": [{"name": "x", "kind": "b"}]},
            "kind of .* 'x': device kind 'b' .* cannot be loaded: ModuleNotFoundError.* Repair or uninstall",
        ),
        (
            {"device_kind": [{"name": "b", "path": "os:sep"}], "device": [{"name": "x", "kind": "b"}]},
            "device kind 'b': os:sep is '/', not the DeviceKind of that name",
        ),
        (
            {"device": [{"name": "x", "kind": "switch", "program": "prune", "cores": 0}]},
            "cores of .* is 0, not a whole",
        ),
        ({"device": [{"name": "x"}]}, r"a \[\[device\]\] has no kind"),
        ({"nca": [{"name": "x"}]}, r"a \[\[nca\]\] has no path"),
        ({"host": [{"name": 5}]}, r"name in \[\[host\]\] is 5, not a text"),
        ({"host": [{"name": "a", "cores": "two"}]}, r"cores in \[\[host\]\] is 'two', not a whole number, 0 or more"),
        ({"host": [{"name": "a", "cores": -1}]}, "cores .* is -1, not a whole number"),
        ({"host": [{"name": "a", "cores": True}]}, "cores .* is True, not a whole number"),
        ({"tls": {}}, r"a \[tls\] has no folder"),
        ({"tls": [{"folder": "x"}]}, r"\[tls\] is a single table: write \[tls\], not \[\[tls\]\]"),
        ({"tls": {"folder": "x", "edges": 1}}, r"edges in \[tls\] is 1, not true or false"),
        ({"client": [{"name": "c", "token_file": "t", "roots": [1]}]}, r"roots in .* is \[1\], not a list of texts"),
        ({"client": [{"name": "c"}]}, r"a \[\[client\]\] has no token_file"),
        ({"client": [{"name": "c", "token_file": "t"}] * 2}, "two clients are called 'c'; rename one"),
        ({"service": {"stall_timeout_ms": 1.5}}, r"stall_timeout_ms in \[service\] is 1.5, not a whole number"),
        (
            {"host": [{"name": "a", "network": "r"}]},
            "'a' is in network 'r', which is not there: write a .*of that name",
        ),
        ({"network": [{"name": "r", "network": "s"}, {"name": "s", "network": "r"}]}, "network 'r' is below itself"),
        (
            {"store": [{"url": "s3://lake", "select_formats": ["jsonl"]}]},
            r"select_formats of a \[\[store\]\] has 'jsonl'; there are parquet, csv, json",
        ),
        ({"network": [{"name": "r", "network": "r"}]}, "network 'r' is below itself"),
        ({"network": [{"name": "r", "link_delay_us": -1}]}, "link_delay_us .* is -1, not a number, 0 or more"),
        ({"network": [{"name": "a"}], "host": [{"name": "a"}]}, "two hosts, devices or networks are called 'a'"),
        ({"host": [{"name": "a"}, {"name": "a"}]}, "two hosts, devices or networks are called 'a'; rename one"),
        (
            {"host": [{"name": "a"}], "device": [{"name": "a", "kind": "switch", "program": "prune"}]},
            "two hosts, devices or networks are called 'a'",
        ),
        ({"host": [{"name": "a", "agent": "there", "token_file": "t"}]}, "agent of host 'a' is 'there', not HOST:PORT"),
        ({"host": [{"name": "a", "agent": "there:99999", "token_file": "t"}]}, "not HOST:PORT"),
        ({"table": [{"name": "t", "paths": []}]}, "table 't' has no paths"),
        (
            {"table": [{"name": "t", "paths": ["x.orc"]}]},
            "format of table 't' is None; it can be iceberg, parquet, csv",
        ),
        ({"table": [{"name": "t", "paths": ["a", "b"], "format": "delta"}]}, "is of delta and has 2 paths; give one"),
        (
            {"table": [{"name": "t", "paths": ["x.csv"], "catalog": "c"}]},
            "has a catalog, but its format is not iceberg",
        ),
        (
            {"table": [{"name": "t", "paths": ["x.csv"], "readers": ["who"]}]},
            r"'who', a reader of table 't', is no \[\[client\]\]: add one",
        ),
        ({"table": [{"name": n, "paths": ["x.csv"]} for n in "tT"]}, "two tables are called 'main.t'; rename one"),
        ({"host": [{"name": "a", "agent": "there:7"}]}, "host 'a' names an agent but no token_file: put the secret"),
    ],
)
def test_what_is_wrong_is_said_with_the_way_out(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        parse(data, "my.toml")
    assert raised.value.message.startswith("my.toml: ")


@pytest.mark.parametrize(("text", "message"), [(b"[[host", "broken.toml: "), (b"\xff\xfe", "broken.toml: ")])
def test_a_file_that_is_not_toml(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "broken.toml").write_bytes(text)
    with pytest.raises(ConfigError, match=message):
        load(tmp_path / "broken.toml")
    with pytest.raises(ConfigError, match="cannot read .*absent.toml: No such file"):
        load(tmp_path / "absent.toml")


def test_hosts_without_addresses_are_reached_where_their_agents_are() -> None:
    config = parse(
        {
            "host": [
                {"name": "a", "agent": "127.0.0.2:7400", "token_file": "/t"},
                {"name": "b", "agent": "[::1]:7400", "token_file": "/t", "data_bind": "::"},
                {"name": "c"},
            ]
        }
    )
    a, b, c = (dict(h.device.properties) for h in config.hosts)
    assert a == {"data_bind": "127.0.0.2", "data_address": "127.0.0.2"}
    assert b == {"data_bind": "::", "data_address": "::1"}
    assert c == {"data_bind": "127.0.0.1", "data_address": "127.0.0.1"}, "all others are on this machine"
