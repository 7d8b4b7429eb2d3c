"""Files that hosts have and this machine may not: a host is asked what they are, and a plan must read them there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from jumpgate.converters import probe
from jumpgate.dataflow import builder, located
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.dataflow.types import Schema
from jumpgate.errors import (
    CannotPlace,
    FileUnreadable,
    InvalidDataflow,
    JumpgateError,
    NotFound,
    SchemaMismatch,
    Unreachable,
)
from jumpgate.nca.interface import JobPlan, Statistics
from jumpgate.service.agents import Agents
from jumpgate.stores.names import is_remote

#: for a host to say how large files are, while a plan waits
ESTIMATE_TIMEOUT_S = 10.0

Options = tuple[tuple[str, str], ...]


class Located:
    """Asks the hosts of a service about their files."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    async def look(
        self, paths: Sequence[str], format: str, options: dict[str, str], schema: Schema | None = None
    ) -> Read:
        """A Read of all columns of what the paths name, `file://HOST/path` or a path that all hosts share; `schema`: of
        the files, if it is known. Raises what the host finds wrong, NotFound (no such host), SchemaMismatch (hosts
        whose files differ)."""
        if not paths:
            raise InvalidDataflow("read: no files given")
        by_host = located.hosts(paths)
        if len(by_host) > 1 and "" in by_host:
            raise InvalidDataflow(
                f"read: {by_host[''][0]!r} has no host, others have: write file://HOST/path for all, or read them apart"
            )
        if any(map(is_remote, paths)):
            return await asyncio.to_thread(_look_here, paths, format, options, schema)
        self.check(by_host)
        found = await asyncio.gather(
            *(self._look(host, of_one, format, options, schema) for host, of_one in by_host.items())
        )
        first, *others = found
        for (host, _), other in zip(list(by_host.items())[1:], others, strict=True):
            if replace(other, files=first.files) != first:
                raise SchemaMismatch(
                    f"the files on host '{host}' have another schema or format than those on '{next(iter(by_host))}': "
                    "read them apart and union_all them",
                    host=host,
                    file=other.files[0],
                )
        return replace(first, files=tuple(file for read in found for file in read.files))

    async def _look(
        self, host: str, paths: list[str], format: str, options: dict[str, str], schema: Schema | None
    ) -> Read:
        try:
            read = await self._agents.look(host, paths, format, options, schema)
        except FileUnreadable as error:
            if host:
                error = FileUnreadable(f"on host '{host}': {error.message}", **{**error.fields, "host": host})
            raise error from None
        return replace(read, files=tuple(located.joined(host, file) for file in read.files))

    def check(self, by_host: dict[str, list[str]]) -> None:
        """Raises NotFound for files on a host that is none, Unreachable for those on one that does not answer."""
        known = [device.name for device in self._agents.devices]
        for host, (path, *_) in by_host.items():
            if host and host not in known:
                raise NotFound(
                    f"'{located.joined(host, path)}': there is no host '{host}'; the hosts are {', '.join(known)}",
                    host=host,
                )
            if host in self._agents.lost:
                raise Unreachable(
                    f"'{located.joined(host, path)}' is on host '{host}', which does not answer", host=host
                )

    def estimate(self, files: tuple[str, ...], format: str, options: Options) -> Statistics:
        """Rows and bytes, as their hosts say; unknown where one does not. Called on a thread."""
        try:
            found = [
                self._agents.ask(
                    host, "estimate", ESTIMATE_TIMEOUT_S, files=paths, format=format, options=list(options)
                )
                for host, paths in located.hosts(files).items()
            ]
        except JumpgateError:
            return Statistics()
        if any(f["rows"] is None or f["bytes"] is None for f in found):
            return Statistics()
        return Statistics(sum(f["rows"] for f in found), sum(f["bytes"] for f in found))


def _look_here(paths: Sequence[str], format: str, options: dict[str, str], schema: Schema | None) -> Read:
    """A Read of objects, which this process has the credentials for."""
    read = builder.read(paths, format=format or None, schema=schema or probe.infer_schema, **options).root
    assert isinstance(read, Read)
    return read


def check_request(root: Operator, files: Located) -> bool:
    """Return whether it reads files of certain hosts. Raises NotFound, Unreachable, InvalidDataflow."""
    found = located.reads(root)
    for read in found:
        by_host = located.hosts(read.files)
        if "" in by_host:
            raise InvalidDataflow(f"read: {by_host[''][0]!r} has no host, other files of the same read have")
        files.check(by_host)
    return bool(found)


def check_placed(plan: JobPlan) -> None:
    """Raises CannotPlace unless each host reads its own files."""
    places: dict[str, set[str]] = {}
    for instance in plan.instances:
        places.setdefault(instance.fragment, set()).add(instance.device.name)
    for instance in plan.instances:
        for read in located.reads(instance.root):
            for host, paths in located.hosts(read.files).items():
                if host not in places[instance.fragment]:
                    raise CannotPlace(
                        f"'{located.joined(host, paths[0])}' must be read on host '{host}', where this plan runs "
                        "nothing: leave parallelism to the planner, and the host among its devices",
                        host=host,
                    )
