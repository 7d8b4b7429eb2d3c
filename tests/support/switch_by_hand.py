"""A P4 program for the software switch that was written by hand (tests/cpp/switch_program.cpp), with its P4Info."""

from __future__ import annotations

from pathlib import Path

from finsy.proto import p4i, p4t

from jumpgate.p4.switch import library
from jumpgate.p4.switch.switch import Switch

SOURCE = Path(__file__).resolve().parents[1] / "cpp" / "switch_program.cpp"
FORWARD, EXACT, TERNARY, LPM, RANGE, MULTICAST, RECIRCULATE, MIRROR, DIGEST, RESUBMIT, ADD, CONTROLLER = range(12)
CIRCULATE, GROW, CONST = 12, 13, 14


def program() -> Path:
    return library.build_program("switch_program", SOURCE.read_text())


def frame(operation: int, port: int, key: int, payload: bytes = b"") -> bytes:
    return bytes([operation, port]) + key.to_bytes(4, "big") + payload


def p4info(switch: Switch) -> p4i.P4Info:
    """Return the P4Info that a compiler would write for the program that a switch runs."""
    info = p4i.P4Info(pkg_info=p4i.PkgInfo(name=switch.name, arch="tna"))
    kinds = {"exact": p4i.MatchField.EXACT, "ternary": p4i.MatchField.TERNARY, "lpm": p4i.MatchField.LPM}
    actions = {action.id: action for table in switch.tables for action in table.actions}
    for action in actions.values():
        made = info.actions.add(preamble=_preamble(action.id, action.name))
        for i, (name, bits) in enumerate(action.parameters, 1):
            made.params.add(id=i, name=name, bitwidth=bits)
    for table in switch.tables:
        declared = info.tables.add(preamble=_preamble(table.id, table.name), size=table.size)
        for i, (name, bits, kind) in enumerate(table.keys, 1):
            declared.match_fields.add(id=i, name=name, bitwidth=bits, match_type=kinds.get(kind, p4i.MatchField.RANGE))
        declared.action_refs.extend(p4i.ActionRef(id=action.id) for action in table.actions)
        declared.direct_resource_ids.extend(k.id for k in switch.counters if k.table == table.index)
    for counter in switch.counters:
        spec = p4i.CounterSpec(unit=p4i.CounterSpec.BOTH)
        if counter.table < 0:
            info.counters.add(preamble=_preamble(counter.id, counter.name), spec=spec, size=counter.size)
        else:
            info.direct_counters.add(
                preamble=_preamble(counter.id, counter.name), spec=spec, direct_table_id=switch.tables[counter.table].id
            )
    for register in switch.registers:
        info.registers.add(
            preamble=_preamble(register.id, register.name), size=register.size, type_spec=_type(register.fields)
        )
    for digest in switch.digests:
        info.digests.add(preamble=_preamble(digest.id, digest.name), type_spec=_type(digest.fields))
    packet_in = info.controller_packet_metadata.add(preamble=_preamble(0x04000001, "packet_in"))
    packet_in.metadata.add(id=1, name="operation", bitwidth=8)
    packet_in.metadata.add(id=2, name="port", bitwidth=8)
    packet_out = info.controller_packet_metadata.add(preamble=_preamble(0x04000002, "packet_out"))
    packet_out.metadata.add(id=1, name="operation", bitwidth=8)
    packet_out.metadata.add(id=2, name="port", bitwidth=8)
    return info


def _type(fields: tuple[tuple[str, int], ...]) -> p4t.P4DataTypeSpec:
    numbers = [p4t.P4DataTypeSpec(bitstring=_bits(bits)) for _, bits in fields]
    return numbers[0] if len(numbers) == 1 else p4t.P4DataTypeSpec(tuple=p4t.P4TupleTypeSpec(members=numbers))


def _bits(width: int) -> p4t.P4BitstringLikeTypeSpec:
    return p4t.P4BitstringLikeTypeSpec(bit=p4t.P4BitTypeSpec(bitwidth=width))


def _preamble(number: int, name: str) -> p4i.Preamble:
    return p4i.Preamble(id=number, name=name, alias=name.rpartition(".")[2])
