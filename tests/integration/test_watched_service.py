"""What operators ask `jumpgate serve` over HTTP, and its log."""

from __future__ import annotations

import base64
import json
import signal
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from jumpgate.cli import serve
from jumpgate.cli.devices import command as devices_command
from jumpgate.cli.jobs import command
from jumpgate.client import col, read
from jumpgate.client.session import Session
from jumpgate.errors import Cancelled, ConfigError, DivisionByZero, Unauthenticated, Unreachable
from jumpgate.testing.leaks import wait_until
from jumpgate.trust import tokens
from tests.support.served import Served, serving

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def page(url: str, **headers: str) -> tuple[int, str]:
    """The status and the text."""
    headers = {"Accept": OPEN_METRICS, **headers}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(url: str) -> dict[tuple[str, ...], float]:
    """The value of each sample, by its name and the values of its labels in the order of their names."""
    families = text_string_to_metric_families(page(f"{url}/metrics")[1])
    return {
        (s.name, *(value for _, value in sorted(s.labels.items()))): s.value
        for family in families
        for s in family.samples
    }


def jobs(served: Served, *words: str) -> Any:
    """What `jumpgate jobs` prints as JSON."""
    done = CliRunner().invoke(command, [*words, "--address", served.address, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def devices(served: Served) -> list[dict[str, Any]]:
    """What `jumpgate devices` prints as JSON."""
    done = CliRunner().invoke(devices_command, ["--address", served.address, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.output)["devices"]
    return found


def test_operators_see_jobs_errors_rows_and_hosts(tmp_path: Path) -> None:
    file = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), file)
    large = tmp_path / "large.parquet"
    pq.write_table(pa.table({"x": list(range(3_000_000))}), large)
    wrong = tmp_path / "wrong"
    wrong.write_text("somebody else's")
    arguments = ("--metrics", "0", "--log-format", "json", "--slow-s", "0.000001")
    with serving(tmp_path, *arguments) as served, Session(served.address) as session:
        assert page(f"{served.metrics}/healthz") == (200, "ok\n")
        assert page(f"{served.metrics}/readyz") == (200, "ready\n")
        before = samples(served.metrics)
        assert before["jumpgate_device_up", "local", "host"] == 1
        assert before["jumpgate_agent_connected", "local"] == 0
        for _ in range(2):
            assert session.run(read(str(file)).filter(col("x") < 7), text="SELECT secret").to_arrow().num_rows == 7
        with pytest.raises(DivisionByZero):
            session.run(read(str(file)).select(y=col("x") / 0)).to_arrow()
        with Session(served.address, token_file=wrong) as stranger, pytest.raises(Unauthenticated):
            stranger.run(read(str(file))).to_arrow()

        def ended() -> float:
            found = samples(served.metrics)
            return sum(value for key, value in found.items() if key[0] == "jumpgate_jobs_total")

        assert wait_until(lambda: ended() == 3)
        found = samples(served.metrics)
        assert found["jumpgate_jobs_total", "", "", "done"] == 2
        assert found["jumpgate_jobs_total", "", "division_by_zero", "failed"] == 1
        assert found["jumpgate_call_errors_total", "division_by_zero"] == 1
        assert found["jumpgate_call_errors_total", "unauthenticated"] == 1
        assert found["jumpgate_job_duration_seconds_count", "", "done"] == 2
        assert found["jumpgate_phase_duration_seconds_count", "map"] == 3
        assert found["jumpgate_edge_rows_total", "result", "tcp"] == 14
        assert found["jumpgate_edge_rows_total", "read", "file"] >= 2000
        assert found["jumpgate_programs_total", "found"] + found["jumpgate_programs_total", "compiled"] == 3
        assert found["jumpgate_plans_total", "found"] == 1 and found["jumpgate_plans_total", "made"] == 2
        assert found["jumpgate_agent_connected", "local"] == 1
        assert found["process_resident_memory_bytes",] > 1 << 20
        assert "secret" not in page(f"{served.metrics}/metrics")[1]
        assert [job["state"] for job in jobs(served, "list")["jobs"]] == ["failed", "done", "done"]
        newest, second = (job["job"] for job in jobs(served, "list")["jobs"][:2])
        assert jobs(served, "show", second)["text"] == "SELECT secret"
        shown = CliRunner().invoke(command, ["show", newest, "--address", served.address])
        assert "division_by_zero: " in shown.output and "chosen: " in shown.output
        running = iter(session.run(read(str(large))))
        next(running)  # it waits for this client from now on
        (local,) = devices(served)
        assert (local["name"], local["kind"], local["is_up"], local["jobs"]) == ("local", "host", True, 1)
        assert local["threads"] > 0 and samples(served.metrics)["jumpgate_device_jobs", "local", "host"] == 1
        drawn = CliRunner().invoke(devices_command, ["--address", served.address], catch_exceptions=False).output
        assert f"{local['threads']} of {local['cores']}" in drawn
        ended_ = CliRunner().invoke(
            command, ["cancel", jobs(served, "list")["jobs"][0]["job"], "--address", served.address]
        )
        assert ended_.exit_code == 0, ended_.output
        with pytest.raises(Cancelled):
            for _ in running:
                pass
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(20) == 0
    log = (tmp_path / "service.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines].count("job") == 4
    assert [line["event"] for line in lines].count("slow") == 4
    refused = next(line for line in lines if line["event"] == "refused")
    assert refused["error"] == "unauthenticated" and "127.0.0.1" in refused["peer"]
    assert "secret" not in log


def test_a_service_that_drains_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"x": list(range(3_000_000))}), tmp_path / "t" / "t.parquet")
    with serving(tmp_path, "--metrics", "0", "--drain-s", "60") as served, Session(served.address) as session:
        batches = iter(session.run(read(str(tmp_path / "t"))))
        next(batches)  # it waits for this client from now on
        running = samples(served.metrics)
        assert running["jumpgate_jobs_current", "", "running"] == 1
        assert running["jumpgate_device_jobs", "local", "host"] == 1
        assert jobs(served, "list")["jobs"][0]["state"] == "running"
        served.process.terminate()
        assert wait_until(lambda: page(f"{served.metrics}/readyz") == (503, "the service is about to end\n"))
        assert page(f"{served.metrics}/healthz")[0] == 200
        for _ in batches:
            pass
        assert served.process.wait(20) == 0


def test_clients_are_read_again_without_a_restart(tmp_path: Path) -> None:
    """A broken file changes nothing, and who is no longer named is no longer let in."""
    token, config, log = tmp_path / "token", tmp_path / "jumpgate.toml", tmp_path / "service.log"
    token.write_text("a secret of many characters")
    config.write_text("")
    notified = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(notified))
        systemd.settimeout(60)
        with serving(tmp_path, NOTIFY_SOCKET=str(notified)) as served:
            assert systemd.recv(100) == b"READY=1"

            def is_known() -> bool:
                try:
                    with Session(served.address, token_file=token) as session:
                        session.jobs()
                except Unauthenticated:
                    return False
                return True

            def reloaded(text: str, event: str) -> None:
                before = log.read_text().count(event)
                config.write_text(text)
                served.process.send_signal(signal.SIGHUP)
                assert wait_until(lambda: log.read_text().count(event) > before)

            assert not is_known()
            client = f'[[client]]\nname = "c"\ntoken_file = "{token}"\n'
            reloaded(client + '[[host]]\nname = "other"\n', "reloaded after_restart=hosts")
            assert is_known()
            others = '[[table]]\nname = "t"\npaths = ["/t.csv"]\n[[store]]\nurl = "s3://lake"\n'
            reloaded(client + others, "reloaded after_restart=tables,stores")
            reloaded("[[client]]\nname = 1\n", "not_reloaded")
            assert is_known()
            reloaded("", "reloaded after_restart=")
            assert not is_known()
            served.process.send_signal(signal.SIGTERM)
            assert systemd.recv(100) == b"STOPPING=1"
            assert served.process.wait(20) == 0


def test_the_live_page_wants_a_token_and_shows_whose_jobs_it_may(tmp_path: Path) -> None:
    file, token = tmp_path / "t.parquet", tmp_path / "token"
    pq.write_table(pa.table({"x": [1, 2, 3]}), file)
    token.write_text("a-token")
    config = f'[[client]]\nname = "reader"\ntoken_file = "{token}"\nroots = ["{tmp_path}"]\n'
    (tmp_path / "jumpgate.toml").write_text(config)

    def shown(password: str) -> dict[str, str]:
        return {"Authorization": "Basic " + base64.b64encode(f"me:{password}".encode()).decode()}

    with serving(tmp_path, "--http", "0") as served, Session(served.address, progress=False) as owner:
        mine = owner.run(read(str(file)), text="SELECT <mine>")
        assert mine.to_arrow().num_rows == 3
        with Session(served.address, token_file=token, progress=False) as session:
            theirs = session.run(read(str(file)), text="SELECT theirs")
            assert theirs.to_arrow().num_rows == 3
        assert page(served.page)[0] == 401
        assert page(served.page, **shown("wrong"))[0] == 401
        status, text = page(served.page, **shown("a-token"))
        assert status == 200 and theirs.job in text and "SELECT theirs" in text and mine.job not in text
        assert page(f"{served.page}jobs/{mine.job}", **shown("a-token"))[0] == 404
        assert page(f"{served.page}jobs/..%2f..", **shown("a-token"))[0] == 404
        assert page(f"{served.page}metrics", **shown("a-token"))[0] == 404
        own = tokens.find(served.address)
        assert own is not None
        status, text = page(served.page, Authorization=f"Bearer {own}")
        assert status == 200 and mine.job in text and theirs.job in text and "SELECT &lt;mine&gt;" in text
        status, text = page(f"{served.page}jobs/{mine.job}", **shown(own))
        assert status == 200 and f"Job {mine.job}" in text and "SELECT &lt;mine&gt;" in text
        assert (tmp_path / "service.log").read_text().count("jumpgate: refused") == 1


def test_the_live_page_is_not_shown_to_others_in_clear(tmp_path: Path) -> None:
    done = CliRunner().invoke(serve.command, ["--port", "0", "--http", "0.0.0.0:0"])
    assert isinstance(done.exception, ConfigError) and "[tls]" in done.exception.message


def test_a_service_without_hosts_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a secret")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "t.parquet")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # where nobody listens in a moment
    host = f'[[host]]\nname = "gone"\nagent = "127.0.0.1:{port}"\ntoken_file = "{tmp_path / "token"}"\n'
    (tmp_path / "jumpgate.toml").write_text(host)
    with serving(tmp_path, "--metrics", "0") as served, Session(served.address) as session:
        with pytest.raises(Unreachable):
            session.run(read(str(tmp_path / "t.parquet"))).to_arrow()
        assert page(f"{served.metrics}/readyz") == (503, "no host answers\n")
        assert page(f"{served.metrics}/healthz")[0] == 200
        assert samples(served.metrics)["jumpgate_device_up", "gone", "host"] == 0
        assert "jumpgate: host_lost host=gone\n" in (tmp_path / "service.log").read_text()
