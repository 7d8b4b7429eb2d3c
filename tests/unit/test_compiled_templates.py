"""Templates that are compiled are kept for other processes."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from jumpgate.codegen import templates


def load() -> jinja2.Template:
    """As a new process does."""
    return templates.environment.__wrapped__().get_template("loops.j2")


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the templates that were compiled, with a cache that is empty at first."""
    names: list[str] = []
    compile_ = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str, name: str, *rest: str) -> object:
        names.append(name)
        return compile_(self, source, name, *rest)

    monkeypatch.setattr(jinja2.Environment, "compile", noted)
    monkeypatch.setenv("JUMPGATE_CACHE_DIR", str(tmp_path / "cache"))
    return names


def test_a_template_is_compiled_once(compiled: list[str]) -> None:
    assert load().module.residual_true.name == load().module.residual_true.name == "residual_true"
    assert compiled == ["loops.j2", "chunk.j2"]  # which it imports


def test_what_was_changed_in_the_cache_is_not_used(compiled: list[str], tmp_path: Path) -> None:
    load()
    (kept,) = (f for f in (tmp_path / "cache" / "templates").iterdir() if f.suffix != ".seal")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"?")
    load()
    assert compiled == ["loops.j2", "loops.j2"]
    load()
    assert compiled == ["loops.j2", "loops.j2"], "it was put right"


def test_without_a_cache_templates_are_compiled_each_time(compiled: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, in which no folder can be made")
    load()
    load()
    assert compiled == ["loops.j2", "loops.j2"]
