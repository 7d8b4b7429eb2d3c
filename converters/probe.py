"""Probes files for planning, as schema.infer_schema and statistics.estimate do, but in a separate process.

Findings are cached by the files' states (path, size, time, inode), also that a file cannot be read; only new questions
go to the prober, and those of a plan (`look`) all at once.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from jumpgate.converters.prober import prober
from jumpgate.dataflow.expressions import ColumnRef, Expression
from jumpgate.dataflow.file_state import REMOTE, FileState, FileStates, file_state
from jumpgate.dataflow.formats import formats
from jumpgate.dataflow.operators import Filter, Operator, Read
from jumpgate.dataflow.types import DataType, Field, Schema
from jumpgate.errors import JumpgateError, MalformedData, MemoryLimit
from jumpgate.nca.statistics import ColumnStatistics, Selection, Statistics
from jumpgate.stores import credentials

#: the most cached answers: about files, and about conditions on their rows, whose constants vary by request
ANSWERS_MAX, SELECTIONS_MAX = 100_000, 1000
#: the answer for an unreadable file: reading the data reports the error
NOTHING: Mapping[str, Any] = {"estimate": Statistics(), "column": ColumnStatistics(), "selection": None}

Options = tuple[tuple[str, str], ...]


class _Question(NamedTuple):
    """A verb of the worker's (probe_worker.VERBS) with its arguments, and the states of its files. owner: with whose
    rights objects are read (jumpgate/stores/credentials.py)."""

    verb: str
    files: tuple[str, ...]
    states: tuple[FileState, ...]
    arguments: tuple[Any, ...]
    owner: str


def _question(
    verb: str, files: tuple[str, ...], states: tuple[FileState, ...], arguments: tuple[Any, ...]
) -> _Question:
    """Return a question in the name of who asks here, if that matters."""
    owner = credentials.key()
    is_owned = owner and any(state.device == REMOTE for state in states)
    return _Question(verb, files, states, arguments, owner if is_owned else "")


class _Answers:
    """An LRU cache of answers. Thread-safe."""

    def __init__(self, kept_max: int) -> None:
        self._kept_max = kept_max
        self._kept: OrderedDict[_Question, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, question: _Question) -> bool:
        return question in self._kept

    def keep(self, question: _Question, answer: Any) -> None:
        with self._lock:
            self._kept[question] = answer
            if len(self._kept) > self._kept_max:
                self._kept.popitem(last=False)

    def to(self, question: _Question) -> Any:
        """Return the cached answer, or ask the prober now. Raises JumpgateError."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                return self._kept[question]
        try:
            answer = prober.ask(question.verb, question.files, *question.arguments)
        except (MalformedData, MemoryLimit):
            if question.verb not in NOTHING:
                raise
            answer = NOTHING[question.verb]
        self.keep(question, answer)
        return answer


_of_files, _selections = _Answers(ANSWERS_MAX), _Answers(SELECTIONS_MAX)

#: questions with their answers, or errors
Findings = dict[_Question, Any]
_noting: ContextVar[Findings | None] = ContextVar("noting", default=None)


def _answers(question: _Question) -> _Answers:
    return _selections if question.verb == "selection" else _of_files


def _answer(question: _Question) -> Any:
    """Return the answer. Raises JumpgateError."""
    findings = _noting.get()
    if findings is None:
        return _answers(question).to(question)
    try:
        findings[question] = _answers(question).to(question)
    except JumpgateError as error:
        findings[question] = error
        raise
    return findings[question]


@contextlib.contextmanager
def noted() -> Iterator[Findings]:
    """Record this context's questions and answers in the block."""
    findings: Findings = {}
    token = _noting.set(findings)
    try:
        yield findings
    finally:
        _noting.reset(token)


def files_of(findings: Findings) -> set[str]:
    """Return the files that were probed."""
    return {file for question in findings for file in question.files}


def still_hold(findings: Findings, states: FileStates) -> bool:
    """Return whether files in these states give the same findings; new questions are asked at once. Raises
    Unreachable."""
    if not files_of(findings) <= states.keys():
        return False
    now = {q: q._replace(states=tuple(states[file] for file in q.files)) for q in findings}
    _ask_at_once(now.values())
    return all(n in _answers(n) and _answers(n).to(n) == findings[q] for q, n in now.items())


def infer_schema(files: tuple[str, ...], format: str, options: Mapping[str, str]) -> Schema:
    """Return the schema that `files` share, see schema.infer_schema.

    Raises its errors; MalformedData, which names the file, if a file crashed the process that read it.
    """
    states = tuple(map(file_state, files))
    found = _answer(_question("schema", files, states, (format, tuple(sorted(options.items())))))
    assert isinstance(found, Schema)
    return found


def field_ids(files: tuple[str, ...]) -> list[Any]:
    """Return for each Parquet file its columns, each with its name, its id (-1: none) and its parts likewise. Raises
    FileUnreadable, MalformedData."""
    return list(_answer(_question("field_ids", files, tuple(map(file_state, files)), ())))


def segments(files: tuple[str, ...], format: str, names: tuple[str, ...]) -> list[list[list[int]]]:
    """Return for each file begin and end of each piece with values of these columns alone, see formats.Format; empty
    if the format has none. Raises FileUnreadable, MalformedData."""
    if formats()[format].segments is None:
        return []
    questions = [_question("segments", (file,), (file_state(file),), (format, names)) for file in files]
    _ask_at_once(questions)
    return [_answer(question)[0] for question in questions]


def estimate(files: tuple[str, ...], format: str, options: Options = ()) -> Statistics:
    """Return the rows and bytes of all files together, see statistics.estimate; unknown if a file cannot be read."""
    try:
        states = tuple(map(file_state, files))
        known = [_answer(question) for question in _sizes(files, states, format, options)]
    except JumpgateError:
        return Statistics()
    if any(k.rows is None or k.bytes is None for k in known):
        return Statistics()
    of = (files, states, format, options)
    return Statistics(
        sum((k.rows for k in known), 0.0),
        sum((k.bytes for k in known), 0.0),
        functools.partial(_column, *of),
        functools.partial(_selection, *of),
    )


def misread(files: tuple[str, ...]) -> bool:
    """Return whether DuckDB may misread these Parquet files, or not read them: columns are encrypted, or of 96-bit
    timestamps, a file has more rows than it says, or bounds of values that are not to be believed. Raises
    FileUnreadable, MalformedData."""
    return bool(_answer(_question("misread", files, tuple(map(file_state, files)), ())))


def has_late_days(files: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Return whether these columns of Parquet files are known to have no days before 1582-10-15. Raises FileUnreadable,
    MalformedData."""
    return bool(_answer(_question("late_days", files, tuple(map(file_state, files)), (names,))))


def check_pages(files: tuple[str, ...], names: tuple[str, ...]) -> None:
    """Verify the checksums of these columns' pages in Parquet files, for readers that do not.

    Raises MalformedData for a page whose bytes have changed, FileUnreadable.
    """
    states = dict(zip(files, map(file_state, files), strict=True))
    for file in _answer(_question("with_checksums", files, tuple(states.values()), ())):
        group = 0
        while group >= 0:
            group = _answer(_question("pages", (file,), (states[file],), (names, group)))


def look(questions: Iterable[tuple[Operator, tuple[str, ...]]]) -> None:
    """Prefetch unknown statistics of Reads, Filters over Reads, and sets of their columns, which `estimate` and its
    results will ask for. Questions that fail are left to these."""
    wanted: dict[_Question, None] = {}
    for node, names in questions:
        try:
            wanted |= dict.fromkeys(_about(node, names))
        except JumpgateError:
            continue
    _ask_at_once(wanted)


def _ask_at_once(wanted: Iterable[_Question]) -> None:
    """Cache the answers that are not known yet; errors are not cached."""
    missing = [question for question in wanted if question not in _answers(question)]
    if not missing:
        return
    answers = prober.ask_all([(q.verb, q.files, q.arguments) for q in missing])
    for question, answer in zip(missing, answers or (), strict=False):
        if not isinstance(answer, JumpgateError):
            _answers(question).keep(question, answer)


def _about(node: Operator, names: tuple[str, ...]) -> Iterator[_Question]:
    read = node.input if isinstance(node, Filter) else node
    assert isinstance(read, Read)
    of = (read.files, tuple(map(file_state, read.files)), read.format, read.options)
    yield from _sizes(*of)
    if isinstance(node, Filter):
        yield _tried(*of, node, names)
    else:
        for name in names:
            yield _values(*of, name, read.schema[read.schema.positions[name][0]].type)


def _sizes(files: tuple[str, ...], states: tuple[FileState, ...], format: str, options: Options) -> Iterator[_Question]:
    """Yield one question for each file: requests read different sets of files."""
    for file, state in zip(files, states, strict=True):
        yield _question("estimate", (file,), (state,), (format, options))


def _values(
    files: tuple[str, ...], states: tuple[FileState, ...], format: str, options: Options, name: str, type: DataType
) -> _Question:
    return _question("column", files, states, (format, options, name, type))


def _tried(
    files: tuple[str, ...],
    states: tuple[FileState, ...],
    format: str,
    options: Options,
    filter: Filter,
    names: tuple[str, ...],
) -> _Question:
    """Return the same question for any filter of these conditions, whatever other columns its Read has."""
    schema = filter.input.schema
    used = sorted(filter.predicate.columns())
    where = {index: ColumnRef(schema[index].type, place) for place, index in enumerate(used)}
    predicate = filter.predicate.remap(where.__getitem__)
    dataflow = _encoded(format, Schema(tuple(schema[index] for index in used)), predicate)
    columns: tuple[Field, ...] = tuple(schema[schema.positions[name][0]] for name in names)
    return _question("selection", files, states, (format, options, dataflow, columns))


@functools.lru_cache(maxsize=1000)
def _encoded(format: str, schema: Schema, predicate: Expression) -> bytes:
    read = Read(("/",), format, schema, tuple(range(len(schema))))
    from jumpgate.dataflow import proto

    return proto.encode(Filter(read, predicate)).SerializeToString(deterministic=True)


def _column(
    files: tuple[str, ...], states: tuple[FileState, ...], format: str, options: Options, name: str, type: DataType
) -> ColumnStatistics:
    try:
        found = _answer(_values(files, states, format, options, name, type))
    except JumpgateError:
        return ColumnStatistics()
    assert isinstance(found, ColumnStatistics)
    return found


def _selection(
    files: tuple[str, ...],
    states: tuple[FileState, ...],
    format: str,
    options: Options,
    filter: Operator,
    names: tuple[str, ...],
) -> Selection | None:
    assert isinstance(filter, Filter)
    try:
        found = _answer(_tried(files, states, format, options, filter, names))
    except JumpgateError:
        return None
    assert found is None or isinstance(found, Selection)
    return found
