"""Transactions over values in a switch and rows in PostgreSQL: durable, and each executed once.

Before a packet is sent the log has what it says; before a transaction is acknowledged, its number and results are
there, and all is synced. One sync serves both: a log is read up to its first torn record, and whoever saw a transaction
in the switch wrote behind its record, so what is left of a log explains its results. Cold statements are prepared in
PostgreSQL, and the record is synced, before the packet is sent; they are committed once it was executed.

A database has one or more nodes, processes that share a folder. Node 0 is the `Database`, which alone moves values and
rebuilds a switch; a `Node` executes transactions and settles its own.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import queue
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from jumpgate.errors import InvalidDataflow, JumpgateError, Overflow, Unreachable
from jumpgate.transactions import postgres
from jumpgate.transactions.channel import Address, Answer, Channel, Lease, Records
from jumpgate.transactions.log import Log
from jumpgate.transactions.postgres import Name, Place
from jumpgate.transactions.records import ANSWERED, KEPT, SENT, SentRecord, prefix
from jumpgate.transactions.shared import Folder, Latch
from jumpgate.transactions.steps import VALUE_MAX, Compiled, Step, amount_max, compile_steps, text, too_large

CONNECT_TIMEOUT_S = 10
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

    database: Coordinator
    steps: list[Step] = field(default_factory=list)
    statements: list[tuple[str, Sequence[Any]]] = field(default_factory=list)
    is_kept: bool = False
    is_sent: bool = False

    @functools.cached_property
    def number(self) -> int:
        """Names the transaction, which is then committed once: `jumpgate.outcomes` is given the values that it saw."""
        self.is_kept = True
        return next(self.database._numbers)

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


@dataclass
class Worker:
    """Has one transaction at a time on the way."""

    channel: Channel
    connection: psycopg.Connection[Any]
    latch: Latch


class Coordinator:
    """Use as a context manager, or call `close`. Methods may be called from any thread.

    `folder` holds the log; `number` tells databases of one switch apart. `reach` is called with the name of each point
    of a transaction that it reaches: tests end it there.
    """

    def __init__(
        self, url: str, folder: Path, number: int, node: int, reach: Callable[[str], None] | None, lost_s: float
    ) -> None:
        self.url, self.number, self.node, self.reach, self._lost_s = url, number, node, reach, lost_s
        self._folder = Folder(folder, number)
        self._admin = self._connect()
        self._latch = self._folder.latch()
        self._log = Log(self._folder.log(node))
        self._base: dict[str, Any] = {}
        self._stamp = 0, 0
        self._places: dict[Name, Place] = {}
        self._relations: dict[str, str] = {}
        self._seen: dict[Name, tuple[int, int]] = {}
        self._noting = threading.Lock()
        self._failure: JumpgateError | None = None
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._workers_of_all = 0
        self._rest = threading.Lock()
        self._is_closed = self._has_kept = False
        self._numbers = itertools.count(secrets.randbits(62))
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Settle what was broken off, then start."""
        raise NotImplementedError

    @property
    def workers(self) -> int:
        return len(self._workers)

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for transactions that go on; later ones fail. Values stay in the switch; the log has them."""
        with self._resting():
            if self._is_closed:
                return
            self._is_closed = True
            self._failure = InvalidDataflow("the database was closed: open it again")
            for worker in self._workers:
                worker.channel.close()
                worker.connection.close()
                worker.latch.close()
            self._latch.close()
            self._admin.close()
            self._log.close()

    @contextlib.contextmanager
    def _resting(self) -> Iterator[None]:
        """Hold all workers, so that no transaction runs. One thread at a time does, as two could have half of them."""
        with self._rest:
            held = [self._idle.get() for _ in self._workers]
            try:
                yield
            finally:
                for worker in held:
                    self._idle.put(worker)

    # ---- transactions ----

    def transaction(self) -> Transaction:
        return Transaction(self)

    def name(self, table: str, key: Any, column: str) -> Name:
        """The name of a hot value. Raises InvalidDataflow if it is not in the switch."""
        if table not in self._relations:
            self._check()
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
            with self._worker() as worker:
                self._check_names(transaction.steps)
                if (name := self._lacks_room(transaction)) is None:
                    return self._commit(transaction, worker.channel, worker.connection)
            if (outcome := self._make_room(transaction, name)) is not None:
                return outcome

    def _make_room(self, transaction: Transaction, name: Name) -> Outcome | None:
        """Give a bigint another base; perhaps also execute the transaction. Raises Overflow where that cannot be."""
        raise Overflow(f"{text(name)} moved too far for the switch: checkpoint the database, which makes room")

    def _commit(self, transaction: Transaction, channel: Channel, connection: psycopg.Connection[Any]) -> Outcome:
        compiled = compile_steps(transaction.steps, self._places, amount_max(self._workers_of_all))
        if not transaction.steps:
            with connection.transaction():
                _execute(connection, transaction.statements)
            return Outcome(True)
        if transaction.is_sent:
            raise InvalidDataflow("a transaction whose number was asked for is committed once: declare another")
        number = transaction.number if transaction.is_kept else next(self._numbers)
        if transaction.statements:
            self._prepare(connection, transaction.statements, number)
        self._reached("prepared")
        with self._ending():
            answer = self._send(channel, number, compiled, transaction)
            self._reached("executed")
            done = compiled.is_done(answer.results)
            if transaction.statements:
                postgres.decide(connection, self._id, self.node, number, done)
                self._reached("decided")
        return self._outcome(transaction.steps, compiled, answer, done)

    @contextlib.contextmanager
    def _worker(self) -> Iterator[Worker]:
        worker = self._idle.get()
        try:
            self._check()  # the latch of a worker that was closed is nobody's
            with worker.latch.shared() if self._is_shared else contextlib.nullcontext():
                self._check()
                if self._is_shared:
                    self._renew()
                if worker.connection.closed:  # its server ended it, perhaps
                    worker.connection = self._connect()
                yield worker
        finally:
            self._idle.put(worker)

    @property
    def _is_shared(self) -> bool:
        """Tell if other processes may change what is where."""
        return True

    def _renew(self) -> None:
        """Take on what node 0 changed since."""
        if self._folder.stamp() == self._stamp:
            return
        with self._noting:
            stamp = self._folder.stamp()
            base = self._folder.read()
            if stamp == self._stamp or base is None:
                return
            if _workers_of(base) != _workers_of(self._base):
                self._failure = Unreachable("the switch was replaced, or its workers: open the node again")
                raise self._failure
            self._adopt(base)
            self._log.clear()
            self._stamp = stamp

    def _adopt(self, base: dict[str, Any]) -> None:
        """Know a base: what is where, and what the registers held."""
        self._base, self._id, self._workers_of_all = base, base["log"], len(base["leases"])
        cells = {(array, index): (value, of) for array, index, value, of in base["cells"]}
        self._places = {}
        for name, place in postgres.held(self._admin).items():
            value, of = cells.get((place.array, place.index), (0, 0))
            self._places[name] = replace(place, base=of)
            self._seen[name] = base["gid"], value

    def _start(self, leases: Iterable[tuple[Lease, int]], address: Address) -> None:
        """Begin to take transactions; with each lease the sequence number of its last one."""
        for lease, sequence in leases:
            worker = Worker(Channel(address, lease, self._lost_s), self._connect(), self._folder.latch())
            worker.channel.sequence = sequence
            self._workers.append(worker)
            self._idle.put(worker)

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
            postgres.prepare(connection, self._id, self.node, number)
        except BaseException as error:
            if not connection.closed:
                connection.execute("ROLLBACK")
                raise
            with self._ending():  # it may be prepared
                raise Unreachable(f"PostgreSQL was lost ({error}): open the database again, which recovers") from error

    def _reached(self, point: str) -> None:
        if self.reach is not None:
            self.reach(point)

    def _send(self, channel: Channel, number: int, compiled: Compiled, transaction: Transaction) -> Answer:
        epoch = self._base["epoch"]
        is_synced = bool(transaction.statements) or self._base["nodes"] > 1
        transaction.is_sent = transaction.is_kept
        self._has_kept |= transaction.is_kept
        records = Records(
            self._log,
            prefix(KEPT if transaction.is_kept else SENT, epoch, compiled.check),
            prefix(ANSWERED, epoch),
            is_synced,
            self.reach,
        )
        return channel.execute_logged(compiled.instructions, number, records)

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

    def _lacks_room(self, transaction: Transaction) -> Name | None:
        """Return a bigint that must be given another base first. Raises Overflow for other values.

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
                return step.name
        large = too_large(steps, self._places, amount_max(self._workers_of_all))
        is_slow = large is not None and self._places[large.name].is_wide and not transaction.statements
        return large.name if large is not None and is_slow and not transaction.is_kept else None

    # ---- what was broken off ----

    def _decide(self, sent: Mapping[int, SentRecord], answers: Mapping[int, Answer], node: int | None = None) -> None:
        """Commit or roll back what is prepared, of one node or all."""
        for of, number in postgres.prepared(self._admin, self._id, node):
            commit = number in answers and sent[number].is_done(answers[number])
            postgres.decide(self._admin, self._id, of, number, commit)


def _execute(connection: psycopg.Connection[Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
    for statement, parameters in statements:
        connection.execute(statement, parameters, prepare=True)  # of several in one text the server refuses all


def _workers_of(base: Mapping[str, Any]) -> tuple[object, ...]:
    return base["incarnation"], base["nodes"], [lease[:2] for lease in base["leases"]]
