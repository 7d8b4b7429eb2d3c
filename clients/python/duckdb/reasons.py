"""The one way in which a text ends up with DuckDB."""

from __future__ import annotations


class Stays(Exception):
    """A text, or a part of one, runs in DuckDB. The message is the reason, for people."""
