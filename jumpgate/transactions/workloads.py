"""Transactions of benchmarks that P4DB is measured with: YCSB, SmallBank, and TPC-C's NewOrder and Payment.

A workload draws the next transaction of a node: its accesses in order. Rows of the hot set may be in the switch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from jumpgate.transactions.layout import Work

#: of a transaction of YCSB, all on hot rows or none
YCSB_OPERATIONS = 8
YCSB_COLD_KEYS = 1_000_000
SMALLBANK_ACCOUNTS = 1_000_000
TPCC_ITEMS, TPCC_CUSTOMERS, TPCC_DISTRICTS = 100_000, 30_000, 10


class Row(NamedTuple):
    """A row of a table, and the node that has it if it is not in the switch."""

    table: str
    key: int
    node: int


class Access(NamedTuple):
    """`needs_earlier`: what it writes depends on the transaction's accesses before it."""

    row: Row
    writes: bool
    is_hot: bool
    needs_earlier: bool = False


Draw = Callable[[int, random.Random], list[Access]]


@dataclass(frozen=True)
class Setting:
    """A cluster's nodes, and what share of the transactions is on hot rows or on another node's. `switch_rows`: how
    many of YCSB's hot rows the switch has room for, 0: all."""

    nodes: int = 8
    hot_share: float = 0.75
    remote_share: float = 0.2
    hot_rows: int = 50
    warehouses: int = 8
    switch_rows: int = 0


def ycsb(write_share: float, setting: Setting) -> Draw:
    """Eight operations. A hot transaction takes one key of each of eight groups of the hot rows of all nodes."""
    groups = max(1, setting.nodes * setting.hot_rows // YCSB_OPERATIONS)

    def draw(node: int, rng: random.Random) -> list[Access]:
        is_hot = rng.random() < setting.hot_share
        out = []
        for at in range(YCSB_OPERATIONS):
            if is_hot:
                key = at + YCSB_OPERATIONS * rng.randrange(groups)
                row = Row("hot", key, key % setting.nodes)
            else:
                row = Row("cold", rng.randrange(YCSB_COLD_KEYS), _node(node, setting, rng))
            is_there = is_hot and (not setting.switch_rows or row.key < setting.switch_rows)
            out.append(Access(row, rng.random() < write_share, is_there))
        return out

    return draw


def _node(node: int, setting: Setting, rng: random.Random) -> int:
    """Mostly the worker's own."""
    return rng.randrange(setting.nodes) if rng.random() < setting.remote_share else node


def smallbank(setting: Setting) -> Draw:
    """Its six transactions, equally often; `hot_rows` customers of each node are hot."""

    def draw(node: int, rng: random.Random) -> list[Access]:
        is_hot = rng.random() < setting.hot_share
        customers = setting.hot_rows if is_hot else SMALLBANK_ACCOUNTS
        places = [_node(node, setting, rng) for _ in range(2)]
        first, second = (rng.randrange(customers) for _ in range(2))
        savings, checking = (Row(table, first, places[0]) for table in ("savings", "checking"))
        other = Row("checking", second, places[1])
        if other == checking:
            other = Row("checking", (second + 1) % customers, places[1])
        reads, puts, sums = (False, is_hot), (True, is_hot), (True, is_hot, True)
        return rng.choice((
            [Access(savings, *reads), Access(checking, *reads)],                       # Balance
            [Access(checking, *puts)],                                                 # DepositChecking
            [Access(savings, *puts)],                                                  # TransactSavings
            [Access(savings, *puts), Access(checking, *puts), Access(other, *sums)],   # Amalgamate
            [Access(savings, *reads), Access(checking, *sums)],                        # WriteCheck
            [Access(checking, *puts), Access(other, *sums)],                           # SendPayment
        ))  # fmt: skip

    return draw


def tpcc(setting: Setting) -> Draw:
    """NewOrder and Payment, equally often. Warehouses, and the numbers and totals of districts, are hot."""
    each = max(1, setting.warehouses // setting.nodes)

    def draw(node: int, rng: random.Random) -> list[Access]:
        warehouse = rng.randrange(each) + each * node
        district = warehouse * TPCC_DISTRICTS + rng.randrange(TPCC_DISTRICTS)
        other = _node(node, setting, rng)
        customer = Access(Row("customer", rng.randrange(TPCC_CUSTOMERS), other), True, False)
        if rng.random() < 0.5:
            return [
                Access(Row("w_ytd", warehouse, node), True, True), Access(Row("d_ytd", district, node), True, True),
                customer,
            ]  # fmt: skip
        items = [rng.randrange(TPCC_ITEMS) for _ in range(rng.randint(5, 15))]
        return [
            Access(Row("w_tax", warehouse, node), False, True), Access(Row("d_next_o_id", district, node), True, True),
            customer._replace(row=customer.row._replace(node=node), writes=False),
            *(Access(Row("stock", item, other if at == 0 else node), True, False) for at, item in enumerate(items)),
        ]  # fmt: skip

    return draw


WORKLOADS: dict[str, Callable[[Setting], Draw]] = {
    "ycsb-a": lambda setting: ycsb(0.5, setting),
    "ycsb-b": lambda setting: ycsb(0.05, setting),
    "ycsb-c": lambda setting: ycsb(0.0, setting),
    "smallbank": smallbank,
    "tpcc": tpcc,
}


def hot_part(accesses: list[Access]) -> Work:
    """Return what the switch does of a transaction."""
    rows = [a.row for a in accesses if a.is_hot]
    needs = [
        (row, a.row) for at, a in enumerate(accesses) if a.is_hot and a.needs_earlier
        for row in rows if row != a.row and row in {b.row for b in accesses[:at]}
    ]  # fmt: skip
    return Work(tuple(dict.fromkeys(rows)), tuple(dict.fromkeys(needs)))
