"""Types of joins are declared once: their properties are consistent, and others do not go by names."""

from __future__ import annotations

import ast
import itertools
import re

import pytest
from test_tidy import may_name_what_it_checks, texts

from jumpgate.dataflow.join_types import JoinType, Output
from jumpgate.dataflow.operators import Join, Read
from jumpgate.dataflow.types import Field, Schema, int64
from jumpgate.errors import InvalidDataflow

READ = Read(("/a",), "csv", Schema((Field("a", int64.with_nullable(False)),)), (0,))
#: files that may name one type, besides tests and pages
FILES_MAX = 6


def names_of(path: str, text: str) -> set[JoinType]:
    """The types that a file names: JoinType.ANTI, or their text where it can mean nothing else."""
    found = {type for type in JoinType if re.search(rf"\bJoinType\.{type.name}\b", text)}
    if path.endswith(".py"):
        constants = {n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)}
    else:
        constants = set(re.findall(r'"(\w+)"', text))
    return found | {JoinType(name) for name in ("inner", "semi", "anti") if name in constants}


def test_a_join_type_touches_few_files() -> None:
    naming: dict[JoinType, set[str]] = {type: set() for type in JoinType}
    for path, text in texts():
        if not may_name_what_it_checks(path) and path.suffix in (".py", ".cpp", ".h", ".j2"):
            for type in names_of(path.as_posix(), text):
                naming[type].add(path.as_posix())
    assert all(len(files) <= FILES_MAX for files in naming.values()), naming


def test_properties() -> None:
    for type in JoinType:
        assert type.mirrored is None or type.mirrored.mirrored is type
        assert (type.mirrored is not None) == type.pairs, "the other types are of the left rows"
        assert not type.unmatched_right or type.pairs, "there is no place for right columns"
        assert type.any_order == (type.mirrored is type and not type.unmatched)
    assert [t for t in JoinType if t.any_order] == ["inner"] and [t for t in JoinType if t.may_build_left] == [
        "semi",
        "anti",
    ]
    assert [t.mirrored for t in (JoinType.LEFT, JoinType.RIGHT, JoinType.FULL)] == ["right", "left", "full"]
    assert [JoinType.FULL.extending(left, right) for left, right in itertools.product((True, False), repeat=2)] == [
        JoinType.FULL, JoinType.RIGHT, JoinType.LEFT, JoinType.INNER,
    ]  # fmt: skip
    assert JoinType.SEMI.extending(False, False) is None
    rows = [(t.output, t.matched, t.unmatched, t.unmatched_right) for t in JoinType]
    assert len(set(rows)) == len(rows), "two types of one meaning"


@pytest.mark.parametrize("type", list(JoinType))
def test_columns(type: JoinType) -> None:
    schema = Join(READ, READ, type, (), ()).schema
    nullable = tuple(f.type.nullable for f in schema)
    expected = {
        Output.PAIRS: (type.extends_left, type.extends_right),
        Output.LEFT: (False,),
        Output.MARK: (False, True),
    }
    assert nullable == expected[type.output]


def test_an_unknown_type_is_refused_where_it_is_read() -> None:
    with pytest.raises(InvalidDataflow, match="join: unknown type 'ant'; did you mean 'anti'"):
        Join(READ, READ, "ant", (), ())  # type: ignore[arg-type]
    with pytest.raises(InvalidDataflow, match="unknown type 'x'; there are inner, left, right, full, semi, anti, mark"):
        JoinType("x")
