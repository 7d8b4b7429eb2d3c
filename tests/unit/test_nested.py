"""The bytes of nested values, and how a plan takes fields of structs from the files."""

from __future__ import annotations

import random
import struct as packing
from typing import Any

import pyarrow as pa
import pytest

from jumpgate.client import col, count, when
from jumpgate.compiler.estimate import Estimator
from jumpgate.compiler.logical.member_columns import member_columns
from jumpgate.compiler.plan import CompileOptions, Plan
from jumpgate.dataflow import proto
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.evaluate import evaluate
from jumpgate.dataflow.operators import Read, Send
from jumpgate.dataflow.types import NESTING_MAX, DataType, Field, Schema, list_, parse_type, struct
from jumpgate.errors import InvalidDataflow, ProtocolError
from jumpgate.nca.registry import Registry
from jumpgate.ntf import nested
from jumpgate.ntf.codec import arrow_type
from jumpgate.ntf.descriptor import Descriptor

SAMPLE = parse_type("struct<a int32, b string, c list<int8>>")
_FORMATS = {"bool": "?", "int8": "b", "int32": "i", "int64": "q", "float64": "d"}


def encoded(value: Any, type: DataType) -> bytes:
    """As jumpgate/ntf/README.md has it, one value at a time."""
    if type.kind == "string":
        return value.encode()
    if type.kind == "decimal":
        return int(value).to_bytes(type.width, "little", signed=True)
    if not type.is_nested:
        return packing.pack("<" + _FORMATS[type.kind], value)
    if type.kind == "struct":
        types, values, head = [p.type for p in type.parts], [value[p.name] for p in type.parts], b""
    else:
        element = type.parts[0].type if type.kind == "list" else struct(*type.parts)
        values = value if type.kind == "list" else [{"key": k, "value": v} for k, v in value]
        types, head = [element] * len(values), packing.pack("<I", len(values))
    bits = sum(1 << i for i, v in enumerate(values) if v is not None)
    head += bits.to_bytes((len(values) + 7) // 8, "little")
    end = len(head) + sum(4 if t.is_text else t.width for t in types)
    slots, bodies = b"", b""
    for v, t in zip(values, types, strict=True):
        body = (b"" if t.is_text else bytes(t.width)) if v is None else encoded(v, t)
        if t.is_text:
            end += len(body)
            slots, bodies = slots + packing.pack("<I", end), bodies + body
        else:
            slots += body
    return head + slots + bodies


def test_the_readme_shows_these_bytes() -> None:
    value = {"a": 7, "b": "xy", "c": None}
    data = bytes.fromhex("03 07000000 0f000000 0f000000 7879")
    assert encoded(value, SAMPLE) == data
    assert nested.decode(pa.array([data, None]), SAMPLE).to_pylist() == [value, None]


def random_type(rng: random.Random, depth: int) -> DataType:
    kind = rng.choice(["struct", "list", "map", "scalar"]) if depth else "scalar"
    if kind == "struct":
        return struct(*(Field(f"f{i}", random_type(rng, depth - 1)) for i in range(rng.randint(0, 10))))
    if kind == "list":
        return list_(random_type(rng, depth - 1))
    if kind == "map":
        return parse_type(f"map<string, {random_type(rng, depth - 1).name}>")
    return parse_type(rng.choice(["bool", "int8", "int64", "float64", "string", "decimal(7, 0)", "decimal(30, 0)"]))


def random_value(rng: random.Random, type: DataType) -> Any:
    if type.nullable and rng.random() < 0.25:
        return None
    match type.kind:
        case "struct":
            return {p.name: random_value(rng, p.type) for p in type.parts}
        case "list":
            return [random_value(rng, type.parts[0].type) for _ in range(rng.choice([0, 1, 8, 9]))]
        case "map":
            return [(f"{i}", random_value(rng, type.parts[1].type)) for i in range(rng.randint(0, 2))]
        case "bool":
            return rng.random() < 0.5
        case "string":
            return rng.choice(["", "a", "naïve" * 9])
        case "float64":
            return rng.random()
    return rng.randrange(-100, 100)


@pytest.mark.parametrize("seed", range(40))
def test_columns_are_decoded_as_their_values_were_encoded(seed: int) -> None:
    rng = random.Random(seed)
    type = random_type(rng, 4)
    while not type.is_nested:
        type = random_type(rng, 4)
    values = [random_value(rng, type) for _ in range(rng.choice([0, 1, 20]))]
    data = pa.array([None] * 3 + [None if v is None else encoded(v, type) for v in values], pa.binary()).slice(3)
    found = nested.decode(data, type)
    found.validate(full=True)
    assert found.type == arrow_type(type)
    assert found.to_pylist() == pa.array(values, arrow_type(type)).to_pylist()


@pytest.mark.parametrize(
    "data", [b"\x07", b"\x02\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", b"\x02" + bytes(4) + b"\x01\0\0\0" * 2]
)
def test_bytes_that_are_no_value_are_an_error(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="bytes that do not make a struct<a int32, b string, c list<int8>>"):
        nested.decode(pa.array([data]), SAMPLE)


def test_edges_carry_nested_columns_as_binary() -> None:
    descriptor = Descriptor.columnar(Schema.of(s=SAMPLE, x=parse_type("int64")))
    assert descriptor.schema == Schema.of(s=parse_type("binary"), x=parse_type("int64"))
    assert Descriptor.parse(descriptor.text()) == descriptor


@pytest.mark.parametrize(
    "text", ["struct<a int64, b list<map<string, decimal(7, 2)>>>", "struct<>", "list<list<date>>"]
)
def test_types_are_read_as_they_are_written(text: str) -> None:
    assert parse_type(text).name == text


@pytest.mark.parametrize("text", ["struct<a int64, a string>", "list<>", "map<string>", "list<what>"])
def test_what_is_no_nested_type(text: str) -> None:
    with pytest.raises(ValueError):
        parse_type(text)


def test_types_have_a_limit_of_depth() -> None:
    type = parse_type("int64")
    for _ in range(NESTING_MAX):
        type = list_(type)
    root = files(x=type).root
    assert proto.from_bytes(proto.encode(root).SerializeToString())[0] == root
    with pytest.raises(ValueError, match="more than 32 levels"):
        list_(type)


# ---- plans -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Dataflow:
    return files(id=parse_type("int64?"), s=parse_type("struct<a int64, t struct<u string, v list<int8>>>?"))


def files(format: str = "parquet", **types: DataType) -> Dataflow:
    return Dataflow(Read((f"/data/t.{format}",), format, Schema.of(**types), tuple(range(len(types)))))


def reads(flow: Dataflow) -> list[str]:
    """What the plan's reads give, in their order."""
    plan = Plan(Send(flow.root, ("h:1",)), CompileOptions(), (), Registry(), Estimator(None))
    found, pending = [], [member_columns(plan).root]
    while pending:
        node = pending.pop()
        pending += node.inputs
        if isinstance(node, Read):
            found.append(", ".join(node.schema.names))
    return found


def test_only_the_fields_that_are_named_are_read(table: Dataflow) -> None:
    a, u = col("s").field("a"), col("s").field("t").field("u")
    assert reads(table.filter(a > 1).select(u=u)) == ["s.a, s.t.u"]
    assert reads(table.select("id", x=col("s")).filter(col("x").field("a") > 1).select("id")) == ["id, s.a"]
    assert reads(table.filter(col("s").is_not_null()).select("id")) == ["id, present(s)"]
    assert reads(table.filter(col("s").field("t").is_null()).select("s")) == ["s, present(s.t)"]
    assert reads(table.aggregate(c=count(), by=[a.alias("a")])) == ["s.a"]
    assert reads(table.sort(a.desc()).limit(3).select("id")) == ["id, s.a"]
    other = table.select(k=col("id"), o=col("s"))
    joined = table.join(other, left_on="id", right_on="k", how="left", where=col("o").field("a") > a)
    assert {*reads(joined.select("id", u=col("o").field("t").field("u")))} == {"id, s.a, s.t.u"}
    both = table.select("s").union_all(table.select("s")).select(a=a)
    assert reads(both) == ["s.a", "s.a"]
    chosen = table.select(s=when(col("id") > 1).then(col("s")).otherwise(None)).select(a=a)
    assert reads(chosen) == ["id, s"]


def test_a_request_keeps_members_and_their_types(table: Dataflow) -> None:
    root = table.select(u=col("s").field("t").field("u")).root
    message = proto.encode(root)
    assert proto.decode(message)[0] == root
    message.expressions[-1].member.index = 1
    with pytest.raises(InvalidDataflow, match=r"a field declared as string\?, its type is list<int8>\?"):
        proto.decode(message)
    message.expressions[-1].member.index = 7
    with pytest.raises(InvalidDataflow, match="has no field #7"):
        proto.decode(message)


def test_the_oracle_takes_structs_apart(table: Dataflow) -> None:
    (expression,) = table.select(u=col("s").field("t").field("u")).root.expressions  # type: ignore[attr-defined]
    assert evaluate(expression, (1, (7, ("x", [])))) == "x"
    assert evaluate(expression, (1, (7, None))) is None
    assert evaluate(expression, (1, None)) is None


def test_csv_holds_no_nested_values() -> None:
    root = files("csv", l=parse_type("list<int64>")).root
    with pytest.raises(InvalidDataflow, match="column 'l' is a list<int64>, which is not read from CSV files"):
        proto.decode(proto.encode(root))
