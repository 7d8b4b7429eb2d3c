"""P4Runtime entities (specification 1.3, §9) as calls of a Switch, and back."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
from finsy.proto import p4d, p4i, p4r

from jumpgate.p4.switch import meters
from jumpgate.p4.switch.refusal import Refused, canonical, invalid, not_found, number, unimplemented
from jumpgate.p4.switch.replication import Replication
from jumpgate.p4.switch.stand_ins import StandIn
from jumpgate.p4.switch.switch import Counter, Entry, Meter, Register, Result, Switch, Table, TableError

_CODES = {
    Result.EXISTS: grpc.StatusCode.ALREADY_EXISTS,
    Result.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Result.FULL: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Result.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Result.CONSTANT: grpc.StatusCode.PERMISSION_DENIED,
}
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


class Entities:
    """The control plane of one installed pipeline. Not thread-safe: the service calls it under a lock.

    Raises Refused (INVALID_ARGUMENT) if the P4Info does not belong to the switch's program.
    """

    def __init__(self, switch: Switch, p4info: p4i.P4Info) -> None:
        self.switch = switch
        self.p4info = p4info
        members = {declared.preamble.id for declared in p4info.value_sets}
        self._tables = {table.id: table for table in switch.tables if table.id not in members}
        self._value_sets = {table.id: table for table in switch.tables if table.id in members}
        self._counters = {counter.id: counter for counter in switch.counters}
        self._registers = {register.id: register for register in switch.registers}
        self._replication = Replication(switch)
        self.digests: dict[int, p4r.DigestEntry.Config] = {}
        self._metadata: dict[tuple[int, int], bytes] = {}  # (table, slot)
        self._fields: dict[int, list[int]] = {}
        self._parameters = {action.preamble.id: [p.id for p in action.params] for action in p4info.actions}
        found = {**self._tables, **self._value_sets}
        declarations = [(t.preamble, t.match_fields) for t in p4info.tables]
        declarations += [(t.preamble, t.match) for t in p4info.value_sets]
        for preamble, fields in declarations:
            table = found.get(preamble.id)
            if table is None or table.widths != [match.bitwidth for match in fields]:
                raise invalid(f"the P4Info does not belong to the program: table '{preamble.name}' differs")
            self._fields[table.id] = [match.id for match in fields]
        for table in self._tables.values():
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
            case "meter_entry":
                self._only_modify(update.type, "a meter")
                meter = self._meter(entity.meter_entry.meter_id)
                cell = self._index(entity.meter_entry, meter)
                self.switch.write_meter(meter, cell, meters.wanted(entity.meter_entry))
            case "direct_meter_entry":
                self._only_modify(update.type, "a direct meter")
                table, slot = self._located(entity.direct_meter_entry.table_entry)
                self.switch.write_meter(self._direct_meter(table), slot, meters.wanted(entity.direct_meter_entry))
            case "register_entry":
                self._only_modify(update.type, "a register")
                self._write_register(entity.register_entry)
            case "packet_replication_engine_entry":
                self._replication.write(update.type, entity.packet_replication_engine_entry)
            case "digest_entry":
                self._write_digest(update.type, entity.digest_entry)
            case "value_set_entry":
                self._only_modify(update.type, "a value set")
                self._write_value_set(entity.value_set_entry)
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
        if given.idle_timeout_ns:
            raise unimplemented(f"table '{table.name}' has no idle time-outs")
        metered = self._metered(table)
        rates = None
        if given.HasField("meter_config"):
            metered, rates = self._direct_meter(table), meters.decode(given.meter_config)
        try:
            if given.is_default_action:
                self._write_default(kind, table, given)
                if metered is not None:
                    self.switch.write_meter(metered, table.size, rates)
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
        if metered is not None:
            self.switch.write_meter(metered, slot, rates)
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

    def _write_value_set(self, given: p4r.ValueSetEntry) -> None:
        """Its members are these from now on; those that stay are there all the time."""
        values = self._value_set(given.value_set_id)
        wanted = {
            self._entry(values, p4r.TableEntry(match=member.match), with_action=False) for member in given.members
        }
        if len(wanted) > values.size:
            what = f"value set '{values.name}' has room for {values.size} members, not for {len(wanted)}"
            raise Refused.of(grpc.StatusCode.RESOURCE_EXHAUSTED, what)
        held = {entry for _, entry in self.switch.entries(values)}
        for entry in held - wanted:
            self.switch.delete(values, entry)
        for entry in wanted - held:
            self.switch.insert(values, entry)

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
            case "meter_entry":
                yield from self._read_meters(entity.meter_entry)
            case "direct_meter_entry":
                wanted = entity.direct_meter_entry.table_entry
                table = self._table(wanted.table_id)
                meter = self._direct_meter(table)
                for slot, row in self._rows(table, wanted):
                    row.ClearField("action")
                    rates = meters.encode(self.switch.read_meter(meter, slot))
                    yield p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(table_entry=row, config=rates))
            case "register_entry":
                yield from self._read_registers(entity.register_entry)
            case "packet_replication_engine_entry":
                yield from self._replication.read(entity.packet_replication_engine_entry)
            case "digest_entry":
                for digest_id, config in self.digests.items():
                    if entity.digest_entry.digest_id in (0, digest_id):
                        yield p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest_id, config=config))
            case "value_set_entry":
                yield from self._read_value_sets(entity.value_set_entry.value_set_id)
            case None:
                raise invalid("nothing is asked for")
            case other:
                raise unimplemented(f"this switch has no {other}")

    def _read_table(self, wanted: p4r.TableEntry) -> Iterator[p4r.TableEntry]:
        tables = self._tables.values() if wanted.table_id == 0 else [self._table(wanted.table_id)]
        for table in tables:
            counter = next((k for k in self.switch.counters if k.table == table.index), None)
            metered = self._metered(table)
            for slot, found in self._rows(table, wanted):
                if counter is not None and wanted.HasField("counter_data"):
                    found.counter_data.CopyFrom(_counter_data(*self.switch.read_counter(counter, slot, 1)[0]))
                if metered is not None and wanted.HasField("meter_config"):
                    config = meters.encode(self.switch.read_meter(metered, slot))
                    if config is not None:
                        found.meter_config.CopyFrom(config)
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

    def _matches(self, table: Table, entry: Entry) -> list[p4r.FieldMatch]:
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
        return matches

    def _table_entry(self, table: Table, slot: int, entry: Entry) -> p4r.TableEntry:
        needs_priority = any(kind in ("ternary", "range") for _, _, kind in table.keys)
        return p4r.TableEntry(
            table_id=table.id, match=self._matches(table, entry), action=self._action_of(table, entry),
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

    def _read_value_sets(self, wanted: int) -> Iterator[p4r.Entity]:
        for values in self._value_sets.values() if wanted == 0 else [self._value_set(wanted)]:
            entries = self.switch.entries(values)
            members = [p4r.ValueSetMember(match=self._matches(values, entry)) for _, entry in entries]
            yield p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=values.id, members=members))

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

    def _read_meters(self, wanted: p4r.MeterEntry) -> Iterator[p4r.Entity]:
        every = [meter for meter in self.switch.meters if meter.table < 0]
        for meter in every if wanted.meter_id == 0 else [self._meter(wanted.meter_id)]:
            first, count = (self._index(wanted, meter), 1) if wanted.HasField("index") else (0, meter.size)
            for i in range(first, first + count):
                config = meters.encode(self.switch.read_meter(meter, i))
                found = p4r.MeterEntry(meter_id=meter.id, index=p4r.Index(index=i), config=config)
                yield p4r.Entity(meter_entry=found)

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

    # ---- finding ---------------------------------------------------------------------------------------------------

    def _table(self, table_id: int) -> Table:
        if table_id not in self._tables:
            raise not_found(f"the program has no table with id {table_id}")
        return self._tables[table_id]

    def _value_set(self, value_set_id: int) -> Table:
        if value_set_id not in self._value_sets:
            raise not_found(f"the program has no value set with id {value_set_id}")
        return self._value_sets[value_set_id]

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

    def _meter(self, meter_id: int) -> Meter:
        for meter in self.switch.meters:
            if meter.id == meter_id and meter.table < 0:
                return meter
        raise not_found(f"the program has no meter with id {meter_id}")

    def _metered(self, table: Table) -> Meter | None:
        return next((meter for meter in self.switch.meters if meter.table == table.index), None)

    def _direct_meter(self, table: Table) -> Meter:
        meter = self._metered(table)
        if meter is None:
            raise invalid(f"table '{table.name}' has no direct meter")
        return meter

    def _register(self, register_id: int) -> Register:
        if register_id not in self._registers:
            raise not_found(f"the program has no register with id {register_id}")
        return self._registers[register_id]

    @staticmethod
    def _index(given: p4r.CounterEntry | p4r.MeterEntry | p4r.RegisterEntry, what: Counter | Meter | Register) -> int:
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


def _cells(data: p4r.CounterData) -> tuple[int, int]:
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid("a counter is not negative")
    return data.packet_count, data.byte_count


def _counter_data(packets: int, size: int) -> p4r.CounterData:
    return p4r.CounterData(packet_count=packets, byte_count=size)
