"""Transactions on hot rows in a switch's registers, all others in PostgreSQL (P4DB, SIGMOD 2022)."""

from __future__ import annotations
