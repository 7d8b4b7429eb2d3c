"""Runs planned jobs through their accelerators' life-cycles, watches them, and keeps the record of what happened."""
