"""Applications of Spark in processes of their own, which work one at a time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("spark_peer_run.py")


class Peer:
    """An application of Spark's, of the version that its Python or `home` has."""

    def __init__(
        self, python: Path, settings: dict[str, str], tables: dict[str, str], home: Path | None = None
    ) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME")}
        environment |= {} if home is None else {"SPARK_HOME": str(home)}
        self._process = subprocess.Popen(
            [python, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**environment, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": str(python)},
        )  # fmt: skip
        self._say({"settings": settings, "tables": tables})

    def seconds(self, query: str, settings: dict[str, str]) -> float:
        """Raises RuntimeError where there is no answer."""
        return float(self.answer(query, settings)["seconds"])

    def answer(self, query: str, settings: dict[str, str], statements: Sequence[str] = ()) -> dict[str, Any]:
        """Raises RuntimeError where there is none."""
        self._say({"query": query, "settings": settings, "statements": list(statements)})
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline() or '{"error": "the application has ended"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        self._process.communicate()

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
