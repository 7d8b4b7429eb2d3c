"""Intrinsic metadata by which a program asks for what the software switch does not do."""

from __future__ import annotations

from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.frontend.source import Diagnostics
from jumpgate.p4.compiler.walk import applied

OUT = "egress_intrinsic_metadata_for_output_port_t"
EGRESS = "egress_intrinsic_metadata_for_deparser_t"
#: what would leave otherwise than on hardware. Not in here: what changes when packets leave, not which
#: (cut-through, colours at full queues), times of departure that drivers read, hashes that choose members of LAGs,
#: which P4Runtime's groups do not have, and deflection of what full queues drop to a port that a driver names
UNKNOWN = {
    (EGRESS, "coalesce_flush"): "does not coalesce mirrored packets",
    (EGRESS, "coalesce_length"): "does not coalesce mirrored packets",
    (OUT, "update_delay_on_tx"): "has no clock at its ports",
}


def check_intrinsic(program: ir.Program, diagnostics: Diagnostics) -> None:
    """Adds to `diagnostics` assignments of anything but 0 to such fields."""
    for gress in program.gresses:
        fields = {gress.intrinsic[key]: (key[1], why) for key, why in UNKNOWN.items() if key in gress.intrinsic}
        for s in applied(program, (*gress.control, *gress.deparser)) if fields else ():
            if (
                isinstance(s, ir.Set)
                and s.slot in fields
                and not (isinstance(s.value, ir.Const) and s.value.value == 0)
            ):
                name, why = fields[s.slot]
                diagnostics.error(s.position, f"'{name}': the software switch {why}; leave it 0")
