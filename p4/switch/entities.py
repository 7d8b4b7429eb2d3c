"""P4Runtime entities (specification 1.3, §9) as calls of a Switch, and back."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from finsy.proto import p4d, p4i, p4r

from jumpgate.p4.switch.refusal import Refused, canonical, invalid, not_found, number, unimplemented
from jumpgate.p4.switch.stand_ins import StandIn
from jumpgate.p4.switch.switch import PORTS, Counter, Entry, Register, Result, Switch, Table, TableError

_CODES = {
    Result.EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Result.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Result.FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Result.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Result.CONSTANT: grpc.StatusCode.PERMISSION_DENIED,
}
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
GROUPS = 1 << 16
SESSIONS = 1 << 10


class Entities:
    """The control plane of one installed pipeline. Not thread-safe: the service calls it under a lock.

    Raises Refused (INVALID_ARGUMENT) if the P4Info does not belong to the switch's program.
    """

    def __init__(self, switch: Switch, p4info: p4i.P4Info) -> None:
        self.switch = switch
        self.p4info = p4info
        self._tables = {table.id: table for table in switch.tables}
        self._counters = {counter.id: counter for counter in switch.counters}
        self._registers = {register.id: register for register in switch.registers}
        self._groups: dict[int, p4r.MulticastGroupEntry] = {}
        self._sessions: dict[int, p4r.CloneSessionEntry] = {}
        self.digests: dict[int, p4r.DigestEntry.Config] = {}
        self._metadata: dict[tuple[int, int], bytes] = {}  # (table, slot)
        self._fields: dict[int, list[int]] = {}
        self._parameters = {action.preamble.id: [p.id for p in action.params] for action in p4info.actions}
        for declared in p4info.tables:
            table = self._tables.get(declared.preamble.id)
            widths = [match.bitwidth for match in declared.match_fields]
            if table is None or table.widths != widths:
                raise invalid(f"the P4Info does not belong to the program: table '{declared.preamble.name}' differs")
            self._fields[table.id] = [match.id for match in declared.match_fields]
        for table in switch.tables:
            unknown = next((a.name for a in table.actions if a.id not in self._parameters), None)
            if table.id not in self._fields or unknown is not None:
                raise invalid(f"the P4Info does not belong to the program: it lacks '{unknown or table.name}'")

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, update: p4r.Update) -> None:
        """Raises Refused."""
        if update.type not in (INSERT, MODIFY, DELETE):
            raise invalid("an update is INSERT, MODIFY or DELETE")
        entity = update.entity
        match entity.WhichOneof("entity"):
            case "table_entry":
                self._write_table(update.type, entity.table_entry)
            case "counter_entry":
                counter = self._counter(entity.counter_entry.counter_id, direct=False)
                self._only_modify(update.type, "a counter")
                index = self._index(entity.counter_entry, counter)
                self.switch.write_counter(counter, index, [_cells(entity.counter_entry.data)])
            case "direct_counter_entry":
                self._only_modify(update.type, "a direct counter")
                table, slot = self._located(entity.direct_counter_entry.table_entry)
                cells = _cells(entity.direct_counter_entry.data)
                self.switch.write_counter(self._direct_counter(table), slot, [cells])
            case "register_entry":
                self._only_modify(update.type, "a register")
                self._write_register(entity.register_entry)
            case "packet_replication_engine_entry":
                self._write_replication(update.type, entity.packet_replication_engine_entry)
            case "digest_entry":
                self._write_digest(update.type, entity.digest_entry)
            case "extern_entry":
                self._only_modify(update.type, "a stand-in")
                try:
                    given = StandIn.decode(entity.extern_entry)
                except ValueError as error:
                    raise invalid(str(error)) from None
                self.switch.stand_in(given.address, given.host)
            case None:
                raise invalid("the update has no entity")
            case other:
                raise unimplemented(f"this switch has no {other}")

    @staticmethod
    def _only_modify(kind: int, what: str) -> None:
        if kind != MODIFY:
            raise invalid(f"{what} can be modified only")

    def _write_table(self, kind: int, given: p4r.TableEntry) -> None:
        table = self._table(given.table_id)
        if given.HasField("meter_config") or given.idle_timeout_ns:
            raise unimplemented(f"table '{table.name}' has neither meters nor idle time-outs")
        try:
            if given.is_default_action:
                self._write_default(kind, table, given)
                return
            entry = self._entry(table, given, with_action=kind != DELETE)
            if kind == DELETE:
                slot = self.switch.slot(table, entry)
                self.switch.delete(table, entry)
                self._metadata.pop((table.id, slot), None)
                return
            (self.switch.insert if kind == INSERT else self.switch.modify)(table, entry)
            slot = self.switch.slot(table, entry)
        except TableError as error:
            raise Refused.of(_CODES[error.result], error.message) from error
        self._metadata.pop((table.id, slot), None)
        if given.metadata:
            self._metadata[table.id, slot] = given.metadata
        if given.HasField("counter_data"):
            self.switch.write_counter(self._direct_counter(table), slot, [_cells(given.counter_data)])

    def _write_default(self, kind: int, table: Table, given: p4r.TableEntry) -> None:
        self._only_modify(kind, "a default action")
        if given.match or given.priority:
            raise invalid("a default action has neither match fields nor a priority")
        if not given.HasField("action"):
            self.switch.set_default(table, None)
            return
        action, data = self._action(table, given.action)
        self.switch.set_default(table, action, data)

    def _entry(self, table: Table, given: p4r.TableEntry, with_action: bool) -> Entry:
        if not table.keys:
            raise invalid(f"table '{table.name}' has no key, only a default action")
        given_by_id = {match.field_id: match for match in given.match}
        if len(given_by_id) != len(given.match):
            raise invalid(f"an entry of table '{table.name}' names a match field twice")
        values, masks = [], []
        for field_id, (name, bits, kind) in zip(self._fields[table.id], table.keys, strict=True):
            value, mask = _match(given_by_id.pop(field_id, None), f"{table.name}: {name}", bits, kind)
            values.append(value)
            masks.append(mask)
        if given_by_id:
            raise invalid(f"table '{table.name}' has no match field {next(iter(given_by_id))}")
        needs_priority = any(kind in ("ternary", "range") for _, _, kind in table.keys)
        if needs_priority != (given.priority > 0):
            raise invalid(f"an entry of table '{table.name}' has {'a positive' if needs_priority else 'no'} priority")
        action = 0
        data: tuple[int, ...] = ()
        if with_action:
            if not given.HasField("action"):
                raise invalid(f"an entry of table '{table.name}' needs an action")
            action, data = self._action(table, given.action)
        return Entry(tuple(values), tuple(masks), given.priority, action, data)

    def _action(self, table: Table, given: p4r.TableAction) -> tuple[int, tuple[int, ...]]:
        if given.WhichOneof("type") != "action":
            raise unimplemented("this switch has no action profiles")
        index = next((i for i, action in enumerate(table.actions) if action.id == given.action.action_id), None)
        if index is None:
            raise invalid(f"table '{table.name}' has no action with id {given.action.action_id}")
        action = table.actions[index]
        params = {param.param_id: param.value for param in given.action.params}
        ids = self._parameters[action.id]
        if sorted(params) != sorted(ids) or len(params) != len(given.action.params):
            raise invalid(f"action '{action.name}' takes the parameters {ids}, not {sorted(params)}")
        return index, tuple(
            number(params[i], bits, f"{action.name}: {name}")
            for i, (name, bits) in zip(ids, action.parameters, strict=True)
        )

    def _write_register(self, given: p4r.RegisterEntry) -> None:
        """One element; without an index all, without an index and data all to what they are at first."""
        register = self._register(given.register_id)
        kind = given.data.WhichOneof("data")
        if kind is None and not given.HasField("index"):
            self.switch.reset_register(register)
            return
        index = self._index(given, register) if given.HasField("index") else None
        if len(register.fields) == 1 and kind == "bitstring":
            parts = [given.data]
        elif kind in ("struct", "tuple"):
            parts = list((given.data.struct if kind == "struct" else given.data.tuple).members)
        else:
            parts = []
        if len(parts) != len(register.fields):
            raise invalid(f"an element of register '{register.name}' has {len(register.fields)} numbers")
        element = [
            number(part.bitstring, bits, f"{register.name}[{'' if index is None else index}]")
            for part, (_, bits) in zip(parts, register.fields, strict=True)
        ]
        first, count = (0, register.size) if index is None else (index, 1)
        self.switch.write_register(register, first, [element] * count)

    def _write_replication(self, kind: int, given: p4r.PacketReplicationEngineEntry) -> None:
        if given.WhichOneof("type") == "multicast_group_entry":
            group = given.multicast_group_entry
            key, count = group.multicast_group_id, GROUPS
            held: dict[int, p4r.MulticastGroupEntry] | dict[int, p4r.CloneSessionEntry] = self._groups
            replicas = [_replica(replica) for replica in group.replicas]
        elif given.WhichOneof("type") == "clone_session_entry":
            session = given.clone_session_entry
            key, count, held = session.session_id, SESSIONS, self._sessions
            replicas = [_replica(replica) for replica in session.replicas]
            if session.packet_length_bytes or session.class_of_service:
                raise unimplemented("copies of a session are whole and have no class of service")
            if kind != DELETE and len(replicas) != 1:
                raise unimplemented("a mirror session leads to one port")
        else:
            raise invalid("the entry has neither a multicast group nor a clone session")
        if not 0 < key < count:
            raise invalid(f"the id is 1 to {count - 1}")
        if (kind == INSERT) == (key in held):
            code = grpc.StatusCode.ALREADY_EXISTS if key in held else grpc.StatusCode.NOT_FOUND
            raise Refused.of(code, f"{key} is {'there already' if key in held else 'not there'}")
        if held is self._groups:
            self.switch.set_multicast(key, [] if kind == DELETE else replicas)
        else:
            self.switch.set_mirror(key, None if kind == DELETE else replicas[0][0])
        if kind == DELETE:
            del held[key]
        else:
            held[key] = group if held is self._groups else session  # type: ignore[assignment]

    def _write_digest(self, kind: int, given: p4r.DigestEntry) -> None:
        if given.digest_id not in {digest.id for digest in self.switch.digests}:
            raise not_found(f"the program has no digest with id {given.digest_id}")
        known = given.digest_id in self.digests
        if (kind == INSERT) == known:
            code = grpc.StatusCode.ALREADY_EXISTS if known else grpc.StatusCode.NOT_FOUND
            raise Refused.of(code, f"digest {given.digest_id} is {'configured already' if known else 'not configured'}")
        if kind == DELETE:
            del self.digests[given.digest_id]
        else:
            self.digests[given.digest_id] = given.config

    # ---- reading ---------------------------------------------------------------------------------------------------

    def read(self, entity: p4r.Entity) -> Iterator[p4r.Entity]:
        """All entities that a possibly unspecific one stands for. Raises Refused."""
        match entity.WhichOneof("entity"):
            case "table_entry":
                for found in self._read_table(entity.table_entry):
                    yield p4r.Entity(table_entry=found)
            case "counter_entry":
                yield from self._read_counters(entity.counter_entry)
            case "direct_counter_entry":
                wanted = entity.direct_counter_entry.table_entry
                table = self._table(wanted.table_id)
                counter = self._direct_counter(table)
                for slot, row in self._rows(table, wanted):
                    data = _counter_data(*self.switch.read_counter(counter, slot, 1)[0])
                    key = p4r.TableEntry(table_id=table.id, match=row.match, priority=row.priority)
                    yield p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=key, data=data))
            case "register_entry":
                yield from self._read_registers(entity.register_entry)
            case "packet_replication_engine_entry":
                yield from self._read_replication(entity.packet_replication_engine_entry)
            case "digest_entry":
                for digest_id, config in self.digests.items():
                    if entity.digest_entry.digest_id in (0, digest_id):
                        yield p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest_id, config=config))
            case None:
                raise invalid("nothing is asked for")
            case other:
                raise unimplemented(f"this switch has no {other}")

    def _read_table(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        tables = self.switch.tables if wanted.table_id == 0 else [self._table(wanted.table_id)]
        for table in tables:
            counter = next((k for k in self.switch.counters if k.table == table.index), None)
            for slot, found in self._rows(table, wanted):
                if counter is not None and wanted.HasField("counter_data"):
                    found.counter_data.CopyFrom(_counter_data(*self.switch.read_counter(counter, slot, 1)[0]))
                yield found

    def _rows(self, table: Table, wanted: p4r.TableEntry) -> Iterator[tuple[int, p4r.TableEntry]]:
        if wanted.is_default_action:
            default = self.switch.read(table, table.size)
            assert default is not None
            yield (
                table.size,
                p4r.TableEntry(table_id=table.id, action=self._action_of(table, default), is_default_action=True),
            )
        elif wanted.match:
            entry = self._entry(table, wanted, with_action=False)
            try:
                slot = self.switch.slot(table, entry)
            except TableError:
                return
            found = self.switch.read(table, slot)
            if found is not None:
                yield slot, self._table_entry(table, slot, found)
        else:
            for slot, found in self.switch.entries(table):
                yield slot, self._table_entry(table, slot, found)

    def _table_entry(self, table: Table, slot: int, entry: Entry) -> p4r.TableEntry:
        matches = []
        for field_id, (_, bits, kind), value, mask in zip(
            self._fields[table.id], table.keys, entry.value, entry.mask, strict=True
        ):
            match = p4r.FieldMatch(field_id=field_id)
            if kind == "exact":
                match.exact.value = canonical(value)
            elif kind == "range" and (value, mask) != (0, (1 << bits) - 1):
                match.range.low, match.range.high = canonical(value), canonical(mask)
            elif kind == "ternary" and mask:
                match.ternary.value, match.ternary.mask = canonical(value), canonical(mask)
            elif kind == "lpm" and mask:
                match.lpm.value, match.lpm.prefix_len = canonical(value), mask.bit_count()
            else:
                continue
            matches.append(match)
        needs_priority = any(kind in ("ternary", "range") for _, _, kind in table.keys)
        return p4r.TableEntry(
            table_id=table.id, match=matches, action=self._action_of(table, entry),
            priority=entry.priority if needs_priority else 0, metadata=self._metadata.get((table.id, slot), b""),
            is_const=table.is_const,
        )  # fmt: skip

    def _action_of(self, table: Table, entry: Entry) -> p4r.TableAction:
        action = table.actions[entry.action]
        params = [
            p4r.Action.Param(param_id=i, value=canonical(value))
            for i, value in zip(self._parameters[action.id], entry.data, strict=True)
        ]
        return p4r.TableAction(action=p4r.Action(action_id=action.id, params=params))

    def _read_counters(self, wanted: p4r.CounterEntry) -> Iterator[p4r.Entity]:
        every = [counter for counter in self.switch.counters if counter.table < 0]
        for counter in every if wanted.counter_id == 0 else [self._counter(wanted.counter_id, direct=False)]:
            first, count = (self._index(wanted, counter), 1) if wanted.HasField("index") else (0, counter.size)
            for i, (packets, size) in enumerate(self.switch.read_counter(counter, first, count), first):
                yield p4r.Entity(
                    counter_entry=p4r.CounterEntry(
                        counter_id=counter.id, index=p4r.Index(index=i), data=_counter_data(packets, size)
                    )
                )

    def _read_registers(self, wanted: p4r.RegisterEntry) -> Iterator[p4r.Entity]:
        every = self.switch.registers
        for register in every if wanted.register_id == 0 else [self._register(wanted.register_id)]:
            first, count = (self._index(wanted, register), 1) if wanted.HasField("index") else (0, register.size)
            for i, element in enumerate(self.switch.read_register(register, first, count), first):
                numbers = [p4d.P4Data(bitstring=canonical(value)) for value in element]
                data = numbers[0] if len(numbers) == 1 else p4d.P4Data(struct=p4d.P4StructLike(members=numbers))
                yield p4r.Entity(
                    register_entry=p4r.RegisterEntry(register_id=register.id, index=p4r.Index(index=i), data=data)
                )

    def _read_replication(self, wanted: p4r.PacketReplicationEngineEntry) -> Iterator[p4r.Entity]:
        kind = wanted.WhichOneof("type")
        found: list[p4r.PacketReplicationEngineEntry] = []
        if kind in (None, "multicast_group_entry"):
            key = wanted.multicast_group_entry.multicast_group_id
            found += [
                p4r.PacketReplicationEngineEntry(multicast_group_entry=g)
                for i, g in self._groups.items()
                if key in (0, i)
            ]
        if kind in (None, "clone_session_entry"):
            key = wanted.clone_session_entry.session_id
            found += [
                p4r.PacketReplicationEngineEntry(clone_session_entry=s)
                for i, s in self._sessions.items()
                if key in (0, i)
            ]
        yield from (p4r.Entity(packet_replication_engine_entry=entry) for entry in found)

    # ---- finding ---------------------------------------------------------------------------------------------------

    def _table(self, table_id: int) -> Table:
        if table_id not in self._tables:
            raise not_found(f"the program has no table with id {table_id}")
        return self._tables[table_id]

    def _located(self, given: p4r.TableEntry) -> tuple[Table, int]:
        table = self._table(given.table_id)
        if given.is_default_action:
            return table, table.size
        try:
            return table, self.switch.slot(table, self._entry(table, given, with_action=False))
        except TableError as error:
            raise Refused.of(_CODES[error.result], error.message) from error

    def _counter(self, counter_id: int, direct: bool) -> Counter:
        counter = self._counters.get(counter_id)
        if counter is None or (counter.table >= 0) != direct:
            raise not_found(f"the program has no {'direct ' if direct else ''}counter with id {counter_id}")
        return counter

    def _direct_counter(self, table: Table) -> Counter:
        for counter in self.switch.counters:
            if counter.table == table.index:
                return counter
        raise invalid(f"table '{table.name}' has no direct counter")

    def _register(self, register_id: int) -> Register:
        if register_id not in self._registers:
            raise not_found(f"the program has no register with id {register_id}")
        return self._registers[register_id]

    @staticmethod
    def _index(given: p4r.CounterEntry | p4r.RegisterEntry, what: Counter | Register) -> int:
        index = given.index.index
        if not given.HasField("index"):
            raise invalid(f"which element of '{what.name}'? The index is missing")
        if not 0 <= index < what.size:
            raise Refused.of(
                grpc.StatusCode.OUT_OF_RANGE, f"'{what.name}' has {what.size} elements, not number {index}"
            )
        return int(index)


def _match(given: p4r.FieldMatch | None, what: str, bits: int, kind: str) -> tuple[int, int]:
    """(value, mask) of a match field as `Entry` has them; fields left out match everything."""
    full = (1 << bits) - 1
    if given is None:
        if kind == "exact":
            raise invalid(f"{what} is exact and must be given")
        return (0, full) if kind == "range" else (0, 0)
    if given.WhichOneof("field_match_type") != kind:
        raise invalid(f"{what} is matched as {kind}, not {given.WhichOneof('field_match_type')}")
    if kind == "exact":
        return number(given.exact.value, bits, what), full
    if kind == "range":
        low, high = number(given.range.low, bits, what), number(given.range.high, bits, what)
        if low > high or (low, high) == (0, full):
            raise invalid(
                f"{what}: the range {low} … {high} is {'empty' if low > high else 'everything: leave it out'}"
            )
        return low, high
    if kind == "lpm":
        length = given.lpm.prefix_len
        if not 0 < length <= bits:
            raise invalid(f"{what}: a prefix has 1 to {bits} bits (leave out a match of everything), not {length}")
        value, mask = number(given.lpm.value, bits, what), full ^ ((1 << (bits - length)) - 1)
    else:
        value, mask = number(given.ternary.value, bits, what), number(given.ternary.mask, bits, what)
        if mask == 0:
            raise invalid(f"{what}: leave out a match of everything")
    if value & ~mask:
        raise invalid(f"{what}: the value has bits that are not in its mask")
    return value, mask


def _replica(given: p4r.Replica) -> tuple[int, int]:
    if given.backup_replicas:
        raise unimplemented("this switch has no backup replicas")
    named = given.WhichOneof("port_kind") == "port"
    port = number(given.port, 32, "a replica's port") if named else given.egress_port
    if port >= PORTS or given.instance >= 1 << 16:
        raise invalid(f"a replica has a port up to {PORTS - 1} and an instance up to 65535")
    return port, given.instance


def _cells(data: p4r.CounterData) -> tuple[int, int]:
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid("a counter is not negative")
    return data.packet_count, data.byte_count


def _counter_data(packets: int, size: int) -> p4r.CounterData:
    return p4r.CounterData(packet_count=packets, byte_count=size)
