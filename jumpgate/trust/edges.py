"""Encrypted edges: each end shows the certificate of the job, and believes no other."""

from __future__ import annotations

import functools
import os
import ssl
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class JobCertificate:
    """PEM texts that only the instances of one job and its client have (jumpgate/trust/certificates.py)."""

    certificate: str
    key: str = field(repr=False)

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

    @functools.lru_cache(8)  # noqa: B019
    def context(self, *, server: bool) -> ssl.SSLContext:
        """For Python's end of an edge; the consumer is the server."""
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        found.minimum_version = ssl.TLSVersion.TLSv1_3
        found.check_hostname = False  # the certificate is what tells the job's ends from others
        found.verify_mode = ssl.CERT_REQUIRED
        if server:
            found.num_tickets = 0  # producers read nothing after the handshake
        found.load_verify_locations(cadata=self.certificate)
        handle = os.memfd_create("jumpgate", os.MFD_CLOEXEC)  # the module reads files only
        try:
            os.write(handle, f"{self.certificate}{self.key}".encode())
            found.load_cert_chain(f"/proc/self/fd/{handle}")
        finally:
            os.close(handle)
        return found
