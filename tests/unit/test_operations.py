"""Units of systemd, manifests of Kubernetes and the container file: they say what the programs understand."""

from __future__ import annotations

import configparser
import copy
import re
import textwrap
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from jumpgate.cli.serve import command as serve
from jumpgate.hosts import config

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ROOT / "docs" / "operations"
DOCUMENTS = list(yaml.safe_load_all((OPERATIONS / "kubernetes.yaml").read_text()))
WORKLOADS = [document for document in DOCUMENTS if document["kind"] in ("Deployment", "DaemonSet")]
#: the oldest and the newest version whose schemas are tried
KUBERNETES = ("1.30", "1.37")
KINDS = [document["kind"] for document in WORKLOADS]


def _pod(workload: dict[str, Any]) -> dict[str, Any]:
    return workload["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def test_documents_are_those_of_a_cluster() -> None:
    assert [d["kind"] for d in DOCUMENTS] == ["ConfigMap", "Service", "Deployment", "DaemonSet"]
    for workload in WORKLOADS:
        labels = workload["spec"]["selector"]["matchLabels"]
        assert labels == workload["spec"]["template"]["metadata"]["labels"] == workload["metadata"]["labels"]
    assert DOCUMENTS[1]["spec"]["selector"] == WORKLOADS[0]["metadata"]["labels"]


@pytest.mark.parametrize("version", KUBERNETES)
def test_manifests_are_what_kubernetes_takes(version: str) -> None:
    """By the schemas of Kubernetes' own API, where fields that it does not know are mistakes."""
    for document in DOCUMENTS:
        kubernetes_validate.validate(document, version, strict=True)
    wrong = copy.deepcopy(DOCUMENTS[-1])
    _pod(wrong)["containers"][0]["livenessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError, match="livenessprobe"):
        kubernetes_validate.validate(wrong, version, strict=True)


@pytest.mark.parametrize("workload", WORKLOADS, ids=KINDS)
def test_nothing_runs_as_root_or_writes_to_the_image(workload: dict[str, Any]) -> None:
    pod = _pod(workload)
    user = pod["securityContext"]
    assert user["runAsNonRoot"] and f"useradd --uid {user['runAsUser']} " in (ROOT / "release/Dockerfile").read_text()
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in (*pod["initContainers"], *pod["containers"]):
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"] and not confined["allowPrivilegeEscalation"]
        assert confined["capabilities"] == {"drop": ["ALL"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    written = {m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if not m.get("readOnly")}
    assert written == {"/data", "/tmp"}


@pytest.mark.parametrize("workload", WORKLOADS, ids=KINDS)
def test_probes_and_ports(workload: dict[str, Any]) -> None:
    (container,) = _pod(workload)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe].get("httpGet") or container[probe]["tcpSocket"]
        assert asked["port"] in ports
        assert asked.get("path", "/healthz") in ("/healthz", "/readyz")
    told = " ".join(container["args"])
    assert all(f":{port}" in told or port == 7411 for port in ports.values())
    default = next(option.default for option in serve.params if option.name == "port")
    assert default == 7411 and DOCUMENTS[1]["spec"]["ports"][0]["port"] == default


def _options_of(command: str) -> set[str]:
    return set(re.findall(r"(--[\w-]+)", command))


def test_services_and_agents_know_their_options() -> None:
    of_serve = {name for option in serve.params for name in option.opts}
    of_agents = _options_of(" ".join(re.findall(r"add_argument\(\s*\"--[\w-]+", _agent())))
    service, agent = (_pod(workload)["containers"][0] for workload in WORKLOADS)
    assert service["args"][0] == "serve" and _options_of(" ".join(service["args"])) <= of_serve
    assert agent["command"] == ["python", "-m", "jumpgate.hosts.agent"]
    assert _options_of(" ".join(agent["args"])) <= of_agents
    assert _options_of(_unit("jumpgate")["Service"]["ExecStart"]) <= of_serve
    assert _options_of(_unit("jumpgate-agent")["Service"]["ExecStart"]) <= of_agents


def _agent() -> str:
    return (ROOT / "jumpgate" / "hosts" / "agent.py").read_text()


def test_the_configuration_is_one(tmp_path: Path) -> None:
    file = tmp_path / "jumpgate.toml"
    file.write_text(DOCUMENTS[0]["data"]["jumpgate.toml"])
    found = config.load(file)
    assert [host.device.name for host in found.hosts] == ["node1", "node2"]
    mounted = {m["mountPath"] for m in _pod(WORKLOADS[0])["containers"][0]["volumeMounts"]}
    assert {"/tls", "/secrets", *found.clients[0].roots} <= mounted


def _unit(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(OPERATIONS / f"{name}.service")
    return unit


@pytest.mark.parametrize("name", ["jumpgate", "jumpgate-agent"])
def test_the_page_quotes_the_units(name: str) -> None:
    text = (OPERATIONS / f"{name}.service").read_text()
    page = (ROOT / "docs" / "deployment.md").read_text()
    assert f"From `docs/operations/{name}.service`:\n\n{textwrap.indent(text, '    ')}\n" in page
    service = _unit(name)["Service"]
    assert service["User"] == "jumpgate" and service["CacheDirectoryMode"] == service["StateDirectoryMode"] == "0700"


def test_a_service_tells_systemd_that_it_is_ready() -> None:
    assert _unit("jumpgate")["Service"]["Type"] == "notify"
    assert _unit("jumpgate")["Service"]["ExecReload"] == "/bin/kill -HUP $MAINPID"
