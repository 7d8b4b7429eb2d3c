"""Benchmarks: `./dev bench NAME [--json]`. bench/README.md holds the results and the command that makes each."""

import os

# no service measures the machine beside a benchmark
os.environ.setdefault("JUMPGATE_CALIBRATE", "never")

# programs are measured, not what stands in for them while they are built
os.environ.setdefault("JUMPGATE_FIRST_RUNS", "build")
