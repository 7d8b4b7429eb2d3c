"""A card of our own, as a child process; its control channel is its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from jumpgate.errors import InstanceFailed, InternalError, Unreachable
from jumpgate.ncas.fpga_join.build import build

START_TIMEOUT_S = 30.0
#: for a request, of which the longest clears tables
CALL_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0


class Child:
    """A running card; `data` is where it receives packets. Ends with `close` or with this process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name, self._process = name, process
        self.data = ""
        self._calling = asyncio.Lock()
        self._answers: asyncio.Queue[str] = asyncio.Queue()
        self._listening: asyncio.Task[None] | None = None
        self._failure: asyncio.Future[InstanceFailed] = asyncio.get_running_loop().create_future()
        self._ended = False
        #: of joins whose receivers have all rows, and of those that failed
        self._joins: dict[str, asyncio.Event] = {}
        self._failures: dict[str, asyncio.Future[InstanceFailed]] = {}

    @staticmethod
    async def start(name: str, backend: str, address: str) -> Child:
        """Builds the card unless it is in the cache; it receives at `address`. Raises BuildError or Unreachable."""
        program = await asyncio.to_thread(build, backend)
        process = await asyncio.create_subprocess_exec(
            str(program), address, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        child = Child(name, process)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                words = (await process.stdout.readline()).decode().split()
        except TimeoutError:
            words = []
        if len(words) != 2 or words[0] != backend:
            await child.close()
            raise Unreachable(f"card '{name}' did not start; its message is on standard error", device=name)
        child.data = words[1]
        child._listening = asyncio.create_task(child._listen())
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._ended

    async def watch(self, ids: Iterable[str]) -> None:
        """Until one of these joins fails or the card ends, if it has not; then raises InstanceFailed."""
        failures = [*map(self._failure_of, ids), self._failure]
        await asyncio.wait(failures, return_when=asyncio.FIRST_COMPLETED)
        raise next(failure.result() for failure in failures if failure.done())

    def _failure_of(self, id: str) -> asyncio.Future[InstanceFailed]:
        return self._failures.setdefault(id, asyncio.get_running_loop().create_future())

    async def ended(self, id: str) -> None:
        """Until the receiver of a join has all its rows."""
        await self._joins.setdefault(id, asyncio.Event()).wait()

    def forget(self, id: str) -> None:
        """The join is gone: who waits for its end waits no longer."""
        self._failures.pop(id, None)
        if event := self._joins.pop(id, None):
            event.set()

    async def call(self, *words: object) -> list[str]:
        """One request. Raises InternalError for what the card refuses, Unreachable if it has ended. Who is cancelled
        while it waits leaves no answer behind for the next request."""
        return await asyncio.shield(asyncio.create_task(self._call(words)))

    async def _call(self, words: tuple[object, ...]) -> list[str]:
        assert self._process.stdin is not None
        async with self._calling:
            answer = ""
            with contextlib.suppress(OSError, TimeoutError):
                if not self._ended:
                    self._process.stdin.write((" ".join(map(str, words)) + "\n").encode())
                    async with asyncio.timeout(CALL_TIMEOUT_S):
                        answer = await self._answers.get()
        if not answer:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()  # a late answer would be taken for that of the next request
            raise Unreachable(f"card '{self.name}' does not answer", device=self.name)
        verdict, _, rest = answer.partition(" ")
        if verdict != "ok":
            raise InternalError(f"card '{self.name}' refused '{words[0]}': {rest}", device=self.name)
        return rest.split()

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        while line := (await self._process.stdout.readline()).decode():
            if line.startswith("ended "):
                self._joins.setdefault(line.split()[1], asyncio.Event()).set()
            elif line.startswith("failed "):
                _, id, code, why = line.strip().split(" ", 3)
                what = f"card '{self.name}': {id}: {why}" + (". Raise rest_bytes." if code == "memory" else "")
                self._failure_of(id).set_result(InstanceFailed(what, device=self.name))
            else:
                self._answers.put_nowait(line.strip())
        self._ended = True
        self._failure.set_result(InstanceFailed(f"card '{self.name}' ended while jobs used it", device=self.name))
        self._answers.put_nowait("")
        for event in self._joins.values():
            event.set()

    async def close(self) -> None:
        """May be called twice. Requests that wait have failed when it returns."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._listening is not None:
            with contextlib.suppress(TimeoutError):  # it hears of the end, and tells who waits
                await asyncio.wait_for(self._listening, STOP_TIMEOUT_S)
            self._listening = None
        async with self._calling:
            pass
