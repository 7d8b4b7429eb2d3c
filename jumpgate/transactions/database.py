"""Moves hot values between PostgreSQL's rows and the switch, and recovers when it is opened."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from jumpgate.errors import CapacityExceeded, InvalidDataflow, Overflow
from jumpgate.p4.programs.transactions import DEFAULT
from jumpgate.transactions import mirror, postgres
from jumpgate.transactions.channel import LOST_S, Address, Answer, Channel, Lease, Sender
from jumpgate.transactions.coordinator import Cells, Coordinator, Outcome, Transaction
from jumpgate.transactions.mirror import LOCAL, check_journal
from jumpgate.transactions.postgres import Name, Place
from jumpgate.transactions.records import SentRecord
from jumpgate.transactions.recovery import Sent, replay
from jumpgate.transactions.registers import LocalSwitch
from jumpgate.transactions.steps import VALUE_MAX, Places, amount_max, text

#: transactions at a time
WORKERS = 8
#: bigints stay between the negative of this and this
WIDE_MAX = 1 << 62


class Database(Coordinator):
    """Node 0 of a database. `workers`: transactions at a time of each of the `nodes`. `journal`: where all nodes have
    their logs, "local", "postgres" or "both". `agents`: those that the switch tells what is decided."""

    def __init__(
        self, url: str, switch: LocalSwitch, folder: Path, number: int = 0, workers: int = WORKERS,
        reach: Callable[[str], None] | None = None, lost_s: float = LOST_S, nodes: int = 1,
        servers: Mapping[str, str] | None = None, journal: str = LOCAL, agents: Sequence[Address] = (),
    ) -> None:  # fmt: skip
        check_journal(journal)
        self.journal, self.agents = journal, agents
        self.switch, self.nodes, self._wanted = switch, nodes, workers
        self._leases: list[Lease] = []
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(url, folder, number, 0, reach, lost_s, servers or {})

    def _make_room(self, transaction: Transaction, name: Name) -> Outcome | None:
        """Give bigints their values as bases; a transaction without statements is executed, too."""
        with self._alone() as cells:
            self._places.compile(transaction.steps, transaction.expected)
            now = {name: place.base + cells[place.array, place.index] for name, place in self._places.items()}
            needs_switch = transaction.statements or transaction.is_kept
            outcome = None if needs_switch else self._execute_alone(transaction, now)
            for name in {step.name for step in transaction.steps}:
                if abs(now[name]) > (WIDE_MAX if self._places[name].is_wide else VALUE_MAX):
                    raise Overflow(f"{text(name)} would be {now[name]}: release it, and change it by SQL")
            self._rebase(now)
            if self.journal != LOCAL:
                with self._ending:
                    postgres.show(self._admin, {n: v for n, v in now.items() if not postgres.server_of(n)})
            return outcome

    def _execute_alone(self, transaction: Transaction, values: dict[Name, int]) -> Outcome:
        """Execute steps on all values, which change unless a condition does not hold."""
        after, seen = dict(values), []
        if any(values[name] != value for name, value in transaction.expected.items()):
            return Outcome(False)
        for step in transaction.steps:
            old = after[step.name]
            if step.at_least is not None and old + (0 if step.sets else step.amount) < step.at_least:
                return Outcome(False)
            seen.append(old)
            after[step.name] = step.amount if step.sets else old + step.amount
        values.update(after)
        return Outcome(True, tuple(seen))

    def _rebase(self, now: Mapping[Name, int]) -> None:
        """Give values to registers, and bases to bigints, while no transaction runs.

        The base says what the registers shall hold before they do: until then it names no switch, so that recovery
        loads them.
        """
        places = {n: replace(p, base=now[n]) if p.is_wide else p for n, p in self._places.items()}
        cells = {(p.array, p.index): now[n] - p.base for n, p in places.items()}
        self._restart(cells, places, incarnation="")
        with self._ending:
            self._reached("rebased")
            self.switch.load(self.number, cells)
            self._restart(cells, places)

    @property
    def _is_shared(self) -> bool:
        return self.nodes > 1

    # ---- what is in the switch ----

    def offload(
        self, table: str, key: str, columns: Sequence[str], rows: Sequence[Any], checked: bool = True, server: str = ""
    ) -> None:  # fmt: skip
        """Moves values into the switch; `checked`: transactions may require that they are so much at least.

        Raises InvalidDataflow (no integer of the switch's width, or no such row) or CapacityExceeded.
        """
        self.check_server(server)
        admin = self._admins[server]
        with self._alone() as cells:
            relation = postgres.canonical(admin, table)
            made: dict[Name, Place] = {}
            free = self._free(checked)
            with self._moving(admin):
                postgres.lock(admin, relation)
                for column in columns:
                    found = postgres.values(admin, relation, key, column, rows)
                    for row, (value, type_) in zip(rows, found, strict=True):
                        name = (postgres.on_server(relation, server), str(row), column)
                        _check_value(name, value, type_)
                        if name in self._places or name in made:
                            raise InvalidDataflow(f"{table}[{row}].{column} is in the switch already")
                        place, is_wide = next(free), type_ == "bigint"
                        made[name] = replace(place, is_wide=is_wide, base=value if is_wide else 0)
                        cells[place.array, place.index] = value - made[name].base
                        postgres.hold(admin, name, key, made[name], value)
                postgres.guard(admin, relation)
                self.switch.load(self.number, {(p.array, p.index): cells[p.array, p.index] for p in made.values()})
                self._restart(cells, self._places | made)

    def release(self) -> None:
        """Brings all values back into their rows."""
        self._write_back(release=True)

    def checkpoint(self) -> None:
        """Writes all values into their rows, which plain SQL reads, and starts the log anew."""
        self._write_back(release=False)

    def _write_back(self, release: bool) -> None:
        with self._alone() as cells:
            now = {name: p.base + cells[p.array, p.index] for name, p in self._places.items()}
            for server, admin in self._admins.items():
                mine = [(name, value) for name, value in now.items() if postgres.server_of(name) == server]
                if server and not mine:
                    continue
                with self._moving(admin):
                    postgres.store(admin, mine, release)
                if release:
                    left = {name: place for name, place in self._places.items() if postgres.server_of(name) != server}
                    with self._ending:
                        self._restart({(p.array, p.index): cells[p.array, p.index] for p in left.values()}, left)
            if not release:
                self._rebase(now)
            if self.agents:
                self._forget_decisions()

    def _forget_decisions(self) -> None:
        """Drop answers that agents kept, once no log has their transactions."""
        for admin in self._admins.values():
            postgres.forget_decisions(admin, self._id)

    @contextlib.contextmanager
    def _moving(self, admin: psycopg.Connection[Any]) -> Iterator[None]:
        """Change rows of one of PostgreSQL's servers. Nothing more is taken once they may be changed or not."""
        before = self._base
        try:
            with admin.transaction():
                yield
        except BaseException:
            if admin.closed or self._base is not before:
                with self._ending:
                    raise
            raise

    def _free(self, checked: bool) -> Iterator[Place]:
        """Places that nothing is in: of the arrays that give conditions, or of the others first; spread over them."""
        used = {(place.array, place.index) for place in self._places.values()}
        arrays = sorted(range(DEFAULT.arrays), key=lambda array: (array % DEFAULT.columns != 0) == checked)
        mine = [array for array in arrays if array % DEFAULT.columns == 0] if checked else arrays
        for index, array in itertools.product(range(1 << self.switch.index_bits), mine):
            if (array, index) not in used:
                yield Place(array, index)
        raise CapacityExceeded(f"the switch has no room for more values of database {self.number}")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[Cells]:
        """While no transaction runs: the cells in use, with what the registers hold."""
        with self._resting():
            self._check()  # of what was broken off the log must stay
            with self._latch.alone():
                self._settle()
                yield self._cells()

    # ---- recovery ----

    def _cells(self) -> Cells:
        return {(p.array, p.index): self.switch.read(self.number, p.array, p.index) for p in self._places.values()}

    def _restart(self, cells: Cells, places: dict[Name, Place], incarnation: str | None = None) -> None:
        """Replace the base by the cells as they are, which empties all logs."""
        bases = {(p.array, p.index): p.base for p in places.values()}
        base = {
            "log": self._id, "epoch": self._base["epoch"] + 1, "gid": self.switch.last(self.number),
            "incarnation": self.switch.incarnation if incarnation is None else incarnation,
            "address": self.switch.address, "nodes": self.nodes, "servers": list(self.servers),
            "leases": [[lease.flow, lease.secret, self.switch.sequence(lease)] for lease in self._leases],
            "cells": [[*cell, value, bases[cell]] for cell, value in cells.items()], "journal": self.journal,
            "agents": bool(self.agents),
        }  # fmt: skip
        self._folder.write(base)
        if (self.journal, self._base["journal"]) != (LOCAL, LOCAL):
            mirror.write_base(self._admin, self.number, self._id, json.dumps(base) if self.journal != LOCAL else None)
        self._base, self._places, self._stamp = base, Places(places), self._folder.stamp()
        self._seen = {n: (base["gid"], cells[p.array, p.index]) for n, p in places.items()}
        self._log.clear()

    def _open(self) -> None:
        with self._latch.alone():
            postgres.install(self._admin)
            base = self._found_base() or {
                "log": secrets.token_hex(8), "epoch": 0, "incarnation": "", "gid": 0, "leases": [], "nodes": 1,
                "cells": [],
            }  # fmt: skip
            self._join(base, base.get("servers", []))
            self._adopt(base)
            self._leases = self.switch.lease(self.number, self._wanted * self.nodes, self._id)
            self._amount_max = amount_max(len(self._leases))
            sent, answers = self._logged()
            if base["incarnation"] == self.switch.incarnation:
                self._ask_again(sent, answers)
            else:
                self.switch.evict(self.number)
                self._leases = self.switch.lease(self.number, self._wanted * self.nodes, self._id)
                answers = self._rebuild(base, sent, answers)
            self._decide(sent, answers)
            self._keep(sent, answers)
            self._restart(self._cells(), self._places)
            self._forget_decisions()
            self.switch.announce(self.number, self.agents)
            mine = self._leases[:: self.nodes]
            self._start([(lease, self.switch.sequence(lease)) for lease in mine], self.switch.address)

    def _found_base(self) -> dict[str, Any] | None:
        """Return the folder's base, or PostgreSQL's if the folder was lost or lacks the end."""
        base, text = self._folder.read(), mirror.read_base(self._admin, self.number)
        other = None if text is None else dict(json.loads(text))
        if base is None or other is not None and other["log"] == base["log"] and other["epoch"] > base["epoch"]:
            return other
        return base

    def _settle(self) -> None:
        """Finish what other nodes broke off; of what they have on the way nothing is left, as they are kept out. Keep
        the values of all before the logs are emptied."""
        if self._base["nodes"] > 1 or self._has_kept:
            sent, answers = self._logged()
            self._ask_again(sent, answers)
            self._decide(sent, answers)
            self._keep(sent, answers)
            self._has_kept = False

    def _keep(self, sent: Mapping[int, SentRecord], answers: Mapping[int, Answer]) -> None:
        """Give PostgreSQL what transactions saw whose numbers were asked for."""
        names = {(p.array, p.index): (name, p.base) for name, p in self._places.items()}
        kept: list[tuple[int, int, Name, int]] = []
        for number, r in sent.items():
            for cell, value in r.seen(answers[number]) if r.is_kept else ():
                if cell not in names:
                    continue  # PostgreSQL was given it before the value was released
                name, base = names[cell]
                kept.append((number, answers[number].gid, name, base + value))
        if kept:
            postgres.keep(self._admin, kept)

    def _ask_again(self, sent: dict[int, SentRecord], answers: dict[int, Answer]) -> None:
        """The switch is as it was: what has no answer is sent again, and executed unless it was already."""
        leases = {lease.flow: lease for lease in self._leases}
        with Sender(self.switch.address, self._lost_s) as sender:
            for number, r in sent.items():
                if number not in answers:
                    answers[number] = Channel(sender, leases[r.flow]).ask(r.sequence, r.instructions, number)

    def _rebuild(
        self, base: dict[str, Any], sent: dict[int, SentRecord], answers: dict[int, Answer]
    ) -> dict[int, Answer]:
        """The switch lost its registers or a packet, or is another one: they come from the log."""
        found = [
            Sent(number, r.instructions, *(
                (answers[number].gid, answers[number].results) if number in answers else ()))
            for number, r in sent.items()
        ]  # fmt: skip
        before = {(array, index): value for array, index, value, _ in base["cells"]}
        cells, ran = replay(before, base["gid"], found)
        places = [(p.array, p.index) for p in self._places.values()]
        missing = [place for place in places if place not in cells]
        if missing:
            raise InvalidDataflow(
                f"{self._folder.base} lacks {len(missing)} values that PostgreSQL says are in the switch: give "
                "the folder that they were offloaded with"
            )
        gid = max([base["gid"], *(s.gid for s in ran.values())])
        self.switch.load(self.number, {place: cells[place] for place in places}, gid)
        return {number: Answer(s.gid, s.results, 0) for number, s in ran.items()}


def _check_value(name: Name, value: Any, type_: str) -> None:
    """Raise InvalidDataflow for what a register does not hold."""
    if type_ not in ("integer", "bigint") or value is None:
        raise InvalidDataflow(
            f"{text(name)} is {value}, of type {type_}: the switch holds values of integer and bigint"
        )
    limit = WIDE_MAX if type_ == "bigint" else VALUE_MAX
    if abs(value) > limit:
        raise InvalidDataflow(f"{text(name)} is {value}: the switch holds values of {type_} within ±{limit}")
