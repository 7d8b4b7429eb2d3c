"""Two ends prove to each other that they know a secret, and neither says it: HMAC-SHA-256 over both ends' challenges.

    caller → hello {challenge: C}
    agent  → {challenge: A, proof: mac("agent", A, C)}
    caller → prove {proof: mac("service", A, C)}

The role is part of what is authenticated, so that no end's proof is of use to play the other.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets


def challenge() -> str:
    return secrets.token_hex(16)


def proof(secret: str, role: str, agent: str, caller: str) -> str:
    """Return the proof of that role's end for both ends' challenges."""
    key = hashlib.sha256(secret.encode()).digest()  # HMAC itself takes secrets that end with zeros for one
    return hmac.new(key, "\0".join((role, agent, caller)).encode(), "sha256").hexdigest()


def is_proof(shown: object, secret: str, role: str, agent: str, caller: str) -> bool:
    return hmac.compare_digest(str(shown).encode(), proof(secret, role, agent, caller).encode())
