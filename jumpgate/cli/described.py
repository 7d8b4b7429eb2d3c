"""Hosts that do not exist, as the options of `jumpgate simulate` describe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jumpgate.nca.interface import Device
    from jumpgate.simulate.model import Cluster


@dataclass(frozen=True)
class Hosts:
    """Equal hosts. disk_gb_s: of their disks (None: files are in memory); rack: hosts in each (None: no racks)."""

    cores: int
    memory_gb: int
    link_gbit: float
    disk_gb_s: float | None
    rack: int | None
    rack_gbit: float

    def devices(self, count: int) -> tuple[Device, ...]:
        """Return so many of them."""
        from jumpgate.simulate.plans import hosts

        return hosts(
            count, self.cores, self.memory_gb << 30, int(self.link_gbit * 1e9), self.rack or 0,
            int(self.rack_gbit * 1e9),
        )  # fmt: skip

    def cluster(self) -> Cluster:
        """Return the performance of their links and disks."""
        from jumpgate.simulate.model import Cluster

        return Cluster(link_bytes_s=self.link_gbit * 1e9 / 8, disk_bytes_s=(self.disk_gb_s or 0.0) * 1e9)

    def __str__(self) -> str:
        from jumpgate import words

        text = f"hosts of {self.cores} cores with links of {self.link_gbit:g} Gb/s"
        text += f" and disks of {self.disk_gb_s:g} GB/s" if self.disk_gb_s else ""
        if self.rack:
            text += f"; racks of {words.counted(self.rack, 'host')} with links of {self.rack_gbit:g} Gb/s"
        return text
