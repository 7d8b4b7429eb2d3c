"""The dialect of SQLAlchemy: reflection, frames of pandas, transactions, and what an explorer of databases asks."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from dataclasses import replace

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchTableError, ProgrammingError

from jumpgate.flight.clients import Clients
from jumpgate.flight.door import Door
from jumpgate.hosts.config import ClientConfig, TableConfig, local_hosts
from jumpgate.service import embedded

DAY = datetime.date(2024, 2, 29)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a service with tables, and a client `analyst`."""
    folder = tmp_path_factory.mktemp("sqlalchemy")
    columns = {
        "id": pa.array(range(100), pa.int32()), "day": pa.array([DAY] * 100),
        "price": pa.array([decimal.Decimal(i) / 4 for i in range(100)], pa.decimal128(9, 2)),
        "order": [f"x{i % 10}" for i in range(100)], "parts": [[i] for i in range(100)],
    }  # fmt: skip
    pq.write_table(pa.table(columns), folder / "sales.parquet")
    (folder / "token").write_text("s3cret")
    config = replace(
        local_hosts(1),
        clients=(ClientConfig("analyst", str(folder / "token")),),
        tables=(
            TableConfig("Sales", (str(folder / "sales.parquet"),), "parquet"),
            TableConfig("more", (str(folder / "sales.parquet"),), "parquet", "extra"),
        ),
    )
    service = embedded.start(config)
    door = Door(Clients(lambda: config, service.service, service.loop), "127.0.0.1", 0, None)
    yield door.address.removeprefix("grpc://")
    door.close()
    service.close()


@pytest.fixture
def engine(place: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"jumpgate://analyst:s3cret@{place}?offload=never")
    yield made
    made.dispose()


def test_reflection(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert inspector.get_schema_names() == ["extra", "main"]
    assert inspector.get_table_names() == ["Sales"]
    assert inspector.get_table_names("extra") == ["more"]
    assert inspector.has_table("sales") and not inspector.has_table("gone")
    assert inspector.get_indexes("Sales") == inspector.get_foreign_keys("Sales") == []
    with pytest.warns(sa.exc.SAWarning, match=r"no type for BIGINT\[\]"):
        found = {column["name"]: column["type"] for column in inspector.get_columns("Sales")}
    assert [type(found[name]) for name in ("id", "day", "order")] == [sa.Integer, sa.DATE, sa.VARCHAR]
    assert (found["price"].precision, found["price"].scale) == (9, 2)
    with pytest.raises(NoSuchTableError):
        inspector.get_columns("gone")


@pytest.mark.filterwarnings("ignore:SQLAlchemy has no type")
def test_queries_over_a_reflected_table(engine: sa.Engine) -> None:
    sales = sa.Table("Sales", sa.MetaData(), autoload_with=engine)
    order = sales.c.order  # a reserved word
    query = (
        sa.select(order, sa.func.sum(sales.c.price).label("total"))
        .where(sales.c.day == DAY, sales.c.id.in_([1, 2, 11]), order.like("x%"))
        .group_by(order)
        .order_by(order)
        .limit(5)
    )
    with engine.connect() as connection:
        assert connection.execute(query).all() == [("x1", decimal.Decimal("3.00")), ("x2", decimal.Decimal("0.50"))]
        with pytest.raises(ProgrammingError, match="nothing"):
            connection.execute(sa.text("SELECT nothing FROM sales"))


def test_frames_of_pandas(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        frame = pandas.read_sql(
            sa.text('SELECT id, "order" FROM sales WHERE id < :n ORDER BY id'), connection, params={"n": 3}
        )
        assert frame["order"].tolist() == ["x0", "x1", "x2"]
        frame.to_sql("own", connection, index=False)
        assert pandas.read_sql_table("own", connection)["id"].tolist() == [0, 1, 2]
        frame.to_sql("own", connection, index=False, if_exists="append")
        assert connection.execute(sa.text("SELECT count(*) FROM own")).scalar() == 6


def test_a_session_s_own_tables(engine: sa.Engine) -> None:
    metadata = sa.MetaData()
    people = sa.Table(
        "people",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, unique=True),
    )
    sa.Table("pets", metadata, sa.Column("owner", sa.ForeignKey("people.id")), sa.Column("born", sa.DateTime))
    with engine.connect() as connection:
        metadata.create_all(connection)
        connection.execute(people.insert(), [{"id": 1, "name": "Ada"}, {"id": 2, "name": None}])
        connection.execute(sa.text("CREATE VIEW named AS SELECT * FROM people WHERE name IS NOT NULL"))
        connection.commit()
        inspector = sa.inspect(connection)
        assert inspector.get_table_names() == ["Sales", "people", "pets"]
        assert inspector.get_view_names() == ["named"]
        assert "IS NOT NULL" in inspector.get_view_definition("named")
        assert inspector.get_pk_constraint("people")["constrained_columns"] == ["id"]
        assert inspector.get_unique_constraints("people")[0]["column_names"] == ["name"]
        assert inspector.get_foreign_keys("pets")[0]["referred_table"] == "people"
        names = sa.select(people.c.name).order_by(people.c.id)
        connection.execute(people.update().where(people.c.id == 2).values(name="Bo"))
        assert connection.execute(names).scalars().all() == ["Ada", "Bo"]
        connection.rollback()
        assert connection.execute(names).scalars().all() == ["Ada", None]


def test_this_user_needs_no_credentials(place: str) -> None:
    engine = sa.create_engine(f"jumpgate://{place}")
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM sales")).scalar() == 100
    engine.dispose()


def test_what_an_url_cannot_have(place: str) -> None:
    with pytest.raises(ArgumentError, match="the URL has colour; it can have offload"):
        sa.create_engine(f"jumpgate://{place}?colour=red").connect()
    with pytest.raises(sa.exc.DBAPIError, match="offload"):
        sa.create_engine(f"jumpgate://analyst:s3cret@{place}?offload=sometimes").connect()
