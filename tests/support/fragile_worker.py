"""A probing worker that files called bad.* end, as faults of the libraries that read files would."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from jumpgate.converters import probe_worker


def _fragile(answer: Callable[..., Any]) -> Callable[..., Any]:
    def looked_into(files: tuple[str, ...], *arguments: Any) -> Any:
        if any(os.path.basename(file).startswith("bad.") for file in files):
            os.abort()
        return answer(files, *arguments)

    return looked_into


if __name__ == "__main__":
    probe_worker.VERBS = {
        verb: answer if verb == "estimate" else _fragile(answer) for verb, answer in probe_worker.VERBS.items()
    }
    probe_worker.main(*map(int, sys.argv[1:]))
