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
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
from jumpgate.transactions.steps import VALUE_MAX, Compiled, Step, compile_steps

#: transactions at a time
WORKERS = 8
CONNECT_TIMEOUT_S = 10


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
        """A statement for PostgreSQL, with %s for parameters."""
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
        self._places = postgres.install(self._admin)
        self._relations: dict[str, str] = {}
        self._log = Log(folder / f"transactions-{number}.log")
        self._full: dict[Name, int] = {}
        self._failure: JumpgateError | None = None
        self._changing = threading.Lock()
        self._idle: queue.SimpleQueue[tuple[Channel, psycopg.Connection[Any]]] = queue.SimpleQueue()
        self._channels: list[tuple[Channel, psycopg.Connection[Any]]] = []
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
        for channel, connection in self._channels:
            channel.close()
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
        if self._failure is not None:
            raise self._failure
        with self._worker() as (channel, connection):
            compiled = compile_steps(transaction.steps, self._places, VALUE_MAX // self.workers)
            self._check_room(transaction.steps)
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
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

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
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise

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
        for step, old in zip(steps, values, strict=True):
            new = step.amount if step.sets else old + step.amount
            self._full[step.name] = new if abs(new) > VALUE_MAX else 0
        return Outcome(True, values, answer.gid)

    def _check_room(self, steps: Sequence[Step]) -> None:
        """Keeps int32 values from wrapping: behind VALUE_MAX each worker adds once more at most."""
        for step in steps:
            reached = self._full.get(step.name, 0)
            if reached * step.amount > 0 and not step.sets:
                raise Overflow(
                    f"{step.name[0]}[{step.name[1]}].{step.name[2]} reached {reached}: the switch adds to values "
                    f"within ±{VALUE_MAX}; release it, and change it by SQL"
                )

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
                for column in columns:
                    found = postgres.values(self._admin, relation, key, column, rows)
                    for row, value in zip(rows, found, strict=True):
                        name = (relation, str(row), column)
                        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > VALUE_MAX:
                            raise InvalidDataflow(
                                f"{table}[{row}].{column} is {value}: the switch holds integers within ±{VALUE_MAX}"
                            )
                        if name in self._places:
                            raise InvalidDataflow(f"{table}[{row}].{column} is in the switch already")
                        place = made[name] = next(free)
                        cells[place.array, place.index] = value
                        postgres.hold(self._admin, name, key, place)
                postgres.guard(self._admin, relation)
                self.switch.load(self.number, {(p.array, p.index): cells[p.array, p.index] for p in made.values()})
                self._restart(cells)
            self._places |= made

    def release(self) -> None:
        """Brings all values back into their rows."""
        self._write_back(release=True)

    def checkpoint(self) -> None:
        """Writes all values into their rows, which plain SQL reads, and starts the log anew."""
        self._write_back(release=False)

    def _write_back(self, release: bool) -> None:
        with self._alone() as cells:
            found = [(name, cells[place.array, place.index]) for name, place in self._places.items()]
            with self._admin.transaction():
                postgres.store(self._admin, found, release)
            if release:
                self._places.clear()
                self._full.clear()
                cells.clear()
            self._restart(cells)

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
    def _alone(self) -> Iterator[dict[tuple[int, int], int]]:
        """While no transaction runs: the cells in use, with their values."""
        with self._changing:
            held = [self._idle.get() for _ in range(self.workers)]
            try:
                yield {
                    (p.array, p.index): self.switch.read(self.number, p.array, p.index) for p in self._places.values()
                }
            finally:
                for worker in held:
                    self._idle.put(worker)

    # ---- recovery ----

    def _restart(self, cells: dict[tuple[int, int], int]) -> None:
        """Starts the log anew with the cells as they are."""
        self._log.restart([self._base(cells)])

    def _base(self, cells: dict[tuple[int, int], int]) -> dict[str, Any]:
        return {
            "is": "base", "log": self._id, "incarnation": self.switch.incarnation, "gid": self.switch.last(self.number),
            "next": next(self._numbers),
            "cells": [[array, index, value] for (array, index), value in cells.items()],
        }  # fmt: skip

    def _recover(self) -> None:
        records = self._log.records
        nothing = {"log": secrets.token_hex(8), "incarnation": "", "gid": 0, "next": 1, "cells": []}
        base: dict[str, Any] = records[0] if records else nothing
        sent = {r["id"]: r for r in records if r["is"] == "sent"}
        answers = {r["id"]: r for r in records if r["is"] == "done"}
        self._id: str = base["log"]
        self._numbers = itertools.count(max([base["next"], *(number + 1 for number in sent)]))
        is_alive = base["incarnation"] == self.switch.incarnation
        for lease in self.switch.lease(self.number, self.workers):
            channel = Channel(self.switch.address, lease, self._lost_s)
            self._channels.append((channel, self._connect()))
        if is_alive:
            results = self._ask_again(sent, answers)
        else:
            results = self._rebuild(base, sent, answers)
        waiting = postgres.prepared(self._admin, self._id)
        for number in waiting:
            commit = number in results and _is_done(sent[number], results[number])
            postgres.decide(self._admin, self._id, number, commit)
        self._restart({
            (p.array, p.index): self.switch.read(self.number, p.array, p.index) for p in self._places.values()
        })  # fmt: skip
        for channel, connection in self._channels:
            channel.sequence = self.switch.sequence(channel.lease)  # the log may lack what was not synced
            self._idle.put((channel, connection))

    def _ask_again(self, sent: dict[int, Any], answers: dict[int, Any]) -> dict[int, Sequence[int]]:
        """The switch is as it was: what has no answer is sent again, and executed unless it was already."""
        results = {number: r["results"] for number, r in answers.items()}
        channels = {channel.lease.flow: channel for channel, _ in self._channels}
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
        before = {(array, index): value for array, index, value in base["cells"]}
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
        connection.execute(statement, parameters)


def _packed(i: Instruction) -> list[int]:
    return [i.array, i.index, i.action, i.operand, i.bound, int(i.gives), i.takes, int(i.guard)]


def _instructions(record: dict[str, Any]) -> tuple[Instruction, ...]:
    return tuple(
        Instruction(array, index, action, operand, bound, bool(gives), takes, guard)
        for array, index, action, operand, bound, gives, takes, guard in record["do"]
    )


def _is_done(record: dict[str, Any], results: Sequence[int]) -> bool:
    return Compiled(_instructions(record), (), record["check"]).is_done(results)
