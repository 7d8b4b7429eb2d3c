"""The layouts of tuples on edges; jumpgate/ntf defines their bytes."""

from __future__ import annotations

import enum


class Layout(enum.StrEnum):
    """A layout. Its text is its name in descriptors, the protobuf, and for people."""

    COLUMNAR = "columnar"  #: a buffer for each column, as Arrow has it
    ROW = "row"  #: tuples, whose fields are at known offsets

    __repr__ = str.__repr__

    @classmethod
    def _missing_(cls, value: object) -> Layout:
        raise ValueError(f"unknown layout {value!r}; there are {', '.join(cls)}")
