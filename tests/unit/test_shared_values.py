"""What a message for many instances says once."""

from __future__ import annotations

import json

import pytest

from jumpgate.nca.shared import Gap, Shared, Template, filled


def test_a_reference_stands_for_its_template_with_the_gaps_filled() -> None:
    shared, made = Shared(), []

    def make() -> Template:
        made.append(1)
        return Template({"sinks": [{"peers": ["a", "b"], "index": Gap(lambda n: n)}], "id": Gap(lambda n: [f"i{n}"])})

    told = [shared("edge", make, n) for n in range(3)]
    assert made == [1]
    values = json.loads(shared.used())
    whole = [{"sinks": [{"peers": ["a", "b"], "index": n}], "id": [f"i{n}"]} for n in range(3)]
    assert [json.loads(filled(json.loads(json.dumps(t)), values)) for t in told] == whole
    assert [make().filled(n) for n in range(3)] == whole
    with pytest.raises(KeyError):
        filled({"$": "another", "#": []}, values)
    with pytest.raises(IndexError):
        filled({"$": "0", "#": [1]}, values)


def test_what_refers_to_nothing_is_told_as_it_is() -> None:
    assert json.loads(filled({"plain": [1, None, {"#": 0}]}, {})) == {"plain": [1, None, {"#": 0}]}


def test_a_message_has_the_values_that_it_refers_to() -> None:
    shared = Shared()
    shared("a", lambda: Template({"x": 1}), None)
    assert json.loads(shared.used()) == {"0": ['{"x":1}']}
    shared("a", lambda: Template({"x": 2}), None)  # it is made once
    shared(("b", 1), lambda: Template({}), None)
    assert json.loads(shared.used()) == {"0": ['{"x":1}'], "1": ["{}"]}
    assert json.loads(shared.used()) == {}


def test_texts_pass_as_they_are_and_only_gaps_are_gaps() -> None:
    texts = ['"', "\\", "\n", "\N{GREEK SMALL LETTER ALPHA}", "\x00", '{"#":0}', ""]
    template = Template({"texts": texts, "own": Gap(lambda n: texts[n])})
    assert len(template.pieces) == 2
    assert [template.filled(n) for n in range(len(texts))] == [{"texts": texts, "own": text} for text in texts]
    with pytest.raises(TypeError, match="object is neither JSON nor a gap"):
        Template({"x": object()})
