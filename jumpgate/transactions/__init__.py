"""Transactions on hot rows in a switch's registers, all others in PostgreSQL (P4DB, SIGMOD 2022)."""

from __future__ import annotations

from jumpgate.transactions.agent import Agent
from jumpgate.transactions.coordinator import Outcome, Transaction
from jumpgate.transactions.database import Database
from jumpgate.transactions.declare import (
    Condition,
    Declared,
    Expression,
    Value,
    add,
    number,
    read,
    require,
    sql,
    write,
)
from jumpgate.transactions.node import Node
from jumpgate.transactions.registers import LocalSwitch

__all__ = [
    "Agent", "Condition", "Database", "Declared", "Expression", "LocalSwitch", "Node", "Outcome", "Transaction",
    "Value", "add", "number", "read", "require", "sql", "write",
]  # fmt: skip
