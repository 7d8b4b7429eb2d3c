"""Transactions over values in a switch and rows in PostgreSQL: durable, each executed once, recovered when opened.

Before a packet is sent the log has what it says; before a transaction is acknowledged, its number and results are
there, and all is synced. One sync serves both: a log is read up to its first torn record, and whoever saw a transaction
in the switch wrote behind its record, so what is left of a log explains its results. Cold statements are prepared in
PostgreSQL, and the record is synced, before the packet is sent; they are committed once it was executed.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from jumpgate.errors import CapacityExceeded, InvalidDataflow, JumpgateError, Overflow, Unreachable
from jumpgate.p4.programs.transactions import DEFAULT, Instruction
from jumpgate.transactions import postgres
from jumpgate.transactions.channel import LOST_S, Answer, Channel
from jumpgate.transactions.log import Log
from jumpgate.transactions.postgres import Name, Place
from jumpgate.transactions.recovery import Sent, replay
from jumpgate.transactions.registers import LocalSwitch
from jumpgate.transactions.steps import VALUE_MAX, Compiled, Step, amount_max, compile_steps, text, too_large

#: transactions at a time
WORKERS = 8
CONNECT_TIMEOUT_S = 10
#: bigints stay between the negative of this and this
WIDE_MAX = 1 << 62
#: words that would end the transaction that a statement is in
CONTROL = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(begin|start|commit|end|rollback|abort|prepare)\b", re.I | re.S)

Cells = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Outcome:
    """`done` is False if the requirement did not hold: then nothing was. `values` are those before each step; `gid` is
    the transaction's number in the switch, 0 of a cold one."""

    done: bool
    values: tuple[int | None, ...] = ()
    gid: int = 0


@dataclass
class Transaction:
    """Collects what a transaction does. Hot steps come after all cold statements, so these cannot use their values."""

    database: Database
    steps: list[Step] = field(default_factory=list)
    statements: list[tuple[str, Sequence[Any]]] = field(default_factory=list)

    def read(self, table: str, key: Any, column: str) -> int:
        """Returns the number of the step, whose value the outcome has."""
        return self._step(Step(self.database.name(table, key, column)))

    def add(self, table: str, key: Any, column: str, amount: int, at_least: int | None = None) -> int:
        """Adds to a value; with `at_least` nothing of the transaction is done if the sum would be less."""
        return self._step(Step(self.database.name(table, key, column), amount, at_least=at_least))

    def set(self, table: str, key: Any, column: str, value: int) -> int:
        return self._step(Step(self.database.name(table, key, column), value, sets=True))

    def sql(self, statement: str, parameters: Sequence[Any] = ()) -> None:
        """Adds a statement for PostgreSQL, with %s for parameters. Raises InvalidDataflow for BEGIN, COMMIT, …"""
        if CONTROL.match(statement):
            raise InvalidDataflow(f"'{statement}' is no part of a transaction: leave it out")
        self.statements.append((statement, parameters))

    def _step(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1


class Database:
    """Use as a context manager, or call `close`. Methods may be called from any thread.

    `folder` holds the log; `number` tells databases of one switch apart. `reach` is called with the name of each point
    of a transaction that it reaches: tests end it there.
    """

    def __init__(
        self, url: str, switch: LocalSwitch, folder: Path, number: int = 0, workers: int = WORKERS,
        reach: Callable[[str], None] = lambda point: None, lost_s: float = LOST_S,
    ) -> None:  # fmt: skip
        self.url, self.switch, self.number, self.workers = url, switch, number, workers
        self.reach, self._lost_s = reach, lost_s
        folder.mkdir(parents=True, exist_ok=True)
        self._admin = self._connect()
        self._places: dict[Name, Place] = {}
        self._relations: dict[str, str] = {}
        self._log = Log(folder / f"transactions-{number}.log")
        self._seen: dict[Name, tuple[int, int]] = {}
        self._noting = threading.Lock()
        self._failure: JumpgateError | None = None
        self._changing = threading.Lock()
        self._idle: queue.SimpleQueue[tuple[Channel, psycopg.Connection[Any]]] = queue.SimpleQueue()
        self._channels: list[Channel] = []
        self._connections: list[psycopg.Connection[Any]] = []
        try:
            self._recover()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Values stay in the switch; the log has them."""
        for channel in self._channels:
            channel.close()
        for connection in self._connections:
            connection.close()
        self._admin.close()
        self._log.close()

    # ---- transactions ----

    def transaction(self) -> Transaction:
        return Transaction(self)

    def name(self, table: str, key: Any, column: str) -> Name:
        """The name of a hot value. Raises InvalidDataflow if it is not in the switch."""
        if table not in self._relations:
            self._relations[table] = postgres.canonical(self._admin, table)
        name = (self._relations[table], str(key), column)
        if name not in self._places:
            raise InvalidDataflow(
                f"{table}[{key}].{column} is not in the switch: offload it, or change it by SQL", table=table
            )
        return name

    def commit(self, transaction: Transaction) -> Outcome:
        """Executes it. Raises Unreachable (the switch is lost: open the database again), ConfigError (the log cannot be
        written), Overflow, InvalidDataflow, or psycopg's errors for its statements, after which nothing was done."""
        while True:
            with self._worker() as (channel, connection):
                self._check_names(transaction.steps)
                if not self._lacks_room(transaction):
                    return self._commit(transaction, channel, connection)
            if (outcome := self._commit_alone(transaction)) is not None:
                return outcome

    def _commit(self, transaction: Transaction, channel: Channel, connection: psycopg.Connection[Any]) -> Outcome:
        compiled = compile_steps(transaction.steps, self._places, amount_max(self.workers))
        if not transaction.steps:
            with connection.transaction():
                _execute(connection, transaction.statements)
            return Outcome(True)
        number = next(self._numbers)
        if transaction.statements:
            self._prepare(connection, transaction.statements, number)
        self.reach("prepared")
        with self._ending():
            answer = self._send(channel, number, compiled, bool(transaction.statements))
            self.reach("executed")
            done = compiled.is_done(answer.results)
            if transaction.statements:
                postgres.decide(connection, self._id, number, done)
                self.reach("decided")
        return self._outcome(transaction.steps, compiled, answer, done)

    @contextlib.contextmanager
    def _worker(self) -> Iterator[tuple[Channel, psycopg.Connection[Any]]]:
        channel, connection = self._idle.get()
        try:
            self._check()
            if connection.closed:  # its server ended it, perhaps
                connection = self._connect()
                self._connections.append(connection)
            yield channel, connection
        finally:
            self._idle.put((channel, connection))

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        """Where a failure leaves a transaction open that only recovery can tell of: nothing more is taken then."""
        try:
            yield
        except BaseException as error:
            self._failure = error if isinstance(error, JumpgateError) else Unreachable(
                f"a transaction was broken off ({error}): open the database again, which recovers"
            )  # fmt: skip
            raise

    def _prepare(self, connection: psycopg.Connection[Any], statements: Any, number: int) -> None:
        connection.execute("BEGIN")
        try:
            _execute(connection, statements)
            postgres.prepare(connection, self._id, number)
        except BaseException as error:
            if not connection.closed:
                connection.execute("ROLLBACK")
                raise
            with self._ending():  # it may be prepared
                raise Unreachable(f"PostgreSQL was lost ({error}): open the database again, which recovers") from error

    def _send(self, channel: Channel, number: int, compiled: Compiled, is_warm: bool) -> Answer:
        self._log.append({
            "is": "sent", "id": number, "flow": channel.lease.flow, "sequence": channel.sequence + 1, "warm": is_warm,
            "check": compiled.check, "do": [_packed(i) for i in compiled.instructions],
        }, wait=is_warm)  # fmt: skip
        self.reach("logged")
        answer = channel.execute(compiled.instructions, number)
        self.reach("answered")
        self._log.append({"is": "done", "id": number, "gid": answer.gid, "results": list(answer.results)})
        return answer

    def _outcome(self, steps: Sequence[Step], compiled: Compiled, answer: Answer, done: bool) -> Outcome:
        if not done:
            return Outcome(False, gid=answer.gid)
        values = tuple(answer.results[at] for at in compiled.where)
        bases = [self._places[step.name].base for step in steps]
        with self._noting:
            for step, old, base in zip(steps, values, bases, strict=True):
                new = step.amount - base if step.sets else old + step.amount
                self._seen[step.name] = max(self._seen[step.name], (answer.gid, new), key=lambda seen: seen[0])
        return Outcome(True, tuple(old + base for old, base in zip(values, bases, strict=True)), answer.gid)

    def _check_names(self, steps: Sequence[Step]) -> None:
        gone = next((step.name for step in steps if step.name not in self._places), None)
        if gone is not None:
            raise InvalidDataflow(f"{text(gone)} is not in the switch any more: declare the transaction again")

    def _lacks_room(self, transaction: Transaction) -> bool:
        """Tell if a bigint must be given another base first. Raises Overflow for other values.

        Keeps registers from wrapping. Who adds looks at the value with the greatest gid that is known. Once one is
        beyond VALUE_MAX, each worker adds at most once more, until it has seen that or what came later.
        """
        steps = transaction.steps
        for step in steps:
            reached = self._seen[step.name][1]
            if abs(reached) > VALUE_MAX and reached * step.amount > 0 and not step.sets:
                if not self._places[step.name].is_wide:
                    raise Overflow(
                        f"{text(step.name)} reached {reached}: the switch adds to values within ±{VALUE_MAX}; release "
                        "it, and change it by SQL"
                    )
                return True
        large = too_large(steps, self._places, amount_max(self.workers))
        return large is not None and self._places[large.name].is_wide and not transaction.statements

    def _commit_alone(self, transaction: Transaction) -> Outcome | None:
        """Give bigints their values as bases, and zero to their registers; without statements, also execute it.

        The log says what the registers shall be before they are: until then it names no switch, so that recovery loads
        them.
        """
        with self._alone() as cells:
            self._check_names(transaction.steps)
            now = {name: place.base + cells[place.array, place.index] for name, place in self._places.items()}
            outcome = None if transaction.statements else _executed(transaction.steps, now)
            for name in {step.name for step in transaction.steps}:
                if abs(now[name]) > (WIDE_MAX if self._places[name].is_wide else VALUE_MAX):
                    raise Overflow(f"{text(name)} would be {now[name]}: release it, and change it by SQL")
            places = {n: replace(p, base=now[n]) if p.is_wide else p for n, p in self._places.items()}
            cells = {(p.array, p.index): now[n] - p.base for n, p in places.items()}
            self._restart(cells, places, incarnation="")
            with self._ending():
                self._places = places
                self.reach("rebased")
                self.switch.load(self.number, cells)
                self._restart(cells, places)
                self._note(cells)
            return outcome

    # ---- what is in the switch ----

    def offload(self, table: str, key: str, columns: Sequence[str], rows: Sequence[Any], checked: bool = True) -> None:
        """Moves values into the switch; `checked`: transactions may require that they are so much at least.

        Raises InvalidDataflow (no integer of the switch's width, or no such row) or CapacityExceeded.
        """
        with self._alone() as cells:
            relation = postgres.canonical(self._admin, table)
            made: dict[Name, Place] = {}
            free = self._free(checked)
            with self._admin.transaction():
                postgres.lock(self._admin, relation)
                for column in columns:
                    found = postgres.values(self._admin, relation, key, column, rows)
                    for row, (value, type_) in zip(rows, found, strict=True):
                        name = (relation, str(row), column)
                        _check_value(name, value, type_)
                        if name in self._places or name in made:
                            raise InvalidDataflow(f"{table}[{row}].{column} is in the switch already")
                        place, is_wide = next(free), type_ == "bigint"
                        made[name] = replace(place, is_wide=is_wide, base=value if is_wide else 0)
                        cells[place.array, place.index] = value - made[name].base
                        postgres.hold(self._admin, name, key, made[name])
                postgres.guard(self._admin, relation)
                self.switch.load(self.number, {(p.array, p.index): cells[p.array, p.index] for p in made.values()})
                self._restart(cells, self._places | made)
            self._places |= made
            self._note(cells)

    def release(self) -> None:
        """Brings all values back into their rows."""
        self._write_back(release=True)

    def checkpoint(self) -> None:
        """Writes all values into their rows, which plain SQL reads, and starts the log anew."""
        self._write_back(release=False)

    def _write_back(self, release: bool) -> None:
        with self._alone() as cells:
            found = [(name, p.base + cells[p.array, p.index]) for name, p in self._places.items()]
            with self._admin.transaction():
                postgres.store(self._admin, found, release)
            if release:
                self._places.clear()
                cells.clear()
            self._restart(cells, self._places)

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
        with self._changing:
            held = [self._idle.get() for _ in range(self.workers)]
            try:
                self._check()  # of what was broken off the log must stay
                yield {
                    (p.array, p.index): self.switch.read(self.number, p.array, p.index) for p in self._places.values()
                }
            finally:
                for worker in held:
                    self._idle.put(worker)

    # ---- recovery ----

    def _restart(self, cells: Cells, places: dict[Name, Place], incarnation: str | None = None) -> None:
        """Starts the log anew with the cells as they are."""
        bases = {(p.array, p.index): p.base for p in places.values()}
        self._log.restart([{
            "is": "base", "log": self._id, "gid": self.switch.last(self.number), "next": next(self._numbers),
            "incarnation": self.switch.incarnation if incarnation is None else incarnation,
            "cells": [[*cell, value, bases[cell]] for cell, value in cells.items()],
        }])  # fmt: skip

    def _note(self, cells: Cells) -> None:
        """Know what the registers hold, while no transaction runs."""
        gid = self.switch.last(self.number)
        for name, place in self._places.items():
            self._seen[name] = gid, cells[place.array, place.index]

    def _recover(self) -> None:
        records = self._log.records
        nothing = {"log": secrets.token_hex(8), "incarnation": "", "gid": 0, "next": 1, "cells": []}
        base: dict[str, Any] = records[0] if records else nothing
        sent = {r["id"]: r for r in records if r["is"] == "sent"}
        answers = {r["id"]: r for r in records if r["is"] == "done"}
        self._id: str = base["log"]
        self._numbers = itertools.count(max([base["next"], *(number + 1 for number in sent)]))
        bases = {(array, index): of for array, index, _, of in base["cells"]}
        for name, place in postgres.install(self._admin).items():
            self._places[name] = replace(place, base=bases.get((place.array, place.index), 0))
        is_alive = base["incarnation"] == self.switch.incarnation
        for lease in self.switch.lease(self.number, self.workers, self._id):
            self._channels.append(Channel(self.switch.address, lease, self._lost_s))
        self.workers = len(self._channels)
        if is_alive:
            results = self._ask_again(sent, answers)
        else:
            results = self._rebuild(base, sent, answers)
        waiting = postgres.prepared(self._admin, self._id)
        for number in waiting:
            commit = number in results and _is_done(sent[number], results[number])
            postgres.decide(self._admin, self._id, number, commit)
        cells = {(p.array, p.index): self.switch.read(self.number, p.array, p.index) for p in self._places.values()}
        self._restart(cells, self._places)
        self._note(cells)
        for channel in self._channels:
            channel.sequence = self.switch.sequence(channel.lease)  # the log may lack what was not synced
            self._connections.append(self._connect())
            self._idle.put((channel, self._connections[-1]))

    def _ask_again(self, sent: dict[int, Any], answers: dict[int, Any]) -> dict[int, Sequence[int]]:
        """The switch is as it was: what has no answer is sent again, and executed unless it was already."""
        results = {number: r["results"] for number, r in answers.items()}
        channels = {channel.lease.flow: channel for channel in self._channels}
        for number, r in sent.items():
            if number not in answers:
                channel = channels[r["flow"]]
                channel.sequence = r["sequence"] - 1
                results[number] = channel.execute(_instructions(r), number).results
        return results

    def _rebuild(self, base: dict[str, Any], sent: dict[int, Any], answers: dict[int, Any]) -> dict[int, Sequence[int]]:
        """The switch lost its registers, or is another one: they come from the log."""
        found = [
            Sent(number, _instructions(r), *(
                (answers[number]["gid"], tuple(answers[number]["results"])) if number in answers else ()))
            for number, r in sent.items()
        ]  # fmt: skip
        before = {(array, index): value for array, index, value, _ in base["cells"]}
        cells, ran = replay(before, base["gid"], found)
        places = [(p.array, p.index) for p in self._places.values()]
        missing = [place for place in places if place not in cells]
        if missing:
            raise InvalidDataflow(
                f"the log {self._log.path} lacks {len(missing)} values that PostgreSQL says are in the switch: give "
                "the folder of the log that they were offloaded with"
            )
        gid = max([base["gid"], *(s.gid for s in ran.values())])
        self.switch.load(self.number, {place: cells[place] for place in places}, gid)
        return {number: s.results for number, s in ran.items()}


def _execute(connection: psycopg.Connection[Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
    for statement, parameters in statements:
        connection.execute(statement, parameters, prepare=True)  # of several in one text the server refuses all


def _executed(steps: Sequence[Step], values: dict[Name, int]) -> Outcome:
    """Execute steps on these values, which change unless the requirement does not hold."""
    after, seen = dict(values), []
    for step in steps:
        old = after[step.name]
        if step.at_least is not None and old + (0 if step.sets else step.amount) < step.at_least:
            return Outcome(False)
        seen.append(old)
        after[step.name] = step.amount if step.sets else old + step.amount
    values.update(after)
    return Outcome(True, tuple(seen))


def _check_value(name: Name, value: Any, type_: str) -> None:
    """Raise InvalidDataflow for what a register does not hold."""
    if type_ not in ("integer", "bigint") or value is None:
        raise InvalidDataflow(
            f"{text(name)} is {value}, of type {type_}: the switch holds values of integer and bigint"
        )
    limit = WIDE_MAX if type_ == "bigint" else VALUE_MAX
    if abs(value) > limit:
        raise InvalidDataflow(f"{text(name)} is {value}: the switch holds values of {type_} within ±{limit}")


def _packed(i: Instruction) -> list[int]:
    return [i.array, i.index, i.action, i.operand, i.bound, int(i.gives), i.takes, int(i.guard)]


def _instructions(record: dict[str, Any]) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(array, index, action, operand, bound, bool(gives), takes, guard)
        for array, index, action, operand, bound, gives, takes, guard in record["do"]
    )


def _is_done(record: dict[str, Any], results: Sequence[int]) -> bool:
    return Compiled(_instructions(record), (), record["check"]).is_done(results)
