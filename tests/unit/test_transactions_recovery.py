"""What recovery makes of logs, and what steps become as instructions, against plain Python."""

from __future__ import annotations

import errno
import random
import threading
from pathlib import Path

import pytest

from jumpgate.errors import ConfigError, InternalError, InvalidDataflow
from jumpgate.p4.programs import transactions as p4
from jumpgate.p4.programs.transactions import ADD, SET, Header, Instruction, Reference
from jumpgate.transactions import native
from jumpgate.transactions.channel import plain_fields
from jumpgate.transactions.log import Log
from jumpgate.transactions.postgres import Name, Place
from jumpgate.transactions.records import SENT, SentRecord, prefix, read_records
from jumpgate.transactions.recovery import Sent, replay
from jumpgate.transactions.steps import Executed, Places, Step, too_large
from tests.support.transactions import fill


def history(rng: random.Random, count: int) -> tuple[list[Sent], Reference]:
    reference, out = Reference(), []
    for number in range(1, count + 1):
        instructions = tuple(
            Instruction(array, rng.randrange(2), rng.choice((ADD, SET)), rng.randint(-9, 9))
            for array in sorted(rng.sample(range(8), rng.randint(1, 3)))
        )
        results = tuple(reference.run(instructions))
        out.append(Sent(number, instructions, reference.gid, results))
    return out, reference


@pytest.mark.parametrize("seed", range(20))
def test_missing_answers_are_found_by_the_results_of_the_others(seed: int) -> None:
    """What the acknowledged transactions saw comes out again; if all answers are there, so does the state."""
    rng = random.Random(seed)
    sent, reference = history(rng, 40)
    assert replay({}, 0, sent)[0] == reference.cells
    lost = set(rng.sample(range(1, 41), 5))
    known = [Sent(s.id, s.instructions) if s.id in lost else s for s in sent]
    rng.shuffle(known)
    cells, ran = replay({}, 0, known)
    assert {s.gid for s in ran.values()} == set(range(1, 41))
    again = Reference()
    for s in sorted(ran.values(), key=lambda s: s.gid):
        assert s.results == tuple(again.run(s.instructions))
    assert again.cells == cells
    assert all(ran[s.id] == s for s in sent if s.id not in lost)


def test_logs_that_cannot_be_right_are_refused() -> None:
    one, other = Instruction(0, 0, ADD, 1), Instruction(0, 0, ADD, 2)
    with pytest.raises(InternalError, match="lacks 1 of the transactions 1 to 2"):
        replay({}, 0, [Sent(1, (one,), 2, (1,))])
    with pytest.raises(InternalError, match="no order of the transactions after 0"):
        replay({}, 0, [Sent(1, (one,), 2, (1,)), Sent(2, (other,))])
    cells, ran = replay({(0, 0): 5}, 7, [Sent(1, (one,), 9, (7,)), Sent(2, (other,)), Sent(3, (one,))])
    assert cells == {(0, 0): 9} and [ran[i].gid for i in (1, 2, 3)] == [9, 8, 10]


def plainly(steps: list[Step], values: dict[Name, int], expected: dict[Name, int]) -> tuple[bool, list[int]]:
    """All or nothing; steps are in the order in which each value's are written."""
    after, seen = dict(values), []
    if any(values[name] != value for name, value in expected.items()):
        return False, []
    for step in steps:
        seen.append(after[step.name])
        after[step.name] = step.amount if step.sets else after[step.name] + step.amount
        if step.at_least is not None and values[step.name] + (0 if step.sets else step.amount) < step.at_least:
            return False, []
    values.update(after)
    return True, seen


@pytest.mark.parametrize("seed", range(30))
def test_steps_do_what_they_say(seed: int) -> None:
    """Each value in any array, one step required or none, whatever its place: done as a whole or not at all."""
    rng = random.Random(seed)
    names = [("t", str(i), "v") for i in range(10)]
    places = Places(
        {name: Place(rng.choice((0, 2, 4, 6)) if i < 5 else rng.randrange(8), i) for i, name in enumerate(names)}
    )
    values, reference, outcomes = dict.fromkeys(names, 0), Reference(), set()
    for _ in range(60):
        chosen = rng.sample(names, rng.randint(1, 7))
        steps = [Step(name, rng.randint(-5, 5), rng.random() < 0.2) for name in chosen]
        checkable = [i for i, name in enumerate(chosen) if names.index(name) < 5]
        expected: dict[Name, int] = {}
        if rng.random() < 0.3:
            asked = rng.sample(names[:5], rng.randint(1, 3))
            expected = {name: values[name] + (rng.random() < 0.2) * rng.randint(-1, 1) for name in asked}
        elif rng.random() < 0.7:
            for i in checkable[: rng.randint(1, 3)]:
                steps[i] = Step(chosen[i], rng.randint(-5, 5), rng.random() < 0.2, rng.randint(-3, 3))
        conditions = len(expected) or len([step for step in steps if step.at_least is not None])
        if conditions > 1 or expected:
            steps = steps[: 8 - conditions - 1]
        compiled = places.compile(steps, expected)
        form, _ = p4.forms_of(len(compiled.fields))
        _, instructions = p4.unpack_sent(form.pack(*compiled.fields))
        results = reference.run(instructions)
        done, seen = plainly(steps, values, expected)
        outcomes.add(done)
        assert compiled.is_done(results) == Executed(tuple(instructions)).is_done(results) == done
        assert compiled.fields == plain_fields(instructions)
        if done:
            assert [results[at] for at in compiled.shape.where] == seen
        for name, place in places.items():
            assert reference.cells.get((place.array, place.index), 0) == values[name]
    assert outcomes == {True, False}


def test_transactions_that_differ_in_numbers_share_a_shape() -> None:
    a, b = ("t", "1", "v"), ("t", "2", "v")
    places = Places({a: Place(0, 3), b: Place(2, 0, is_wide=True, base=100)})

    def compiled(amount: int, least: int, value: int) -> tuple[object, list[Instruction]]:
        found = places.compile([Step(b, value, sets=True), Step(a, amount, at_least=least)], {})
        form, _ = p4.forms_of(len(found.fields))
        return found.shape, p4.unpack_sent(form.pack(*found.fields))[1]

    first, instructions = compiled(-5, 0, 107)
    assert instructions == [Instruction(0, 3, ADD, -5, 5, gives=True), Instruction(2, 0, SET, 7, guard=p4.Guard.DONE)]
    second, instructions = compiled(2, 1, 99)
    assert instructions == [Instruction(0, 3, ADD, 2, -1, gives=True), Instruction(2, 0, SET, -1, guard=p4.Guard.DONE)]
    assert first is second and places.compile([Step(a, 2)], {}).shape is not first


def test_what_the_switch_cannot_is_refused_with_the_way_out() -> None:
    a, b, c = ("t", "1", "v"), ("t", "2", "v"), ("t", "3", "v")
    places = Places({a: Place(1, 0), b: Place(0, 0), c: Place(2, 0)})
    for steps, message in (
        ([Step(a, at_least=0)], "offload it with checked=True"),
        ([Step(a, 1, at_least=0), Step(b, at_least=0)], "offload it with checked=True"),
        ([Step(b, at_least=0), *[Step(a)] * 4, Step(c, at_least=0), *[Step(a)] * 2], "has 10 instructions"),
        ([Step(b, 5), Step(b, -5, at_least=0)], "is changed or read before the step that requires it"),
        ([Step(a)] * 9, "has 9 hot steps; the switch takes 8"),
    ):
        with pytest.raises(InvalidDataflow, match=message):
            places.compile(steps, {})
    assert places.compile([], {}).is_done([])
    assert too_large([Step(a, 1), Step(b, 500), Step(b, -501)], places, 1000) == Step(b, -501)


def test_a_log_keeps_whole_records_and_goes_on_behind_them(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = Log(path)
    for number in range(3):
        log.append(b"%d" % number)
    log.close()
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        log = Log(path)
        kept = len(log.records)
        assert kept == cut * 3 // len(whole)
        log.append(b"next")
        log.close()
        log = Log(path)
        assert log.records == [*(b"%d" % number for number in range(kept)), b"next"]
        log.close()


def test_a_log_that_nobody_closed_goes_on_behind_its_records(tmp_path: Path) -> None:
    """It has zeros at its end, which a log that is closed has not."""
    log = Log(tmp_path / "log")
    log.append(b"one")
    left = (tmp_path / "log").read_bytes()
    log.close()
    closed = (tmp_path / "log").read_bytes()
    assert left.rstrip(b"\0") == closed != left
    (tmp_path / "left").write_bytes(left)
    for records in ([b"one"], [b"one", b"two"]):
        log = Log(tmp_path / "left")
        assert log.records == records
        log.append(b"two")
        log.close()


def test_a_call_that_comes_after_a_log_was_closed_writes_nothing(tmp_path: Path) -> None:
    log, library = Log(tmp_path / "log"), native.load()
    log.append(b"one")
    taken = log.handle
    log.close()
    with (tmp_path / "other").open("wb"):  # has the log's descriptor
        number = library.jgtx_log_append(taken, b"two", 3)
        assert library.jgtx_log_sync(taken, number) == errno.EBADF
        assert library.jgtx_log_sync(log.handle, 1) == errno.EBADF
    assert not (tmp_path / "other").read_bytes()
    log = Log(tmp_path / "log")
    assert log.records == [b"one"]
    log.close()


def test_a_log_is_one_databases_at_a_time(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.append(b"1")
    log.clear()
    log.append(b"2")
    with pytest.raises(ConfigError, match="is in use: a node is one process at a time"):
        Log(tmp_path / "log")
    log.close()
    log = Log(tmp_path / "log")
    assert log.records == [b"2"]
    log.close()
    with pytest.raises(ConfigError, match="Bad file descriptor"):
        log.append(b"3")


def test_threads_share_syncs_and_all_learn_of_a_failure(tmp_path: Path) -> None:
    log, appended = Log(tmp_path / "log"), threading.Barrier(9)
    sync = log._library.jgtx_log_sync

    def work(number: int) -> None:
        record = log._library.jgtx_log_append(log.handle, b"%d" % number, 1)
        appended.wait()
        log.check(sync(log.handle, record))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.syncs == 1
    fill(log)
    for number in (9, 10):
        with pytest.raises(ConfigError, match="No space left on device. Make room"):
            log.append(b"%d" % number)
    log.close()
    log = Log(tmp_path / "log")
    assert sorted(log.records) == [b"%d" % number for number in range(9)]
    log.close()


def test_records_hold_what_was_sent_and_answered() -> None:
    instructions = (Instruction(0, 3, p4.ADD, -5, 5, gives=True), Instruction(2, 1, p4.SET, 7, takes=1, guard=1))
    packet = p4.pack(Header(3, 9, 77, 1 << 63, (1, 1), 1), instructions)
    records = [prefix(SENT, 4) + packet, prefix(SENT, 5) + packet]
    sent, answers = read_records(records, 4)
    assert sent == {1 << 63: SentRecord(3, 9, instructions)}
    assert answers == {}
    with pytest.raises(ConfigError, match="of another version of Jumpgate"):
        read_records([b'{"is":"sent","epoch":4}'], 4)
