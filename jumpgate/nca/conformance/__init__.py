"""The conformance kit: what `jumpgate nca check NAME` asks of an accelerator.

Its operator interface is asked about every node of random dataflows and must answer soundly; what it claims is run and
compared with a reference engine; its life-cycle is broken off after every verb and must leave nothing behind.
"""

from jumpgate.nca.conformance.kit import Finding, Report, Rig, check

__all__ = ["Finding", "Report", "Rig", "check"]
