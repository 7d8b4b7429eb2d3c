"""P4 programs for the Tofino Native Architecture, with an executable reference beside each.

`aggregate` and `prune` are rendered from templates/p4 by `render`; the other modules are references: what the program
of that name decides, packet by packet, with the same hashes and the same register contents. `sizing` chooses their
sizes.
"""
