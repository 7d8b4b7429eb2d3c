"""Transactions over values in a switch and rows in PostgreSQL: durable, and each executed once.

Before a packet is sent the log has what it says; before a transaction is acknowledged, its number and results are
there, and all is synced. One sync serves both: a log is read up to its first torn record, and whoever saw a transaction
in the switch wrote behind its record, so what is left of a log explains its results. Cold statements are prepared on
each of PostgreSQL's servers that has some, and the record is synced, before the packet is sent; they are committed once
it was executed.

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
from typing import Any, NamedTuple, Self

import psycopg

from jumpgate.errors import CapacityExceeded, ConfigError, InvalidDataflow, JumpgateError, Overflow, Unreachable
from jumpgate.p4.programs import transactions as p4
from jumpgate.transactions import mirror, postgres
from jumpgate.transactions.channel import Address, Answer, Channel, Lease, Records, Sender
from jumpgate.transactions.declare import Declared
from jumpgate.transactions.log import Log, read_log
from jumpgate.transactions.mirror import LOCAL, POSTGRES, Held, Mirror
from jumpgate.transactions.postgres import Name, Place
from jumpgate.transactions.records import ANSWERED, KEPT, SENT, SentRecord, answered, prefix, read_records
from jumpgate.transactions.shared import Folder, Latch
from jumpgate.transactions.steps import VALUE_MAX, Compiled, Places, Step, amount_max, text, too_large

CONNECT_TIMEOUT_S = 10
#: of a transaction that is computed from values which others change
ATTEMPTS_MAX = 1000
#: words that would end the transaction that a statement is in
CONTROL = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(begin|start|commit|end|rollback|abort|prepare)\b", re.I | re.S)
#: names of further servers, which are part of the names of prepared transactions
SERVER = re.compile(r"[a-z0-9]{1,32}")

_UNSHARED = contextlib.nullcontext()

Cells = dict[tuple[int, int], int]


class Outcome(NamedTuple):
    """`done` is False if the requirement did not hold: then nothing was. `values` are those before each step; `gid` is
    the transaction's number in the switch, 0 of a cold one; `value` is what a declared transaction returns."""

    done: bool
    values: tuple[int | None, ...] = ()
    gid: int = 0
    value: Any = None


@dataclass(frozen=True)
class Statement:
    """SQL for one of PostgreSQL's servers; "" is the one that has the rows of hot values."""

    text: str
    parameters: Sequence[Any]
    server: str


@dataclass(slots=True)
class Transaction:
    """Collects the steps of a transaction that is not declared as a function. They come after all cold statements, so
    these cannot use their values."""

    database: Coordinator
    steps: list[Step] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    expected: dict[Name, int] = field(default_factory=dict)
    is_sent: bool = False
    _number: int | None = None

    @property
    def number(self) -> int:
        """Names the transaction, which is then committed once: `jumpgate.outcomes` is given the values that it saw."""
        if self._number is None:
            self._number = next(self.database._numbers)
        return self._number

    @property
    def is_kept(self) -> bool:
        """Tell if its number was asked for."""
        return self._number is not None

    def read(self, table: str, key: Any, column: str, server: str = "") -> int:
        """Returns the number of the step, whose value the outcome has."""
        return self._step(Step(self.database.name(table, key, column, server)))

    def add(
        self, table: str, key: Any, column: str, amount: int, at_least: int | None = None, server: str = ""
    ) -> int:  # fmt: skip
        """Adds to a value; with `at_least` nothing of the transaction is done if the sum would be less."""
        return self._step(Step(self.database.name(table, key, column, server), amount, at_least=at_least))

    def set(self, table: str, key: Any, column: str, value: int, server: str = "") -> int:
        return self._step(Step(self.database.name(table, key, column, server), value, sets=True))

    def expect(self, table: str, key: Any, column: str, value: int, server: str = "") -> None:
        """Lets nothing of the transaction be done unless the value is this before it."""
        self.expected[self.database.name(table, key, column, server)] = value

    def sql(self, statement: str, parameters: Sequence[Any] = (), server: str = "") -> None:
        """Adds a statement for PostgreSQL, with %s for parameters; `server`: one of the further servers. Raises
        InvalidDataflow for BEGIN, COMMIT, … and for a server that the database does not have."""
        if CONTROL.match(statement):
            raise InvalidDataflow(f"'{statement}' is no part of a transaction: leave it out")
        self.database.check_server(server)
        self.statements.append(Statement(statement, parameters, server))

    def _step(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1


@dataclass
class Worker:
    """Has one transaction at a time on the way."""

    channel: Channel
    latch: Latch
    connections: dict[str, psycopg.Connection[Any]] = field(default_factory=dict)


class Ending:
    """Surrounds what must not fail halfway."""

    def __init__(self, end: Callable[[BaseException], None]) -> None:
        self._end = end

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._end(error)


class Coordinator:
    """Use as a context manager, or call `close`. Methods may be called from any thread.

    `folder` holds the log; `number` tells databases of one switch apart; `servers` are further ones of PostgreSQL, by
    names. `reach` is called with the name of each point of a transaction that it reaches: tests end it there.
    """

    def __init__(
        self, url: str, folder: Path, number: int, node: int, reach: Callable[[str], None] | None, lost_s: float,
        servers: Mapping[str, str],
    ) -> None:  # fmt: skip
        self.servers = {"": url, **servers}
        self.number, self.node, self.reach, self._lost_s = number, node, reach, lost_s
        wrong = next((name for name in servers if not SERVER.fullmatch(name)), None)
        if wrong is not None:
            raise ConfigError(f"'{wrong}' names no server: use up to 32 lower-case letters and digits")
        self._folder = Folder(folder, number)
        self._admins = self._connect_all()
        self._admin = self._admins[""]
        self._latch = self._folder.latch()
        self._log = Log(self._folder.log(node))
        self._mirror: Mirror | None = None
        self._sender: Sender | None = None
        self._of_epoch: tuple[int, Records] | None = None
        self._base: dict[str, Any] = {}
        self._stamp = 0, 0
        self._places = Places({})
        self._relations: dict[tuple[str, str], str] = {}
        self._seen: dict[Name, tuple[int, int]] = {}
        self._noting = threading.Lock()
        self._failure: JumpgateError | None = None
        self._ending = Ending(self._end)
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self._amount_max = 0
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

    def _connect(self, server: str) -> psycopg.Connection[Any]:
        try:
            return psycopg.connect(self.servers[server], autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)
        except psycopg.OperationalError as error:
            if not server:
                raise
            raise Unreachable(f"PostgreSQL's server '{server}' cannot be reached: {error}") from error

    def _connect_all(self) -> dict[str, psycopg.Connection[Any]]:
        with contextlib.ExitStack() as unless_all:
            made = {name: unless_all.enter_context(contextlib.closing(self._connect(name))) for name in self.servers}
            unless_all.pop_all()
            return made

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
            if self._sender is not None:
                self._sender.close()
            for worker in self._workers:
                for connection in worker.connections.values():
                    connection.close()
                worker.latch.close()
            self._latch.close()
            for connection in self._admins.values():
                connection.close()
            if self._mirror is not None:
                self._mirror.close()
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

    def declare(self, function: Callable[..., Any]) -> Declared:
        """Trace a typed function of the verbs of `declare`. Raises InvalidDataflow for what the switch cannot do."""
        return Declared(self, function)

    def transaction(self) -> Transaction:
        return Transaction(self)

    def check_server(self, server: str) -> None:
        if server not in self.servers:
            raise InvalidDataflow(f"the database has no server '{server}': give its URL where it is opened")

    def relation(self, table: str, server: str = "") -> str:
        """Return the name of a table with its server and schema. Raises InvalidDataflow if there is none."""
        found = self._relations.get((server, table))
        if found is None:
            self._check()
            self.check_server(server)
            found = postgres.on_server(postgres.canonical(self._admins[server], table), server)
            self._relations[server, table] = found
        return found

    def name(self, table: str, key: Any, column: str, server: str = "") -> Name:
        """The name of a hot value. Raises InvalidDataflow if it is not in the switch."""
        name = (self.relation(table, server), str(key), column)
        if name not in self._places:
            raise InvalidDataflow(
                f"{table}[{key}].{column} is not in the switch: offload it, or change it by SQL", table=table
            )
        return name

    def commit(self, transaction: Transaction) -> Outcome:
        """Executes it. Raises Unreachable (the switch is lost: open the database again), ConfigError (the log cannot be
        written), Overflow, InvalidDataflow, or psycopg's errors for its statements, after which nothing was done."""
        while True:
            worker = self._idle.get()
            try:
                self._check()  # the latch of a worker that was closed is nobody's
                with worker.latch.shared() if self._is_shared else _UNSHARED:
                    self._check()
                    if self._is_shared:
                        self._renew()
                    compiled = self._places.compile(transaction.steps, transaction.expected)
                    if (name := self._lacks_room(transaction)) is None:
                        return self._commit(transaction, compiled, worker)
            finally:
                self._idle.put(worker)
            if (outcome := self._make_room(transaction, name)) is not None:
                return outcome

    def compute(
        self, reads: Sequence[tuple[Any, ...]], build: Callable[[Transaction, tuple[int, ...]], bool | None]
    ) -> Outcome:  # fmt: skip
        """Execute a transaction computed from hot values, which are read first and expected to be the same then.

        `reads`: (table, key, column) or (table, key, column, server) of each value. `build` is given a transaction and
        what was read, each time anew until the values did not change meanwhile. Nothing is done if it returns False.
        Raises CapacityExceeded after ATTEMPTS_MAX times, and whatever `commit` raises.
        """
        for _ in range(ATTEMPTS_MAX):
            first, then = self.transaction(), self.transaction()
            for read in reads:
                first.read(*read)
            found = self.commit(first)
            values = tuple(value for value in found.values if value is not None)
            for (table, key, column, *server), value in zip(reads, values, strict=True):
                then.expect(table, key, column, value, *server)
            if build(then, values) is False:
                return found._replace(done=False, values=())
            outcome = self.commit(then)
            if outcome.done:
                return outcome
        raise CapacityExceeded(
            f"values changed {ATTEMPTS_MAX} times while a transaction was computed from them: try again with fewer "
            "workers, or compute less from values"
        )

    def _make_room(self, transaction: Transaction, name: Name) -> Outcome | None:
        """Give a bigint another base; perhaps also execute the transaction. Raises Overflow where that cannot be."""
        raise Overflow(f"{text(name)} moved too far for the switch: checkpoint the database, which makes room")

    def _commit(self, transaction: Transaction, compiled: Compiled, worker: Worker) -> Outcome:
        connections = {s.server: self._connection(worker, s.server) for s in transaction.statements}
        if not transaction.steps and not transaction.expected and len(connections) <= 1:
            for connection in connections.values():
                with connection.transaction():
                    _execute(connections, transaction.statements)
            return Outcome(True)
        if transaction.is_sent:
            raise InvalidDataflow("a transaction whose number was asked for is committed once: declare another")
        number = transaction.number if transaction.is_kept else next(self._numbers)
        if connections:
            self._prepare(connections, transaction.statements, number)
        self._reached("prepared")
        with self._ending:
            answer = self._send(worker.channel, number, compiled, transaction)
            self._reached("executed")
            done = compiled.is_done(answer.results)
            for name, connection in connections.items():
                postgres.decide(connection, self._log_of(name), self.node, number, done, self._base["agents"])
                self._reached("deciding")
            if connections:
                self._reached("decided")
        return self._outcome(transaction.steps, compiled, answer, done)

    def _connection(self, worker: Worker, server: str) -> psycopg.Connection[Any]:
        """Return a worker's connection, another one if the server ended it."""
        found = worker.connections.get(server)
        if found is None or found.closed:
            found = worker.connections[server] = self._connect(server)
        return found

    def _log_of(self, server: str) -> str:
        return postgres.log_of(self._id, server)

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
                self._failure = Unreachable(
                    "the switch was replaced, its workers, or where the log is: open the node again"
                )
                raise self._failure
            self._adopt(base)
            self._log.clear()
            self._stamp = stamp

    def _adopt(self, base: dict[str, Any]) -> None:
        """Know a base: what is where, and what the registers held."""
        base = {"journal": LOCAL, "agents": False, **base}
        self._base, self._id, self._amount_max = base, base["log"], amount_max(len(base["leases"]) or 1)
        cells = {(array, index): (value, of) for array, index, value, of in base["cells"]}
        places: dict[Name, Place] = {}
        for server, admin in self._admins.items():
            for name, place in postgres.held(admin, server).items():
                value, of = cells.get((place.array, place.index), (0, 0))
                places[name] = replace(place, base=of)
                self._seen[name] = base["gid"], value
        self._places = Places(places)  # at once: threads that declare transactions hold no latch

    def _records(self, node: int | None = None) -> list[bytes]:
        """Return what the logs of one node or all have, wherever they are."""
        paths = [path for of, path in self._folder.logs().items() if node in (None, of)]
        return [r for path in paths for r in read_log(path)] + mirror.read_records(self._admin, self._id, node)

    def _logged(self, node: int | None = None) -> tuple[dict[int, SentRecord], dict[int, Answer]]:
        """Return what one node or all sent and were answered, by the logs and by what agents kept."""
        sent, answers = read_records(self._records(node), self._base["epoch"])
        for admin in self._admins.values() if self._base["agents"] else ():
            kept = dict(answered(datagram) for datagram in postgres.decisions(admin, self._id))
            answers |= {number: answer for number, answer in kept.items() if number in sent and number not in answers}
        return sent, answers

    def _start(self, leases: Iterable[tuple[Lease, int]], address: Address) -> None:
        """Begin to take transactions; with each lease the sequence number of its last one."""
        if self._base["journal"] != LOCAL:
            self._mirror = Mirror(self._connect(""), self._id, self.node)
        self._sender = Sender(address, self._lost_s)
        for lease, sequence in leases:
            worker = Worker(Channel(self._sender, lease, sequence), self._folder.latch())
            self._workers.append(worker)
            self._idle.put(worker)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _end(self, error: BaseException) -> None:
        """Take nothing more: a failure left a transaction open that only recovery can tell of."""
        self._failure = error if isinstance(error, JumpgateError) else Unreachable(
            f"a transaction was broken off ({error}): open the database again, which recovers"
        )  # fmt: skip
        if isinstance(error, psycopg.Error):
            raise self._failure from error

    def _prepare(
        self, connections: Mapping[str, psycopg.Connection[Any]], statements: Sequence[Statement], number: int
    ) -> None:
        """Execute statements, then prepare them on each server: on all or none."""
        prepared: list[str] = []
        try:
            for connection in connections.values():
                connection.execute("BEGIN")
            _execute(connections, statements)
            for name, connection in connections.items():
                postgres.prepare(connection, self._log_of(name), self.node, number)
                prepared.append(name)
                self._reached("preparing")
        except BaseException as error:
            with self._ending:  # it may be prepared
                if any(connection.closed for connection in connections.values()):
                    lost = f"PostgreSQL was lost ({error}): open the database again, which recovers"
                    raise Unreachable(lost) from error
                for name, connection in connections.items():
                    if name in prepared:
                        postgres.decide(connection, self._log_of(name), self.node, number, commit=False)
                    else:
                        connection.execute("ROLLBACK")
            raise

    def _reached(self, point: str) -> None:
        if self.reach is not None:
            self.reach(point)

    def _send(self, channel: Channel, number: int, compiled: Compiled, transaction: Transaction) -> Answer:
        base, has_statements, is_kept = self._base, bool(transaction.statements), transaction.is_kept
        if is_kept:
            transaction.is_sent = self._has_kept = True
        compiled.fields[p4.ANNOUNCE] = has_statements and base["agents"]
        return channel.execute_logged(
            compiled.fields, number, self._records_of_epoch(), is_kept=is_kept,
            is_synced=has_statements or base["nodes"] > 1 or base["agents"],
            reach=self.reach, held=functools.partial(self._held, transaction.steps, compiled),
        )  # fmt: skip

    def _records_of_epoch(self) -> Records:
        epoch = self._base["epoch"]
        if self._of_epoch is None or self._of_epoch[0] != epoch:
            log = self._log if self._base["journal"] != POSTGRES else None
            prefixes = [prefix(kind, epoch) for kind in (SENT, KEPT, ANSWERED)]
            self._of_epoch = epoch, Records(log, self._mirror, *prefixes)
        return self._of_epoch[1]

    def _outcome(self, steps: Sequence[Step], compiled: Compiled, answer: Answer, done: bool) -> Outcome:
        gid, results, _ = answer
        if not done:
            return Outcome(False, gid=gid)
        values = []
        with self._noting:
            for step, at in zip(steps, compiled.shape.where, strict=True):
                old, base = results[at], self._places[step.name].base
                if self._seen[step.name][0] <= gid:
                    self._seen[step.name] = gid, _after(step, old, base)
                values.append(old + base)
        return Outcome(True, tuple(values), gid)

    def _held(self, steps: Sequence[Step], compiled: Compiled, answer: Answer) -> Iterator[Held]:
        """Return what registers of the first server's rows hold after a transaction, if it was done."""
        for step, at in zip(steps, compiled.shape.where, strict=True) if compiled.is_done(answer.results) else ():
            if not postgres.server_of(step.name):
                place = self._places[step.name]
                value = place.base + _after(step, answer.results[at], place.base)
                yield Held(place.array, place.index, answer.gid, value)

    def _lacks_room(self, transaction: Transaction) -> Name | None:
        """Return a bigint that must be given another base first. Raises Overflow for other values, InvalidDataflow for
        amounts.

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
        large = too_large(steps, self._places, self._amount_max)
        if large is None:
            return None
        if self._places[large.name].is_wide and not transaction.statements and not transaction.is_kept:
            return large.name
        limit = VALUE_MAX if large.sets else self._amount_max
        raise InvalidDataflow(f"{text(large.name)}: {large.amount} is beyond ±{limit}: release the row, or split it")

    # ---- what was broken off ----

    def _decide(self, sent: Mapping[int, SentRecord], answers: Mapping[int, Answer], node: int | None = None) -> None:
        """Commit or roll back what is prepared on each server, of one node or all."""
        for name in self.servers:
            if self._admins[name].closed:
                self._admins[name] = self._connect(name)
            admin, log = self._admins[name], self._log_of(name)
            for of, number in postgres.prepared(admin, log, node):
                commit = number in answers and sent[number].is_done(answers[number])
                postgres.decide(admin, log, of, number, commit, self._base["agents"])

    def _join(self, base: Mapping[str, Any], known: Sequence[str]) -> None:
        """Raise ConfigError unless the known servers, which may have prepared transactions, are among these."""
        lacking = [name for name in known if name not in self.servers]
        if lacking:
            raise ConfigError(f"the database has a server '{lacking[0]}', too: give its URL", file=self._folder.base)
        for name, admin in self._admins.items():
            if name:
                postgres.install(admin)
            if not postgres.joined(admin, base["log"], name, name in known):
                which = f"server '{name}'" if name else "first server"
                raise ConfigError(f"this is not the {which} of the database: give the URL that it had")


def _after(step: Step, old: int, base: int) -> int:
    """Return what a register holds after a step."""
    return step.amount - base if step.sets else old + step.amount


def _execute(connections: Mapping[str, psycopg.Connection[Any]], statements: Sequence[Statement]) -> None:
    for s in statements:  # of several in one text the server refuses all
        connections[s.server].execute(s.text, s.parameters, prepare=True)


def _workers_of(base: Mapping[str, Any]) -> tuple[object, ...]:
    return base["incarnation"], base["nodes"], base.get("journal", LOCAL), [lease[:2] for lease in base["leases"]]
