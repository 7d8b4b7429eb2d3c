"""The conformance kit: what `jumpgate nca check NAME` asks of an accelerator.

Its operator interface is asked about every node of random dataflows and must answer soundly; what it claims is run and
compared with a reference engine; its life-cycle is broken off after every verb, by destroy and by SIGKILL, and its
verbs are called out of order: every mistake gets a typed error, and nothing is left behind.
"""

from jumpgate.nca.conformance.breaks import LiveHosts
from jumpgate.nca.conformance.kit import Case, Finding, Report, Rig, check, compare

__all__ = ["Case", "compare", "Finding", "LiveHosts", "Report", "Rig", "check"]
