"""Shared by the accelerators on a programmable switch: their device, and the edges to and from it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from jumpgate.nca.interface import Device, InstancePlan, LifeCycle, Match, Unsupported
from jumpgate.nca.speeds import Speeds
from jumpgate.nca.transport import Transport
from jumpgate.ncas.switch.kind import SWITCH
from jumpgate.ncas.switch.task import Task
from jumpgate.ncas.switch.transport import DATAGRAMS, packed
from jumpgate.ntf.descriptor import Descriptor

#: rows are worked on as they pass; set up: to clear registers and to write the entries of a job
SPEEDS = Speeds(factor=0.0, receive_s=1 / 5e9, setup_s=0.05)
#: a software switch, which shares the machine with everybody else
SOFTWARE_SPEEDS = replace(SPEEDS, receive_s=1 / 20e6)


class SwitchNCA:
    """A program on a switch: packets go from the hosts that send through the switch to the one that receives.

    Subclasses say what they match. Nothing but datagrams reaches a switch, so `match_input` refuses all other edges;
    senders compute what the match's `wire` says.
    """

    name = ""

    @property
    def operators(self) -> SwitchNCA:
        return self

    @cached_property
    def lifecycle(self) -> LifeCycle:
        from jumpgate.ncas.switch.lifecycle import SwitchLifecycle  # loads gRPC and P4Runtime: only where jobs run

        return SwitchLifecycle(self.task)

    def task(self, instance: InstancePlan) -> Task:
        """Return the instance's task for the switch."""
        raise NotImplementedError

    def match_input(self, ntf: Descriptor, transport: Transport) -> Unsupported | None:
        if transport != DATAGRAMS:
            return Unsupported(f"a switch reads datagrams, not {transport.name}", "transport")
        if not transport.carries(ntf):
            return Unsupported("a switch reads packed rows in network order", "layout")
        return None

    def match_output(self, match: Match, consumers: int, layout: str = "columnar") -> tuple[Descriptor, Transport]:
        schema = match.schema if match.wire is None else match.wire.body.schema
        return packed(schema), DATAGRAMS

    def speeds(self, device: Device) -> Speeds:
        return SOFTWARE_SPEEDS if SWITCH.value(device, "p4runtime") is None else SPEEDS
