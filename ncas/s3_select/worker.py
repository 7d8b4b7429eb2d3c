"""The instance: `python -m jumpgate.ncas.s3_select.worker`, started by a host's agent."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from jumpgate.errors import Overflow
from jumpgate.nca.worker import Input, serve
from jumpgate.ncas.s3_select import groups, tops, totals
from jumpgate.ncas.s3_select.asking import Counted
from jumpgate.ncas.s3_select.dialects import DIALECTS
from jumpgate.ncas.s3_select.forms import Form
from jumpgate.ncas.s3_select.groups import Grouping
from jumpgate.ncas.s3_select.keys import KEYS_MAX, Condition, conditions
from jumpgate.ncas.s3_select.pushback import AT_ONCE, Window
from jumpgate.ncas.s3_select.source import Source
from jumpgate.ncas.s3_select.sql import EXPRESSION_MAX, column, select
from jumpgate.ncas.s3_select.supersets import Superset
from jumpgate.ncas.s3_select.terms import Columns, Fields, Terms
from jumpgate.ncas.s3_select.tops import Top
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor

#: batches that wait to be sent
WAITING_MAX = 16

Batches = Iterator[pa.RecordBatch]
Told = Mapping[str, Any]


def rows(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the columns of the rows that meet the condition."""
    for keys in told["conditions"]:
        shown = [*map(column, told["shown"])]
        instead = select(shown, [told["where"], keys.instead])
        yield from source.rows(select(shown, [told["where"], keys.where]), wanted, instead)


def fields(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the columns of the rows of text that meet the condition, which the store may exceed."""
    form = Form(**told["form"])
    read, shown = [*map(form.column, told["columns"])], [*map(column, told["shown"])]
    exact = select(shown, [told["where"]])
    for keys in told["conditions"]:
        statement = select(read, [told["superset"], keys.where])
        yield from source.filtered(statement, exact, select(shown, [told["where"], keys.instead]), wanted)


def sought(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the columns of the rows of text that meet the condition, found by an index."""
    exact = select(map(column, told["shown"]), [told["where"]])
    yield from source.sought([tuple(i) for i in told["intervals"]], exact, wanted)


def top(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the rows that may be among the first."""
    order = Top(told["key"], told["descending"], told["nulls_first"], told["most"], told["sampled"])
    if "form" not in told:
        yield from tops.rows(source, order, told["shown"], told["where"], wanted)
        return
    superset = Superset(Form(**told["form"]), DIALECTS[told["dialect"]], ())
    read, key = [*map(superset.form.column, told["columns"])], column(order.key)
    sample = select(read, [told["superset"]], order.sampled)
    threshold = order.text_threshold(source, superset, sample, select([key], [told["where"], f"{key} IS NOT NULL"]))
    exact = select(map(column, told["shown"]), [told["where"]])
    yield from source.filtered(select(read, [told["superset"], threshold]), exact, exact, wanted)


def total(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the partial states of all rows."""
    terms, met = _terms(told)
    items = [*totals.items(told["arguments"], terms=terms)]
    answers = source.selected(select(items, [met])) if _is_plain(source, terms) else None
    figures = totals.figures(totals.values(answers[0], len(items)), told["arguments"]) if answers else None
    if figures is None or not all(of.is_exact for of in figures[1].values()):
        statement = select(totals.items(told["arguments"]), [told["where"]])
        figures = totals.figures(totals.values(source.exact(statement)[0], len(items)), told["arguments"])
    yield _batch([totals.states(told["measures"], *figures)], wanted)


def grouped(source: Source, told: Told, wanted: pa.Schema) -> Batches:
    """Yield the partial states of the object's groups."""
    terms, met = _terms(told)
    grouping = Grouping(tuple(told["keys"]), told["arguments"], told["where"], told["cases"], terms, met)
    source = source if _is_plain(source, terms) else source.by_ranges()
    found = groups.computed(source, grouping, wanted.types[: len(grouping.keys)])
    yield _batch(([*key, *totals.states(told["measures"], n, of)] for key, n, of in found), wanted)


def _terms(told: Told) -> tuple[Terms, str]:
    """Return columns, and the condition, as the store has them."""
    if "form" not in told:
        return Columns(), told["where"]
    return Fields(Form(**told["form"]), frozenset(told["integers"])), told["met"]


def _is_plain(source: Source, terms: Terms) -> bool:
    """Return whether the store takes all integers of an object for what they are here."""
    if not isinstance(terms, Fields) or not terms.integers:
        return True
    answers = source.selected(select(["COUNT(*)"], [terms.odd(sorted(terms.integers))]))
    return answers is not None and [int(answer["c0"]) for answer in answers] == [0]


#: the tasks of a configuration (lifecycle)
TASKS: dict[str, Callable[[Source, Told, pa.Schema], Batches]] = {
    "rows": rows, "fields": fields, "sought": sought, "top": top, "totals": total, "groups": grouped,
}  # fmt: skip


def _batch(rows: Iterable[Sequence[Any]], wanted: pa.Schema) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] or [()] * len(wanted)
    try:
        arrays = [pa.array(values, field.type) for values, field in zip(columns, wanted, strict=True)]
    except (OverflowError, pa.ArrowInvalid):
        raise Overflow("a sum does not fit into its type") from None
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _keys(told: Told, inputs: Sequence[Input]) -> list[Condition]:
    """Return the conditions of the keys that arrive; they are those of semi joins, so NULL is none."""
    columns = {of["edge"]: of["columns"] for of in told["filters"]}
    found: list[tuple[str, list[Any]]] = []
    for edge, input in zip(told["inputs"], inputs, strict=True):
        table = _kept(input)
        if table is None:
            continue
        for name, values in zip(columns[edge["edge"]], table.columns, strict=True):
            found.append((name, values.drop_null().unique().to_pylist()))
    if told["task"] == "fields":
        superset = Superset(Form(**told["form"]), DIALECTS[told["dialect"]], ())
        base = select(map(superset.form.column, told["columns"]), [told["superset"]])
    else:
        superset, base = None, select(map(column, told.get("shown", ())), [told["where"]])
    return conditions(found, told["hashes"], EXPRESSION_MAX - len(base.encode()) - len(" WHERE AND "), superset)


def _kept(input: Input) -> pa.Table | None:
    """Return the rows of an edge, which is read to its end in any case; None if there are more than conditions hold."""
    batches: list[pa.RecordBatch] = []
    rows = 0
    for batch in input:
        rows += batch.num_rows
        if rows <= KEYS_MAX:
            batches.append(batch)
    return pa.Table.from_batches(batches, input.schema) if rows <= KEYS_MAX else None


def compute(configuration: Told, inputs: tuple[Input, ...], counted: Counted | None = None) -> Batches:
    """Do the task on each object; yield the rows in the types of the output edge. Raises FileUnreadable, FileChanged,
    Forbidden."""
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    told: list[dict[str, Any]] = configuration["objects"]
    counted = counted or Counted()
    sought = _keys(configuration, inputs)
    if inputs:
        yield pa.RecordBatch.from_pylist([], wanted)  # receivers wait for a connection, whatever the store does
    task, window = TASKS[configuration["task"]], Window(AT_ONCE)
    form, types = None, None
    if "form" in configuration:
        form = Form(**configuration["form"])
        types = arrow_schema(Descriptor.parse(configuration["types"]).schema)
    found: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(WAITING_MAX)

    def do(one: dict[str, Any]) -> None:
        try:
            source = Source(one, configuration["columns"], window, counted, form, types)
            for batch in task(source, {**configuration, "conditions": sought}, wanted):
                found.put(batch)
            found.put(None)
        except BaseException as error:
            found.put(error)

    # each scan by DuckDB holds a thread of Arrow's pool, and waits for another one that parses what is scanned
    pa.set_io_thread_count(max(pa.io_thread_count(), 2 * AT_ONCE))
    pool = ThreadPoolExecutor(AT_ONCE)
    for one in told:
        pool.submit(do, one)
    left = len(told)
    while left:
        match found.get():
            case None:
                left -= 1
            case BaseException() as error:  # the process ends, and with it what is asked
                raise error
            case batch:
                yield batch
    pool.shutdown()
    counted["cost"] = sum(counted[name] * price for name, price in configuration["prices"].items())


if __name__ == "__main__":
    COUNTED = Counted()
    serve(lambda configuration, inputs: compute(configuration, inputs, COUNTED), {"asked": COUNTED})
