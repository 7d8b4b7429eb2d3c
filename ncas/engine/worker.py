"""The engine's instance: `python -m jumpgate.ncas.engine.worker`, started by a host's agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

from jumpgate.errors import ComputeError, JumpgateError, MemoryLimit, Overflow
from jumpgate.nca.dataset import Stream
from jumpgate.nca.worker import Input, serve
from jumpgate.ntf.codec import arrow_schema
from jumpgate.ntf.descriptor import Descriptor


def compute(configuration: dict[str, Any], inputs: tuple[Input, ...]) -> Iterator[pa.RecordBatch]:
    """Run the statement over the input; yield the result in the types of the output edge."""
    runtime = RuntimeEnvBuilder().with_disk_manager_os()
    if configuration["memory_bytes"]:
        runtime = runtime.with_fair_spill_pool(configuration["memory_bytes"])
    context = SessionContext(SessionConfig().with_target_partitions(configuration["threads"]), runtime)
    (input,) = inputs
    numbered = pa.schema([pa.field(f"c{i}", f.type, f.nullable) for i, f in enumerate(input.schema)])
    stream = Stream(numbered, iter(input))
    context.register_dataset("input", stream)
    wanted = arrow_schema(Descriptor.parse(configuration["output"]["ntf"]).schema)
    try:
        for result in context.sql(configuration["statement"]).execute_stream():
            batch = result.to_pyarrow()
            columns = [c.cast(f.type) for c, f in zip(batch.columns, wanted, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=wanted)
    except pa.ArrowInvalid as error:
        raise Overflow(f"a result of the engine does not fit its type: {error}") from None
    except JumpgateError:
        raise
    except Exception as error:  # the engine raises no narrower exception
        raise stream.failure or _typed(str(error)) from None


def _typed(message: str) -> JumpgateError:
    if "Resources exhausted" in message:
        return MemoryLimit(f"the engine is out of memory: raise memory_limit_bytes. {message}")
    if any(words in message.lower() for words in ("overflow", "out of range", "can't cast value")):
        return Overflow(f"the engine: {message}")
    return ComputeError(f"the engine: {message}")


if __name__ == "__main__":
    serve(compute)
