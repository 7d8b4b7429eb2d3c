"""Moments in time zones: what their clocks show, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.support.spark_cases import FALLS_BACK, OFFLOADED, REFUSED, WHOLE, Case, files, text

ZONE = "spark.sql.session.timeZone"
#: with gaps and repeated hours at several times of the day, of half an hour, at midnight; a whole day; none
ZONES = (
    "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia",
    "Africa/Casablanca", "+05:30", "UTC",
)  # fmt: skip
#: around changes of these zones' clocks, and far from any
MOMENTS = """select timestamp_micros(u) m, u div 1000000 n, date_from_unix_date(cast(u div 86400000000 as int)) d,
    cast(timestamp_micros(u) as timestamp_ntz) c, cast(u as bigint) u
    from (select explode(array(0, -1, -500000, 1, 1710053999999999, 1710054000000000, 1730610000000000,
    1730611800000000, 1730613600000000, 1711846799999999, 1711846800000000, 1729990799999999, 1729990800000000,
    1712415600000000, 1712417400000000, 1728141600000000, 1540090799999999, 1540090800000000, 1518919200000000,
    1519005600000000, 1325239199999999, 1325239200000000, 1325240000000000, -2717650800000000, -14831769600000000,
    4102444799000000 - 86400000000 * 2, 951782400123456)) u)"""
FUNCTIONS = """year(m), month(m), day(m), hour(m), minute(m), second(m), dayofweek(m), weekofyear(m), dayofyear(m),
    quarter(m), cast(m as date), cast(m as string), cast(m as timestamp_ntz), cast(c as timestamp),
    cast(d as timestamp), date_trunc('year', m),
    date_trunc('quarter', m), date_trunc('month', m), date_trunc('week', m), date_trunc('day', m),
    date_trunc('hour', m), date_trunc('minute', m), date_trunc('second', m), date_trunc('millisecond', m),
    unix_timestamp(m), unix_timestamp(d), unix_seconds(m), cast(m as bigint), cast(m as double), cast(n as timestamp),
    timestamp_seconds(n), timestamp_micros(u), from_unixtime(n), from_unixtime(n, 'yyyy-MM-dd'),
    m + interval '1' hour, m - interval '90:30' minute to second, to_date(m), trunc(m, 'MM'), last_day(m),
    date_format(m, 'yyyy-MM-dd HH:mm:ss.SSS'), date_format(m, "EEE, d MMM yy h:mm a"), date_format(m, "EEEE MMMM D Q"),
    date_format(m, "yyyy-MM-dd'T'HH:mm:ss"), date_format(d, 'MMM yyyy'), date_format(c, 'hh:mm a SSSSSS')"""
TEXTS = """select * from values ('2024-02-29 12:34:56'), ('2024-03-10 02:30:00'), ('2024-11-03 01:30:00'), (null),
    ('1969-12-31 23:59:59') as t(s)"""
PARSED = """to_timestamp(s, 'yyyy-MM-dd HH:mm:ss'), unix_timestamp(s, 'yyyy-MM-dd HH:mm:ss'), unix_timestamp(s),
    cast(s as timestamp), to_timestamp(s)"""
WRITTEN = ("2024-02-29T12:34:56.000Z", "2024-02-29 12:34:56.5", "2024-03-10T02:30:00+02:00")


def _moments_in_folders(session: SparkSession, folder: Path) -> DataFrame:
    session.sql("select 1 a, timestamp'2024-01-31 12:00:00' p").write.partitionBy("p").parquet(str(folder / "t"))
    return session.read.schema("a int, p timestamp").parquet(str(folder / "t"))


def cases() -> Iterator[Case]:
    columns = "m timestamp, n bigint, d date, c timestamp_ntz, u bigint"
    for zone in ZONES:
        yield Case(f"clocks of {zone}", WHOLE, files("parquet", columns, MOMENTS), {ZONE: zone},
                   f"select u, {FUNCTIONS} from t")  # fmt: skip
        yield Case(f"texts of times in {zone}", WHOLE, files("parquet", "s string", TEXTS), {ZONE: zone},
                   f"select s, {PARSED} from t")  # fmt: skip
        objects = "".join(f'{{"m":"{m}"}}\n' for m in WRITTEN) + '{"m":null}\n'
        yield Case(f"json of moments in {zone}", WHOLE, text("json", objects, "m timestamp"), {ZONE: zone})
        lines = "".join(f"{m},1\n" for m in WRITTEN) + ",2\n"
        yield Case(f"csv of moments in {zone}", WHOLE, text("csv", lines, "m timestamp, a int"), {ZONE: zone})
        yield Case(f"orc of moments in {zone}", WHOLE,
                   files("orc", columns, MOMENTS.replace("-14831769600000000,", "")), {ZONE: zone},
                   "select m, n, d, u, hour(m) h from t")  # fmt: skip
        grouped = "select date_trunc('month', m) k, count(*), max(hour(m)) from t group by 1"
        yield Case(f"months of {zone}", WHOLE, files("parquet", columns, MOMENTS), {ZONE: zone}, grouped)
    yield Case("orc of early moments", FALLS_BACK, files("orc", columns, MOMENTS), {}, "select m from t")
    yield Case("orc of times of a clock", REFUSED, files("orc", "c timestamp_ntz", MOMENTS))
    late = "select timestamp'2150-06-01 12:00:00' m"
    yield Case("clocks beyond the rules that are sent", FALLS_BACK, files("parquet", "m timestamp", late),
               {ZONE: "Europe/Berlin"}, "select hour(m) h from t")  # fmt: skip
    table = files("parquet", columns, MOMENTS)
    for kept in (
        "date_format(m, 'z')",
        "from_utc_timestamp(m, 'Asia/Tokyo')",
        "m + interval '1' day",
        "m + interval '1' month",
    ):
        query = f"select u, {kept} k from t where u <> 0"
        yield Case(f"a table below {kept}", OFFLOADED, table, {ZONE: "Europe/Berlin"}, query)
    for bad in ("2024-02-29 24:00:00", "2024-02-29 12:60:00", "2024-02-29 12:00:00+20:00", "2024-02-30 12:00:00"):
        query = "select s, try_cast(s as timestamp) m from t"
        yield Case(f"{bad!r} as a moment", FALLS_BACK, files("parquet", "s string", f"select '{bad}' s"), {}, query)
    yield Case("moments in folders", REFUSED, _moments_in_folders)
