"""Dump the tables of a switch over P4Runtime, in forms that other programs take.

`bfrt_script` is for bfshell, the shell of a Tofino's drivers: entries of one switch, loaded into one without P4Runtime.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import grpc
from finsy.proto import p4i, p4r, p4r_grpc

from jumpgate.errors import ConfigError
from jumpgate.p4.switch.credentials import FOUND, Credentials, turned_away
from jumpgate.trust.channels import channel

CALL_TIMEOUT_S = 10.0
#: of entries in tables that need one; a Tofino's drivers take the least first, P4Runtime the greatest
PRIORITY_MAX = (1 << 24) - 1
PRIORITY = "$MATCH_PRIORITY"
#: a key's value: a number; a pair with a mask (ternary), a prefix's length (lpm) or the end of a range
Value = int | tuple[int, int]


@dataclass(frozen=True)
class TableEntry:
    """An entry by the names of the P4Info. `priority`: 0 in tables whose keys are exact or lpm."""

    table: str
    key: dict[str, Value]
    priority: int
    action: str
    data: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"table": self.table, "key": self.key, "priority": self.priority, "action": self.action,
                "data": self.data}  # fmt: skip

    def text(self) -> str:
        key = ", ".join(f"{name}={_shown(value)}" for name, value in self.key.items())
        data = ", ".join(f"{name}={value}" for name, value in self.data.items())
        return f"{self.table}: {key}: {self.action}({data})"


def _shown(value: Value) -> str:
    return str(value) if isinstance(value, int) else f"{value[0]:#x} {value[1]:#x}"


def read_entries(address: str, device_id: int = 1, credentials: Credentials = FOUND) -> list[TableEntry]:
    """All entries of all tables that are not constant, table by table. Raises Unreachable, Unauthenticated, or
    ConfigError (it runs no program)."""
    metadata = credentials.metadata(address)
    with channel(credentials.target(address), credentials.identity) as connection:
        stub = p4r_grpc.P4RuntimeStub(connection)
        try:
            config = stub.GetForwardingPipelineConfig(
                p4r.GetForwardingPipelineConfigRequest(device_id=device_id), metadata=metadata, timeout=CALL_TIMEOUT_S
            ).config
            wanted = p4r.ReadRequest(device_id=device_id, entities=[p4r.Entity(table_entry=p4r.TableEntry())])
            answers = stub.Read(wanted, metadata=metadata, timeout=CALL_TIMEOUT_S)
            found = [entity.table_entry for answer in answers for entity in answer.entities]
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                raise ConfigError(f"the switch at {address} runs no program: install one of p4/programs") from None
            raise turned_away(f"the switch at {address}", address, credentials, error) from None
    tables = {t.preamble.id: t for t in config.p4info.tables}
    actions = {a.preamble.id: a for a in config.p4info.actions}
    made = [
        _entry(e, tables[e.table_id], actions)
        for e in found
        if not e.is_default_action and not tables[e.table_id].is_const_table
    ]
    return sorted(made, key=lambda e: (e.table, -e.priority, json.dumps(e.key)))


def _entry(entry: Any, table: p4i.Table, actions: dict[int, p4i.Action]) -> TableEntry:
    given = {m.field_id: m for m in entry.match}
    key = {f.name: _value(f, given[f.id]) if f.id in given else _anything(f) for f in table.match_fields}
    action = actions[entry.action.action.action_id]
    names = {p.id: p.name for p in action.params}
    data = {names[p.param_id]: int.from_bytes(p.value, "big") for p in entry.action.action.params}
    return TableEntry(table.preamble.name, key, entry.priority, action.preamble.name, data)


def _value(field: p4i.MatchField, given: Any) -> Value:
    def number(octets: bytes) -> int:
        return int.from_bytes(octets, "big")

    match given.WhichOneof("field_match_type"):
        case "exact":
            return number(given.exact.value)
        case "ternary":
            return number(given.ternary.value), number(given.ternary.mask)
        case "lpm":
            return number(given.lpm.value), given.lpm.prefix_len
        case _:
            return number(given.range.low), number(given.range.high)


def _anything(field: p4i.MatchField) -> Value:
    """Return the match that P4Runtime leaves out: it accepts anything."""
    return (0, (1 << field.bitwidth) - 1) if field.match_type == p4i.MatchField.RANGE else (0, 0)


def bfrt_script(entries: list[TableEntry], program: str, pipe: str = "pipe") -> str:
    """Python for `bfshell -b FILE`: adds the entries to the tables of `program`, whose Pipeline is called `pipe`."""
    lines = [f"# {len(entries)} entries for the tables of {program}; load them with bfshell -b FILE"]
    for table in dict.fromkeys(e.table for e in entries):
        rows = [
            {"table_name": f"{pipe}.{table}", "action": e.action, "key": e.key | _priority(e), "data": e.data}
            for e in entries
            if e.table == table
        ]
        body = ",\n".join(json.dumps(row) for row in rows)
        lines.append(f'bfrt.{program}.{pipe}.{table}.add_from_json("""[\n{body}\n]""")')
    return "\n".join((*lines, "bfrt.complete_operations()")) + "\n"


def _priority(entry: TableEntry) -> dict[str, Value]:
    return {PRIORITY: PRIORITY_MAX - entry.priority} if entry.priority else {}
