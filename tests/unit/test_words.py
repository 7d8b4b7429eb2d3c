"""Keeps the prose plain: docstrings say what a thing is, and sentences of the documents are short."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: documents, and folders of documents, without sentences of more than WORDS_MAX words
PLACES = {"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs"}
WORDS_MAX = 35

_BEGINNINGS = re.compile(r"(What|Whether|Of|Those|Who)\b")
#: code, tables, headings, and lines of HTML
_NO_PROSE = re.compile(r"```.*?```|^(?: {4}|\t|\||#|<).*?$", re.DOTALL | re.MULTILINE)
#: a paragraph or an item of a list begins
_PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[-*]|\d+\.)\s")


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.check_output(("git", "ls-files", *patterns), cwd=ROOT, text=True).split()
    return [ROOT / name for name in names if (ROOT / name).exists()]


def folder_of(file: Path) -> str:
    parts = file.relative_to(ROOT).parts
    return "/".join(parts[: 2 if parts[0] == "jumpgate" and len(parts) > 2 else 1])


def docstrings(text: str) -> Iterator[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return (ast.get_docstring(n) or "" for n in ast.walk(ast.parse(text)) if isinstance(n, documented))


def sentences(text: str) -> Iterator[str]:
    """Sentences of a Markdown text; a span of code counts as one word."""
    prose = re.sub(r"`[^`]*`", "`code`", _NO_PROSE.sub("", text))
    for paragraph in _PARAGRAPH.split(prose):
        yield from re.split(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z`*(\[\"])", paragraph)


def is_long(sentence: str) -> bool:
    return sum(any(map(str.isalnum, word)) for word in sentence.split()) > WORDS_MAX


def test_docstrings_say_what_a_thing_is() -> None:
    found: Counter[str] = Counter()
    for file in tracked("*.py"):
        if folder_of(file) != "tests" and not file.name.endswith(("_pb2.py", "_pb2_grpc.py")):
            found[folder_of(file)] += sum(bool(_BEGINNINGS.match(d)) for d in docstrings(file.read_text()))
    over = {folder: count for folder, count in found.items() if count}
    assert not over, (
        f"docstrings begin with What, Whether, Of, Those or Who: {over}. Write “Return whether …”, “A device's …”."
    )


def test_sentences_of_documents_are_short() -> None:
    found: Counter[str] = Counter()
    for file in tracked("*.md"):
        place = folder_of(file)
        if place in PLACES:
            found[place] += sum(map(is_long, sentences(file.read_text())))
    over = {place: count for place, count in found.items() if count}
    assert not over, f"sentences of more than {WORDS_MAX} words: {over}. Split them."


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("word " * 36 + ".", 1),
        ("word " * 20 + ". Then " + "word " * 20 + ".", 0),
        ("# " + "word " * 40, 0),
        ("- " + "word " * 20 + "\n- " + "word " * 20, 0),
        ("```\n" + "word " * 40 + "\n```", 0),
        ("`" + "word " * 40 + "`", 0),
    ],
)
def test_long_sentences_are_found(text: str, count: int) -> None:
    assert sum(map(is_long, sentences(text))) == count
