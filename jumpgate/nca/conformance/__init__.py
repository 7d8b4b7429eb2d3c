"""The conformance kit: the checks of `jumpgate nca check NAME`.

It asks the operator interface about every node of random dataflows and checks the answers, runs what the accelerator
claims and compares the results with a reference engine, and breaks the life-cycle off after every verb, by destroy and
by SIGKILL. Verbs are also called out of order: every mistake must get a typed error, and nothing may be left behind.
"""

from jumpgate.nca.conformance.breaks import LiveHosts
from jumpgate.nca.conformance.kit import Case, Finding, NotUsed, Report, Rig, check, compare

__all__ = ["Case", "compare", "Finding", "LiveHosts", "NotUsed", "Report", "Rig", "check"]
