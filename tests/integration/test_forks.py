"""A process that has connections may fork: PySpark starts its JVM so."""

from __future__ import annotations

import subprocess
import sys

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
