"""TLS 1.3 between machines: each has a folder with ca.pem, cert.pem and key.pem, and both ends show their certificate.

`jumpgate certs` makes such folders (jumpgate/trust/certificates.py), or an operator's own authority does.
"""

from __future__ import annotations

import datetime
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from jumpgate.errors import ConfigError
from jumpgate.ntf.addresses import is_loopback

CA, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"


@dataclass(frozen=True)
class Identity:
    """A machine's certificate and key, and the authorities that it trusts; PEM."""

    folder: Path
    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)

    @staticmethod
    def load(folder: str | Path) -> Identity:
        """Raises ConfigError: a file is missing, others may read the key, or it is not PEM of a pair."""
        place = Path(folder).expanduser()
        try:
            texts = [(place / name).read_bytes() for name in (CA, CERTIFICATE, KEY)]
            if (place / KEY).stat().st_mode & 0o077:
                raise ConfigError(f"others may read {place / KEY}: chmod 600 it", file=place / KEY)
        except OSError as error:
            raise ConfigError(
                f"cannot read {error.filename}: {error.strerror}; a TLS folder holds {CA}, {CERTIFICATE} and {KEY}: "
                "`jumpgate certs issue` writes one",
                file=error.filename,
            ) from error
        found = Identity(place, *texts)
        for name, text in ((CA, found.ca), (CERTIFICATE, found.certificate)):
            _check_dates(place / name, text)
        found.context(server=False)  # that it is wrong is said now
        return found

    def context(self, *, server: bool) -> ssl.SSLContext:
        """For connections of which we are that end. A client also checks that the server is who it asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=self.ca.decode())
            context.load_cert_chain(self.folder / CERTIFICATE, self.folder / KEY)
        except (ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(f"the certificates in {self.folder} cannot be used: {error}", file=self.folder) from error
        return context


def _check_dates(file: Path, text: bytes) -> None:
    """Raises ConfigError for a certificate that has expired, or is not valid yet. Without the package that reads dates
    the other end says so."""
    try:
        from cryptography import x509

        read = x509.load_pem_x509_certificate(text)
    except (ImportError, ValueError):  # whatever else is wrong, its use says
        return
    now = datetime.datetime.now(datetime.UTC)
    if now < read.not_valid_before_utc:
        raise ConfigError(
            f"{file} is not valid before {read.not_valid_before_utc:%Y-%m-%d %H:%M} UTC, and it is "
            f"{now:%Y-%m-%d %H:%M}: set this machine's clock",
            file=file,
        )
    if now > read.not_valid_after_utc:
        raise ConfigError(
            f"{file} expired on {read.not_valid_after_utc:%Y-%m-%d %H:%M} UTC: `jumpgate certs issue` makes another",
            file=file,
        )


def for_client(address: str, folder: str | Path | None) -> Identity | None:
    """Return the identity that a client shows the service at host:port: that of the folder, else of $JUMPGATE_TLS where
    the service is not on this machine; None: the connection is plain. Raises ConfigError."""
    chosen = folder or (None if is_loopback(address) else os.environ.get("JUMPGATE_TLS"))
    return Identity.load(chosen) if chosen else None
