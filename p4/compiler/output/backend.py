"""Typed program → the C++ source of a library that implements p4/switch/include/jgsw/program.h (templates/cpp)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

import jumpgate.templates
from jumpgate import __version__
from jumpgate.p4.compiler import ir
from jumpgate.p4.compiler.output.cpp import Writer, cpp_type, literal, name
from jumpgate.p4.compiler.output.registers import Place, field_bytes, places
from jumpgate.p4.compiler.walk import PARSER_ERROR_NO_MATCH, PARSER_ERROR_PARTIAL_HDR, parser_errors

#: a pipe has 2^7 ports
PIPE_BITS = 7
TM = "ingress_intrinsic_metadata_for_tm_t"
#: field of the traffic manager's metadata → field of Packet and its C++ type
TM_FIELDS = {
    "ucast_egress_port": ("egress_port", "uint16_t"), "mcast_grp_a": ("multicast_a", "uint16_t"),
    "mcast_grp_b": ("multicast_b", "uint16_t"), "rid": ("replication_id", "uint16_t"),
    "level1_exclusion_id": ("excluded_id", "uint16_t"), "level2_exclusion_id": ("excluded_port", "uint16_t"),
    "bypass_egress": ("bypass_egress", "bool"), "copy_to_cpu": ("copy_to_cpu", "bool"), "qid": ("queue", "uint8_t"),
    "ingress_cos": ("cos", "uint8_t"), "icos_for_copy_to_cpu": ("cos_to_cpu", "uint8_t"),
}  # fmt: skip
#: intrinsic metadata that is set before the parser runs
BEFORE = {
    ("ingress_intrinsic_metadata_t", "ingress_port"): "packet.ingress_port",
    ("ingress_intrinsic_metadata_t", "resubmit_flag"): "u64{packet.resubmitted}",
    ("ingress_intrinsic_metadata_t", "ingress_mac_tstamp"): "packet.arrived_ns & 0xffffffffffffu",
    ("ingress_intrinsic_metadata_from_parser_t", "global_tstamp"): "packet.arrived_ns & 0xffffffffffffu",
    ("egress_intrinsic_metadata_t", "egress_port"): "packet.egress_port",
    ("egress_intrinsic_metadata_t", "egress_rid"): "packet.replication_id",
    ("egress_intrinsic_metadata_t", "egress_rid_first"): "u64{packet.egress_first}",
    ("egress_intrinsic_metadata_t", "egress_qid"): "packet.queue",
    ("egress_intrinsic_metadata_t", "egress_cos"): "packet.cos",
    ("egress_intrinsic_metadata_t", "enq_tstamp"): "packet.arrived_ns & 0x3ffffu",
    ("egress_intrinsic_metadata_t", "pkt_length"): "packet.length & 0xffffu",
    ("egress_intrinsic_metadata_from_parser_t", "global_tstamp"): "packet.arrived_ns & 0xffffffffffffu",
}


def render(program: ir.Program) -> str:
    """The C++ source; equal programs give equal text."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(jumpgate.templates.__file__).parent / "cpp"),
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    egress = any(not pipe.egress.is_empty for pipe in program.pipes)
    gresses = [
        _gress(program, g, f"{g.name}_{i}" if len(program.pipes) > 1 else g.name)
        for i, pipe in enumerate(program.pipes)
        for g in (pipe.ingress, pipe.egress)
        if g.name == "ingress" or not g.is_empty
    ]
    chosen = []
    if len(program.pipes) > 1:
        chosen = [
            *_chosen(program, "ingress", "ingress_port"),
            *(_chosen(program, "egress", "egress_port") if egress else ()),
        ]
    return env.get_template("switch.cpp.j2").render(
        version=__version__, gresses=gresses, data=[*chosen, *_data(program, "egress" if egress else "nullptr")]
    )


def _chosen(program: ir.Program, kind: str, port: str) -> list[str]:
    """The function that runs the pipeline of a port; where its egress is empty, packets pass."""
    empty = [kind == "egress" and pipe.egress.is_empty for pipe in program.pipes]
    return [
        f"jgsw::Verdict {kind}(jgsw::Context& context, jgsw::Packet& packet) {{",
        f"  switch ((packet.{port} >> {PIPE_BITS}) % {len(empty)}u) {{",
        *(f"    case {i}: return {kind}_{i}(context, packet);" for i, passes in enumerate(empty) if not passes),
        "    default: return jgsw::Verdict::forward;",
        "  }",
        "}",
    ]


def _gress(program: ir.Program, gress: ir.Gress, function: str) -> dict[str, Any]:
    writer = Writer(program, gress)
    get = gress.intrinsic.get
    parser, control = writer.parser(), writer.control(gress.control)
    deparser, emit = writer.control(gress.deparser), writer.emit()
    kind = gress.name
    drop = get((f"{kind}_intrinsic_metadata_for_deparser_t", "drop_ctl"))
    errors = parser_errors(program, gress)
    unmatched: list[str] = []
    failed = ["return jgsw::Verdict::parser_error;"]
    if errors is not None:
        unmatched = [f"{name(errors)} = {PARSER_ERROR_NO_MATCH};", "goto accept;"]
        failed = [f"{name(errors)} = {PARSER_ERROR_PARTIAL_HDR};"]
    after: list[str] = []
    leaving: list[str] = []
    if drop is not None:
        after.append(f"packet.drop = static_cast<uint8_t>({name(drop)});")
    if kind == "ingress":
        for field, (member, text) in TM_FIELDS.items():
            slot = get((TM, field))
            if slot is not None:
                after.append(f"packet.{member} = static_cast<{text}>({name(slot)});")
        leaving.append("if (resubmit && !(packet.drop & 1)) return jgsw::Verdict::resubmit;")
        leaving.append(
            "if (((packet.drop & 1) || (packet.egress_port == jgsw::kNoPort && !packet.multicast_a && "
            "!packet.multicast_b)) && (!packet.copy_to_cpu || (packet.drop & 2))) return jgsw::Verdict::drop;"
        )
    copies: list[str] = []
    if kind == "egress":  # what is dropped there may be mirrored all the same, as it would have left
        copies = ["if (mirror.made) context.mirror(context, packet, mirror.session, mirror.header, mirror.bytes);",
                  "if (packet.drop & 1) return jgsw::Verdict::drop;"]  # fmt: skip
    return {
        "name": function,
        "slots": [f"{cpp_type(s.type)} {name(s)} = {literal(s.initial, s.type)};" for s in gress.slots],
        "before": [f"{name(s)} = {BEFORE[key]};" for key, s in gress.intrinsic.items() if key in BEFORE],
        "parser": parser, "unmatched": unmatched, "failed": failed, "control": control, "after": after,
        "deparser": deparser, "leaving": leaving, "emit": emit, "copies": copies,
    }  # fmt: skip


def _words(values: tuple[int, ...], widths: list[int]) -> str:
    words = [v >> 64 * i & (1 << 64) - 1 for v, w in zip(values, widths, strict=True) for i in range((w + 63) // 64)]
    return ", ".join(f"0x{w:x}u" for w in words) or "0"


def _data(program: ir.Program, egress: str) -> list[str]:
    out: list[str] = []
    tables = [_table(t, i, out) for i, t in enumerate(program.tables)]
    registers = [_register(r, at) for r, at in zip(program.registers, places(program), strict=True)]
    counters = [f'{{"{c.name}", {c.id}u, {c.size}u, {c.table}, jgsw::CounterKind::{c.kind}}}' for c in program.counters]
    meters = [f'{{"{m.name}", {m.id}u, {m.size}u, {m.table}, jgsw::MeterKind::{m.kind}}}' for m in program.meters]
    digests = []
    for i, d in enumerate(program.digests):
        out.append(_fields(f"kDigest{i}", [(n or "value", w) for n, w in d.fields]))
        digests.append(f'{{"{d.name}", {d.id}u, kDigest{i}, {len(d.fields)}u}}')
    for kind, variable, rows in (
        ("TableInfo", "kTables", tables), ("RegisterInfo", "kRegisters", registers),
        ("CounterInfo", "kCounters", counters), ("DigestInfo", "kDigests", digests), ("MeterInfo", "kMeters", meters),
    ):  # fmt: skip
        out.append(f"const jgsw::{kind} {variable}[] = {{{', '.join(rows) or '{}'}}};")
    lists = ", ".join(
        f"{v}, {len(x)}u"
        for v, x in (("kTables", tables), ("kRegisters", registers), ("kCounters", counters), ("kDigests", digests))
    )
    ends = f"ingress, {egress}, kMeters, {len(meters)}u"
    out.append(f'const jgsw::Program kProgram = {{jgsw::kContract, "p4", {lists}, {ends}}};')
    return out


def _fields(variable: str, fields: list[tuple[str, int]]) -> str:
    listed = ", ".join(f'{{"{n}", {w}u}}' for n, w in fields) or "{}"
    return f"const jgsw::Field {variable}[] = {{{listed}}};"


def _table(t: ir.Table, at: int, out: list[str]) -> str:
    key = f"kTable{at}"
    actions = []
    for i, a in enumerate(t.actions):
        out.append(_fields(f"{key}Action{i}", [(n, p.type.width) for n, p in zip(a.names, a.parameters, strict=True)]))
        actions.append(f'{{"{a.name}", {a.id}u, {key}Action{i}, {len(a.parameters)}u}}')
    out.append(f"const jgsw::Action {key}Actions[] = {{{', '.join(actions)}}};")
    keys = ", ".join(f'{{"{k.name}", {k.value.type.width}u, jgsw::Match::{k.match}}}' for k in t.keys)
    out.append(f"const jgsw::KeyField {key}Keys[] = {{{keys or '{}'}}};")
    widths = [p.type.width for p in t.actions[t.default].parameters]
    out.append(f"const uint64_t {key}Default[] = {{{_words(t.default_data, widths)}}};")
    rows = []
    key_widths = [k.value.type.width for k in t.keys]
    for i, r in enumerate(t.rows or ()):
        data_widths = [p.type.width for p in t.actions[r.action].parameters]
        out.append(f"const uint64_t {key}Value{i}[] = {{{_words(r.values, key_widths)}}};")
        out.append(f"const uint64_t {key}Mask{i}[] = {{{_words(r.masks, key_widths)}}};")
        out.append(f"const uint64_t {key}Data{i}[] = {{{_words(r.data, data_widths)}}};")
        rows.append(f"{{{key}Value{i}, {key}Mask{i}, {r.priority}, {r.action}u, {key}Data{i}}}")
    out.append(f"const jgsw::Row {key}Rows[] = {{{', '.join(rows) or '{}'}}};")
    return (
        f'{{"{t.name}", {t.id}u, {key}Keys, {len(t.keys)}u, {key}Actions, {len(actions)}u, {t.size}u, {t.default}u, '
        f"{key}Default, {str(t.default_constant).lower()}, {key}Rows, {len(rows)}u}}"
    )


def _register(r: ir.Register, at: Place) -> str:
    fields = ", ".join(f'{{"{n}", {t.width}u}}' for n, t in r.fields)
    initial = ", ".join(f"0x{v:x}u" for v in r.initial)
    sizes = f"{len(r.fields)}u, {field_bytes(r)}u"
    return (
        f'{{"{r.name}", {r.id}u, {r.size}u, {r.table}, {{{fields}}}, {sizes}, {{{initial}}}, '
        f"{at.home}u, {at.offset}u, {at.stride}u}}"
    )
