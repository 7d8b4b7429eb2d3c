"""UDP for the runtime and the software switch: headers of C++ that both compile in."""

from pathlib import Path

INCLUDE = Path(__file__).with_name("include")
