"""Typed program → P4Info (p4.config.v1), as P4Runtime clients need it."""

from __future__ import annotations

from typing import Any

from jumpgate.p4.compiler import ir


def p4info(program: ir.Program) -> Any:
    """The P4Info message. Names are qualified by control; an alias is the shortest suffix that nothing else has."""
    from finsy.proto import p4i

    info = p4i.P4Info(pkg_info=p4i.PkgInfo(arch="tna"))
    tables = [t for t in program.tables if not t.is_value_set]
    actions = {a.name: a for t in tables for a in t.actions}
    for t in tables:
        made = info.tables.add(size=t.size, is_const_table=t.rows is not None)
        _preamble(made, t.id, t.name)
        for i, k in enumerate(t.keys, 1):
            made.match_fields.add(id=i, name=k.name, bitwidth=k.value.type.width, match_type=_match(p4i, k.match))
        for a in t.actions:
            made.action_refs.add(id=a.id, scope=_scope(p4i, a.scope))
        if t.default_constant:
            made.const_default_action_id = t.actions[t.default].id
    for a in actions.values():
        action = info.actions.add()
        _preamble(action, a.id, a.name)
        for i, (n, p) in enumerate(zip(a.names, a.parameters, strict=True), 1):
            action.params.add(id=i, name=n, bitwidth=p.type.width)
    for c in program.counters:
        unit = p4i.CounterSpec.Unit.Value(c.kind.upper())
        if c.table >= 0:
            direct = info.direct_counters.add(direct_table_id=program.tables[c.table].id)
            _preamble(direct, c.id, c.name)
            direct.spec.unit = unit
            next(t for t in info.tables if t.preamble.id == direct.direct_table_id).direct_resource_ids.append(c.id)
        else:
            counter = info.counters.add(size=c.size)
            _preamble(counter, c.id, c.name)
            counter.spec.unit = unit
    for m in program.meters:
        per = p4i.MeterSpec.Unit.Value(m.kind.upper())
        if m.table >= 0:
            on = info.direct_meters.add(direct_table_id=program.tables[m.table].id)
            _preamble(on, m.id, m.name)
            on.spec.unit = per
            next(t for t in info.tables if t.preamble.id == on.direct_table_id).direct_resource_ids.append(m.id)
        else:
            meter = info.meters.add(size=m.size)
            _preamble(meter, m.id, m.name)
            meter.spec.unit = per
    for r in program.registers:
        if r.table < 0:
            register = info.registers.add(size=r.size)
            _preamble(register, r.id, r.name)
            _type(register.type_spec, tuple((n, t.width) for n, t in r.fields))
    for t in program.tables:
        if t.is_value_set:
            values = info.value_sets.add(size=t.size)
            _preamble(values, t.id, t.name)
            for i, k in enumerate(t.keys, 1):
                values.match.add(id=i, name=k.name, bitwidth=k.value.type.width, match_type=_match(p4i, k.match))
    for d in program.digests:
        digest = info.digests.add()
        _preamble(digest, d.id, d.name)
        _type(digest.type_spec, d.fields)
    _aliases(info)
    return info


def _preamble(message: Any, number: int, name: str) -> None:
    message.preamble.id, message.preamble.name = number, name


def _type(spec: Any, fields: tuple[tuple[str, int], ...]) -> None:
    if len(fields) == 1:
        spec.bitstring.bit.bitwidth = fields[0][1]
        return
    for _, width in fields:
        spec.tuple.members.add().bitstring.bit.bitwidth = width


def _match(p4i: Any, match: str) -> Any:
    return p4i.MatchField.MatchType.Value(match.upper())


def _scope(p4i: Any, scope: str) -> Any:
    words = {"": "TABLE_AND_DEFAULT", "tableonly": "TABLE_ONLY", "defaultonly": "DEFAULT_ONLY"}
    return p4i.ActionRef.Scope.Value(words[scope])


def _aliases(info: Any) -> None:
    groups = (
        info.tables, info.actions, info.counters, info.direct_counters, info.meters, info.direct_meters, info.registers,
        info.value_sets, info.digests,
    )  # fmt: skip
    preambles = [m.preamble for group in groups for m in group]
    names = [p.name for p in preambles]
    for p in preambles:
        parts = p.name.split(".")
        for count in range(1, len(parts) + 1):
            p.alias = ".".join(parts[-count:])
            if sum(n == p.alias or n.endswith(f".{p.alias}") for n in names) == 1:
                break
