"""The network as jumpgate.toml has it, a tree: the [[network]], or device, that each host, device and network is in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jumpgate.errors import ConfigError
from jumpgate.nca.link import Link

#: a tree is no deeper
DEPTH_MAX = 16
US = 1e-6


class Networks:
    """The networks of a configuration. `tables` are those of all [[host]]s, [[device]]s and [[network]]s.

    Raises ConfigError for a network that nothing is called by, and for networks that are below each other.
    """

    def __init__(self, tables: Sequence[Mapping[str, Any]], where: str) -> None:
        self._where = where
        self._tables = {str(table["name"]): table for table in tables}
        self._above: dict[str, str] = {name: str(table.get("network", "")) for name, table in self._tables.items()}
        for name, above in self._above.items():
            if above and above not in self._tables:
                self._refuse(f"'{name}' is in network '{above}', which is not there: write a [[network]] of that name")
        for name in self._above:
            self.above(name)

    def above(self, name: str) -> tuple[Link, ...]:
        """Return the links from the network that a host or device is in to the root."""
        return tuple(map(self._link, self._path(name)))

    def _path(self, name: str) -> Iterator[str]:
        for _ in range(DEPTH_MAX):
            name = self._above.get(name, "")
            if not name:
                return
            yield name
        self._refuse(f"network '{name}' is below itself, or networks are more than {DEPTH_MAX} deep: they are a tree")

    def _link(self, name: str) -> Link:
        table = self._tables[name]
        return Link(name, int(table.get("link_bits_per_s", 0)), delay_s(table))

    def _refuse(self, problem: str) -> None:
        raise ConfigError(f"{self._where}: {problem}", file=self._where)


def delay_s(table: Mapping[str, Any]) -> float:
    """Return the delay of the link of a host, device or network."""
    return float(table.get("link_delay_us", 0.0)) * US
