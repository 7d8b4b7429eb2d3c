"""A process that has connections may fork (PySpark starts its JVM so), and end without closing them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: a service and a busy connection; children that run Python code between fork and exec
SCRIPT = """
import signal, subprocess, threading
from jumpgate.client.session import Session
from jumpgate.hosts.config import local_hosts
from jumpgate.service import embedded

service = embedded.start(local_hosts(1))
ended = threading.Event()

def ask():
    with Session(service.address) as session:
        while not ended.is_set():
            session.jobs()

asking = threading.Thread(target=ask)
asking.start()
try:
    for _ in range(100):
        child = subprocess.Popen(["true"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        print(child.wait())
finally:
    ended.set()
    asking.join()
    service.close()
"""


def test_children_of_a_process_with_connections_run() -> None:
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split() == ["0"] * 100


def test_a_process_ends_quietly_without_closing_its_connection(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": 2}\n')
    script = f"""
import jumpgate
connection = jumpgate.connect(offload="always")
connection.register("t", {str(tmp_path / "t.json")!r}, schema={{"a": "int64"}})
for _ in range(2):
    print(connection.sql("SELECT sum(a) s FROM t").to_pylist()[0]["s"])
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split() == ["3", "3"] and not result.stderr
