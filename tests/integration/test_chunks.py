"""The cache of chunks of objects: what it finds, what it evicts, and what no crash, damage or neighbour makes of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from jumpgate.client import Dataflow, col, count, read, sum_
from jumpgate.client.session import Session
from jumpgate.codegen import cache
from jumpgate.errors import FileChanged, FileUnreadable
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded
from jumpgate.stores import chunks, objects, reading
from tests.support import cpp
from tests.support.object_store import KEY, ROWS, SECRET, Store, credentials, table, write

KIB, MIB = 1 << 10, 1 << 20
#: of a chunk's file, before its bytes
HEADER = 8


class Cache:
    """A process that keeps and finds chunks."""

    def __init__(self, program: Path, folder: Path, bytes_max: int) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [program, folder, str(bytes_max)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *words: object) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(*words, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    def keep(self, object: str, begin: int, end: int, seconds: float = 1.0) -> None:
        assert self.ask("keep", object, begin, end, seconds) == "kept"

    def gap(self, object: str, begin: int, end: int) -> tuple[int, int] | None:
        """Return what is missing of a range, None if nothing; all else is right."""
        gap, judgement = self.ask("fill", object, begin, end).split()
        assert judgement == "right"
        first, last = map(int, gap.split("-"))
        return (first, last) if first < last else None

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file() and path.name != "lock")

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def program() -> Path:
    """Return the program of tests/cpp/chunks.cpp."""
    sources = [cpp.runtime_source().parents[1] / "tests/cpp/chunks.cpp"]
    names = ("base/disk", "ntf/crc32c", "edges/socket", "objects/chunks")
    return cpp.build("chunks", sources + [cpp.runtime_source() / "src" / f"{name}.cpp" for name in names])


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Cache]]:
    """What opens a cache in the test's folder."""
    built = program()
    with ExitStack() as stack:

        def open_(bytes_max: int = MIB) -> Cache:
            found = Cache(built, tmp_path / "chunks", bytes_max)
            stack.callback(found.close)
            return found

        yield open_


def test_parts_of_a_range_are_found_from_both_ends(opened: Callable[..., Cache]) -> None:
    one, other = opened(), opened()
    assert one.gap("a", 0, 1000) == (0, 1000)
    one.keep("a", 100, 300)
    one.keep("a", 250, 400)
    one.keep("a", 600, 1000)
    for of in (one, other):
        assert of.gap("a", 100, 300) is of.gap("a", 120, 400) is of.gap("a", 999, 1000) is None
        assert of.gap("a", 100, 1000) == (400, 600)
        assert of.gap("a", 0, 350) == (0, 100) and of.gap("a", 700, 1200) == (1000, 1200)
        assert of.gap("a", 0, 1200) == (0, 1200) and of.gap("b", 100, 300) == (100, 300)


def test_what_saves_least_goes_first_and_the_bound_holds(opened: Callable[..., Cache]) -> None:
    of = opened(100 * KIB)
    of.keep("dear", 0, 10 * KIB, 50.0)
    of.keep("used", 0, 10 * KIB)
    for _ in range(30):
        assert of.gap("used", 0, 10 * KIB) is None
    for number in range(30):
        of.keep(f"cheap{number}", 0, 10 * KIB)
        assert sum(path.stat().st_size for path in of.files()) <= 100 * KIB
    assert of.gap("dear", 0, 10 * KIB) is None and of.gap("used", 0, 10 * KIB) is None
    assert of.gap("cheap0", 0, 10) == (0, 10) and of.gap("cheap29", 0, 10) is None
    for number in range(300):  # the clock follows what goes: what is no longer used ages
        of.keep(f"new{number}", 0, 10 * KIB)
    assert of.gap("dear", 0, 10) == (0, 10)
    of.keep("large", 0, 200 * KIB)
    assert of.gap("large", 0, 10) == (0, 10) and len(of.files()) > 5


def test_processes_share_one_bound(opened: Callable[..., Cache]) -> None:
    several = [opened(100 * KIB) for _ in range(3)]
    for number in range(200):
        several[number % 3].keep(f"o{number // 2}", 0, 7 * KIB)
    assert sum(path.stat().st_size for path in several[0].files()) <= 100 * KIB
    (several[0].folder / "lock").unlink()  # what they know of each other is found again
    for number in range(200):
        several[number % 3].keep(f"p{number // 2}", 0, 7 * KIB)
        assert sum(path.stat().st_size for path in several[0].files()) <= 100 * KIB


def test_a_process_that_is_killed_leaves_whole_chunks_alone(opened: Callable[..., Cache]) -> None:
    for number in range(20):
        of = opened(8 * MIB)
        assert of.process.stdin is not None
        for chunk in range(4):
            print("keep", f"o{number}", chunk * MIB, (chunk + 1) * MIB, 1, file=of.process.stdin, flush=True)
        if number % 2:
            assert of.process.stdout is not None and of.process.stdout.readline() == "kept\n"
        of.process.kill()
        of.process.wait()
    after = opened(8 * MIB)
    files = after.files()
    assert all(path.stat().st_size == MIB + HEADER for path in files) and len(files) <= 7
    for path in files:
        assert after.gap(path.parent.name, *map(int, path.name.split("-"))) is None
    after.keep("after", 0, 1000)
    assert after.gap("after", 0, 1000) is None


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "moved"])
def test_damaged_chunks_are_not_found_and_go(opened: Callable[..., Cache], damage: str) -> None:
    of = opened()
    of.keep("a", 0, 5000)
    (path,) = of.files()
    content = bytearray(path.read_bytes())
    content[4000] ^= 1
    if damage == "moved":
        path = path.rename(path.with_name("100-5100"))
    else:
        path.write_bytes({"flipped": content, "cut": content[:3000], "empty": b""}[damage])
    assert of.gap("a", 100, 4500) == (100, 4500)
    assert not path.exists()
    of.keep("a", 0, 5000)
    assert of.gap("a", 0, 5000) is None


def test_a_full_disk_keeps_nothing(tmp_path: Path) -> None:
    """The disk has less left than what is for others."""
    (tmp_path / "chunks").mkdir()
    full = f"mount -t tmpfs -o size=64M tmpfs {tmp_path}/chunks && exec {program()} {tmp_path}/chunks {MIB}"
    found = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", full],
        input="keep a 0 1000 1\nfill a 0 1000\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.split("\n")[:2] == ["kept", "0-1000 right"]


def test_a_folder_that_cannot_be_keeps_nothing(opened: Callable[..., Cache], tmp_path: Path) -> None:
    (tmp_path / "chunks").write_text("in its place")
    of = opened()
    of.keep("a", 0, 100)
    assert of.gap("a", 0, 100) == (0, 100)


BYTES_MAX = 32 * MIB
SCHEMA = {"a": "int64", "s": "string", "x": "float64"}
TOTALS = [{"n": ROWS, "t": sum(n for n in range(ROWS) if n % 7)}]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("chunks")
    for name in ("all.parquet", "all.csv", "all.orc", "hive/y=1/a.parquet", "hive/y=2/a.parquet"):
        write(folder / "lake" / name, table())
    found = Store(folder, access_key=KEY, secret_key=SECRET)
    with credentials(found.endpoint):
        yield found
    found.close()


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session whose host keeps chunks, in a cache folder of its own with what is built already."""
    folder = tmp_path_factory.mktemp("cache")
    for part in ("runtime", "build", "artifacts", "templates", "calibration"):
        (folder / part).symlink_to(cache.folder(part))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUMPGATE_CACHE_DIR", str(folder))
        service = embedded.start(replace(local_hosts(1), service={"cache_bytes": BYTES_MAX}))
        with Session(service.address) as session:
            yield session
        service.close()
        chunks.configure(Path(), 0)


@pytest.fixture
def kept(keeping: Session, store: Store) -> Path:
    """Where chunks are kept; there are none."""
    folder = cache.root() / "chunks"
    shutil.rmtree(folder, ignore_errors=True)
    store.requests.clear()
    return folder


def totals(path: str) -> Dataflow:
    return read(path, schema=SCHEMA, **({"null": "\\N"} if ".csv" in path else {})).aggregate(n=count(), t=sum_("a"))


def ran(session: Session, path: str) -> dict[str, float]:
    """Read the file, and return what its instance asked the store for."""
    result = session.run(totals(path))
    assert result.to_pylist() == TOTALS
    (counted,) = session.describe(result.job).record["counters"].values()
    asked: dict[str, float] = counted["asked"]
    assert ("from the disk" in session.explain_job(result.job)) == (asked["cached_bytes"] > 0)
    return asked


def ranges(store: Store) -> list[str]:
    """Return the ranges that were asked for since the last time."""
    found = [asked for method, _, asked in store.requests if method == "GET" and asked]
    store.requests.clear()
    return found


@pytest.mark.parametrize("name", ["all.parquet", "all.csv", "all.orc"])
def test_what_was_read_before_is_read_from_the_disk(keeping: Session, store: Store, kept: Path, name: str) -> None:
    first = ran(keeping, f"s3://lake/{name}")
    assert first["requests"] > 0 and first["returned_bytes"] > 1000 and ranges(store)
    again = ran(keeping, f"s3://lake/{name}")
    assert again["requests"] == again["returned_bytes"] == again["cost"] == 0 and ranges(store) == []
    assert again["cached_bytes"] >= first["returned_bytes"] and again["cached_reads"] > 0


def test_other_columns_ask_for_what_is_missing(keeping: Session, store: Store, kept: Path) -> None:
    first = ran(keeping, "s3://lake/all.parquet")
    rest = read("s3://lake/all.parquet").filter(col("x") >= 0).aggregate(n=count(), t=sum_("a"))
    result = keeping.run(rest)
    assert result.to_pylist() == TOTALS
    (counted,) = keeping.describe(result.job).record["counters"].values()
    assert counted["asked"]["cached_bytes"] > 0 and counted["asked"]["returned_bytes"] < 10 * first["returned_bytes"]
    assert counted["asked"]["cost"] > 0


def test_a_listing_alone_proves_no_right_to_read(keeping: Session, store: Store, kept: Path) -> None:
    """Each instance then asks for one byte of each object, by the URL that was signed for its reader."""
    flow = read("s3://lake/hive/").aggregate(n=count())
    everything = read("s3://lake/hive/").aggregate(t=sum_("a"), m=sum_("x"))
    assert keeping.run(flow).to_pylist() == [{"n": 2 * ROWS}]
    expected = keeping.run(everything).to_pylist()
    ranges(store)
    assert keeping.run(read("s3://lake/hive/").aggregate(t=sum_("a"), m=sum_("x"))).to_pylist() == expected
    assert ranges(store) == ["bytes=0-0"] * 2

    def refused(number: int) -> str:
        return "refused" if store.requests[-1][2] == "bytes=0-0" else ""

    store.before = refused
    try:
        with pytest.raises(FileUnreadable, match=r"a\.parquet.*405"):
            keeping.run(read("s3://lake/hive/").aggregate(t=sum_("a"), m=sum_("x"))).to_pylist()
    finally:
        store.before = lambda number: ""


def test_an_object_that_changed_is_read_anew(keeping: Session, store: Store, kept: Path) -> None:
    path = store.folder / "lake/changing.parquet"
    write(path, table())
    ran(keeping, "s3://lake/changing.parquet")
    write(path, table(1, ROWS - 1))
    again = keeping.run(read("s3://lake/changing.parquet").aggregate(n=count(), t=sum_("a")))
    assert again.to_pylist() == [{"n": ROWS - 1, "t": TOTALS[0]["t"]}]
    listed = read("s3://lake/chang*.parquet").aggregate(m=sum_("x"))
    keeping.run(listed).to_pylist()

    def replaced(number: int) -> str:
        if store.requests[-1][2] == "bytes=0-0":
            write(path, table(2, ROWS - 2))
        return ""

    store.before = replaced
    try:
        with pytest.raises(FileChanged, match="run the query again"):
            keeping.run(read("s3://lake/chang*.parquet").aggregate(m=sum_("x"))).to_pylist()
    finally:
        store.before = lambda number: ""


def test_damage_is_read_over(keeping: Session, store: Store, kept: Path) -> None:
    first = ran(keeping, "s3://lake/all.csv")
    for path in kept.glob("*/*"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 255
        path.write_bytes(content)
    assert ran(keeping, "s3://lake/all.csv") == first
    assert ran(keeping, "s3://lake/all.csv")["requests"] == 0


def test_footers_are_found_on_the_disk(keeping: Session, store: Store, kept: Path) -> None:
    ran(keeping, "s3://lake/all.parquet")
    size = (store.folder / "lake/all.parquet").stat().st_size
    objects.ask("s3://lake/all.parquet")
    store.requests.clear()
    with reading.opened("s3://lake/all.parquet") as opened:
        opened.seek(size - 4)
        assert opened.read(4) == b"PAR1" and store.requests == []


def test_no_secret_and_no_name_is_on_the_disk(keeping: Session, store: Store, kept: Path) -> None:
    ran(keeping, "s3://lake/all.parquet")
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert len(files) > 1 and not kept.stat().st_mode & 0o077
    shown = b"\n".join([str(path).encode() + path.read_bytes() for path in files])
    assert not [word for word in (SECRET, KEY, "X-Amz", "lake", "all.parquet") if word.encode() in shown]
