"""Transactions in the switch: packets a core, exactly once, serialisable, recovery, layouts, PostgreSQL's hot row.

Speed-ups of clusters are simulated: hot rows in the switch beside the better of NO_WAIT and WAIT_DIE, 8 nodes of 20
workers, 10 us a round trip, 1 us an access, 5 us a synced log, 1 us a pass. Packets in process: seconds of CPU of the
thread that runs `process_packed`; the best of the rounds. Loss is made between workers and the switch without sockets:
three in ten packets and three in ten answers are lost, one in ten is repeated. From time to time the switch loses its
registers.

The same workloads are also measured on a store in memory (store.cpp): the switch and datagrams are real, and what else
takes time is waited for, stretched so that two cores bound nothing. `--page FILE` draws these beside P4DB's figures.
"""

from __future__ import annotations

import argparse
import ctypes as c
import itertools
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from bench import _p4db, _smallbank, _tpcc, _ycsb
from bench._chaos import Chaos, planned
from bench._measure import Figure, remark, report
from jumpgate.p4.compiler import report as model
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, Header, Instruction, Reference
from jumpgate.transactions import Database, LocalSwitch
from jumpgate.transactions.layout import Work, arrange, max_cut
from jumpgate.transactions.recovery import Sent, replay
from jumpgate.transactions.workloads import Setting
from tests.support.pg import Postgres
from tests.support.switch_programs import SECRET, SENDER, wrapped
from tests.support.transactions import PAYLOAD_AT, SWITCH, Programmed, random_transaction

PACKETS, BATCH, ROUNDS = 400_000, 4096, 5
LOSS, REPEATS = 0.3, 0.1
LOST_TIMES = 20
KILLS = 200
POINTS = ("prepared", "logged", "answered", "executed", "decided")
CLIENTS, CLIENT_SECONDS, HOT_ROW_ROUNDS = 32, 5.0, 3
SMALLBANK_HOT = 10
TENANTS, TENANT_WORKERS, HISTORIES_S = 4, 4, 5400.0
GRAPHS = 40
COUNT = 1_000_000
SMALLBANK = [replace(_p4db.SMALLBANK, hot_rows=hot) for hot in (5, 10, 15)]
TPCC = [Setting(warehouses=warehouses) for warehouses in (8, 16, 32)]


class Ended(Exception):
    """A coordinator that ends here."""


def switch_transactions_per_core_s(_: int) -> Figure:
    made = Programmed(databases=1)
    rng = np.random.default_rng(1)
    header = Header(0, 0, SECRET, 1, (1, 1), 1)
    frame = wrapped(p4.pack(header, [Instruction(a, 0, ADD, 1) for a in range(8)]), (SENDER, SWITCH))
    frames = np.tile(np.frombuffer(frame, np.uint8), (PACKETS, 1))
    at = PAYLOAD_AT + p4.DEFAULT.header.size
    for array in range(8):
        frames[:, at + 12 * array + 3] = rng.integers(0, 256, PACKETS)
    size, rates = len(frame), []
    ports, lengths = (c.c_uint16 * BATCH)(*[SENDER.port] * BATCH), (c.c_uint32 * BATCH)(*[size] * BATCH)
    with made.switch:
        for turn in range(ROUNDS):
            numbers = np.arange(turn * PACKETS + 1, (turn + 1) * PACKETS + 1).astype(">u4")
            frames[:, PAYLOAD_AT + 2 : PAYLOAD_AT + 6] = numbers.view(np.uint8).reshape(-1, 4)
            batches = [frames[n : n + BATCH].tobytes() for n in range(0, PACKETS, BATCH)]
            start = time.thread_time()
            for batch in batches:
                made.switch.process_packed(ports, lengths, batch, len(batch) // size)
            rates.append(PACKETS / (time.thread_time() - start))
        assert made.switch.read_register(made.switch.register("gid_low"), 0, 1) == [(ROUNDS * PACKETS,)]
    remark(f"transactions/s {min(rates):,.0f} to {max(rates):,.0f}")
    return Figure("switch_transactions_per_core_s", max(rates), 3e6, "higher", f"one pass, 8 adds, {size}-byte frames")


class History:
    """The answers to a database's workers, in no order; those from `first` on came since the registers were lost."""

    def __init__(self, database: int) -> None:
        self.database = database
        self.entries: list[tuple[int, list[Instruction], list[int]]] = []
        self.before: dict[tuple[int, int], int] = {}
        self.gid = self.first = 0

    def recover(self, made: Programmed, open_: dict[int, tuple[list[Instruction], bytes]]) -> None:
        """Load what the registers held, from what was answered and what was sent; the latter is answered then."""
        known = self.entries[self.first :]
        sent = [Sent(-n, tuple(of), gid, tuple(results)) for n, (gid, of, results) in enumerate(known, 1)]
        sent += [Sent(flow, tuple(of)) for flow, (of, _) in open_.items() if flow // 16 == self.database]
        self.before, ran = replay(self.before, self.gid, sent)
        for flow in [s.id for s in sent if not s.gid]:
            self.entries.append((ran[flow].gid, open_.pop(flow)[0], list(ran[flow].results)))
        self.gid, self.first = self.gid + len(sent), len(self.entries)
        for (array, index), value in self.before.items():
            register = made.switch.register(f"array_{array}")
            made.switch.write_register(register, 256 * self.database + index, [(value % (1 << 32),)])
        made.switch.write_register(made.switch.register("gid_low"), self.database, [(self.gid,)])


@cache
def lossy(count: int) -> tuple[float, float]:
    """(share of the transactions executed exactly once, share of replayed results that agree)."""
    made, rng = Programmed(databases=2, workers=8), random.Random(1)
    flows = [16 * d + w for d in range(2) for w in range(8)]
    open_: dict[int, tuple[list[Instruction], bytes]] = {}
    histories = [History(database) for database in range(2)]
    started, lost_at = 0, count // LOST_TIMES
    with made.switch:
        while started < count or open_:
            if started >= lost_at:
                lost_at += count // LOST_TIMES
                for register in made.switch.registers:
                    made.switch.reset_register(register)
                for history in histories:
                    history.recover(made, open_)
            for flow in flows:
                if flow not in open_ and started < count:
                    instructions = random_transaction(rng)
                    open_[flow] = instructions, made.frame(flow, instructions)
                    started += 1
            sent = [f for _, f in open_.values() if rng.random() >= LOSS]
            sent += [f for f in sent if rng.random() < REPEATS]
            rng.shuffle(sent)
            for header, results in made.run(*sent):
                if rng.random() >= LOSS and header.flow in open_:
                    if header.sequence != made.sequences[header.flow]:
                        continue
                    entry = header.gid, open_.pop(header.flow)[0], results
                    histories[header.flow // 16].entries.append(entry)
        once = agreed = 0
        for database, history in enumerate(histories):
            reference, entries = Reference(), sorted(history.entries, key=lambda entry: entry[0])
            for number, (gid, instructions, results) in enumerate(entries, 1):
                once += gid == number
                agreed += reference.run(instructions) == results
            last = made.switch.read_register(made.switch.register("gid_low"), database, 1)[0][0]
            same = all(made.cell(a, 256 * database + i) == v for (a, i), v in reference.cells.items())
            if last != len(entries) or not same:
                remark(f"database {database}: {last} executed, {len(entries)} answered, final state equal: {same}")
                return 0.0, 0.0
    return once / count, agreed / count


def exactly_once(count: int) -> Figure:
    notes = f"{count:,} transactions, 30 % loss each way, the registers lost {LOST_TIMES} times"
    return Figure("exactly_once", lossy(count)[0], 1.0, "higher", notes)


def serialisable(count: int) -> Figure:
    notes = f"{count:,} random transactions of two databases, replayed by number: results and final state"
    return Figure("serialisable", lossy(count)[1], 1.0, "higher", notes)


def histories(count: int) -> Figure:
    """The share of kills after which all went on, none if anything did not hold."""
    found = Chaos(TENANTS, TENANT_WORKERS, count, planned(KILLS), limit_s=HISTORIES_S).run()
    remark(f"{found}"[:2000])
    notes = (
        f"{found.kills} kills of nodes, coordinators, switch, PostgreSQL or all; {found.transactions:,} transactions "
        f"of {TENANTS} tenants over a bad network, of integers and of bigints, replayed by number"
    )
    good = 0.0 if found.wrong else found.recovered / max(1, found.kills)
    return Figure("histories", good, 1.0, "higher", notes)


@contextmanager
def _bank() -> Iterator[Postgres]:
    postgres = Postgres()
    try:
        postgres.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL)")
        postgres.execute("CREATE TABLE history (amount int)")
        postgres.execute("INSERT INTO accounts SELECT i, 1000000 FROM generate_series(0, 4) i")
        yield postgres
    finally:
        postgres.close()


def recovered(_: int) -> Figure:
    """Coordinators that end at a random point of a warm transaction, half of them with the switch."""
    rng, good = random.Random(1), 0
    with _bank() as bank, tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name:
        folder, switch = Path(name), LocalSwitch()
        database = Database(bank.url, switch, folder, workers=2)
        database.offload("accounts", "id", ["balance"], range(5))
        acknowledged = 0
        for _ in range(KILLS):
            point = rng.choice(POINTS)

            def end(reached: str, point: str = point) -> None:
                if reached == point:
                    raise Ended(point)

            for amount in (1, 1000):
                t = database.transaction()
                t.sql("INSERT INTO history VALUES (%s)", (amount,))
                t.add("accounts", 0, "balance", -amount, at_least=0)
                t.add("accounts", 1, "balance", amount)
                if amount == 1:
                    acknowledged += database.commit(t).done
                    database.reach = end
                    continue
                try:
                    database.commit(t)
                except Ended:
                    database.close()
            if rng.random() < 0.5:
                switch.close()
                switch = LocalSwitch()
            database = Database(bank.url, switch, folder, workers=2)
            database.checkpoint()
            rows = [int(str(row[0])) for row in bank.execute("SELECT amount FROM history")]
            balances = [row[0] for row in bank.execute("SELECT balance FROM accounts ORDER BY id")]
            is_right = rows.count(1) == acknowledged and balances[0] == 1000000 - sum(rows)
            good += is_right and balances[1] == 1000000 + sum(rows) and not bank.execute(
                "SELECT * FROM pg_prepared_xacts"
            )  # fmt: skip
        database.close()
        switch.close()
    return Figure("recovered", good / KILLS, 1.0, "higher", f"{KILLS} kills at 5 points, half with the switch's loss")


def ycsb_a_speedup(_: int) -> Figure:
    notes = "simulated 8 x 20 workers: 8 operations, half of them writes, 50 hot keys a node, 75 % hot"
    return Figure("ycsb_a_speedup", _p4db.speedup(_p4db.simulated("ycsb-a", Setting())), 4.0, "higher", notes)


def hot_100_speedup(_: int) -> Figure:
    notes = "simulated 8 x 20 workers: the same with 100 % hot"
    found = _p4db.speedup(_p4db.simulated("ycsb-a", Setting(hot_share=1.0)))
    return Figure("hot_100_speedup", found, 20.0, "higher", notes)


def smallbank_speedup(_: int) -> Figure:
    found = [_p4db.speedup(_p4db.simulated("smallbank", setting)) for setting in SMALLBANK]
    notes = "simulated 8 x 20 workers: the worst of 5, 10 and 15 hot customers a node, 90 % hot"
    return Figure("smallbank_speedup", min(found), 3.0, "higher", notes)


def tpcc_speedup(_: int) -> Figure:
    found = [_p4db.speedup(_p4db.simulated("tpcc", setting)) for setting in TPCC]
    notes = "simulated 8 x 20 workers: NewOrder and Payment, the worst of 8, 16 and 32 warehouses, 20 % remote"
    return Figure("tpcc_speedup", min(found), 2.0, "higher", notes)


def optimisations(_: int) -> Figure:
    found = _p4db.simulated("ycsb-a", Setting())
    together = found["switch"].per_second / found["switch, random layout, one lock"].per_second
    notes = "simulated 8 x 20 workers, YCSB A: a lock of two halves and the layout by max-cut beside neither"
    return Figure("optimisations", together, 3.0, "higher", notes)


def _store_speedup(name: str, workload: str, target: float, *settings: Setting) -> Figure:
    """Return the worst of several settings, over the better policy of locking."""
    found = [_p4db.speedup(_p4db.measured(workload, setting)) for setting in settings]
    notes = (
        f"measured, 8 x 20 workers, 10 us a round trip, 1 us an access, 5 us a log, all {_p4db.STRETCH:g} x stretched"
    )
    return Figure(name, min(found), target, "higher", notes)


def store_ycsb_a_speedup(_: int) -> Figure:
    return _store_speedup("store_ycsb_a_speedup", "ycsb-a", 4.0, Setting())


def store_hot_100_speedup(_: int) -> Figure:
    return _store_speedup("store_hot_100_speedup", "ycsb-a", 20.0, Setting(hot_share=1.0))


def store_smallbank_speedup(_: int) -> Figure:
    return _store_speedup("store_smallbank_speedup", "smallbank", 3.0, *SMALLBANK)


def store_tpcc_speedup(_: int) -> Figure:
    return _store_speedup("store_tpcc_speedup", "tpcc", 2.0, *TPCC)


def simulator_error(_: int) -> Figure:
    return _p4db.simulator_error()


def layout_vs_optimum(_: int) -> Figure:
    """The worst of random graphs of 16 rows in two arrays, 10 in three and 8 in four, beside brute force."""
    rng, worst = random.Random(1), 1.0
    for rows, parts in [(16, 2)] * 4 + [(10, 3)] * GRAPHS + [(8, 4)] * GRAPHS:
        graph = nx.gnp_random_graph(rows, rng.uniform(0.2, 0.9), seed=rng.randrange(1 << 30))
        for _, _, edge in graph.edges(data=True):
            edge["weight"] = rng.randint(1, 100)
        weights = nx.to_numpy_array(graph, nodelist=range(rows))
        splits = np.array([(0, *s) for s in itertools.product(range(parts), repeat=rows - 1)], dtype=np.int8)
        room = -(-rows // parts)
        counts = np.stack([(splits == p).sum(axis=1) for p in range(parts)])
        splits = splits[counts.max(axis=0) <= room]
        cut = sum(weights[a, b] * (splits[:, a] != splits[:, b]) for a, b in itertools.combinations(range(rows), 2))
        part = max_cut(graph, parts, room)
        mine = sum(e["weight"] for a, b, e in graph.edges(data=True) if part[a] != part[b])
        worst = min(worst, mine / float(np.max(cut))) if np.max(cut) else worst
    return Figure("layout_vs_optimum", worst, 0.98, "higher", "the worst graph's cut beside the best one's")


def smallbank(hot: int) -> list[Work]:
    """SmallBank's six transactions on each ordered pair of hot accounts, and what needs what in them."""
    works = []
    for a, b in itertools.permutations(range(hot), 2):
        savings, checking, other = ("savings", a), ("checking", a), ("checking", b)
        works += [
            Work((savings, checking)),                                            # Balance
            Work((checking,)),                                                    # DepositChecking
            Work((savings,)),                                                     # TransactSavings
            Work((savings, checking, other), ((savings, other), (checking, other))),  # Amalgamate
            Work((savings, checking), ((savings, checking),)),                    # WriteCheck
            Work((checking, other), ((checking, other),)),                        # SendPayment
        ]  # fmt: skip
    return works


def single_pass_max(hot: int) -> float:
    """Return the share of SmallBank that takes one pass in the best layout, by counting.

    Accounts differ in the level of their checking balance alone, as a savings balance is best in the first. WriteCheck
    needs another level than that. Of Amalgamate and SendPayment one of the two directions of a pair fits if its levels
    differ: half of them at most, however many levels there are, so 5/6 of all.
    """
    shares = []
    for each in itertools.product(range(hot + 1), repeat=p4.DEFAULT.levels):
        if sum(each) == hot:
            forward = sum(a * b for a, b in itertools.combinations(each, 2)) / (hot * (hot - 1))
            shares.append((3 + (hot - each[0]) / hot + 2 * forward) / 6)
    return max(shares)


def layout_single_pass(_: int) -> Figure:
    shares = {}
    for hot in (5, 10, 15):
        works = smallbank(hot)
        layout = arrange(works)
        shares[hot] = sum(layout.passes(w) == 1 for w in works) / len(works)
        remark(f"{hot} hot accounts: {shares[hot]:.4f} take one pass, at best {single_pass_max(hot):.4f}")
    notes = f"SmallBank, the worst of 5, 10, 15 accounts; no layout has more than {single_pass_max(15):.4f}"
    return Figure("layout_single_pass", min(shares.values()), 0.95, "higher", notes)


def stages(_: int) -> Figure:
    found = model(p4.render(), "transactions.p4", "tofino1")
    assert not found.problems, found.text()
    return Figure("stages", len(found.stages), 12, "lower", "a Tofino 1, by the model")


def _clients(work: Callable[[int, float], int]) -> float:
    """Transactions a second of all clients."""
    counts = [0] * CLIENTS
    until = time.monotonic() + CLIENT_SECONDS

    def run(client: int) -> None:
        counts[client] = work(client, until)

    threads = [threading.Thread(target=run, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / CLIENT_SECONDS


def postgres_hot_row_speedup(_: int) -> Figure:
    """One counter: UPDATE in PostgreSQL, whose commits are synced, and an addition in the switch, whose log is."""
    import psycopg

    with _bank() as bank, tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name, LocalSwitch() as switch:

        def update(_: int, until: float) -> int:
            done = 0
            with psycopg.connect(bank.url, autocommit=True) as connection:
                while time.monotonic() < until:
                    connection.execute("UPDATE plain SET balance = balance + 1 WHERE id = 0")
                    done += 1
            return done

        bank.execute("CREATE TABLE plain AS SELECT * FROM accounts")  # without the trigger that guards hot rows
        bank.execute("ALTER TABLE plain ADD PRIMARY KEY (id)")
        with Database(bank.url, switch, Path(name), workers=CLIENTS) as database:
            database.offload("accounts", "id", ["balance"], [0])

            def add(_: int, until: float) -> int:
                done = 0
                while time.monotonic() < until:
                    t = database.transaction()
                    t.add("accounts", 0, "balance", 1)
                    database.commit(t)
                    done += 1
                return done

            rates = [(_clients(update), _clients(add)) for _ in range(HOT_ROW_ROUNDS)]
    plain, mine = (statistics.median(found) for found in zip(*rates, strict=True))
    remark(f"transactions/s: PostgreSQL {plain:,.0f}, switch {mine:,.0f}; rounds {rates}")
    notes = f"{CLIENTS} clients, every commit synced; medians of {HOT_ROW_ROUNDS} rounds in turns"
    return Figure("postgres_hot_row_speedup", mine / plain, 10.0, "higher", notes)


def _tpcc_speedup(warehouses: int, kinds: tuple[type, ...]) -> float:
    """Transactions of these kinds as plain SQL, and with what is hot in the switch; what must hold is checked."""
    import psycopg

    with _bank() as bank, tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name, LocalSwitch() as switch:

        def drawn(client: int, until: float) -> Iterator[_tpcc.Order | _tpcc.Payment]:
            rng = random.Random(client)
            while time.monotonic() < until:
                one = _tpcc.draw(rng, warehouses)
                if isinstance(one, kinds):
                    yield one

        def plain(client: int, until: float) -> int:
            with psycopg.connect(bank.url) as connection:
                done = 0
                for done, one in enumerate(drawn(client, until), 1):
                    _tpcc.by_sql(connection, one, client << 32 | done)
                return done

        def in_switch(client: int, until: float) -> int:
            return len([_tpcc.by_switch(database, one) for one in drawn(client, until)])

        _tpcc.fill(bank, warehouses)
        before = _clients(plain)
        assert not (found := _tpcc.broken(bank)), found
        _tpcc.fill(bank, warehouses)
        with Database(bank.url, switch, Path(name), workers=CLIENTS) as database:
            _tpcc.offload(database, warehouses)
            mine = _clients(in_switch)
            database.release()
        _tpcc.number_orders(bank)
        assert not (found := _tpcc.broken(bank)), found
    remark(f"{warehouses} warehouses: transactions/s: PostgreSQL {before:,.0f}, with the switch {mine:,.0f}")
    return mine / before


def _ycsb_speedup(workload: str) -> Figure:
    """Transactions as plain SQL, and with hot keys in the switch; no increment is lost."""
    import psycopg

    with _bank() as bank, tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name, LocalSwitch() as switch:
        written = [0] * CLIENTS

        def drawn(client: int, until: float) -> Iterator[_ycsb.Drawn]:
            rng = random.Random(client)
            while time.monotonic() < until:
                one = _ycsb.draw(rng, workload)
                yield one
                written[client] += len(one.written)

        def plain(client: int, until: float) -> int:
            with psycopg.connect(bank.url) as connection:
                return len([_ycsb.by_sql(connection, one) for one in drawn(client, until)])

        def in_switch(client: int, until: float) -> int:
            return len([_ycsb.by_switch(database, one) for one in drawn(client, until)])

        _ycsb.fill(bank)
        before = _clients(plain)
        with Database(bank.url, switch, Path(name), workers=CLIENTS) as database:
            database.offload("usertable", "id", ["field"], range(_ycsb.HOT_KEYS), checked=False)
            mine = _clients(in_switch)
            database.release()
        assert _ycsb.total(bank) == sum(written)
    remark(f"YCSB {workload}: transactions/s: PostgreSQL {before:,.0f}, with the switch {mine:,.0f}")
    notes = f"YCSB {workload.upper()} on PostgreSQL, {CLIENTS} clients, 75 % hot, every commit synced, sums checked"
    return Figure(f"ycsb_{workload}_postgres_speedup", mine / before, 1.0, "higher", notes)


def smallbank_postgres_speedup(_: int) -> Figure:
    """All six transactions as plain SQL, and with hot customers in the switch; no money is made or lost."""
    import psycopg

    with _bank() as bank, tempfile.TemporaryDirectory(prefix="jumpgate-bench-") as name, LocalSwitch() as switch:
        added = [0] * CLIENTS

        def drawn(client: int, until: float) -> Iterator[_smallbank.Drawn]:
            rng = random.Random(client)
            while time.monotonic() < until:
                yield _smallbank.draw(rng, SMALLBANK_HOT)

        def run(client: int, until: float, by: Callable[[psycopg.Connection[Any], _smallbank.Drawn], int]) -> int:
            with psycopg.connect(bank.url) as connection:
                found = [by(connection, one) for one in drawn(client, until)]
            added[client] += sum(found)
            return len(found)

        _smallbank.fill(bank)
        start = _smallbank.total(bank)
        before = _clients(lambda client, until: run(client, until, _smallbank.by_sql))
        with Database(bank.url, switch, Path(name), workers=CLIENTS) as database:
            _smallbank.offload(database, SMALLBANK_HOT)
            by_switch = partial(_smallbank.by_switch, database)
            mine = _clients(lambda client, until: run(client, until, by_switch))
            database.release()
        assert _smallbank.total(bank) == start + sum(added)
    remark(f"SmallBank: transactions/s: PostgreSQL {before:,.0f}, with the switch {mine:,.0f}")
    notes = f"SmallBank on PostgreSQL, {CLIENTS} clients, {SMALLBANK_HOT} hot customers, 90 % hot, sums checked"
    return Figure("smallbank_postgres_speedup", mine / before, 2.0, "higher", notes)


def ycsb_a_postgres_speedup(_: int) -> Figure:
    return _ycsb_speedup("a")


def ycsb_b_postgres_speedup(_: int) -> Figure:
    return _ycsb_speedup("b")


def ycsb_c_postgres_speedup(_: int) -> Figure:
    return _ycsb_speedup("c")


def payment_postgres_speedup(_: int) -> Figure:
    notes = f"TPC-C's Payment, 1 warehouse, {CLIENTS} clients, every commit synced, sums checked"
    return Figure("payment_postgres_speedup", _tpcc_speedup(1, (_tpcc.Payment,)), 2.0, "higher", notes)


def tpcc_postgres_speedup(_: int) -> Figure:
    notes = (
        f"TPC-C's NewOrder and Payment, 1 warehouse, {CLIENTS} clients, every commit synced; money, numbers, stock hold"
    )
    return Figure("tpcc_postgres_speedup", _tpcc_speedup(1, (_tpcc.Order, _tpcc.Payment)), 2.0, "higher", notes)


FIGURES = (
    switch_transactions_per_core_s,
    exactly_once,
    serialisable,
    recovered,
    layout_vs_optimum,
    layout_single_pass,
    stages,
    histories,
    postgres_hot_row_speedup,
    smallbank_postgres_speedup,
    payment_postgres_speedup,
    tpcc_postgres_speedup,
    ycsb_a_postgres_speedup,
    ycsb_b_postgres_speedup,
    ycsb_c_postgres_speedup,
    ycsb_a_speedup,
    smallbank_speedup,
    tpcc_speedup,
    hot_100_speedup,
    optimisations,
    store_ycsb_a_speedup,
    store_hot_100_speedup,
    store_smallbank_speedup,
    store_tpcc_speedup,
    simulator_error,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", action="append", choices=[figure.__name__ for figure in FIGURES])
    parser.add_argument("--count", type=int, default=COUNT, help="transactions of exactly_once and serialisable")
    parser.add_argument("--page", type=Path, help="draw P4DB's figures 11 to 18 as one HTML file: half an hour")
    arguments = parser.parse_args()
    found: list[Figure] = []
    for figure in FIGURES:
        if arguments.only is None or figure.__name__ in arguments.only:
            start = time.monotonic()
            found.append(figure(arguments.count))
            report(found[-1], arguments.json)
            remark(f"{figure.__name__} took {time.monotonic() - start:.0f} s")
    if arguments.page:
        arguments.page.write_text(_p4db.page(found), encoding="utf-8")
        remark(f"wrote {arguments.page}")


if __name__ == "__main__":
    main()
