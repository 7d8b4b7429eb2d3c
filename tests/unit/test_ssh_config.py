"""What `ssh` in [[host]] may be, and how ~/.ssh/config leads there."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("paramiko")

from jumpgate.errors import ConfigError  # noqa: E402
from jumpgate.hosts import far_end  # noqa: E402
from jumpgate.hosts.config import parse  # noqa: E402
from jumpgate.hosts.ssh import Target, _way  # noqa: E402
from jumpgate.service.agents import Agents  # noqa: E402


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("worker1", Target(None, "worker1", None)),
        ("me@worker1:2222", Target("me", "worker1", 2222)),
        ("me@[fe80::1]:22", Target("me", "fe80::1", 22)),
        ("a b", None),
        ("me@", None),
        ("worker1:ssh", None),
        ("-oProxyCommand=x y", None),
    ],
)
def test_targets(text: str, target: Target | None) -> None:
    assert Target.parse(text) == target


def test_jumps_ports_and_users_are_those_of_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(
        "Host inner\n  HostName 10.0.0.7\n  User deep\n  Port 2200\n  ProxyJump me@middle:23\n"
        "Host middle\n  HostName 10.0.0.1\n  ProxyJump outer\nHost loop\n  ProxyJump loop\n"
    )
    way = [(s["hostname"], s["user"], s["port"]) for s in _way("inner", "worker1")]
    assert way[1:] == [("10.0.0.1", "me", 23), ("10.0.0.7", "deep", 2200)]
    assert (way[0][0], way[0][2]) == ("outer", 22)
    assert _way("root@inner:5", "worker1")[-1]["user"] == "root"
    with pytest.raises(ConfigError, match="jumps"):
        _way("loop", "worker1")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"ssh": "a b"}, r"ssh of host 'a' is 'a b', not \[USER@\]HOST"),
        ({"ssh": "w", "agent": "10.0.0.1:1", "token_file": "/t"}, "remove `agent` and `token_file`"),
    ],
)
def test_what_is_wrong_in_the_file(more: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse({"host": [{"name": "a", **more}]})


def test_what_an_agent_says_of_its_host_counts_where_the_file_says_nothing() -> None:
    (said, unsaid) = parse({"host": [{"name": "a", "ssh": "a", "cores": 3}, {"name": "b", "ssh": "b"}]}).hosts
    facts = {"cores": 7, "memory_bytes": 9}
    assert said.found(facts, "10.0.0.1:5").device.cores == 3
    found = unsaid.found(facts, "10.0.0.1:5")
    assert (found.device.cores, found.device.memory_bytes, found.agent) == (7, 9, "10.0.0.1:5")


def test_hosts_with_one_home_bring_the_same_thing_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes second finds it there, and leaves nothing beside it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("jghost"), io.BytesIO())
    for _ in range(2):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.getvalue())))
        assert far_end.unpack(str(tmp_path / "runtime" / "key")) == {}
    assert [path.name for path in (tmp_path / "runtime").iterdir()] == ["key"]
    assert [path.name for path in (tmp_path / "runtime" / "key").iterdir()] == ["jghost"]


def test_hosts_that_are_reached_know_where_others_reach_them() -> None:
    """A Python program on a host, such as a gateway, receives where the host's agent says, not on the loopback."""
    config = parse({"host": [{"name": "a", "ssh": "a"}]})
    (host,), agents = config.hosts, Agents(config)
    facts = {"cores": 2, "memory_bytes": 1 << 30}
    reached = SimpleNamespace(device=host.device, facts=facts, address="10.0.0.1:7400")
    agents._hosts["a"] = reached  # type: ignore[assignment]
    agents._learn(host)
    assert dict(reached.device.properties) == {"data_bind": "10.0.0.1", "data_address": "10.0.0.1"}
