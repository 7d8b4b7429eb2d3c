"""The rates of meters (two rates, three colours: RFC 2698) as P4Runtime has them (specification 1.3, §9.3 and 9.4)."""

from __future__ import annotations

from finsy.proto import p4r

from jumpgate.p4.switch.refusal import invalid, unimplemented
from jumpgate.p4.switch.switch import Rates


def decode(given: p4r.MeterConfig) -> Rates:
    """Raises Refused."""
    if given.eburst:
        raise unimplemented("this switch has no single-rate meters, and eburst is theirs")
    if min(given.cir, given.cburst, given.pir, given.pburst) < 0 or given.pir < given.cir:
        raise invalid("a meter's rates and bursts are not negative, and its peak rate is no less than the committed")
    return Rates(given.cir, given.cburst, given.pir, given.pburst)


def wanted(given: p4r.MeterEntry | p4r.DirectMeterEntry) -> Rates | None:
    """Return the rates that a meter is set to; None where it has none. Raises Refused."""
    if given.HasField("counter_data"):
        raise unimplemented("this switch's meters do not count packets by colour")
    return decode(given.config) if given.HasField("config") else None


def encode(rates: Rates | None) -> p4r.MeterConfig | None:
    if rates is None:
        return None
    return p4r.MeterConfig(
        cir=rates.committed_rate, cburst=rates.committed_burst, pir=rates.peak_rate, pburst=rates.peak_burst
    )
