"""A software switch of our own, as a child process on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from importlib.resources import as_file, files

from jumpgate.errors import Unreachable
from jumpgate.p4.switch.build import build

START_TIMEOUT_S = 30.0
#: for it to end by itself
STOP_TIMEOUT_S = 5.0
#: the UDP port that programs parse, whatever the socket's is
PORT_SHOWN = 9801
MAIN = "from jumpgate.cli.main import main; main()"


class Child:
    """A running `jumpgate switch run`; `data` and `p4runtime` are host:port. Ends with `close` or with this process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.data = self.p4runtime = ""

    @staticmethod
    async def start(name: str, program: str, profile: str) -> Child:
        """Compiles the program unless it is in the cache. Raises BuildError, the compiler's errors, or Unreachable."""
        with as_file(files("jumpgate.p4.programs") / f"{program}.p4") as source:
            await asyncio.to_thread(build, source, profile)
            arguments = [
                "switch", "run", str(source), "--profile", profile, "--until-eof",
                "--port", f"1=127.0.0.1:0,as={PORT_SHOWN}", "--p4runtime", "127.0.0.1:0",
            ]  # fmt: skip
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", MAIN, *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
            child = Child(process)
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    child.data = (await child._line("port 1: ", name)).strip()
                    port = (await child._line("P4Runtime: port ", name)).partition(",")[0]
                    child.p4runtime = f"127.0.0.1:{port}"
            except BaseException as error:
                await child.close()
                if isinstance(error, TimeoutError):
                    raise Unreachable(f"switch '{name}' did not start within {START_TIMEOUT_S:g} s") from None
                raise
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _line(self, prefix: str, name: str) -> str:
        assert self._process.stdout is not None
        line = (await self._process.stdout.readline()).decode()
        if not line.startswith(prefix):
            raise Unreachable(
                f"the software switch '{name}' ended while it started; its message is on standard error", device=name
            )
        return line.removeprefix(prefix)

    async def close(self) -> None:
        """May be called twice."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.communicate(), STOP_TIMEOUT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
