"""Plans over stores: the link, the prices and the objective choose between S3 Select and reading by ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from jumpgate.client import col
from jumpgate.compiler.compile import compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions
from jumpgate.dataflow.builder import Dataflow
from jumpgate.dataflow.objective import Objective
from jumpgate.dataflow.operators import Read
from jumpgate.dataflow.types import Field, Schema, int64, string
from jumpgate.errors import CannotPlace, ConfigError
from jumpgate.hosts.config import parse
from jumpgate.nca.interface import ColumnStatistics, JobPlan, Selection, Statistics
from jumpgate.nca.registry import default_registry
from jumpgate.nca.storage import Asked, Segments, StoreLink
from jumpgate.service import store_links
from jumpgate.stores import latency, settings
from jumpgate.stores.settings import Store
from tests.support.plans import host

FILES = tuple(f"s3://lake/t/{i}.parquet" for i in range(10))
SCHEMA = Schema((Field("a", int64), Field("s", string)))
#: 1 Gbit/s, and the prices of AWS
SLOW = StoreLink(0.02, 1.25e8, 1e9, scanned_price=2e-12, returned_price=7e-13, request_price=4e-7)
ROWS = 100_000_000.0


@pytest.fixture(autouse=True)
def store() -> Iterator[None]:
    settings.configure([Store("s3://lake", select=True)])
    yield
    settings.configure([])


def planned(
    link: StoreLink | None, share: float, objective: Objective | None = None, per_hour: float = 0.0, kept: int = 0
) -> JobPlan:
    """Plan a filter that `share` of the rows pass. kept: so many objects are on the disk, and some of another."""

    def segments(files: tuple[str, ...], format: str, names: tuple[str, ...]) -> list[Segments]:
        assert (format, names) == ("parquet", ("a", "s"))
        parts = {file: min(1.0, max(0.0, kept + 0.4 - number)) for number, file in enumerate(FILES)}
        return [Segments(4, 100.0, int(4 * parts[file]), 100.0 * parts[file]) for file in files if kept]

    def selected(node: object, names: object) -> Selection:
        return Selection(1_000_000, int(1_000_000 * share), False)

    def statistics(files: tuple[str, ...], *_: object) -> Statistics:
        rows = ROWS * len(files) / len(FILES)
        return Statistics(rows, 24 * rows, select=selected)

    flow = Dataflow(Read(FILES, "parquet", SCHEMA, (0, 1))).filter(col("a") == 5)
    machine = host("h")
    machine = replace(machine, offer=replace(machine.offer, money_per_hour=per_hour))
    options = CompileOptions(
        statistics=statistics, link=lambda file: link, segments=segments, objective=objective or Objective()
    )
    return compile_dataflow(flow.root, (machine,), default_registry(), options)


def reads_by(plan: JobPlan) -> str:
    (reader,) = {i.nca for i in plan.instances if "read" in i.operators}
    return reader


def test_a_slow_link_makes_the_store_compute() -> None:
    assert reads_by(planned(SLOW, 0.001)) == "s3_select"
    assert reads_by(planned(SLOW, 1.0)) == "cpp"  # all rows come as text
    assert reads_by(planned(replace(SLOW, scanned_bytes_per_s=1e7), 0.001)) == "cpp"


def test_cost_and_its_bounds_count_prices_and_hours() -> None:
    assert reads_by(planned(SLOW, 0.001, Objective("cost"))) == "cpp"  # scanning is charged, and hours are not
    assert reads_by(planned(SLOW, 0.001, Objective("cost"), per_hour=20.0)) == "s3_select"
    assert reads_by(planned(SLOW, 0.001, Objective(cost_max=0.001))) == "cpp"
    with pytest.raises(CannotPlace, match="no plan is within the bounds: the best one found would cost"):
        planned(SLOW, 0.001, Objective("cost", cost_max=1e-9))


def joins_by(keys: float, rows: float, link: StoreLink) -> str:
    """Plan a join of objects with a file of so many keys; return what reads the objects."""

    def statistics(files: tuple[str, ...], *_: object) -> Statistics:
        count = rows if files == FILES else keys
        return Statistics(count, 24 * count, lambda name, _: ColumnStatistics(1e6 if name == "a" else count))

    probe = Dataflow(Read(FILES, "parquet", SCHEMA, (0, 1)))
    build = Dataflow(Read(("/here/few.parquet",), "parquet", Schema((Field("d", int64), Field("t", string))), (0, 1)))
    options = CompileOptions(statistics=statistics, link=lambda file: link if file in FILES else None)
    flow = probe.join(build, left_on="a", right_on="d")
    plan = compile_dataflow(flow.root, (host("h"),), default_registry(), options)
    asks = {i.nca for i in plan.instances if "read" in i.operators} - {"cpp"}
    assert any(edge.filter for edge in plan.edges) == bool(asks)
    return asks.pop() if asks else "cpp"


def test_keys_of_a_join_go_to_a_store_where_that_pays() -> None:
    settings.configure([Store("s3://lake", select=True, select_dialect="aws")])
    assert joins_by(1e3, ROWS, SLOW) == "s3_select"
    assert joins_by(9e5, ROWS, SLOW) == "cpp"  # more keys than expressions hold
    assert joins_by(1e3, 1e4, SLOW) == "cpp"  # little is read anyway
    assert joins_by(1e3, ROWS, replace(SLOW, scanned_bytes_per_s=1e7)) == "cpp"


def test_explain_shows_what_stores_are_asked_and_what_it_costs() -> None:
    plan = planned(SLOW, 0.001)
    (fragment,) = [f for f in plan.explain["fragments"].values() if f["asked"]]
    assert fragment["asked"]["requests"] == 20.0 and fragment["asked"]["scanned_bytes"] == 24 * ROWS
    assert fragment["asked"]["cost"] == pytest.approx(24 * ROWS * 2e-12 + 20 * 4e-7, rel=0.05)
    text = explain_text(plan.explain)
    assert "asks stores: 20 requests, 2.4 GB scanned, " in text and ", cost 0.0048" in text
    was = {"requests": 21, "scanned_bytes": 5_000, "returned_bytes": 70, "cost": 0.25}
    counters = {i["id"]: {"asked": was} for i in fragment["instances"]}
    assert "; was 21 requests, 5 kB scanned, 70 B returned, cost 0.25" in explain_text(plan.explain, counters=counters)
    by_ranges = planned(SLOW, 1.0)
    assert "returned, cost" in explain_text(by_ranges.explain)
    assert by_ranges.figures.seconds is not None and by_ranges.figures.seconds > 24 * ROWS / SLOW.bytes_per_s
    assert not any(f["asked"] for f in planned(None, 1.0).explain["fragments"].values())


def test_a_demand_takes_time_and_money() -> None:
    asked = Asked(requests=160, returned_bytes=1e6, scanned_bytes=4e6, charged_bytes=1e6, core_s=0.5)
    link = StoreLink(0.1, 1e6, 4e6, at_once=16, scanned_price=1.0, returned_price=2.0, request_price=3.0)
    assert asked.seconds(link) == 1.0 + 1.0 + 1.0 + 0.5
    assert asked.money(link) == 4e6 + 2e6 + 480
    assert asked + asked == Asked(320, 2e6, 8e6, 2e6, 1.0)


def test_links_are_configured_or_measured() -> None:
    table = {"url": "s3://lake", "latency_ms": 20, "bits_per_s": 1e9, "price_scanned": 1}
    config = parse({"store": [table], "host": [{"name": "h", "money_per_hour": 2.128}]})
    assert config.hosts[0].device.offer.money_per_hour == 2.128
    settings.configure(config.stores)
    found = store_links.of("s3://lake/t")
    assert found is not None and (found.latency_s, found.bytes_per_s, found.scanned_price) == (0.02, 1.25e8, 1e-9)
    assert store_links.of("/data/t") is None
    for seconds in (0.3, 0.2, 0.4):
        latency.note("s3://pond/t", seconds)
    found = store_links.of("s3://pond/t")
    assert found is not None and (found.latency_s, found.returned_price * 1e9) == (0.2, pytest.approx(0.0007))
    web = store_links.of("https://host/t")
    assert web is not None and web.request_price == 0.0  # nobody charges
    with pytest.raises(ConfigError, match=r"bits_per_s in \[\[store\]\] is -1, not a number, 0 or more"):
        parse({"store": [{"url": "s3://lake", "bits_per_s": -1}]})


def test_what_the_disk_has_is_read_from_there() -> None:
    store = replace(SLOW, scanned_bytes_per_s=4e8)
    assert reads_by(planned(store, 0.001)) == "s3_select" and reads_by(planned(store, 0.001, kept=10)) == "cpp"
    halves = planned(store, 0.001, kept=5)
    files = {i.nca: node.files for i in halves.instances for node in i.root.walk() if isinstance(node, Read)}
    assert files == {"cpp": FILES[:5], "s3_select": FILES[5:]}
    text = explain_text(halves.explain)
    assert "0 requests, 0 B returned, 20 of 20 segments on the disk" in text and "20 segments there" in text
    before, after = planned(store, 0.001).figures.seconds, halves.figures.seconds
    assert before is not None and after is not None and after < before
    quick = replace(SLOW, scanned_bytes_per_s=1e12)
    assert reads_by(planned(quick, 0.001, kept=5)) == "s3_select"  # the store computes sooner than a disk is read
