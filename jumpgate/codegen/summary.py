"""Scans whose rows are only counted, or compared for extremes: readers answer these from a file's statistics."""

from __future__ import annotations

from dataclasses import replace

from jumpgate.codegen.program import FileSource, GroupSink, Pipeline, Program, SourceColumn

#: what is wanted of a column: how many values are not NULL, and the least and the largest one
Wish = tuple[bool, bool]
_COUNTS, _EXTREMES = ("count_star", "count"), ("min", "max")


def wish(pipeline: Pipeline, program: Program) -> None:
    """Note in the pipeline's source what alone is wanted of each column, if that is so."""
    source = program.sources[pipeline.source[1]]
    assert isinstance(source, FileSource)
    partitioned = any(name == "partitions" for name, _ in source.options)
    if source.bounds or partitioned or not is_summarised(pipeline, program):
        return
    found: list[Wish] = [(False, False)] * len(source.positions)
    for function, column in _measures(pipeline, program):
        if column is not None:
            counts, extremes = found[column]
            found[column] = counts or function in _COUNTS, extremes or function in _EXTREMES
    program.sources[pipeline.source[1]] = replace(source, wishes=tuple(found))


def is_summarised(pipeline: Pipeline, program: Program) -> bool:
    """Return whether all rows of a file go into one group, whose measures are counts and extremes of its columns."""
    if pipeline.source[0] != "files" or pipeline.steps or len(pipeline.sinks) != 1:
        return False
    sink = pipeline.sinks[0]
    if not isinstance(sink, GroupSink) or sink.keys:
        return False
    for index, merges, arguments in sink.updates:
        held = program.tables[sink.table].measures[index]
        if merges or held.order or held.function not in _COUNTS + _EXTREMES:
            return False
        if not all(isinstance(a, SourceColumn) for a in arguments):
            return False
    return True


def unread(pipeline: Pipeline, program: Program) -> list[str]:
    """Return C++ that adds to counts the rows that a batch stands for beside its own."""
    sink = pipeline.sinks[0]
    if not isinstance(sink, GroupSink) or not is_summarised(pipeline, program):
        return []
    lines = []
    for index, _, arguments in sink.updates:
        held = program.tables[sink.table].measures[index]
        if held.function in _COUNTS:
            place = 0 if held.function == "count_star" else 1 + _column(arguments)
            lines.append(f"row->f{held.first} += t->unread[{place}];")
    return lines


def _measures(pipeline: Pipeline, program: Program) -> list[tuple[str, int | None]]:
    """Return each measure's function and column."""
    (sink,) = pipeline.sinks
    assert isinstance(sink, GroupSink)
    functions = [program.tables[sink.table].measures[index].function for index, _, _ in sink.updates]
    columns = [_column(arguments) if arguments else None for _, _, arguments in sink.updates]
    return list(zip(functions, columns, strict=True))


def _column(arguments: tuple[object, ...]) -> int:
    (column,) = arguments
    assert isinstance(column, SourceColumn)
    return column.index
