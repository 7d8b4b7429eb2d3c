"""Plans requests. The service, `jumpgate simulate` and the conformance kit's rig plan by this one function."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from jumpgate.compiler import CompileOptions, compile_dataflow
from jumpgate.dataflow.file_state import FileState, FileStates, file_state, look, settle
from jumpgate.dataflow.operators import Operator, Read
from jumpgate.errors import FileUnreadable
from jumpgate.nca import quick_builds
from jumpgate.nca.interface import Device, JobPlan
from jumpgate.nca.registry import Registry
from jumpgate.service import calibration
from jumpgate.stores import placement


def plan(root: Operator, devices: Sequence[Device], registry: Registry, options: CompileOptions) -> JobPlan:
    """Compile a request with the settings and measured speeds of this machine, and note the states of its files. Pure
    but for `options.statistics`, which looks into the files."""
    states = _known_states(root)
    settle(states)
    if sum(device.kind == "host" for device in devices) > 1:
        placement.look({file: state.inode for file, state in states.items()})
    return compile_dataflow(
        root,
        devices,
        registry,
        replace(
            options,
            files=states,
            quick_builds=quick_builds.wanted(),
            speeds=options.speeds or calibration.load("host"),
        ),
    )


def _known_states(root: Operator) -> FileStates:
    """Return the states of all files that are read and visible here; the hosts that read the others know theirs."""
    states: dict[str, FileState] = {}
    files = {file for node in root.walk() if isinstance(node, Read) for file in node.files}
    look(files)
    for file in files:
        with contextlib.suppress(FileUnreadable):
            states[file] = file_state(file)
    return states
