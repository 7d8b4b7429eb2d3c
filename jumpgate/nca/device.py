"""Devices: the places where accelerators run, and what they offer to plans."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jumpgate.nca.link import Link

#: a value in jumpgate.toml
Property = str | int | float | bool


@dataclass(frozen=True)
class Offer:
    """The offer of a device to plans, as its kind declares it (jumpgate/nca/device_kind.py).

    `capacities`: the amounts available for `Match.limits`. `claims`: the parts that a plan can use only once; None:
    whatever matches name. `ports`: the most senders that can reach it in one plan. `money_per_hour` is its price.
    `chain`: devices of one kind that name the same chain, one above the other in the network, form one; "": none.
    """

    capacities: tuple[tuple[str, float], ...] = ()
    claims: tuple[str, ...] | None = None
    ports: float = math.inf
    money_per_hour: float = 0.0
    chain: str = ""


@dataclass(frozen=True)
class Device:
    """A place where an NCA can run: a host's agent, a board, a store. From jumpgate.toml, or this machine.

    `memory_bytes` 0: unknown. `link_bits_per_s`: the speed of its link to the network, 0: unknown. `above`: the links
    from there to the network's root. `properties`: the keys that its kind declares. Devices of one `pool` share rows.
    `near`: a bucket, or a folder of one, that a host is beside; its other hosts are reached over `link_bits_per_s`.
    `below`: devices below it in the network that rows pass first, and that do a part of its work (`Offer.chain`).
    """

    name: str
    kind: str = "host"
    cores: int = 1
    memory_bytes: int = 0
    properties: tuple[tuple[str, Property], ...] = ()
    pool: str = ""
    offer: Offer = Offer()
    link_bits_per_s: int = 0
    near: str = ""
    link_delay_s: float = 0.0
    above: tuple[Link, ...] = ()
    below: tuple[Device, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)  # names are unique; plans count by device

    @property
    def links(self) -> tuple[Link, ...]:
        """Return the links from the device to the root of the network, its own first."""
        return (Link(self.name, self.link_bits_per_s, self.link_delay_s), *self.above)

    @property
    def chain(self) -> tuple[Device, ...]:
        """Return the devices that do its work, itself last."""
        return (*self.below, self)

    def passed_from(self, sender: Device) -> tuple[Device, ...]:
        """Return the devices of its chain that rows from `sender` pass, in that order, itself last."""
        way = [link.name for link in sender.above]
        passed = [device for device in self.below if device.name in way]
        return (*sorted(passed, key=lambda device: way.index(device.name)), self)

    def is_below(self, other: Device) -> bool:
        """Return whether rows may pass it, and then `other`, for the same match."""
        alike = bool(self.offer.chain) and (self.kind, self.offer.chain) == (other.kind, other.offer.chain)
        return alike and not (self.pool or other.pool) and any(link.name == other.name for link in self.above)

    def is_near(self, file: str) -> bool:
        """Return whether it is beside the store that has the file.

        >>> Device("a", near="s3://b/t").is_near("s3://b/t/x"), Device("a", near="s3://b/t").is_near("s3://b/tx")
        (True, False)
        """
        return bool(self.near) and (file + "/").startswith(self.near + "/")

    def capacity(self, name: str) -> float:
        """Return the amount available of what a match may need; infinite if unknown."""
        own = {"cores": float(self.cores), "memory_bytes": float(self.memory_bytes) or math.inf}
        return own.get(name, dict(self.offer.capacities).get(name, math.inf))
