"""The types of joins. Other code depends on these properties, not on names (docs/add-a-join-type.md)."""

from __future__ import annotations

import difflib
import enum

from jumpgate.errors import InvalidDataflow


class Output(enum.Enum):
    """The shape of a join's rows."""

    PAIRS = "pairs"  #: columns of both inputs: rows of one beside their partners in the other
    LEFT = "left"  #: rows of the left input, each once at most
    MARK = "mark"  #: rows of the left input, each once, and whether it has a partner (NULL: undecided)


class JoinType(enum.StrEnum):
    """A type of join. Its text is its name in the protobuf, in `explain`, and for people.

    matched, unmatched: the result has left rows with a partner, or without; unmatched_right: it has right rows without
    a partner, after all others (columns of the other input are then NULL). substrait: its name there; swapped: the name
    of the join with swapped inputs, if Substrait has one.
    """

    INNER = "inner", Output.PAIRS, True, False, False, "JOIN_TYPE_INNER"
    LEFT = "left", Output.PAIRS, True, True, False, "JOIN_TYPE_LEFT"
    RIGHT = "right", Output.PAIRS, True, False, True, "JOIN_TYPE_RIGHT"
    FULL = "full", Output.PAIRS, True, True, True, "JOIN_TYPE_OUTER"
    SEMI = "semi", Output.LEFT, True, False, False, "JOIN_TYPE_LEFT_SEMI", "JOIN_TYPE_RIGHT_SEMI"
    ANTI = "anti", Output.LEFT, False, True, False, "JOIN_TYPE_LEFT_ANTI", "JOIN_TYPE_RIGHT_ANTI"
    MARK = "mark", Output.MARK, True, True, False, "JOIN_TYPE_LEFT_MARK", "JOIN_TYPE_RIGHT_MARK"

    output: Output
    matched: bool
    unmatched: bool
    unmatched_right: bool
    substrait: str
    swapped: str

    def __new__(
        cls,
        name: str,
        output: Output = Output.PAIRS,
        matched: bool = True,
        unmatched: bool = False,
        unmatched_right: bool = False,
        substrait: str = "",
        swapped: str = "",
    ) -> JoinType:
        self = str.__new__(cls, name)
        self._value_ = name
        self.output = output
        self.matched, self.unmatched, self.unmatched_right = matched, unmatched, unmatched_right
        self.substrait, self.swapped = substrait, swapped
        return self

    __repr__ = str.__repr__

    @classmethod
    def _missing_(cls, value: object) -> JoinType:
        """Raise InvalidDataflow: the value comes from a request and may be anything."""
        close = difflib.get_close_matches(str(value), list(cls), 1, 0.6)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(cls)}"
        raise InvalidDataflow(f"join: unknown type {value!r}; {hint}", operator="join")

    @property
    def pairs(self) -> bool:
        """Return whether the result has the columns of both inputs."""
        return self.output is Output.PAIRS

    @property
    def marks(self) -> bool:
        """Return whether the result has a mark column, whose NULLs depend on all right rows."""
        return self.output is Output.MARK

    @property
    def extends_left(self) -> bool:
        """Return whether the result may have NULL for left columns."""
        return self.unmatched_right

    @property
    def extends_right(self) -> bool:
        """Return whether the result may have NULL for right columns."""
        return self.pairs and self.unmatched

    @property
    def keeps_left(self) -> bool:
        """Return whether each left row has a result, and nothing else has."""
        return self.matched and self.unmatched and not self.unmatched_right

    @property
    def any_order(self) -> bool:
        """Return whether the result is the pairs alone: such joins can be reordered, and a condition means the same
        within the join and above it."""
        return self.pairs and not self.unmatched and not self.unmatched_right

    @property
    def existence(self) -> JoinType | None:
        """The type that gives the left rows with a partner once; None unless this one gives their pairs and no more."""
        return JoinType.SEMI if self.pairs and not self.unmatched and not self.unmatched_right else None

    @property
    def mirrored(self) -> JoinType | None:
        """Return the type that gives the same rows with swapped inputs; None if there is none."""
        return self.extending(self.extends_right, self.extends_left)

    def extending(self, left: bool, right: bool) -> JoinType | None:
        """Return the type with the same pairs that null-extends left or right columns as told; None if there is
        none."""
        sides = (left, right)
        return next(
            (t for t in JoinType if t.pairs and (t.extends_left, t.extends_right) == sides and self.pairs), None
        )

    @property
    def may_build_left(self) -> bool:
        """Return whether the left side can be built and probed by right rows, with matched or unmatched left rows as
        the result."""
        return self.output is Output.LEFT
