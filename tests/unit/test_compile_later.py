"""Programs that a host builds when it has nothing else to do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jumpgate.errors import BuildError
from jumpgate.hosts import client
from jumpgate.hosts.client import AgentHost
from jumpgate.nca.interface import Device


class Builder(AgentHost):
    """Builds while `may_end` is set; fails for the keys in `bad`."""

    def __init__(self) -> None:
        super().__init__(Device("a"), "127.0.0.1:0")
        self.may_end = asyncio.Event()
        self.bad: set[str] = set()
        self.built: list[str] = []

    async def _compile(self, name: str, source: str, key: str, at_leisure: bool = False) -> str:
        assert at_leisure
        await self.may_end.wait()
        self.built.append(key)
        if key in self.bad:
            raise BuildError("no")
        return key

    def later(self, key: str) -> None:
        self.compile_later("a test", lambda: "", key)

    async def rest(self) -> None:
        await asyncio.gather(*self._later.values())


def test_one_that_failed_is_built_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def builds() -> list[str]:
        builder = Builder()
        builder.may_end.set()
        builder.bad.add("k")
        for _ in range(2):
            builder.later("k")
            await builder.rest()
        assert builder.built == ["k"]
        monkeypatch.setattr(client, "LATER_AGAIN_S", 0.0)
        builder.bad.clear()
        builder.later("k")
        await builder.rest()
        return builder.built

    assert asyncio.run(builds()) == ["k", "k"]


def test_only_so_many_wait() -> None:
    async def builds() -> tuple[int, list[str]]:
        builder = Builder()
        for n in range(2 * client.LATER_MAX):
            builder.later(f"k{n % (client.LATER_MAX + 3)}")
        waiting = len(builder._later)
        builder.may_end.set()
        await builder.rest()
        builder.later("k0")  # there is room again
        await builder.rest()
        return waiting, builder.built

    waiting, built = asyncio.run(builds())
    assert waiting == client.LATER_MAX
    assert built == [*(f"k{n}" for n in range(client.LATER_MAX)), "k0"]


def test_programs_and_failures_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that runs for months with texts of ever new shapes."""

    async def kept() -> tuple[int, int]:
        builder = Builder()
        builder.may_end.set()

        async def ask(verb: str, timeout_s: float | None = None, **arguments: Any) -> dict[str, Any]:
            return {"path": "/" + arguments["key"]}

        monkeypatch.setattr(builder, "_ask", ask)
        monkeypatch.setattr(client, "KNOWN_S", 0.0)
        monkeypatch.setattr(client, "LATER_AGAIN_S", 0.0)
        builder.bad = {f"k{n}" for n in range(20)}
        for key in sorted(builder.bad):
            assert await builder.has_artifact(key) == "/" + key
            builder.later(key)
            await builder.rest()
        return len(builder._artifacts), len(builder._failed)

    assert asyncio.run(kept()) == (1, 1)
