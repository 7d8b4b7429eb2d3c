"""DataFusion's logical plans, in its own encoding (plan.proto), as Jumpgate's dataflows.

The encoding holds all that a plan says, so that nothing is lost on the way; what the reader does not know is kept, with
a reason, and runs as DataFusion planned it.
"""
