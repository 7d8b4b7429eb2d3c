"""The page of a running service: its jobs, hosts and devices, without scripts; it loads itself again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jumpgate.observe.report import template

#: seconds until the page is loaded again
REFRESH_S = 5
#: of what was asked, in the list of jobs
TEXT_CHARACTERS = 200


@dataclass(frozen=True)
class JobRow:
    """A job; `seconds` from its submission to its end, or until now."""

    id: str
    state: str
    client: str
    text: str
    seconds: float
    rows: int
    devices: tuple[str, ...]
    held_bytes: int
    error: str = ""


@dataclass(frozen=True)
class DeviceRow:
    """A host or device, with the jobs, threads and bytes of all that run. `facts` are of the configuration."""

    name: str
    kind: str
    is_up: bool
    jobs: int
    cores: int
    threads: int
    memory_bytes: int
    held_bytes: int
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Overview:
    """A service as one client may see it."""

    address: str
    version: str
    client: str
    unready: str
    jobs: tuple[JobRow, ...]
    devices: tuple[DeviceRow, ...]
    memory_bytes: int  #: of the service's process
    cache_bytes: int  #: of generated programs
    plans_found: int
    plans_made: int

    @property
    def users(self) -> dict[str, dict[str, int]]:
        """Return how many jobs each client has in each state, those with most first."""
        found: dict[str, dict[str, int]] = {}
        for job in self.jobs:
            states = found.setdefault(job.client, {})
            state = job.state.partition(" ")[0]
            states[state] = states.get(state, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -sum(item[1].values())))


def html(overview: Overview) -> str:
    """Return the page. All text is escaped."""
    return template("overview").render(o=overview, refresh_s=REFRESH_S, characters=TEXT_CHARACTERS)
