"""A P4Runtime 1.x server for one switch."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from typing import Any, NoReturn

import grpc
from finsy.proto import p4d, p4r, p4r_grpc, rpc_status

from jumpgate.errors import ConfigError, JumpgateError
from jumpgate.ntf.addresses import host_of, is_loopback, joined
from jumpgate.p4.switch.arbitration import STREAMS_MAX, Arbitration, Controller
from jumpgate.p4.switch.device import Device, program_of
from jumpgate.p4.switch.door import Door
from jumpgate.p4.switch.entities import Entities
from jumpgate.p4.switch.packets import ControllerHeader
from jumpgate.p4.switch.refusal import Refused, canonical, invalid, not_found, unimplemented
from jumpgate.p4.switch.switch import DigestMessage, PacketIn, Switch
from jumpgate.trust import tokens
from jumpgate.trust.channels import server_credentials
from jumpgate.trust.tls import Identity

API_VERSION = "1.4.1"
OTHER_CALLS_MAX = 8  # besides streams, which keep a thread each
ENTITIES_A_RESPONSE = 256
MESSAGE_BYTES_MAX = 64 << 20
EVENT_WAIT_MS = 100
DETAILS_BYTES_MAX = 5500  # before base64

Action = p4r.SetForwardingPipelineConfigRequest


class Pipeline:
    """An installed program with what clients know of it."""

    def __init__(self, config: p4r.ForwardingPipelineConfig, switch: Switch) -> None:
        self.config = config
        self.entities = Entities(switch, config.p4info)
        self.packet_in = ControllerHeader(config.p4info, "packet_in")
        self.packet_out = ControllerHeader(config.p4info, "packet_out")


class Service(p4r_grpc.P4RuntimeServicer):
    """The six calls. Each ends with a status and a sentence, never with a traceback."""

    def __init__(self, device: Device, device_id: int) -> None:
        self._device = device
        self._device_id = device_id
        self._arbitration = Arbitration(device_id)
        self._lock = threading.Lock()  # the pipeline and its entities
        self._pipeline: Pipeline | None = None
        self._saved: p4r.ForwardingPipelineConfig | None = None
        self._digest_lists = itertools.count(1)
        self._stopping = threading.Event()
        self._events = threading.Thread(target=self._forward_events, name="p4runtime events", daemon=True)
        self._events.start()

    def stop(self) -> None:
        """Ends the streams; again: nothing."""
        self._stopping.set()
        self._arbitration.end()
        self._events.join()

    def install(self, config: p4r.ForwardingPipelineConfig) -> None:
        """As a client's VERIFY_AND_COMMIT. Raises Refused."""
        with self._lock:
            self._commit(config)

    # ---- calls -----------------------------------------------------------------------------------------------------

    def Capabilities(self, request: p4r.CapabilitiesRequest, context: grpc.ServicerContext) -> p4r.CapabilitiesResponse:
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    def SetForwardingPipelineConfig(
        self, request: p4r.SetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4r.SetForwardingPipelineConfigResponse:
        with _answering(context):
            self._check_primary(request)
            with self._lock:
                match request.action:
                    case Action.VERIFY:
                        self._verify(request.config)
                    case Action.VERIFY_AND_SAVE:
                        self._verify(request.config)
                        self._saved = request.config
                    case Action.VERIFY_AND_COMMIT:
                        self._commit(request.config)
                    case Action.COMMIT:
                        if self._saved is None:
                            raise Refused.of(grpc.StatusCode.FAILED_PRECONDITION, "no configuration was saved")
                        self._commit(self._saved)
                        self._saved = None
                    case Action.RECONCILE_AND_COMMIT:
                        raise unimplemented("this switch cannot keep entries while its program changes")
                    case _:
                        raise invalid("the action is missing")
        return p4r.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(
        self, request: p4r.GetForwardingPipelineConfigRequest, context: grpc.ServicerContext
    ) -> p4r.GetForwardingPipelineConfigResponse:
        with _answering(context):
            self._check_device(request.device_id)
            with self._lock:
                config = self._installed().config
            out = p4r.ForwardingPipelineConfig()
            if config.HasField("cookie"):
                out.cookie.CopyFrom(config.cookie)
            wanted = request.response_type
            if wanted in (request.ALL, request.P4INFO_AND_COOKIE):
                out.p4info.CopyFrom(config.p4info)
            if wanted in (request.ALL, request.DEVICE_CONFIG_AND_COOKIE):
                out.p4_device_config = config.p4_device_config
        return p4r.GetForwardingPipelineConfigResponse(config=out)

    def Write(self, request: p4r.WriteRequest, context: grpc.ServicerContext) -> p4r.WriteResponse:
        with _answering(context):
            self._check_primary(request)
            if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR:
                raise unimplemented("updates are applied one by one: atomicity is CONTINUE_ON_ERROR")
            errors = []
            with self._lock:
                entities = self._installed().entities
                for update in request.updates:
                    try:
                        entities.write(update)
                        errors.append(p4r.Error(canonical_code=0))
                    except Refused as refused:
                        errors.append(_error(refused))
                    except JumpgateError as error:
                        errors.append(_error(invalid(error.message)))
            if any(error.canonical_code for error in errors):
                _abort_with_details(context, errors)
        return p4r.WriteResponse()

    def Read(self, request: p4r.ReadRequest, context: grpc.ServicerContext) -> Iterator[p4r.ReadResponse]:
        with _answering(context):
            self._check_device(request.device_id)
            with self._lock:
                entities = self._installed().entities
                found = [entity for wanted in request.entities for entity in entities.read(wanted)]
            for i in range(0, len(found), ENTITIES_A_RESPONSE):
                yield p4r.ReadResponse(entities=found[i : i + ENTITIES_A_RESPONSE])

    def StreamChannel(
        self, requests: Iterator[p4r.StreamMessageRequest], context: grpc.ServicerContext
    ) -> Iterator[p4r.StreamMessageResponse]:
        with _answering(context):
            controller = self._arbitration.join()
            try:
                reader = threading.Thread(target=self._listen, args=(requests, controller), daemon=True)
                reader.start()
                context.add_callback(controller.end)
                while (message := controller.messages.get()) is not None:
                    if isinstance(message, Refused):
                        raise message
                    yield message
            finally:
                self._arbitration.leave(controller)

    # ---- streams ---------------------------------------------------------------------------------------------------

    def _listen(self, requests: Iterator[p4r.StreamMessageRequest], controller: Controller) -> None:
        """Handle one client's messages until it hangs up."""
        try:
            for request in requests:
                match request.WhichOneof("update"):
                    case "arbitration":
                        self._arbitration.update(controller, request.arbitration)
                    case "packet":
                        self._packet_out(controller, request.packet)
                    case "digest_ack":
                        pass  # lists are not kept until they are acknowledged
                    case _:
                        raise unimplemented("this switch knows arbitration, packets and digests only")
            controller.end()
        except Refused as refused:
            controller.end(refused)
        except grpc.RpcError:
            controller.end()
        except Exception as error:  # the reader must not die silently
            if context_is_gone(error):
                controller.end()
            else:
                controller.end(Refused.of(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}"))

    def _packet_out(self, controller: Controller, packet: p4r.PacketOut) -> None:
        try:
            if self._arbitration.primary() is not controller:
                raise Refused.of(grpc.StatusCode.PERMISSION_DENIED, "only the primary controller sends packets")
            with self._lock:
                pipeline = self._installed()
                pipeline.entities.switch.packet_out(pipeline.packet_out.frame(packet))
        except Refused as refused:
            error = p4r.StreamError(
                canonical_code=refused.number, message=refused.message, packet_out=p4r.PacketOutError(packet_out=packet)
            )
            controller.send(p4r.StreamMessageResponse(error=error))

    def _forward_events(self) -> None:
        """Takes what the program sends to the controller to the primary; without one it is lost."""
        while not self._stopping.is_set():
            with self._lock:
                pipeline = self._pipeline
            event = pipeline.entities.switch.next_event(EVENT_WAIT_MS) if pipeline is not None else None
            if pipeline is None or event is None:
                if pipeline is None:
                    self._stopping.wait(EVENT_WAIT_MS / 1000)
                continue
            message = self._message(pipeline, event)
            primary = self._arbitration.primary()
            if message is not None and primary is not None:
                primary.send(message)

    def _message(self, pipeline: Pipeline, event: PacketIn | DigestMessage) -> p4r.StreamMessageResponse | None:
        if isinstance(event, PacketIn):
            packet = pipeline.packet_in.packet_in(event.data)
            return None if packet is None else p4r.StreamMessageResponse(packet=packet)
        if event.digest.id not in pipeline.entities.digests:
            return None  # no client has asked for it
        numbers = [p4d.P4Data(bitstring=canonical(value)) for value in event.values]
        data = numbers[0] if len(numbers) == 1 else p4d.P4Data(struct=p4d.P4StructLike(members=numbers))
        digests = p4r.DigestList(
            digest_id=event.digest.id, list_id=next(self._digest_lists), data=[data], timestamp=time.time_ns()
        )
        return p4r.StreamMessageResponse(digest=digests)

    # ---- the pipeline ----------------------------------------------------------------------------------------------

    def _verify(self, config: p4r.ForwardingPipelineConfig) -> None:
        """Loads the program beside the one that runs. Raises Refused."""
        with _config_errors(), Switch(program_of(config.p4_device_config)) as switch:
            Pipeline(config, switch)

    def _commit(self, config: p4r.ForwardingPipelineConfig) -> None:
        self._verify(config)
        kept = p4r.ForwardingPipelineConfig()
        kept.CopyFrom(config)
        self._pipeline = None
        with _config_errors():
            self._pipeline = Pipeline(kept, self._device.install(program_of(config.p4_device_config)))

    def _installed(self) -> Pipeline:
        if self._pipeline is None:
            raise Refused.of(grpc.StatusCode.FAILED_PRECONDITION, "no forwarding pipeline config has been set")
        return self._pipeline

    def _check_device(self, device_id: int) -> None:
        if device_id != self._device_id:
            raise not_found(f"this is device {self._device_id}, not {device_id}")

    def _check_primary(self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest) -> None:
        self._check_device(request.device_id)
        if request.role or request.role_id:
            raise Refused.of(grpc.StatusCode.PERMISSION_DENIED, "this switch has no roles but the default one")
        if not self._arbitration.is_primary(request.election_id):
            raise Refused.of(grpc.StatusCode.PERMISSION_DENIED, "only the primary controller may do this")


def context_is_gone(error: Exception) -> bool:
    """Tell a client that hung up: grpc raises a plain Exception without a text from its request iterator."""
    return type(error) is Exception and not error.args


@contextlib.contextmanager
def _config_errors() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise invalid(error.message) from error


@contextlib.contextmanager
def _answering(context: grpc.ServicerContext) -> Iterator[None]:
    """Turns Refused into the call's status."""
    try:
        yield
    except Refused as refused:
        context.abort(refused.status, refused.message)


def _error(refused: Refused) -> p4r.Error:
    return p4r.Error(canonical_code=refused.number, message=refused.message, space="jumpgate")


def _abort_with_details(context: grpc.ServicerContext, errors: list[p4r.Error]) -> NoReturn:
    """Status UNKNOWN with one p4.v1.Error an update (specification 1.3, §12.3). gRPC's clients take 8 KB of metadata: a
    longer list is left out, and the sentence says so."""
    failed = [(i, error) for i, error in enumerate(errors) if error.canonical_code]
    text = f"{len(failed)} of {len(errors)} updates failed, the first is number {failed[0][0]}: {failed[0][1].message}"
    status = rpc_status.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=text)
    for error in errors:
        status.details.add().Pack(error)
    if status.ByteSize() > DETAILS_BYTES_MAX:
        context.abort(grpc.StatusCode.UNKNOWN, f"{text} (send fewer updates at once for the status of each)")
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, status.message)
    raise AssertionError("abort returned")


class Server:
    """Serves a device on an address until `close`. `port` is the one that it listens on."""

    def __init__(
        self,
        device: Device,
        address: str,
        device_id: int = 1,
        *,
        anyone: bool = False,
        token: str | None = None,
        identity: Identity | None = None,
    ) -> None:
        """anyone: controllers need no token; else `token`, or one of this user's, which is published for the address
        (jumpgate/trust/tokens.py). identity: both ends show certificates of its authority, and what they say is
        encrypted. Raises ConfigError: the address is taken or wrong, or others would reach it who are not to be
        trusted."""
        if not (is_loopback(address) or anyone or identity):
            raise ConfigError(
                f"others can reach {address}, and what controllers say there would not be encrypted: give --tls a "
                "folder that `jumpgate certs issue` wrote. If nobody in this network can do harm, --anyone serves "
                "without",
                address=address,
            )
        self.service = Service(device, device_id)
        door = Door()
        options: list[tuple[str, Any]] = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ]
        self._workers = futures.ThreadPoolExecutor(STREAMS_MAX + OTHER_CALLS_MAX, thread_name_prefix="p4runtime")
        self._server = grpc.server(
            self._workers,
            interceptors=(door,),
            options=options,
            maximum_concurrent_rpcs=STREAMS_MAX + 4 * OTHER_CALLS_MAX,
        )
        p4r_grpc.add_P4RuntimeServicer_to_server(self.service, self._server)
        try:
            if identity is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, server_credentials(identity))
        except RuntimeError as error:
            self.service.stop()
            raise ConfigError(
                f"cannot serve P4Runtime on {address}: the port is in use, or the address is not this machine's; "
                "choose another (port 0 takes a free one)",
                address=address,
            ) from error
        self._published = None
        door.token = token
        if not (anyone or token):
            self._published = tokens.Published(joined(host_of(address), self.port))
            door.token = self._published.token
        self._server.start()

    def close(self) -> None:
        """Ends all streams and calls; again: nothing."""
        if self._published is not None:
            self._published.withdraw()
        self.service.stop()
        self._server.stop(grace=1).wait()
        self._workers.shutdown()
