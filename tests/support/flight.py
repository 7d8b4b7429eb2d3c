"""A service with Flight SQL, and what a client of Flight itself may do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import pyarrow as pa
import pyarrow.parquet as pq
from adbc_driver_flightsql import DatabaseOptions
from pyarrow import flight

from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.flight.messages import wrap
from jumpgate.hosts.config import ClientConfig, TableConfig, local_hosts
from jumpgate.service import embedded
from jumpgate.trust import tokens
from jumpgate.v1 import flight_sql_pb2 as sql

ROWS = 100_000


@dataclass
class Shop:
    """A service with tables, and two clients of whom one may read all of them."""

    door: Door
    clients: Clients
    service: embedded.Embedded
    tokens: dict[str, str]

    def connect(self, name: str = "", *, autocommit: bool = True, **options: str) -> adbc.Connection:
        header = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {self.tokens[name]}"}
        return adbc.connect(self.door.address, db_kwargs={**header, **options}, autocommit=autocommit)

    def raw(self, name: str = "") -> Raw:
        return Raw(flight.connect(self.door.address), self.tokens[name])

    def jobs(self) -> int:
        return len(self.service.engine.jobs())


@dataclass
class Raw:
    """What a client of Flight itself may do."""

    client: flight.FlightClient
    token: str
    cookie: str = ""

    @property
    def options(self) -> flight.FlightCallOptions:
        headers = {"authorization": f"Bearer {self.token}"} | ({"cookie": self.cookie} if self.cookie else {})
        return flight.FlightCallOptions(headers=[(k.encode(), v.encode()) for k, v in headers.items()])

    def info(self, text: str) -> flight.FlightInfo:
        command = wrap(sql.CommandStatementQuery(query=text))
        return self.client.get_flight_info(flight.FlightDescriptor.for_command(command), self.options)

    def get(self, info: flight.FlightInfo, part: int = 0) -> flight.FlightStreamReader:
        return self.client.do_get(info.endpoints[part].ticket, self.options)

    def action(self, name: str, message: Any, *, wrapped: bool = True) -> bytes:
        body = wrap(message) if wrapped else message.SerializeToString()
        (answer,) = list(self.client.do_action(flight.Action(name, body), self.options)) or [None]
        return b"" if answer is None else bytes(answer.body.to_pybytes())

    def option(self, name: str, value: str) -> sql.SetSessionOptionsResult:
        request = sql.SetSessionOptionsRequest()
        request.session_options[name].string_value = value
        return sql.SetSessionOptionsResult.FromString(self.action("SetSessionOptions", request, wrapped=False))


@contextmanager
def opened(folder: Path, hosts: int = 1) -> Iterator[Shop]:
    """A shop whose files are in the folder."""
    (folder / "open").mkdir()
    (folder / "closed").mkdir()
    table = pa.table({"a": range(ROWS), "b": [f"x{i % 10}" for i in range(ROWS)]})
    pq.write_table(table, folder / "open" / "t.parquet")
    pq.write_table(pa.table({"secret": [1]}), folder / "closed" / "s.parquet")
    (folder / "open" / "more.csv").write_text("c,d\n1,x\n2,y\n")
    shown = {name: tokens.new() for name in ("analyst", "guest")}
    for name, token in shown.items():
        (folder / name).write_text(token)
    config = replace(
        local_hosts(hosts),
        clients=tuple(ClientConfig(name, str(folder / name)) for name in shown),
        tables=(
            TableConfig("t", (str(folder / "open" / "*.parquet"),), "parquet"),
            TableConfig("more", (str(folder / "open" / "more.csv"),), "csv", "extra"),
            TableConfig("s", (str(folder / "closed"),), "parquet", readers=("analyst",)),
            TableConfig("gone", (str(folder / "nothing.parquet"),), "parquet"),
        ),
    )
    service = embedded.start(config)
    clients = Clients(lambda: config, service.service, service.loop)
    door = Door(clients, "127.0.0.1", 0, None)
    yield Shop(door, clients, service, {"": service.token, **shown})
    door.close()
    service.close()


def ended(shop: Shop) -> bool:
    """Return whether no statement runs."""
    return not any(session.is_busy for session in shop.door._sessions._by_id.values())


def eventually(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not condition():  # pytest ends what hangs
        pause.wait(0.05)
