"""Declares kinds of devices: the keys of their `[[device]]` tables, and what such a device offers to plans.

An accelerator's package declares each kind that it drives as one `DeviceKind` and announces it under the entry point
group `jumpgate.device_kinds` (or in a `[[device_kind]]` table). No other part of Jumpgate knows the kind.
"""

from __future__ import annotations

import contextlib
import difflib
import ipaddress
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jumpgate.errors import ConfigError, JumpgateError
from jumpgate.nca.interface import Device, Offer, Property
from jumpgate.ntf.addresses import host_of, joined
from jumpgate.plugins import Problems, installed, load_value

#: packages announce their kinds under this entry point group: `kind = "package.module:object"`
GROUP = "jumpgate.device_kinds"

_WANTED = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Key:
    """A key of a `[[device]]` table: its type, meaning and default (None: absent unless written).

    `holds` tests a value, `wanted` describes valid values in errors, and `choices` lists them if they are few. Devices
    of one pool must agree on the key unless it is `own`.
    """

    name: str
    type: type[str] | type[int] | type[float] | type[bool]
    meaning: str
    default: Property | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    holds: Callable[[Any], bool] | None = None
    wanted: str = ""
    own: bool = False

    def problem(self, value: object) -> str:
        """Return the problem of a value; empty if there is none."""
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        fits = number and (self.type is float or isinstance(value, int))
        if not (fits if self.type in (int, float) else isinstance(value, self.type)):
            return f"is {value!r}, not {self.wanted or _WANTED[self.type]}"
        if self.choices and value not in self.choices:
            close = difflib.get_close_matches(str(value), self.choices, 1)
            return f"is {value!r}; " + (
                f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self.choices)}"
            )
        if self.holds is not None and not self.holds(value):
            return f"is {value!r}, not {self.wanted}"
        return ""


def _at_least_0(value: float) -> bool:
    return value >= 0


def _at_least_1(value: float) -> bool:
    return value >= 1


#: keys of every `[[device]]`
COMMON = (
    Key("name", str, "unique among hosts and devices", required=True),
    Key("kind", str, "which accelerators it is for", required=True),
    Key("cores", int, "parts that work at the same time", 1, holds=_at_least_1, wanted="a whole number, 1 or more"),
    Key("memory_bytes", int, "what accelerators may keep there; 0: unknown", 0,
        holds=_at_least_0, wanted="a whole number, 0 or more"),
    Key("network", str, "the [[network]], or device, that it is connected to", "", own=True),
    Key("link_bits_per_s", int, "speed of its link there, in each direction; 0: unknown", 0,
        holds=_at_least_0, wanted="a whole number, 0 or more", own=True),
    Key("link_delay_us", float, "delay of its link, one way", 0.0,
        holds=_at_least_0, wanted="a number, 0 or more", own=True),
    Key("pool", str, "devices of one kind and pool share the rows of a plan by their keys", ""),
    Key("money_per_hour", float, "what its use costs", holds=_at_least_0, wanted="a number, 0 or more", own=True),
)  # fmt: skip


def _nothing(device: Device) -> Offer:
    return Offer()


def _well(device: Device) -> str:
    return ""


@dataclass(frozen=True)
class DeviceKind:
    """A kind of device. `keys` are those of its table beside the common ones. `offers` returns what a device offers to
    plans; `check` returns the problem of inconsistent keys (empty: none)."""

    name: str
    summary: str
    keys: tuple[Key, ...] = ()
    offers: Callable[[Device], Offer] = _nothing
    check: Callable[[Device], str] = _well

    def device(self, name: str, /, **values: Property) -> Device:
        """Return a device of this kind, as from a table with these keys. Raises ConfigError."""
        return self.parse({"name": name, "kind": self.name, **values}, "a device")

    def parse(self, table: Mapping[str, Any], where: str) -> Device:
        """Return the device of a `[[device]]` table; `where` names the file in errors. Raises ConfigError."""
        known = {key.name: key for key in (*COMMON, *self.keys)}
        place = f"the [[device]] '{table.get('name', '')}'"

        def wrong(what: str) -> ConfigError:
            return ConfigError(f"{where}: {what}", file=where, device=str(table.get("name", "")))

        for name in table:
            if name not in known:
                close = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(known))}"
                raise wrong(f"unknown key '{name}' in {place}; {hint}")
        values: dict[str, Any] = {}
        for key in known.values():
            if key.name in table:
                if problem := key.problem(table[key.name]):
                    raise wrong(f"{key.name} of {place} {problem}")
                values[key.name] = key.type(table[key.name])
            elif key.required:
                choices = f"; there are {', '.join(key.choices)}" if key.choices else f": write {_example(key)}"
                raise wrong(f"{place} has no {key.name}{choices}")
            elif key.default is not None:
                values[key.name] = key.default
        own = {key.name for key in self.keys}
        device = Device(
            values["name"], self.name, values["cores"], values["memory_bytes"],
            tuple((name, value) for name, value in values.items() if name in own), values["pool"],
            link_bits_per_s=values["link_bits_per_s"], link_delay_s=values["link_delay_us"] / 1e6,
        )  # fmt: skip
        if problem := self.check(device):
            raise wrong(f"{place} {problem}")
        offer = self.offers(device)
        if "money_per_hour" in values:
            offer = replace(offer, money_per_hour=values["money_per_hour"])
        return replace(device, offer=offer)

    def value(self, device: Device, name: str) -> Any:
        """Return a key of a device: its written value, else its default, else None."""
        default = next(key.default for key in self.keys if key.name == name)
        return dict(device.properties).get(name, default)

    def differing(self, devices: Sequence[Device]) -> str:
        """Return the first key on which devices of one pool must agree and do not; empty if there is none."""
        shared = [key.name for key in self.keys if not key.own]
        for name in shared:
            if len({self.value(device, name) for device in devices}) > 1:
                return name
        return ""


def _example(key: Key) -> str:
    return f"{key.name} = " + {str: '"…"', int: "1", float: "1.0", bool: "true"}[key.type]


class DeviceKinds:
    """The installed kinds and those of `[[device_kind]]` tables. A kind that cannot be loaded affects only its own
    devices: `problems` maps its name to the typed error."""

    def __init__(self, tables: Iterable[tuple[str, str]] = ()) -> None:
        self._paths: dict[str, str] = {}
        self._kinds: dict[str, DeviceKind] = {}
        self.problems: Problems = {}
        for name, path in (*installed(GROUP), *tables):
            if self._paths.setdefault(name, path) != path:
                self.problems[path] = ConfigError(
                    f"two kinds of device are called '{name}': {self._paths[name]} and {path}; the first one is used. "
                    "Uninstall one of their packages, or remove it from the configuration.",
                    path=path,
                )

    def get(self, name: str) -> DeviceKind:
        """Return the kind of that name, loaded on first use. Raises the error of loading it, or ConfigError that lists
        the kinds."""
        if name not in self._kinds:
            if name not in self._paths:
                close = difflib.get_close_matches(name, self._paths, 1)
                known = f"known: {', '.join(sorted(self._paths)) or 'none'}"
                hint = f"did you mean {close[0]!r}?" if close else known
                raise ConfigError(
                    f"no accelerator knows devices of kind {name!r}; {hint}. Install the package that drives it."
                )
            self._kinds[name] = self._load(name)
        return self._kinds[name]

    def _load(self, name: str) -> DeviceKind:
        path = self._paths[name]
        try:
            found = load_value("device kind", name, path)
            if not isinstance(found, DeviceKind) or found.name != name:
                raise ConfigError(f"device kind '{name}': {path} is {found!r}, not the DeviceKind of that name")
        except JumpgateError as error:
            self.problems[name] = error
            raise
        return found

    def all(self) -> list[DeviceKind]:
        """Return all kinds that can be loaded; `problems` then has the others."""
        found = []
        for name in self._paths:
            with contextlib.suppress(JumpgateError):
                found.append(self.get(name))
        return found


def is_address(value: object) -> bool:
    """Return whether the value is HOST:PORT."""
    host, _, port = str(value).rpartition(":")
    return isinstance(value, str) and bool(host) and port.isascii() and port.isdigit() and 0 < int(port) < 65536


def is_numeric_address(value: object) -> bool:
    """Return whether the value is ADDRESS:PORT with a numeric address; an IPv6 address is in brackets."""
    with contextlib.suppress(ValueError):
        host, begins = host_of(str(value)), joined(host_of(str(value)), 0)[:-1]
        return is_address(value) and str(value).startswith(begins) and bool(ipaddress.ip_address(host))
    return False
