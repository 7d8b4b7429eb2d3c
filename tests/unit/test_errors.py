"""The typed errors: each says what and where, and survives the way over the wire."""

from __future__ import annotations

import json

import pytest

import jumpgate.p4.switch.p4runtime  # noqa: F401 (defines errors)
from jumpgate import errors
from jumpgate.errors import JumpgateError, from_dict


def leaves(cls: type[JumpgateError] = JumpgateError) -> list[type[JumpgateError]]:
    return [cls] + [leaf for sub in cls.__subclasses__() for leaf in leaves(sub)]


def test_codes_are_unique() -> None:
    codes = [leaf.code for leaf in leaves()]
    assert len(codes) == len(set(codes))


def test_the_codes_that_other_languages_know() -> None:
    assert {leaf.code for leaf in leaves()} >= {
        "io",
        "malformed",
        "schema",
        "overflow",
        "division_by_zero",
        "invalid_cast",
        "compute",
        "memory",
        "cancelled",
        "unreachable",
        "protocol",
        "internal",
        "instance_failed",
        "timed_out",
        "not_found",
        "cannot_place",
        "build",
        "config",
        "invalid_dataflow",
    }


@pytest.mark.parametrize("cls", leaves(), ids=lambda c: c.code)
def test_round_trip(cls: type[JumpgateError]) -> None:
    error = cls("cannot read 'a.json': malformed", file="a.json", line=7, host=None)
    data = json.loads(json.dumps(error.to_dict()))
    assert data["fields"] == {"file": "a.json", "line": "7"}
    back = from_dict(data)
    assert type(back) is cls
    assert str(back) == "cannot read 'a.json': malformed"
    assert back.fields == {"file": "a.json", "line": "7"}
    assert back.is_unreachable == cls.is_unreachable


def test_unknown_codes_become_internal_and_are_named() -> None:
    error = from_dict({"code": "from_the_future", "message": "hm"})
    assert type(error) is errors.InternalError
    assert error.message == "hm (error 'from_the_future', which is not known here)"


def test_what_may_be_tried_again() -> None:
    again = {errors.InstanceFailed, errors.Unreachable, errors.Draining, errors.TimedOut, errors.FileChanged}
    assert {c for c in leaves() if c.is_unreachable} == again


def test_all_problems_are_listed() -> None:
    error = errors.InvalidDataflow("a; b", ("a", "b"), operator="filter")
    assert error.problems == ("a", "b")
    assert errors.InvalidDataflow("a").problems == ("a",)
    back = from_dict(json.loads(json.dumps(error.to_dict())))
    assert isinstance(back, errors.InvalidDataflow) and back.problems == ("a", "b")


def test_fields_may_have_any_name() -> None:
    assert from_dict({"code": "io", "message": "m", "fields": {"message": "x", "self": "y"}}).fields["self"] == "y"
