"""The P4Runtime server as its clients see it: raw calls for what must be refused, Finsy and p4runtime-shell for use."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator
from pathlib import Path

import finsy
import grpc
import pytest
from finsy.proto import U128, p4d, p4r, p4r_grpc, rpc_status

from jumpgate.p4.switch.device import Device, device_config
from jumpgate.p4.switch.p4runtime import Server
from jumpgate.p4.switch.switch import Switch
from tests.support import switch_by_hand as by_hand

EXACT, TERNARY, LPM, RANGE, CONST = (0x02000001 + i for i in range(5))
DROP, SET_PORT, SET_WIDE = 0x01000001, 0x01000002, 0x01000003
WAIT_S = 30.0


class Client:
    """One controller: a stream and the calls."""

    def __init__(self, port: int, election_id: int | None) -> None:
        self.election_id = election_id
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.stub = p4r_grpc.P4RuntimeStub(self.channel)
        self._requests: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self.answers: queue.Queue[p4r.StreamMessageResponse | grpc.RpcError] = queue.Queue()
        self._stream = self.stub.StreamChannel(iter(self._requests.get, None))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for answer in self._stream:
                self.answers.put(answer)
        except grpc.RpcError as error:
            self.answers.put(error)

    def say(self, request: p4r.StreamMessageRequest) -> None:
        self._requests.put(request)

    def arbitrate(self, device_id: int = 1) -> p4r.StreamMessageResponse | grpc.RpcError:
        update = p4r.MasterArbitrationUpdate(device_id=device_id)
        if self.election_id is not None:
            update.election_id.CopyFrom(U128.encode(self.election_id))
        self.say(p4r.StreamMessageRequest(arbitration=update))
        return self.next()

    def next(self) -> p4r.StreamMessageResponse | grpc.RpcError:
        return self.answers.get(timeout=WAIT_S)

    def configure(self, config: p4r.ForwardingPipelineConfig, action: int) -> None:
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=1, election_id=U128.encode(self.election_id or 0), action=action, config=config
        )
        self.stub.SetForwardingPipelineConfig(request, timeout=WAIT_S)

    def write(self, *updates: tuple[int, p4r.Entity]) -> list[int]:
        """The canonical code of each update."""
        request = p4r.WriteRequest(device_id=1, election_id=U128.encode(self.election_id or 0))
        for kind, entity in updates:
            request.updates.add(type=kind, entity=entity)
        try:
            self.stub.Write(request, timeout=WAIT_S)
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
            if details is None:
                raise
            codes = []
            for packed in rpc_status.Status.FromString(details).details:
                one = p4r.Error()
                assert packed.Unpack(one)
                assert bool(one.message) == bool(one.canonical_code)
                codes.append(one.canonical_code)
            return codes
        return [0] * len(updates)

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        answers = self.stub.Read(p4r.ReadRequest(device_id=1, entities=[entity]), timeout=WAIT_S)
        return [found for answer in answers for found in answer.entities]

    def close(self) -> None:
        self._requests.put(None)
        self.channel.close()


@contextlib.contextmanager
def client(server: Server, election_id: int | None) -> Iterator[Client]:
    made = Client(server.port, election_id)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def config() -> p4r.ForwardingPipelineConfig:
    program = by_hand.program()
    with Switch(program) as switch:
        info = by_hand.p4info(switch)
    made = p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=device_config(program))
    made.cookie.cookie = 77
    return made


@pytest.fixture
def server() -> Iterator[Server]:
    device = Device([])
    served = Server(device, "127.0.0.1:0", anyone=True)
    yield served
    served.close()
    device.close()


@pytest.fixture
def primary(server: Server, config: p4r.ForwardingPipelineConfig) -> Iterator[Client]:
    """A primary controller of a switch that runs the program written by hand."""
    with client(server, 10) as made:
        assert made.arbitrate().arbitration.status.code == 0
        made.configure(config, p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
        yield made


def entry(
    table: int, action: int | None = SET_PORT, params: tuple[bytes, ...] = (b"\x05",), **fields: object
) -> p4r.Entity:
    made = p4r.TableEntry(table_id=table, **fields)  # type: ignore[arg-type]
    if action is not None:
        made.action.action.action_id = action
        for i, value in enumerate(params, 1):
            made.action.action.params.add(param_id=i, value=value)
    return p4r.Entity(table_entry=made)


def exact(value: bytes) -> list[p4r.FieldMatch]:
    return [p4r.FieldMatch(field_id=1, exact=p4r.FieldMatch.Exact(value=value))]


def ternary(value: bytes, mask: bytes) -> list[p4r.FieldMatch]:
    return [p4r.FieldMatch(field_id=1, ternary=p4r.FieldMatch.Ternary(value=value, mask=mask))]


def status(error: pytest.ExceptionInfo[grpc.RpcError]) -> grpc.StatusCode:
    return error.value.code()


INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
OK, INVALID, NOT_FOUND, EXISTS, DENIED, EXHAUSTED, OUT_OF_RANGE, UNIMPLEMENTED = 0, 3, 5, 6, 7, 8, 11, 12


def test_capabilities_and_config(server: Server, config: p4r.ForwardingPipelineConfig) -> None:
    with client(server, 3) as one:
        assert one.arbitrate().arbitration.status.code == 0
        capabilities = one.stub.Capabilities(p4r.CapabilitiesRequest(device_id=1), timeout=WAIT_S)
        assert capabilities.p4runtime_api_version.startswith("1.")
        get = p4r.GetForwardingPipelineConfigRequest(device_id=1)
        with pytest.raises(grpc.RpcError) as none:
            one.stub.GetForwardingPipelineConfig(get, timeout=WAIT_S)
        assert status(none) is grpc.StatusCode.FAILED_PRECONDITION
        with pytest.raises(grpc.RpcError) as none:
            one.write((INSERT, entry(EXACT, match=exact(b"\x01"))))
        assert status(none) is grpc.StatusCode.FAILED_PRECONDITION

        actions = p4r.SetForwardingPipelineConfigRequest
        one.configure(config, actions.VERIFY)
        with pytest.raises(grpc.RpcError) as nothing_saved:
            one.configure(config, actions.COMMIT)
        assert status(nothing_saved) is grpc.StatusCode.FAILED_PRECONDITION
        one.configure(config, actions.VERIFY_AND_SAVE)
        one.configure(p4r.ForwardingPipelineConfig(), actions.COMMIT)
        found = one.stub.GetForwardingPipelineConfig(get, timeout=WAIT_S).config
        assert found == config
        get.response_type = get.COOKIE_ONLY
        found = one.stub.GetForwardingPipelineConfig(get, timeout=WAIT_S).config
        assert found.cookie.cookie == 77 and not found.p4_device_config and not found.p4info.tables


def test_wrong_configs_are_refused(server: Server, config: p4r.ForwardingPipelineConfig) -> None:
    with client(server, 3) as one:
        one.arbitrate()
        for blob in (b"", b"\xff", b"{}", b'{"jumpgate_program": "../../x"}', b'{"jumpgate_program": "ff"}'):
            wrong = p4r.ForwardingPipelineConfig(p4info=config.p4info, p4_device_config=blob)
            with pytest.raises(grpc.RpcError, match="p4_device_config|not in this machine's cache") as error:
                one.configure(wrong, p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
            assert status(error) is grpc.StatusCode.INVALID_ARGUMENT
        other = p4r.ForwardingPipelineConfig()
        other.CopyFrom(config)
        other.p4info.tables[0].match_fields[0].bitwidth = 31
        with pytest.raises(grpc.RpcError, match="does not belong to the program"):
            one.configure(other, p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)


def test_arbitration(server: Server, config: p4r.ForwardingPipelineConfig) -> None:
    commit = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
    with client(server, 5) as first, client(server, 9) as second, client(server, None) as third:
        assert first.arbitrate().arbitration.status.code == OK
        assert second.arbitrate().arbitration.status.code == OK
        told = first.next().arbitration
        assert told.status.code == EXISTS and U128.decode(told.election_id) == 9
        assert third.arbitrate().arbitration.status.code == EXISTS
        for backup in (first, third):
            with pytest.raises(grpc.RpcError) as error:
                backup.configure(config, commit)
            assert status(error) is grpc.StatusCode.PERMISSION_DENIED
        second.configure(config, commit)
        with pytest.raises(grpc.RpcError) as error:
            first.write((INSERT, entry(EXACT, match=exact(b"\x01"))))
        assert status(error) is grpc.StatusCode.PERMISSION_DENIED
        first.say(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"x")))
        refused = first.next().error
        assert refused.canonical_code == DENIED and refused.packet_out.packet_out.payload == b"x"

        second.close()  # nobody is promoted: 9 stays the highest id ever seen
        assert first.next().arbitration.status.code == NOT_FOUND
        first.election_id = 12
        assert first.arbitrate().arbitration.status.code == OK
        assert first.write((INSERT, entry(EXACT, match=exact(b"\x01")))) == [OK]
    with client(server, 12) as wrong_device:
        refused = wrong_device.arbitrate(device_id=2)
        assert isinstance(refused, grpc.RpcError) and refused.code() is grpc.StatusCode.NOT_FOUND


def test_equal_election_ids_are_refused(server: Server) -> None:
    with client(server, 5) as first, client(server, 5) as second:
        first.arbitrate()
        refused = second.arbitrate()
        assert isinstance(refused, grpc.RpcError) and refused.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_too_many_controllers(server: Server) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(client(server, i)) for i in range(1, 17)]
        for one in clients:
            one.arbitrate()
        last = stack.enter_context(client(server, 99)).arbitrate()
        assert isinstance(last, grpc.RpcError) and last.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_table_entries(primary: Client) -> None:
    made = entry(EXACT, match=exact(b"\x00\x00\x01"), params=(b"\x00\x07",))
    assert primary.write((INSERT, made), (INSERT, made), (DELETE, entry(EXACT, None, match=exact(b"\x02")))) == [
        OK,
        EXISTS,
        NOT_FOUND,
    ]
    assert primary.read(entry(EXACT, None)) == [entry(EXACT, match=exact(b"\x01"), params=(b"\x07",))]  # canonical
    assert primary.write((MODIFY, entry(EXACT, SET_WIDE, (b"\x01", b"\x0f" + b"\xff" * 12), match=exact(b"\x01")))) == [
        OK
    ]
    (found,) = primary.read(entry(EXACT, None, match=exact(b"\x01")))
    assert found.table_entry.action.action.params[1].value == b"\x0f" + b"\xff" * 12
    assert primary.write((DELETE, made)) == [OK]
    assert primary.read(entry(0, None))[0].table_entry.is_const  # of all tables only the constant one has entries


@pytest.mark.parametrize(
    ("update", "code"),
    [
        ((INSERT, entry(EXACT, match=exact(b""))), INVALID),
        ((INSERT, entry(EXACT, match=exact(b"\x01\x00\x00\x00\x00"))), OUT_OF_RANGE),
        ((INSERT, entry(EXACT, match=exact(b"\x01"), params=(b"\x02\x00",))), OUT_OF_RANGE),
        ((INSERT, entry(EXACT, match=exact(b"\x01"), params=())), INVALID),
        ((INSERT, entry(EXACT, match=exact(b"\x01"), params=(b"\x01", b"\x01"))), INVALID),
        ((INSERT, entry(EXACT, match=exact(b"\x01") * 2)), INVALID),
        ((INSERT, entry(EXACT, match=exact(b"\x01"), priority=1)), INVALID),
        ((INSERT, entry(EXACT)), INVALID),
        ((INSERT, entry(EXACT, None, match=exact(b"\x01"))), INVALID),
        ((INSERT, entry(EXACT, 0x01000009, match=exact(b"\x01"))), INVALID),
        ((INSERT, entry(EXACT, match=ternary(b"\x01", b"\x01"))), INVALID),
        ((INSERT, entry(0x02000099, match=exact(b"\x01"))), NOT_FOUND),
        ((INSERT, entry(TERNARY, match=ternary(b"\x01", b"\x01"))), INVALID),  # no priority
        ((INSERT, entry(TERNARY, match=ternary(b"\x03", b"\x01"), priority=1)), INVALID),
        ((INSERT, entry(TERNARY, match=ternary(b"\x00", b"\x00"), priority=1)), INVALID),
        ((INSERT, entry(TERNARY, priority=1)), OK),
        ((INSERT, entry(LPM, match=[p4r.FieldMatch(field_id=1, lpm={"value": b"\x01", "prefix_len": 33})])), INVALID),
        ((INSERT, entry(LPM, match=[p4r.FieldMatch(field_id=1, lpm={"value": b"\x01", "prefix_len": 8})])), INVALID),
        ((INSERT, entry(EXACT, match=exact(b"\x01"), idle_timeout_ns=5)), UNIMPLEMENTED),
        ((INSERT, entry(CONST, match=exact(b"\x01"))), DENIED),
        ((MODIFY, entry(CONST, is_default_action=True)), DENIED),
        ((INSERT, entry(EXACT, is_default_action=True)), INVALID),
        ((MODIFY, entry(EXACT, is_default_action=True, match=exact(b"\x01"))), INVALID),
        ((0, entry(EXACT, match=exact(b"\x01"))), INVALID),
        ((INSERT, p4r.Entity()), INVALID),
        ((INSERT, p4r.Entity(meter_entry=p4r.MeterEntry(meter_id=1))), INVALID),
        ((MODIFY, p4r.Entity(meter_entry=p4r.MeterEntry(meter_id=1))), NOT_FOUND),
        ((INSERT, p4r.Entity(action_profile_member=p4r.ActionProfileMember(member_id=1))), UNIMPLEMENTED),
        ((MODIFY, p4r.Entity(counter_entry={"counter_id": 1, "index": {"index": 1}})), NOT_FOUND),
        ((MODIFY, p4r.Entity(counter_entry={"counter_id": 0x12000001, "index": {"index": 512}})), OUT_OF_RANGE),
        ((MODIFY, p4r.Entity(counter_entry={"counter_id": 0x12000001})), INVALID),
        ((INSERT, p4r.Entity(register_entry={"register_id": 0x16000001, "index": {"index": 1}})), INVALID),
        ((MODIFY, p4r.Entity(register_entry={"register_id": 0x16000001, "index": {"index": 1}})), INVALID),
    ],
)  # fmt: skip
def test_refused_updates(refusing: Client, update: tuple[int, p4r.Entity], code: int) -> None:
    assert refusing.write(update) == [code]


@pytest.fixture(scope="module")
def refusing(config: p4r.ForwardingPipelineConfig) -> Iterator[Client]:
    device = Device([])
    served = Server(device, "127.0.0.1:0", anyone=True)
    with client(served, 10) as made:
        made.arbitrate()
        made.configure(config, p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
        yield made
    served.close()
    device.close()


def test_a_full_table_is_exhausted(primary: Client) -> None:
    updates = [(INSERT, entry(EXACT, match=exact(i.to_bytes(2, "big")))) for i in range(1025)]
    assert primary.write(*updates[:1000]) == [OK] * 1000
    with pytest.raises(grpc.RpcError, match="1001 of 1025 updates failed, the first is number 0.*send fewer"):
        primary.write(*updates)
    assert primary.write(*updates[1023:]) == [EXISTS, EXHAUSTED]
    assert len(primary.read(entry(EXACT, None))) == 1024


def test_default_action(primary: Client) -> None:
    assert primary.write((MODIFY, entry(EXACT, is_default_action=True))) == [OK]
    (found,) = primary.read(entry(EXACT, None, is_default_action=True))
    assert found.table_entry.action.action.action_id == SET_PORT
    assert primary.write((MODIFY, entry(EXACT, None, is_default_action=True))) == [OK]
    (found,) = primary.read(entry(EXACT, None, is_default_action=True))
    assert found.table_entry.action.action.action_id == DROP


def test_counters_and_registers(primary: Client, server: Server) -> None:
    counter = p4r.Entity(counter_entry={"counter_id": 0x12000001, "index": {"index": 64}})
    primary.write((INSERT, entry(EXACT, match=exact(b"\x01"))))
    packet = p4r.PacketOut(payload=(1).to_bytes(4, "big"))
    packet.metadata.add(metadata_id=1, value=bytes([by_hand.EXACT]))
    packet.metadata.add(metadata_id=2, value=b"\x00")
    for _ in range(3):
        primary.say(p4r.StreamMessageRequest(packet=packet))
    direct = p4r.Entity(direct_counter_entry={"table_entry": {"table_id": EXACT, "match": exact(b"\x01")}})
    for _ in range(200):
        (counted,) = primary.read(direct)
        if counted.direct_counter_entry.data.packet_count == 3:
            break
    assert counted.direct_counter_entry.data == p4r.CounterData(packet_count=3, byte_count=18)
    (found,) = primary.read(counter)
    assert found.counter_entry.data.packet_count == 3
    found.counter_entry.data.packet_count = 0
    assert primary.write((MODIFY, found)) == [OK]
    assert primary.read(counter)[0].counter_entry.data.packet_count == 0
    assert len(primary.read(p4r.Entity(counter_entry={}))) == 512

    register = p4r.RegisterEntry(register_id=0x16000001, index={"index": 2}, data=p4d.P4Data(bitstring=b"\x01\x00"))
    pair = p4r.RegisterEntry(register_id=0x16000002, index={"index": 7})
    for value in (b"\x05", b"\x06"):
        pair.data.struct.members.add(bitstring=value)
    assert primary.write(*((MODIFY, p4r.Entity(register_entry=e)) for e in (register, pair))) == [OK, OK]
    found_registers = [e.register_entry for e in primary.read(p4r.Entity(register_entry={}))]
    assert len(found_registers) == 24 and register in found_registers and pair in found_registers

    def elements() -> set[bytes]:
        wanted = p4r.Entity(register_entry={"register_id": register.register_id})
        return {e.register_entry.data.bitstring for e in primary.read(wanted)}

    register.ClearField("index")  # all of them
    assert primary.write((MODIFY, p4r.Entity(register_entry=register))) == [OK] and elements() == {b"\x01\x00"}
    register.ClearField("data")  # as they were at first
    assert primary.write((MODIFY, p4r.Entity(register_entry=register))) == [OK] and elements() == {b"\x00"}


def test_packet_in_and_digest(primary: Client) -> None:
    def packet_out(operation: int) -> None:
        packet = p4r.PacketOut(payload=(9).to_bytes(4, "big") + b"payload")
        packet.metadata.add(metadata_id=1, value=bytes([operation]))
        packet.metadata.add(metadata_id=2, value=b"\x03")
        primary.say(p4r.StreamMessageRequest(packet=packet))

    packet_out(by_hand.CONTROLLER)
    packet = primary.next().packet
    assert packet.payload == (9).to_bytes(4, "big") + b"payload"
    assert [m.value for m in packet.metadata] == [bytes([by_hand.CONTROLLER]), b"\x03"]
    digest = p4r.Entity(digest_entry={"digest_id": 0x17000001, "config": {"max_list_size": 1}})
    assert primary.write((INSERT, digest), (INSERT, digest)) == [OK, EXISTS]
    assert primary.read(p4r.Entity(digest_entry={})) == [digest]
    packet_out(by_hand.DIGEST)
    learned = primary.next().digest
    assert [m.bitstring for m in learned.data[0].struct.members] == [b"\x09", b"\x03"]
    primary.say(p4r.StreamMessageRequest(digest_ack={"digest_id": learned.digest_id, "list_id": learned.list_id}))
    primary.say(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"no metadata")))
    assert primary.next().error.canonical_code == INVALID


def test_multicast_and_mirror_sessions(primary: Client) -> None:
    def group(*ports: int) -> p4r.Entity:
        replicas = [p4r.Replica(port=port.to_bytes(2, "big"), instance=i) for i, port in enumerate(ports, 1)]
        return p4r.Entity(
            packet_replication_engine_entry={"multicast_group_entry": {"multicast_group_id": 4, "replicas": replicas}}
        )

    session = p4r.Entity(
        packet_replication_engine_entry={
            "clone_session_entry": {"session_id": 4, "replicas": [p4r.Replica(egress_port=64, instance=1)]}
        }
    )
    assert primary.write((MODIFY, group(1)), (INSERT, group(64, 64)), (INSERT, group(1)), (INSERT, session)) == [
        NOT_FOUND,
        OK,
        EXISTS,
        OK,
    ]
    assert primary.read(p4r.Entity(packet_replication_engine_entry={})) == [group(64, 64), session]
    packet = p4r.PacketOut(payload=(9).to_bytes(4, "big"))
    packet.metadata.add(metadata_id=1, value=bytes([by_hand.MULTICAST]))
    packet.metadata.add(metadata_id=2, value=b"\x04")
    primary.say(p4r.StreamMessageRequest(packet=packet))
    assert sorted(primary.next().packet.payload[3] for _ in range(2)) == [1, 2]  # each copy knows its instance
    assert primary.write((DELETE, group()), (DELETE, group()), (INSERT, group(512))) == [OK, NOT_FOUND, INVALID]


def test_wrong_device_and_messages(primary: Client) -> None:
    with pytest.raises(grpc.RpcError) as error:
        list(primary.stub.Read(p4r.ReadRequest(device_id=9), timeout=WAIT_S))
    assert status(error) is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError) as error:
        primary.read(p4r.Entity())
    assert status(error) is grpc.StatusCode.INVALID_ARGUMENT
    primary.say(p4r.StreamMessageRequest())
    refused = primary.next()
    assert isinstance(refused, grpc.RpcError) and refused.code() is grpc.StatusCode.UNIMPLEMENTED


async def _with_finsy(port: int, info: Path, blob: Path) -> list[object]:
    found: list[object] = []
    options = finsy.SwitchOptions(p4info=info, p4blob=blob, device_id=1)
    async with finsy.Switch("switch", f"127.0.0.1:{port}", options) as switch:
        await switch.write([+finsy.P4TableEntry(
            "exact_table", match=finsy.Match({"hdr.key": 7}), action=finsy.Action("set_port", port=3)
        )])  # fmt: skip
        async for made in switch.read(finsy.P4TableEntry("exact_table")):
            found.append((*made.match.values(), made.action.args["port"]))
        async for counter in switch.read(finsy.P4CounterEntry("ports", index=1)):
            found.append(counter.data.packet_count)
    return found


def test_finsy(server: Server, config: p4r.ForwardingPipelineConfig, tmp_path: Path) -> None:
    import asyncio

    from google.protobuf import text_format

    (tmp_path / "p4info.txt").write_text(text_format.MessageToString(config.p4info))
    (tmp_path / "blob").write_bytes(config.p4_device_config)
    found = asyncio.run(_with_finsy(server.port, tmp_path / "p4info.txt", tmp_path / "blob"))
    assert found == [(7, 3), 0]


SHELL_SCRIPT = """
import sys
import p4runtime_sh.shell as sh
port, info, blob = sys.argv[1:]
sh.setup(device_id=1, grpc_addr="127.0.0.1:" + port, election_id=(0, 1), config=sh.FwdPipeConfig(info, blob))
entry = sh.TableEntry("Ingress.ternary_table")(action="Ingress.set_port")
entry.match["hdr.key"] = "0x0500 &&& 0xff00"
entry.action["port"] = "9"
entry.priority = 4
entry.insert()
show = lambda e: print(e.match["hdr.key"].ternary, e.action["port"].value, e.priority)
sh.TableEntry("Ingress.ternary_table").read(show)
try:
    entry.insert()
except Exception as error:
    print("refused", error)
sh.teardown()
"""


def test_p4runtime_shell(
    server: Server, config: p4r.ForwardingPipelineConfig, tmp_path: Path, shell_python: Path
) -> None:
    from google.protobuf import text_format

    (tmp_path / "p4info.txt").write_text(text_format.MessageToString(config.p4info))
    (tmp_path / "blob").write_bytes(config.p4_device_config)
    (tmp_path / "script.py").write_text(SHELL_SCRIPT)
    done = subprocess.run(
        [shell_python, "script.py", str(server.port), "p4info.txt", "blob"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'value: "\\005\\000"' in done.stdout and "ALREADY_EXISTS" in done.stdout, done.stdout


@pytest.fixture(scope="module")
def shell_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with p4runtime-shell, which needs an old protobuf; kept in the cache."""
    from jumpgate.codegen import cache

    home = cache.root() / "test-venvs" / "p4runtime-shell-0.0.6"
    with cache.locked("p4runtime-shell"):
        if not (home / "complete").exists():
            venv.create(home, with_pip=False, clear=True)
            subprocess.run(
                [sys.executable, "-m", "pip", "--python", home, "install", "--quiet", "p4runtime-shell==0.0.6"],
                check=True, timeout=200,
            )  # fmt: skip
            (home / "complete").touch()
    return home / "bin" / "python"
