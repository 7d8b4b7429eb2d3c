"""`jumpgate.toml`: the hosts (and other devices) that a service may use. With none, everything runs on this machine.

[service]                       # all optional
stall_timeout_ms = 60000        # fails a job that moves no rows and burns no CPU time for this long
memory_limit_bytes = 0          # of each instance's tables; 0: what its host has, but for a reserve
cache_bytes = 0                 # of objects in stores that each host keeps on its disk; 0: none
parallelism = 0                 # the most that one request may have: instances of an operator (0: 4 for each of the
threads = 0                     # cores, at least 64), threads of an instance, instances of its job (32 for each core)
instances = 0
endpoints = 0                   # of its result (0: 1024)
operators = 0                   # of its dataflow (0: 2000), and these, too
expressions = 0                 # 0: 200000
columns = 0                     # of an operator; 0: 65535
files = 0                       # of a read; 0: 100000
literals = 0                    # 0: 200000
literal_bytes = 0               # 0: 4 MiB
request_bytes = 0               # of the whole request; 0: 8 MiB

[tls]                           # between machines: docs/security.md
folder = "/etc/jumpgate/tls"    # of ca.pem, cert.pem and key.pem, as `jumpgate certs issue` writes them
edges = true                    # false: tuples travel in clear; for networks where nobody listens

[[client]]                      # who may use the service besides its own user
name = "reports"
token_file = "/etc/jumpgate/reports.token"
roots = ["/data"]               # files, and objects (s3://lake/reports), that it may read are below these; absent: none
credentials = "allow"           # of stores, which its requests may bring for themselves; require: they must, and the
                                # service's own are never used for them; never: they must not
administers = false             # true: sees and cancels all jobs, not only its own
jobs = 0                        # at once, and these for each request; 0: no limit
memory_limit_bytes = 0
request_bytes = 0
weight = 1                      # of its turns: twice the weight, twice the work while others wait
priority = 0                    # its jobs are before those of all clients with a lower one
running = 0                     # jobs that run at once, while its others wait
parallelism = 0                 # and all others of [service]; 0: as there

[[table]]                       # what Flight SQL serves: docs/flight-sql.md
name = "sales"
paths = ["/data/sales/*.parquet"]   # files, folders and globs
format = "parquet"              # or csv, json, delta, iceberg; absent: as the first path ends
schema = "main"                 # absent: main
readers = ["reports"]           # clients who may read it, besides the service's own user; absent: every client
# catalog = "prod"              # of Iceberg, by its name for pyiceberg; paths name the table in it

[[store]]                       # how objects are read whose names begin with url: docs/object-stores.md
url = "s3://lake"
endpoint = "http://minio:9000"  # absent: as variables and files of the provider's tools say, and so the next
region = "eu-west-1"            # of S3
profile = "reports"             # of S3: whose credentials are used
# credentials_file = "/etc/k"   # of Google: a service account's; of Azure: an account's key, or a SAS token; of HDFS: a
                                # delegation token
# user = "reports"              # of HDFS: who reads; absent: HADOOP_USER_NAME, else the user of this process
anonymous = false               # true: without any
credentials = "allow"           # requests may bring others for themselves; require: they must; never: they must not
insecure = false                # true: the way to it is trusted, as it is http
select = false                  # true: it has S3 Select, which may be used
select_dialect = "filters"      # what that computes: or hadro, minio, aws
select_formats = ["parquet"]    # or csv and json, too, where objects are plain: docs/object-stores.md
latency_ms = 20.0               # of a request, for estimates; absent: measured
bits_per_s = 1e9                # of the link to it; absent: 10 Gbit/s
scanned_bytes_per_s = 4e8       # of objects that Select looks at; absent: this
price_scanned = 0.002           # of Select, for 10⁹ bytes; absent: as AWS published in dollars, and so with these two
price_returned = 0.0007
price_requests = 0.0004         # for 1000 requests

[[host]]
name = "worker1"
agent = "10.0.0.7:7400"         # absent: an agent of our own on this machine
token_file = "/etc/jumpgate/token"
ssh = "me@worker1"              # instead of agent and token_file: one that is started over SSH, as ~/.ssh/config says
python = "python3"              # that runs it there
cores = 16                      # absent: as many as this machine has
memory_bytes = 68719476736      # absent: as much as this machine has
money_per_hour = 2.128          # what its use costs, for plans that save cost; absent: nothing
network = "rack1"               # the [[network]], or device, that it is connected to; absent: the root of the network
link_bits_per_s = 1000000000    # of its link there, in each direction; absent: unknown
link_delay_us = 10.0            # of its link, one way; absent: none
near = "s3://lake"              # a bucket, or a folder of one, that it is beside: docs/object-stores.md; absent: none
data_address = "10.0.0.7"       # how other hosts reach its instances; absent: that of its agent or, of a host without,
                                # that by which this machine reaches the other agents
data_bind = "0.0.0.0"           # where they accept edges; absent: data_address

[[device]]                      # what has no agent: the package that drives its kind declares the other keys
name = "tor1"
kind = "some_kind"              # `jumpgate nca list` shows which there are, and their keys
cores = 1                       # these seven may be written for every kind
memory_bytes = 1073741824
network = "spine"
link_bits_per_s = 10000000000
link_delay_us = 1.0
pool = "tors"                   # devices of one kind and pool share rows
money_per_hour = 2.5

[[network]]                     # a rack, or another part of the network, that hosts and devices are in: docs/network.md
name = "rack1"
network = "spine"               # that it is a part of; absent: the root
link_bits_per_s = 40000000000   # of its link there; absent: so fast that nothing waits for it
link_delay_us = 5.0

[[nca]]                         # accelerators, and kinds of devices, of packages that are not installed
name = "mine"
path = "my_package.my_module:NCA"

[[device_kind]]
name = "some_kind"
path = "my_package.my_module:KIND"
"""

from __future__ import annotations

import difflib
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jumpgate.errors import ConfigError, InvalidDataflow
from jumpgate.hosts.networks import Networks, delay_s
from jumpgate.hosts.ssh import Target
from jumpgate.machine import memory_bytes
from jumpgate.nca.device_kind import DeviceKinds, is_address
from jumpgate.nca.interface import Device, Offer
from jumpgate.ntf.addresses import LOOPBACK, LOOPBACK_6, facing, host_of
from jumpgate.stores import settings
from jumpgate.stores.settings import Store
from jumpgate.trust.tls import Identity

#: the most that a request may ask for (jumpgate/service/limits.py)
LIMITS = (
    "parallelism",
    "threads",
    "instances",
    "endpoints",
    "operators",
    "expressions",
    "columns",
    "files",
    "literals",
    "literal_bytes",
)
#: format of a [[table]] → how its files end
TABLE_FORMATS: dict[str, tuple[str, ...]] = {
    "iceberg": (".metadata.json",),
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz"),
    "delta": (),  # a folder
}
#: formats whose log says which files there are
LAKES = ("delta", "iceberg")
#: keys of a link to the network
_LINK: dict[str, type] = {"network": str, "link_bits_per_s": int, "link_delay_us": float}
#: table → key → type
_KEYS: dict[str, dict[str, type]] = {
    "service": {
        **dict.fromkeys(("stall_timeout_ms", "memory_limit_bytes", "cache_bytes", "request_bytes"), int),
        **dict.fromkeys(LIMITS, int),
    },
    "tls": {"folder": str, "edges": bool},
    "client": {
        "name": str,
        "token_file": str,
        "roots": list,
        "credentials": str,
        "administers": bool,
        "jobs": int,
        "memory_limit_bytes": int,
        "request_bytes": int,
        "weight": int,
        "priority": int,
        "running": int,
        **dict.fromkeys(LIMITS, int),
    },
    "table": {"name": str, "paths": list, "format": str, "schema": str, "readers": list, "catalog": str},
    "host": {
        "name": str,
        "agent": str,
        "token_file": str,
        "ssh": str,
        "python": str,
        "cores": int,
        "memory_bytes": int,
        "money_per_hour": float,
        "near": str,
        **_LINK,
        "data_bind": str,
        "data_address": str,
    },
    "store": {
        "url": str,
        "endpoint": str,
        "region": str,
        "profile": str,
        "credentials_file": str,
        "user": str,
        "anonymous": bool,
        "credentials": str,
        "insecure": bool,
        "select": bool,
        "select_dialect": str,
        "select_formats": list,
        "latency_ms": float,
        "bits_per_s": float,
        "scanned_bytes_per_s": float,
        "price_scanned": float,
        "price_returned": float,
        "price_requests": float,
    },
    "device": {"name": str, "kind": str, "network": str},
    "network": {"name": str, **_LINK},
    "nca": {"name": str, "path": str},
    "device_kind": {"name": str, "path": str},
}
_REQUIRED = {
    "service": (),
    "tls": ("folder",),
    "client": ("name", "token_file"),
    "table": ("name", "paths"),
    "host": ("name",),
    "store": ("url",),
    "device": ("name", "kind"),
    "network": ("name",),
    "nca": ("name", "path"),
    "device_kind": ("name", "path"),
}
#: what a value must be, in words
_WORDS = {
    int: "a whole number, 0 or more",
    float: "a number, 0 or more",
    str: "a text",
    bool: "true or false",
    list: "a list of texts",
}
#: tables whose other keys belong to somebody else
_OPEN = {"device"}


@dataclass(frozen=True)
class HostConfig:
    """A host. `agent` is host:port of a running agent; `ssh`, [user@]host[:port], where one is started with `python`.
    With neither, one is started on this machine. `said` are the device's figures that the file has."""

    device: Device
    agent: str | None = None
    token_file: str | None = None
    ssh: str | None = None
    python: str = "python3"
    said: frozenset[str] = frozenset()

    @property
    def is_here(self) -> bool:
        """Return whether it is the service's own machine."""
        return self.agent is None and self.ssh is None

    def found(self, facts: Mapping[str, Any], address: str) -> HostConfig:
        """With what its agent, who is at that address, says of it where the file says nothing."""
        device = self.device
        if "cores" not in self.said:
            device = replace(device, cores=int(facts["cores"]))
        if "memory_bytes" not in self.said:
            device = replace(device, memory_bytes=int(facts["memory_bytes"]))
        return replace(self, device=device, agent=address if self.ssh else self.agent)


@dataclass(frozen=True)
class ClientConfig:
    """A client that may use the service: which parts, and how much (0: without limit). `credentials`: whether its
    requests bring those of stores. `limits` are lower ones of requests."""

    name: str
    token_file: str
    roots: tuple[str, ...] = ()
    credentials: str = "allow"
    administers: bool = False
    jobs: int = 0
    memory_limit_bytes: int = 0
    request_bytes: int = 0
    weight: int = 1
    priority: int = 0
    running: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TableConfig:
    """A table that Flight SQL serves. `readers` are clients; none: all of them. `catalog` is pyiceberg's name for what
    knows the table of Iceberg that the path names; empty: the path is a metadata file."""

    name: str
    paths: tuple[str, ...]
    format: str
    schema: str = "main"
    readers: tuple[str, ...] = ()
    catalog: str = ""


@dataclass(frozen=True)
class TlsConfig:
    """Where this machine's certificate is, and whether tuples are encrypted, too."""

    folder: str
    edges: bool = True


@dataclass(frozen=True)
class Config:
    """`service` is the [service] table; `host_program` what own agents fork instances from (None: the runtime's).
    `ncas` and `device_kinds` are names and paths."""

    hosts: tuple[HostConfig, ...]
    devices: tuple[Device, ...] = ()
    ncas: tuple[tuple[str, str], ...] = ()
    device_kinds: tuple[tuple[str, str], ...] = ()
    service: dict[str, int] = field(default_factory=dict)
    clients: tuple[ClientConfig, ...] = ()
    tables: tuple[TableConfig, ...] = ()
    tls: TlsConfig | None = None
    stores: tuple[Store, ...] = ()
    host_program: Path | None = None

    @property
    def identity(self) -> Identity | None:
        """Return the identity that this machine shows to others; None: connections are not encrypted. Raises
        ConfigError."""
        return None if self.tls is None else Identity.load(self.tls.folder)


def this_machine(name: str = "local", cores: int = 0) -> HostConfig:
    return HostConfig(Device(name, "host", cores or len(os.sched_getaffinity(0)), memory_bytes()))


def local_hosts(count: int, cores: int = 0) -> Config:
    """`count` agents on this machine that stand for as many hosts."""
    return Config(tuple(this_machine(f"host{i + 1}" if count > 1 else "local", cores) for i in range(count)))


def load(path: str | Path | None = None) -> Config:
    """The configuration in `path`, else $JUMPGATE_CONFIG, else ./jumpgate.toml, else this machine alone.

    Raises ConfigError.
    """
    chosen = path or os.environ.get("JUMPGATE_CONFIG")
    if not chosen:
        if not Path("jumpgate.toml").exists():
            return local_hosts(1)
        chosen = "jumpgate.toml"
    try:
        with open(chosen, "rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"cannot read {chosen}: {error.strerror}", file=chosen) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{chosen}: {error}", file=chosen) from error
    return parse(data, str(chosen))


def parse(data: dict[str, Any], where: str = "jumpgate.toml") -> Config:
    """The configuration in a parsed file that errors call `where`. Raises ConfigError."""
    _known(data, _KEYS, "the top level", where)
    service = _table(data, "service", where)
    tls = TlsConfig(**_table(data, "tls", where)) if "tls" in data else None
    clients = tuple(_client(table, where) for table in _tables(data, "client", where))
    stores = tuple(_store(table, where) for table in _tables(data, "store", where))
    hosts = tuple(_host(table, stores, where) for table in _tables(data, "host", where))
    _differ([store.url for store in stores], "stores", where)
    paths = {kind: tuple((t["name"], t["path"]) for t in _tables(data, kind, where)) for kind in ("nca", "device_kind")}
    devices = _devices(_tables(data, "device", where), DeviceKinds(paths["device_kind"]), where)
    placed = [table for kind in ("host", "device", "network") for table in _tables(data, kind, where)]
    _differ([table["name"] for table in placed], "hosts, devices or networks", where)
    networks = Networks(placed, where)
    hosts = tuple(replace(h, device=replace(h.device, above=networks.above(h.device.name))) for h in hosts)
    devices = tuple(replace(device, above=networks.above(device.name)) for device in devices)
    _differ([c.name for c in clients], "clients", where)
    tables = tuple(_served(table, clients, where) for table in _tables(data, "table", where))
    _differ([f"{t.schema}.{t.name}".lower() for t in tables], "tables", where)
    for host in hosts:
        _check_agent(host, where)
    hosts = reachable(hosts)
    return Config(
        hosts or local_hosts(1).hosts,
        devices,
        paths["nca"],
        paths["device_kind"],
        service,
        clients=clients,
        tables=tables,
        tls=tls,
        stores=stores,
    )


def _differ(names: list[str], what: str, where: str) -> None:
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}: two {what} are called '{twice}'; rename one", file=where)


def _table(data: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    table: Any = data.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: [{name}] is a single table: write [{name}], not [[{name}]]", file=where)
    if name in data:
        _check(table, name, f"[{name}]", where)
    return table


def _tables(data: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    tables = data.get(name, [])
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ConfigError(f"{where}: there may be several of them: write [[{name}]], not [{name}]", file=where)
    for table in tables:
        _check(table, name, f"[[{name}]]", where)
    return tables


def _check(table: dict[str, Any], name: str, place: str, where: str) -> None:
    if name not in _OPEN:
        _known(table, _KEYS[name], place, where)
    for key in _REQUIRED[name]:
        if key not in table:
            raise ConfigError(f"{where}: a {place} has no {key}", file=where)
    for key, kind in _KEYS[name].items():
        value = table.get(key, kind())
        number = (int, float) if kind is float else kind
        fits = isinstance(value, number) and isinstance(value, bool) == (kind is bool)
        if kind is list:
            fits = fits and all(isinstance(v, str) for v in value)
        if not fits or (kind in (int, float) and not 0 <= value < math.inf):
            raise ConfigError(f"{where}: {key} in {place} is {value!r}, not {_WORDS[kind]}", file=where)


def _known(table: dict[str, Any], keys: dict[str, Any], place: str, where: str) -> None:
    for key in table:
        if key not in keys:
            close = difflib.get_close_matches(key, keys, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(keys))}"
            raise ConfigError(f"{where}: unknown key '{key}' in {place}; {hint}", file=where)


def _client(table: dict[str, Any], where: str) -> ClientConfig:
    if (policy := table.get("credentials", "allow")) not in settings.CREDENTIALS:
        known = ", ".join(settings.CREDENTIALS)
        raise ConfigError(
            f"{where}: credentials of client '{table['name']}' is {policy!r}; it can be {known}", file=where
        )
    own = {key: value for key, value in table.items() if key not in LIMITS}
    limits = {key: table[key] for key in LIMITS if key in table}
    return ClientConfig(**{**own, "roots": tuple(table.get("roots", ())), "limits": limits})


def _served(table: dict[str, Any], clients: tuple[ClientConfig, ...], where: str) -> TableConfig:
    """A table that can be served: its format and its readers are known."""
    name, paths = table["name"], tuple(table["paths"])
    if not paths:
        raise ConfigError(f"{where}: table '{name}' has no paths", file=where)
    ending = next((f for f, endings in TABLE_FORMATS.items() if paths[0].endswith(endings)), None)
    format = table.get("format", ending)
    if format not in TABLE_FORMATS:
        known = ", ".join(TABLE_FORMATS)
        raise ConfigError(f"{where}: format of table '{name}' is {format!r}; it can be {known}", file=where)
    catalog = table.get("catalog", "")
    if format in LAKES and len(paths) > 1:
        raise ConfigError(f"{where}: table '{name}' is of {format} and has {len(paths)} paths; give one", file=where)
    if catalog and format != "iceberg":
        raise ConfigError(f"{where}: table '{name}' has a catalog, but its format is not iceberg", file=where)
    readers = tuple(table.get("readers", ()))
    unknown = sorted(set(readers) - {client.name for client in clients})
    if unknown:
        message = f"{where}: '{unknown[0]}', a reader of table '{name}', is no [[client]]: add one, or correct the name"
        raise ConfigError(message, file=where)
    return TableConfig(name, paths, format, table.get("schema", "main"), readers, catalog)


def _store(table: dict[str, Any], where: str) -> Store:
    try:
        return settings.parse(table)
    except InvalidDataflow as error:
        raise ConfigError(f"{where}: {error.message}", file=where) from error


def _host(table: dict[str, Any], stores: tuple[Store, ...], where: str) -> HostConfig:
    local = this_machine().device
    near = _store({"url": table["near"]}, where).url if table.get("near") else ""
    beside = [store for store in stores if store.has(near)]
    way = int(max(beside, key=lambda store: len(store.url)).bits_per_s) if beside else 0
    figures = ("cores", "memory_bytes")
    properties = tuple((k, table[k]) for k in ("data_bind", "data_address") if k in table)
    device = Device(
        table["name"],
        "host",
        table.get("cores") or local.cores,
        table.get("memory_bytes") or local.memory_bytes,
        properties,
        link_bits_per_s=table.get("link_bits_per_s", way),
        near=near,
        link_delay_s=delay_s(table),
        offer=Offer(money_per_hour=table.get("money_per_hour", 0.0)),
    )
    said = frozenset(k for k in (*figures, "data_bind", "data_address") if table.get(k))
    return HostConfig(
        device, table.get("agent"), table.get("token_file"), table.get("ssh"), table.get("python", "python3"), said
    )


def reachable(hosts: tuple[HostConfig, ...]) -> tuple[HostConfig, ...]:
    """With an address for each by which the others reach its instances, where the file names none. That of a host with
    `ssh` is known once its agent is."""
    elsewhere = [h.agent for h in hosts if h.agent is not None and facing(h.agent) not in (LOOPBACK, LOOPBACK_6)]

    def with_address(host: HostConfig) -> HostConfig:
        said = {k: v for k, v in host.device.properties if k in host.said}
        address = host_of(host.agent) if host.agent is not None else facing(elsewhere[0]) if elsewhere else LOOPBACK
        address = str(said.get("data_address", address))
        properties = (("data_bind", said.get("data_bind", address)), ("data_address", address))
        return replace(host, device=replace(host.device, properties=properties))

    return tuple(map(with_address, hosts))


def _check_agent(host: HostConfig, where: str) -> None:
    name = host.device.name
    if host.ssh is not None:
        _check_ssh(host, where)
    if host.agent is None:
        return
    if not is_address(host.agent):
        raise ConfigError(f"{where}: agent of host '{name}' is {host.agent!r}, not HOST:PORT", file=where, host=name)
    if host.token_file is None:
        raise ConfigError(
            f"{where}: host '{name}' names an agent but no token_file: put the secret that its agent was "
            "started with into a file, and name it",
            file=where,
            host=name,
        )


def _check_ssh(host: HostConfig, where: str) -> None:
    name = host.device.name
    if Target.parse(host.ssh or "") is None:
        message = f"{where}: ssh of host '{name}' is {host.ssh!r}, not [USER@]HOST[:PORT]"
        raise ConfigError(message, file=where, host=name)
    if host.agent is not None or host.token_file is not None:
        raise ConfigError(
            f"{where}: host '{name}' has `ssh`, so its agent is started for it: remove `agent` and `token_file`",
            file=where,
            host=name,
        )


def _devices(tables: list[dict[str, Any]], kinds: DeviceKinds, where: str) -> tuple[Device, ...]:
    """Each as its kind has it; those of one pool are alike."""
    devices = []
    for table in tables:
        name, kind = table["name"], table["kind"]
        if kind == "host":
            raise ConfigError(f"{where}: '{name}' is a host: write [[host]], not [[device]]", file=where, device=name)
        try:
            devices.append(kinds.get(kind).parse(table, where))
        except ConfigError as error:
            if "file" in error.fields:
                raise
            message = f"{where}: kind of the [[device]] '{name}': {error.message}"
            raise ConfigError(message, file=where, device=name) from error
    for kind, pool in dict.fromkeys((d.kind, d.pool) for d in devices if d.pool):
        members = [d for d in devices if (d.kind, d.pool) == (kind, pool)]
        if key := kinds.get(kind).differing(members):
            raise ConfigError(
                f"{where}: the devices of pool '{pool}' share rows, so they must be alike, and differ in {key}: write "
                "the same, or another pool",
                file=where,
            )
    return tuple(devices)
