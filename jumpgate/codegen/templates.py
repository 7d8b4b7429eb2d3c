"""The C++ templates: compiled once for each version and kept in the cache, so that not every process compiles them."""

from __future__ import annotations

import contextlib
import functools
from importlib.metadata import version
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

import jumpgate.templates
from jumpgate.codegen import cache
from jumpgate.errors import BuildError


@functools.cache
def environment() -> jinja2.Environment:
    """Return the templates' environment: undefined names are errors; nothing is escaped, as no user text goes in."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(jumpgate.templates.__file__).parent / "cpp"),
        bytecode_cache=CompiledTemplates(),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


class CompiledTemplates(jinja2.BytecodeCache):
    """Caches compiled templates in sealed files; if the cache is unusable, each process compiles them."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(BuildError, OSError):
            path = _path(bucket)
            if cache.is_usable(path):
                bucket.bytecode_from_string(path.read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(BuildError, OSError):
            with cache.locked("templates"), cache.scratch() as work:
                if not cache.is_usable(_path(bucket)):  # otherwise another process was first
                    built = work / "template"
                    built.write_bytes(bucket.bytecode_to_string())
                    cache.publish(built, _path(bucket))
            (cache.root() / "locks" / "templates.lock").unlink()


def _path(bucket: Bucket) -> Path:
    return cache.folder("templates") / f"{bucket.key}-{bucket.checksum}-{_jinja()}"


@functools.cache
def _jinja() -> str:
    return version("jinja2")
