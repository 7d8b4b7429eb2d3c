"""Stages, containers and parser rows: the report, and what does not fit."""
