"""Transactions on hot rows in a switch's registers, all others in PostgreSQL (P4DB, SIGMOD 2022)."""

from __future__ import annotations

from jumpgate.transactions.coordinator import Outcome, Transaction
from jumpgate.transactions.database import Database
from jumpgate.transactions.node import Node
from jumpgate.transactions.registers import LocalSwitch

__all__ = ["Database", "LocalSwitch", "Node", "Outcome", "Transaction"]
