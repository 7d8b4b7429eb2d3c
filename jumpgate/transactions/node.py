"""A further process with workers of a database: it executes transactions, and settles its own when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from jumpgate.errors import ConfigError
from jumpgate.transactions.channel import LOST_S, Channel, Lease, Sender
from jumpgate.transactions.coordinator import Coordinator
from jumpgate.transactions.records import ANSWERED, prefix


class Node(Coordinator):
    """Needs a `Database` of the folder that was opened with more than `node` nodes; it need not be open any more."""

    def __init__(
        self, url: str, folder: Path, node: int, number: int = 0,
        reach: Callable[[str], None] | None = None, lost_s: float = LOST_S, servers: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(url, folder, number, node, reach, lost_s, servers or {})

    def _open(self) -> None:
        with self._latch.shared():
            base = self._folder.read()
            if base is None or not 0 < self.node < base["nodes"]:
                raise ConfigError(
                    f"database {self.number} of {self._folder.path} has no node {self.node}: open it with more nodes",
                    file=self._folder.base,
                )
            if set(self.servers) != set(base["servers"]):
                raise ConfigError("node 0 was opened with other servers: give the same", file=self._folder.base)
            self._join(base, base["servers"])
            self._stamp = self._folder.stamp()
            self._adopt(base)
            self._settle()

    def _settle(self) -> None:
        base = self._base
        host, port = base["address"]
        leases = {
            flow: (Lease(flow, secret), sequence)
            for at, (flow, secret, sequence) in enumerate(base["leases"]) if at % base["nodes"] == self.node
        }  # fmt: skip
        sent, answers = self._logged(self.node)
        with Sender((host, port), self._lost_s) as sender:
            for number, r in sent.items():
                lease, sequence = leases[r.flow]
                leases[r.flow] = lease, max(sequence, r.sequence)
                if number not in answers:
                    channel = Channel(sender, lease)
                    answers[number] = channel.ask(r.sequence, r.instructions, number)
                    self._log.append(prefix(ANSWERED, base["epoch"]) + channel.datagram)
        self._decide(sent, answers, self.node)
        self._start(leases.values(), (host, port))
