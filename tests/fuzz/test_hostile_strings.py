"""Text of requests that tries to be C++, a template, a path or a protocol: answers are right, none of it is in code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jumpgate.client import Dataflow, col, count, f, lit, read
from jumpgate.client.session import Session
from jumpgate.codegen.lower import lower_fragment
from jumpgate.codegen.render import render
from jumpgate.dataflow.dialect import DEFAULT
from jumpgate.dataflow.operators import Emit, Operator, Partitioning
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded

#: what would end, begin or escape something in C++, Jinja, JSON, SQL, a shell or a path
PIECES = [
    '"', "'", "\\", "\n", "\r", "\r\n", "\t", "\0", "{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "*/", "/*", "//",
    "??/", "??=", "%:", "#define X", "#include </etc/passwd>", "__attribute__", "R\"(", ")\"", "\\u0022", "\\x22",
    "%s%n", "$(id)", "`id`", ";", "';--", "{{ 7*7 }}", "{% raw %}", "é", "日本", "😀", "\u202e", "\ufeff",
    "\u0000\u0001",
    "a" * 300, " ", "", "..", "%00", "jg_fail(t, 1, 0);", "std::abort();", "</script>", "&amp;", "\x7f", "\u2028",
]  # fmt: skip
TEXT = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
MARK = "zqxj"  # occurs in no template: what must not be found
EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    service = embedded.start(local_hosts(1))
    with Session(service.address) as opened:
        yield opened
    service.close()


def code_of(root: Operator) -> str:
    """The C++ that would be compiled for the dataflow as one fragment."""
    return render(lower_fragment(Emit(root, "result", Partitioning())), DEFAULT).text


def json_file(folder: Path, name: str, rows: list[dict[str, object]]) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def flow_of(path: Path, key: str, value: str) -> Dataflow:
    """Every place of a request that holds text: names of columns and results, literals in several. `key` ends in 0."""
    table = read(path, format="json", schema={key: "string", key + "2": "int64"})
    return (
        table.filter(col(key) == value)
        .with_columns(
            x=f.concat(col(key), lit(value)), y=col(key).isin([value, "other"]), z=f.contains(col(key), value)
        )
        .aggregate(count().alias(value + "4"), by=[col("x").alias(key + "3"), "y", "z"])
    )


@EXAMPLES
@given(name=TEXT, value=TEXT)
def test_answers_are_right(session: Session, tmp_path_factory: pytest.TempPathFactory, name: str, value: str) -> None:
    key = name + "0"  # not the name of another column
    path = json_file(
        tmp_path_factory.mktemp("hostile"),
        "t.json",
        [{key: value, key + "2": 1}, {key: value + "!", key + "2": 2}, {key: None, key + "2": 3}, {key: value}],
    )
    answer = session.run(flow_of(path, key, value)).to_pylist()
    assert answer == [{key + "3": value * 2, "y": True, "z": True, value + "4": 2}]


@EXAMPLES
@given(name=TEXT, value=TEXT)
def test_no_text_reaches_the_code(tmp_path_factory: pytest.TempPathFactory, name: str, value: str) -> None:
    """The code is the same bytes as for harmless text, so nothing of the request is in it."""
    folder = tmp_path_factory.mktemp("code")
    hostile = code_of(flow_of(json_file(folder, "t.json", []), MARK + name + "0", MARK + value).root)
    harmless = code_of(flow_of(json_file(folder, "u.json", []), "a", "b").root)
    assert hostile == harmless
    assert MARK not in hostile


@EXAMPLES
@given(pattern=TEXT, value=TEXT)
def test_like_patterns(session: Session, tmp_path_factory: pytest.TempPathFactory, pattern: str, value: str) -> None:
    """A pattern whose special characters are escaped is the text itself."""
    exact = "".join("!" + c if c in "!%_" else c for c in pattern)
    path = json_file(tmp_path_factory.mktemp("like"), "t.json", [{"s": pattern}, {"s": value}, {"s": value + pattern}])
    flow = read(path, schema={"s": "string"}).select(
        e=col("s").like(exact, escape="!"), p=col("s").like("%" + exact, "!")
    )
    found = session.run(flow).to_pylist()
    assert [r["e"] for r in found] == [True, value == pattern, value + pattern == pattern]
    assert [r["p"] for r in found] == [True, value.endswith(pattern), True]


FILE_NAMES = [p for p in PIECES if p and "\0" not in p and "/" not in p and len(p) < 200 and p != ".."]


@pytest.mark.parametrize("name", FILE_NAMES)
def test_file_names(session: Session, tmp_path: Path, name: str) -> None:
    path = json_file(tmp_path, f"{name} {{{{ x }}}}.json", [{"a": 1}])
    flow = read([path], schema={"a": "int64"})
    assert session.run(flow).to_pylist() == [{"a": 1}]
    assert code_of(flow.root) == code_of(read(json_file(tmp_path, "plain.json", []), schema={"a": "int64"}).root)
