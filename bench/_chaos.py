"""Histories of several tenants on one switch, whose processes are killed: each is replayed in the order of its numbers.

A process has the switch and a network before it that loses, repeats and delays packets. Each tenant has a database of
PostgreSQL, a coordinator (node 0) and a node, processes with several workers each. They are killed by SIGKILL: nodes,
coordinators, the switch, PostgreSQL, all. Whatever the logs have when a database is opened or checkpointed, with what
recovery found, is kept; of each acknowledged transaction its worker kept what it was told. Both must be the same, and
all results and the values in the switch those of a replay. Every other tenant's balances are bigints, whose bases move.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import psycopg

from bench._histories import Epoch, History
from bench._measure import remark
from jumpgate.errors import JumpgateError, Overflow, Unreachable
from jumpgate.transactions import Database, LocalSwitch, Node, Outcome
from jumpgate.transactions.channel import Answer
from jumpgate.transactions.coordinator import Coordinator, Transaction
from jumpgate.transactions.postgres import Name
from jumpgate.transactions.records import SentRecord
from tests.support.pg import Postgres

ACCOUNTS = 24
#: by the type of the balances: what each account has at first, and the greatest amount
EACH = {"int": 1000, "bigint": 1 << 40}
AMOUNT_MAX = {"int": 1000, "bigint": 1 << 26}
WARM, COMPUTED, READS = 0.02, 0.02, 0.1
#: of bigints: transfers between two accounts, one way for so long and then back, so that registers reach their limits
DRIFT, DRIFT_S = 0.2, 7
LOSS, REPEATS, DELAYS = 0.02, 0.02, 0.02
LOST_S, OPEN_S, CHECKPOINT_S = 10.0, 180.0, 5.0
KINDS = ("node", "coordinator", "tenant", "switch", "postgres", "all")
WEIGHTS = (40, 40, 8, 5, 4, 3)
CONTEXT = multiprocessing.get_context("forkserver")
#: the exit status of a process that says so, as one does whose coordinator was killed while it moved bases
ASKS_TO_BE_OPENED = 3
#: gid, done, number of values, values
ACK = struct.Struct("<QBB8q")


# ---- the switch's process ----


class Control:
    """A LocalSwitch as other processes have it. `address` is the network's before it."""

    def __init__(self, port: int, key: str) -> None:
        self._connection, self._lock = Client(("127.0.0.1", port), authkey=key.encode()), threading.Lock()
        self.index_bits = self._ask("index_bits")
        self.address = self._ask("near")

    def _ask(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            self._connection.send((name, arguments))
            return self._connection.recv()

    @property
    def incarnation(self) -> Any:
        return self._ask("incarnation")

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._ask(name, *arguments)


def answer(connection: Connection, switch: LocalSwitch, near: tuple[str, int]) -> None:
    """Do what a coordinator asks of the switch, until it ends."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, arguments = connection.recv()
            found = near if name == "near" else getattr(switch, name)
            connection.send(found(*arguments) if callable(found) else found)


def relay(switch: tuple[str, int], near: socket.socket, seed: int) -> None:
    """Pass on datagrams of any clients, but lose, repeat and delay some both ways."""
    rng, poll = random.Random(seed), select.epoll()
    poll.register(near, select.EPOLLIN)
    far: dict[Any, socket.socket] = {}
    clients: dict[int, Any] = {}
    held: list[tuple[socket.socket, bytes, Any]] = []

    def pass_on(via: socket.socket, data: bytes, to: Any) -> None:
        for _ in range(1 + (rng.random() < REPEATS)):
            if rng.random() < LOSS:
                continue
            if rng.random() < DELAYS:
                held.append((via, data, to))  # others overtake it
            else:
                via.sendto(data, to)
        if len(held) > 2:
            late, data, to = held.pop(0)
            late.sendto(data, to)

    while True:
        for file, _ in poll.poll():
            with contextlib.suppress(OSError):
                if file == near.fileno():
                    data, client = near.recvfrom(2048)
                    if client not in far:
                        made = far[client] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                        made.bind(("127.0.0.1", 0))
                        clients[made.fileno()] = client
                        poll.register(made, select.EPOLLIN)
                    pass_on(far[client], data, switch)
                else:
                    client = clients[file]
                    pass_on(near, far[client].recv(2048), client)


def run_switch(said: Connection, key: str, seed: int) -> None:
    switch = LocalSwitch()
    near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    near.bind(("127.0.0.1", 0))
    threading.Thread(target=relay, args=(switch.address, near, seed), daemon=True).start()

    listener = Listener(("127.0.0.1", 0), authkey=key.encode())

    def serve() -> None:
        while True:
            arguments = listener.accept(), switch, near.getsockname()
            threading.Thread(target=answer, args=arguments, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    said.send(listener.address[1])
    while not told_to_end(said):
        pass
    os._exit(0)


def told_to_end(said: Connection) -> bool:
    """Wait for some seconds. Return True once told to end, or the process that started this one has."""
    parent = multiprocessing.parent_process()
    return said.poll(CHECKPOINT_S) or parent is None or not parent.is_alive()


# ---- a tenant's processes ----


class Watched(Database):
    """Keeps what the logs and recovery say of each epoch before the logs are emptied."""

    def _decide(self, sent: Mapping[int, SentRecord], answers: Mapping[int, Answer], node: int | None = None) -> None:
        base = self._base
        if base["epoch"]:
            before = {(array, index): value for array, index, value, _ in base["cells"]}
            bases = {(array, index): of for array, index, _, of in base["cells"]}
            entries = [(answers[n].gid, r.instructions, answers[n].results) for n, r in sent.items()]
            self._keep_epoch(Epoch(base["gid"], before, bases, entries, self._cells()))
        super()._decide(sent, answers, node)

    def _execute_alone(self, transaction: Transaction, values: dict[Name, int]) -> Outcome:
        cells = {name: (place.array, place.index) for name, place in self._places.items()}
        self._epoch.alone = [(cells[s.name], s.amount, s.sets, s.at_least) for s in transaction.steps]
        self._epoch.expected = {cells[name]: value for name, value in transaction.expected.items()}
        self._keep_epoch(self._epoch)
        return super()._execute_alone(transaction, values)

    def _keep_epoch(self, epoch: Epoch) -> None:
        self._epoch = epoch
        path = self._folder.path / f"epoch-{self._base['epoch']:08d}"
        made = path.with_suffix(".new")
        made.write_bytes(pickle.dumps(epoch))
        made.replace(path)


def work(database: Coordinator, wide: bool, rng: random.Random, acks: int, stop: threading.Event) -> None:
    """Transfer, read, amalgamate and note, until told to stop or the database fails."""
    while not stop.is_set():
        try:
            outcome = execute(database, wide, rng)
        except Overflow:  # nothing was done; node 0 makes room by its next checkpoint
            stop.wait(0.1)
            continue
        values = [value for value in outcome.values if value is not None]
        os.write(acks, ACK.pack(outcome.gid, outcome.done, len(values), *values, *[0] * (8 - len(values))))


def execute(database: Coordinator, wide: bool, rng: random.Random) -> Outcome:
    """Do one transaction of those that tenants do."""
    chance, source, *others = rng.random(), *rng.sample(range(ACCOUNTS), 4)
    target = others[0]

    def amalgamate(t: Transaction, values: tuple[int, ...]) -> None:
        t.set("accounts", source, "balance", 0)
        t.add("accounts", target, "balance", values[0])

    if chance < COMPUTED:
        return database.compute([("accounts", source, "balance")], amalgamate)
    t = database.transaction()
    if chance < COMPUTED + READS:
        for row in (source, *others):
            t.read("accounts", row, "balance")
        return database.commit(t)
    if chance > 1 - WARM:
        t.sql("INSERT INTO notes VALUES (%s)", (rng.getrandbits(60),))
        t.add("counts", 0, "notes", 1)
    if wide and rng.random() < DRIFT:
        source, target = (0, 1) if int(time.monotonic() / DRIFT_S) % 2 else (1, 0)
    amount = rng.randint(1, AMOUNT_MAX["bigint" if wide else "int"])
    t.add("accounts", source, "balance", -amount, at_least=0)
    t.add("accounts", target, "balance", amount)
    return database.commit(t)


def run_tenant(
    said: Connection, role: str, url: str, folder: Path, number: int, workers: int, seed: int, port: int, key: str
) -> None:  # fmt: skip
    """Be a coordinator or a node."""
    database: Coordinator
    if role == "coordinator":
        control: Any = Control(port, key)
        database = Watched(url, control, folder, number, workers, lost_s=LOST_S, nodes=2)
        if not database._places:
            database.offload("accounts", "id", ["balance"], range(ACCOUNTS))
            database.offload("counts", "id", ["notes"], [0])
    else:
        database = Node(url, folder, 1, number, lost_s=LOST_S)
    acks = os.open(folder / f"acks-{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    stop = threading.Event()

    def guarded(at: int) -> None:
        with ended_by_errors(f"{role} {number}"):
            work(database, type_of(number) == "bigint", random.Random(f"{seed} {at}"), acks, stop)

    threads = [threading.Thread(target=guarded, args=(at,), daemon=True) for at in range(workers)]
    for thread in threads:
        thread.start()
    said.send("open")
    with ended_by_errors(f"{role} {number}"):
        while not told_to_end(said):
            if isinstance(database, Database):
                database.checkpoint()
        stop.set()
        for thread in threads:
            thread.join()
        if isinstance(database, Database):
            database.checkpoint()
        database.close()


@contextlib.contextmanager
def ended_by_errors(who: str) -> Iterator[None]:
    """End the process if the database cannot go on: opening it again recovers it."""
    try:
        yield
    except (JumpgateError, psycopg.Error, EOFError, OSError) as error:  # the last two: of the switch's control
        remark(f"{who}: {error}")
        os._exit(4 if isinstance(error, JumpgateError) and not isinstance(error, Unreachable) else ASKS_TO_BE_OPENED)


# ---- all of them ----


@dataclass
class Found:
    """`recovered`: of the kills, after how many all was opened again. `wrong`: what did not hold."""

    transactions: int = 0
    acknowledged: int = 0
    kills: int = 0
    recovered: int = 0
    wrong: list[str] = field(default_factory=list)


def type_of(tenant: int) -> str:
    """Return the type of a tenant's balances."""
    return ("int", "bigint")[tenant % 2]


def planned(kills: int, seed: int = 1) -> list[str]:
    """Return what is killed, one after the other."""
    return random.Random(seed).choices(KINDS, WEIGHTS, k=kills)


class Chaos:
    """`count` transactions in all, with the kills of a `plan` spread over them; neither goes on after `limit_s`."""

    def __init__(
        self, tenants: int, workers: int, count: int, plan: Sequence[str], seed: int = 1, limit_s: float = 7200.0
    ) -> None:  # fmt: skip
        self.plan = plan
        self.until = time.monotonic() + limit_s
        self.tenants, self.workers, self.count = tenants, workers, count
        self.rng, self.key, self.found = random.Random(seed), random.Random(seed).randbytes(16).hex(), Found()
        self.processes: dict[tuple[str, int], ForkServerProcess] = {}
        self.ends: dict[tuple[str, int], Connection] = {}

    def run(self) -> Found:
        memory = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None  # SIGKILL loses no page of a file
        CONTEXT.set_forkserver_preload(["__main__", "bench._chaos"])
        self.postgres = Postgres()
        with tempfile.TemporaryDirectory(prefix="jumpgate-chaos-", dir=memory) as name:
            self.folder = Path(name)
            self.histories = [History(f"tenant {n}", self.folder / str(n) / "history") for n in range(self.tenants)]
            try:
                for tenant in range(self.tenants):
                    (self.folder / str(tenant)).mkdir()
                    self._fill(tenant)
                self._start()
                for at, kind in enumerate(self.plan, 1):
                    if time.monotonic() > self.until:
                        break
                    self._wait(at * self.count // (len(self.plan) + 1))
                    self._kill(kind)
                    for tenant in range(self.tenants):
                        self._replay(tenant, but_last=True)
                self._wait(self.count)
                self._start()
                self._end()
                for tenant in range(self.tenants):
                    self._replay(tenant)
                    self._check(tenant)
            finally:
                for process in self.processes.values():
                    process.kill()
                    process.join()
                self.postgres.close()
        return self.found

    def _url(self, tenant: int) -> str:
        return self.postgres.url.replace("/postgres?", f"/tenant{tenant}?")

    def _fill(self, tenant: int) -> None:
        self.postgres.execute(f"CREATE DATABASE tenant{tenant}")
        with psycopg.connect(self._url(tenant), autocommit=True) as connection:
            type_ = type_of(tenant)
            connection.execute(
                f"CREATE TABLE accounts (id int PRIMARY KEY, balance {type_} NOT NULL CHECK (balance >= 0))"
            )
            connection.execute("CREATE TABLE counts (id int PRIMARY KEY, notes int NOT NULL)")
            connection.execute("CREATE TABLE notes (id bigint PRIMARY KEY)")
            connection.execute("INSERT INTO counts VALUES (0, 0)")
            connection.execute(
                f"INSERT INTO accounts SELECT i, {EACH[type_]} FROM generate_series(0, {ACCOUNTS - 1}) i"
            )  # fmt: skip

    # ---- processes ----

    def _spawn(self, role: str, number: int, run: Callable[..., None], *arguments: object) -> Any:
        """Return what a process says once it is open, None if it does not."""
        mine, its = CONTEXT.Pipe()
        made = CONTEXT.Process(target=run, args=(its, *arguments))
        made.start()
        its.close()
        self.processes[role, number], self.ends[role, number] = made, mine
        with contextlib.suppress(EOFError):
            if mine.poll(OPEN_S):
                return mine.recv()
        return None

    def _start(self) -> bool:
        """Start what does not run: the switch first, then coordinators, then nodes. Tell if all are open."""
        gone = [of for of, process in self.processes.items() if not process.is_alive()]
        for of in gone:
            del self.processes[of]
        if ("switch", 0) not in self.processes:
            self.port = self._spawn("switch", 0, run_switch, self.key, self.rng.randrange(1000))
        is_open = True
        for role in ("coordinator", "node"):
            for tenant in range(self.tenants):
                if (role, tenant) not in self.processes:
                    said = self._spawn(
                        role, tenant, run_tenant, role, self._url(tenant), self.folder / str(tenant), tenant,
                        self.workers, self.rng.randrange(1 << 30), self.port, self.key,
                    )  # fmt: skip
                    is_open &= said == "open"
        return is_open

    def _kill(self, kind: str) -> None:
        tenant = self.rng.randrange(self.tenants)
        mine = [of for of in self.processes if of[0] != "switch"]
        killed = {
            "node": [("node", tenant)], "coordinator": [("coordinator", tenant)],
            "tenant": [("node", tenant), ("coordinator", tenant)], "switch": [("switch", 0)], "postgres": mine,
            "all": list(self.processes),
        }[kind]  # fmt: skip
        if kind in ("postgres", "all"):
            self._end_postgres()
        for of in killed:
            self.processes[of].kill()
            self.processes[of].join()
        if kind in ("postgres", "all"):
            self._start_postgres()
        if kind == "switch":  # whoever needs it says that it is lost, and ends
            for of in mine:
                self.processes[of].join(OPEN_S)
        self.found.kills += 1
        is_good = self._start()
        self.found.recovered += is_good
        if not is_good:
            self.found.wrong.append(f"kill {self.found.kills} of {kind}: not opened again")
        remark(f"kill {self.found.kills}: {kind} {tenant}, {self._acknowledged():,} acknowledged")

    def _end_postgres(self) -> None:
        """End the server without a checkpoint, as a crash does."""
        folder = Path(self.postgres.folder.name)
        pid = int((folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, 3)  # immediate
        while (folder / "postmaster.pid").exists() or _lives(pid):
            time.sleep(0.01)

    def _start_postgres(self) -> None:
        """Start the server, which recovers, however long that takes."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.postgres.server.start()
        since = time.monotonic()
        while True:
            try:
                psycopg.connect(self.postgres.url).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < since + OPEN_S, "PostgreSQL does not start again"
                time.sleep(0.1)

    def _end(self) -> None:
        """Let nodes end, then coordinators, each by itself."""
        for role in ("node", "coordinator"):
            for tenant in range(self.tenants):
                with contextlib.suppress(OSError):  # it ended by itself, which its status tells
                    self.ends[role, tenant].send("end")
                process = self.processes[role, tenant]
                process.join(OPEN_S)
                if process.exitcode:
                    self.found.wrong.append(f"{role} {tenant} ended with {process.exitcode}")

    # ---- what must hold ----

    def _acks(self, tenant: int) -> Iterator[Path]:
        return (self.folder / str(tenant)).glob("acks-*")

    def _acknowledged(self) -> int:
        sizes = (path.stat().st_size for tenant in range(self.tenants) for path in self._acks(tenant))
        return sum(sizes) // ACK.size

    def _wait(self, count: int) -> None:
        """Until so many transactions were acknowledged; what ended by itself meanwhile is started again."""
        before, since = self._acknowledged(), time.monotonic()
        while (now := self._acknowledged()) < count and time.monotonic() < self.until:
            if now > before:
                before, since = now, time.monotonic()
            assert time.monotonic() < since + OPEN_S, "nothing goes on"
            ended = [of for of, process in self.processes.items() if not process.is_alive()]
            if ended:
                if any(self.processes[of].exitcode != ASKS_TO_BE_OPENED for of in ended):
                    self.found.wrong.append(f"{ended} ended by themselves")
                self._start()
            time.sleep(0.05)

    def _replay(self, tenant: int, but_last: bool = False) -> None:
        """Replay the epochs that are over, in their order."""
        paths = sorted(path for path in (self.folder / str(tenant)).glob("epoch-*") if path.suffix != ".new")
        for path in paths[: -1 if but_last else None]:
            self.histories[tenant].add(pickle.loads(path.read_bytes()), path.name)
            path.unlink()

    def _check(self, tenant: int) -> None:
        """Compare what was acknowledged with the history, and rows with what the switch had."""
        history, found = self.histories[tenant], self.found
        history.check(
            (gid, bool(done), values[:count])
            for path in self._acks(tenant)
            for gid, done, count, *values in ACK.iter_unpack(_whole(path.read_bytes()))
        )
        found.transactions += history.transactions
        found.acknowledged += history.acknowledged
        found.wrong += history.wrong
        with psycopg.connect(self._url(tenant), autocommit=True) as connection:
            for query, expected in (
                ("SELECT sum(balance) FROM accounts", ACCOUNTS * EACH[type_of(tenant)]),
                ("SELECT (SELECT notes FROM counts) - (SELECT count(*) FROM notes)", 0),
                ("SELECT count(*) FROM pg_prepared_xacts", 0),
            ):
                row = connection.execute(query).fetchone()
                if row is None or row[0] != expected:
                    found.wrong.append(f"tenant {tenant}: {query} is {row}, not {expected}")


def _whole(data: bytes) -> bytes:
    """Return acknowledgements without one that was being written."""
    return data[: len(data) // ACK.size * ACK.size]


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
