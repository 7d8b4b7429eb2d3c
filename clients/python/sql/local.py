"""DataFusion in the client: the execution of what stays here.

Results of jobs that DataFusion goes on with are spooled (client/spool), because a plan that reads one input to its end
before it touches another would otherwise stop the job behind the second.
"""

from __future__ import annotations

import asyncio
import functools
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datafusion
import pyarrow as pa
import pyarrow.parquet as pq
from datafusion.plan import LogicalPlan

from jumpgate.client.sql import functions, installed, moving, sketches
from jumpgate.client.sql.errors import from_datafusion
from jumpgate.client.sql.logical import plan_pb2 as pb
from jumpgate.client.sql.logical.types import agree
from jumpgate.client.sql.stopping import Stop
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import DataType
from jumpgate.errors import JumpgateError
from jumpgate.machine import memory_bytes
from jumpgate.ntf.codec import arrow_type

#: the settings of every context: DuckDB's order of NULLs, Arrow's plain strings, timestamps of 96 bits in Jumpgate's
#: unit, which holds all of them that are dates, nothing remembered about files, and no trust in statistics, which leave
#: NaN out, the largest of floats, and of which DataFusion believes those of old writers
SETTINGS = {
    "datafusion.sql_parser.default_null_ordering": "nulls_last",
    "datafusion.execution.parquet.schema_force_view_types": "false",
    "datafusion.execution.parquet.coerce_int96": "us",
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.optimizer.enable_leaf_expression_pushdown": "false",  # fails beside several scalar subqueries
    "datafusion.execution.collect_statistics": "false",
    "datafusion.execution.parquet.pruning": "false",
    "datafusion.execution.parquet.enable_page_index": "false",
    "datafusion.execution.parquet.bloom_filter_on_read": "false",
    "datafusion.runtime.list_files_cache_limit": "0K",
    "datafusion.runtime.file_statistics_cache_limit": "0K",
    "datafusion.runtime.metadata_cache_limit": "0K",
}


#: of this machine's memory a context may hold; what is beyond that is spilled, or fails
MEMORY_SHARE = 0.6


def memory_max() -> int:
    """Bytes that a context may hold."""
    return int(memory_bytes() * MEMORY_SHARE)


def context(settings: dict[str, str] | None = None) -> datafusion.SessionContext:
    """A DataFusion context with one partition a core and Jumpgate's settings, and some more."""
    config = datafusion.SessionConfig().with_target_partitions(len(os.sched_getaffinity(0)))
    runtime = {}
    for name, value in {**SETTINGS, **(settings or {})}.items():
        if name.startswith("datafusion.runtime."):
            runtime[name] = value
        else:
            config = config.set(name, value)
    resources = datafusion.RuntimeEnvBuilder().with_disk_manager_os().with_fair_spill_pool(memory_max())
    found = datafusion.SessionContext(config, resources)
    for name, value in runtime.items():
        found.sql(f"SET {name} = '{value}'").collect()
    functions.register(found)
    installed.register(found)
    moving.register(found)
    sketches.register(found)
    return found


@functools.cache
def parquet_options() -> pb.Parquet:
    """How DataFusion reads Parquet under these settings, in its encoding: it writes that for a table that there is."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pq.write_table(pa.table({"a": [1]}), file)
        file.flush()
        found = context()
        encoded = found.read_parquet(Path(file.name).as_uri(), parquet_pruning=False).logical_plan().to_bytes(found)
    return pb.Plan.FromString(encoded).scan.parquet


def parquet_schema(context: datafusion.SessionContext, read: Read) -> pa.Schema | None:
    """The columns of Parquet files with DataFusion's types, which are more than Jumpgate's; None for files that it
    does not open, though Jumpgate does."""
    theirs: dict[str, pa.DataType] = {}
    opaque = {f.name for f in read.schema if f.type.is_opaque}
    for file in read.files:
        try:
            found = context.read_parquet(Path(file).as_uri(), file_extension=Path(file).suffix).schema()
        except Exception:  # of Rust
            return None
        for field in found:
            theirs.setdefault(field.name, field.type)
        if opaque <= theirs.keys():
            break
    try:
        _widen(theirs, read.files[1:])
    except (pa.ArrowException, OSError):
        return None
    return pa.schema([pa.field(f.name, _column_type(f.type, theirs.get(f.name)), f.type.nullable) for f in read.schema])


def _widen(types: dict[str, pa.DataType], files: Sequence[str]) -> None:
    """Makes types of which further files may have wider ones such of all files, whatever their order. Raises pyarrow's
    errors."""
    narrow = [name for name, type in types.items() if _may_widen(type)]
    for file in files if narrow else ():
        found = pq.read_schema(file)
        for name in narrow:
            place = found.get_field_index(name)
            if place >= 0 and found.field(place).type != types[name]:
                both = [pa.schema([(name, type)]) for type in (types[name], found.field(place).type)]
                types[name] = pa.unify_schemas(both, promote_options="permissive").field(0).type


def _may_widen(type: pa.DataType) -> bool:
    """Return whether Jumpgate's type of all files does not tell it."""
    if pa.types.is_timestamp(type):
        return type.unit in ("s", "ms")
    return bool(pa.types.is_unsigned_integer(type)) or type.num_fields > 0


def _column_type(ours: DataType, theirs: pa.DataType | None) -> pa.DataType:
    """DataFusion's type, but that of all files together where they differ in width, and plain strings."""
    if (
        theirs is None
        or ours.is_float
        or pa.types.is_decimal128(theirs)
        or (ours.is_integer and not pa.types.is_unsigned_integer(theirs))
    ):
        return pa.null() if ours.is_opaque else arrow_type(ours)
    plain = theirs.value_type if pa.types.is_dictionary(theirs) else theirs
    is_text = ours.is_text and agree(ours, plain) and not pa.types.is_fixed_size_binary(plain)
    return arrow_type(ours) if is_text else theirs


def decoded(context: datafusion.SessionContext, plan: pb.Plan) -> datafusion.DataFrame:
    """The data frame of a plan."""
    try:
        return context.create_dataframe_from_logical_plan(LogicalPlan.from_bytes(context, plan.SerializeToString()))
    except Exception as error:
        raise from_datafusion(error) from error


def stream(frame: datafusion.DataFrame, stop: Stop) -> Iterator[pa.RecordBatch]:
    """Executes until `stop`; raises DataFusion's errors as typed ones."""
    batches = None
    try:
        batches, loop = frame.execute_stream(), _loop(os.getpid())
        while True:
            work = asyncio.run_coroutine_threadsafe(_next(batches), loop)
            batch = stop.result(work, work.cancel)
            if batch is None:
                return
            yield batch.to_pyarrow()
    except JumpgateError:
        raise
    except BaseException as error:  # a panic of DataFusion is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError | GeneratorExit):
            raise
        raise from_datafusion(error) from error
    finally:
        del batches  # what computes them ends with them, and a traceback would hold this frame


async def _next(batches: Any) -> Any:
    """The next batch; None after the last one."""
    return await anext(batches, None)


@functools.cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """Where a process awaits DataFusion, which ends what is no longer awaited."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="jumpgate-datafusion", daemon=True).start()
    return loop


def empty(schema: pa.Schema) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
