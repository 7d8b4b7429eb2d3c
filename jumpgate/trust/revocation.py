"""Tell which certificates are revoked, by the lists beside a machine's own certificate (RFC 5280, section 5)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa

from jumpgate.errors import ConfigError, Unauthenticated
from jumpgate.trust.tls import CA

#: PEM; one list of each authority, one after the other
LIST = "crl.pem"
_END = b"-----END X509 CRL-----"
#: keys of authorities with which lists are signed
_KEYS = (
    dsa.DSAPublicKey | ec.EllipticCurvePublicKey | ed448.Ed448PublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
)


class Revoked:
    """The revoked certificates of a TLS folder. The lists are read again once their file has changed; one that is gone,
    or cannot be used, leaves the last one in force. Lists do not expire."""

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError for a list that cannot be used."""
        self._folder = folder
        self._stamp = _stamp(folder)
        self._numbers = frozenset() if self._stamp is None else _read(folder)

    def check(self, certificate: bytes) -> None:
        """Raises Unauthenticated for a certificate, PEM, that its authority has revoked."""
        now = _stamp(self._folder)
        if now not in (None, self._stamp):
            with contextlib.suppress(ConfigError):  # it is being written; the next call tries again
                self._numbers, self._stamp = _read(self._folder), now
        if not self._numbers:
            return
        read = x509.load_pem_x509_certificate(certificate)
        if (read.issuer.public_bytes(), read.serial_number) in self._numbers:
            raise Unauthenticated(
                f"the certificate number {read.serial_number:x} is revoked: ask the operator for another",
                serial=f"{read.serial_number:x}",
            )


def _stamp(folder: Path) -> tuple[int, int, int] | None:
    """Return what differs once the file was written; None: there is none."""
    try:
        state = os.stat(folder / LIST)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_ino, state.st_size


def _read(folder: Path) -> frozenset[tuple[bytes, int]]:
    """Return the authority's name and the number of each certificate in the lists. Raises ConfigError."""
    file = folder / LIST
    try:
        authorities = x509.load_pem_x509_certificates((folder / CA).read_bytes())
        *texts, rest = file.read_bytes().split(_END)
        if not texts or rest.strip():
            raise ValueError("it is not PEM of a list")
        lists = [x509.load_pem_x509_crl(text + _END) for text in texts]
    except (OSError, ValueError) as error:
        raise ConfigError(f"the revocation list {file} cannot be used: {error}", file=file) from error
    for found in lists:
        if not any(_signed(found, authority) for authority in authorities):
            raise ConfigError(f"the revocation list {file} is signed by none of the authorities in {CA}", file=file)
    return frozenset((found.issuer.public_bytes(), entry.serial_number) for found in lists for entry in found)


def _signed(found: x509.CertificateRevocationList, authority: x509.Certificate) -> bool:
    key = authority.public_key()
    return found.issuer == authority.subject and isinstance(key, _KEYS) and found.is_signature_valid(key)
