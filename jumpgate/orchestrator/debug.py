"""JUMPGATE_DEBUG=1 shows hosts and instances, 2 also stages with their times and bytes: lines on standard error."""

from __future__ import annotations

import os
import sys

from jumpgate.nca.interface import InstancePlan


def level() -> int:
    """$JUMPGATE_DEBUG, 0 where it is no number."""
    value = os.environ.get("JUMPGATE_DEBUG", "")
    return int(value) if value.isascii() and value.isdigit() else 0


def note(instance: InstancePlan, stage: int, text: str) -> None:
    """One line that begins with where it happened."""
    place = f"{instance.id}@{instance.device.name}" + (f" stage {stage}" if stage else "")
    print(f"[{place}] {text}", file=sys.stderr, flush=True)
