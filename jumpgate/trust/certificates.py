"""Makes certificates: an authority of one's own, those of machines, and those that nobody signs: the passing one of
each job, and that of an agent which is started over SSH."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from jumpgate.errors import ConfigError
from jumpgate.trust import state
from jumpgate.trust.edges import JobCertificate
from jumpgate.trust.revocation import LIST
from jumpgate.trust.tls import CA, CERTIFICATE, KEY

#: of the authority's own key; it stays where `init` was run
CA_KEY = "ca-key.pem"
CA_DAYS, DAYS = 3650, 825
#: clocks of machines differ
SKEW = datetime.timedelta(hours=1)


def init(folder: Path) -> None:
    """Makes an authority: ca.pem, which every machine gets, and ca-key.pem, which none does. Raises ConfigError."""
    if (folder / CA).exists() or (folder / CA_KEY).exists():
        raise ConfigError(f"{folder} has an authority already; certificates of another one would not fit", file=folder)
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Jumpgate authority")
    certificate = (
        _builder(name, name, key.public_key(), CA_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(folder, {CA: certificate.public_bytes(serialization.Encoding.PEM), CA_KEY: _pem(key)})


def issue(authority: Path, name: str, hosts: Sequence[str], days: int = DAYS) -> Path:
    """Makes the folder AUTHORITY/NAME for a machine that is reached by these names and addresses; returns it. Raises
    ConfigError."""
    folder = authority / name
    if not name or "/" in name or name.startswith("."):
        raise ConfigError(f"'{name}' is no name for a folder of certificates")
    ca_text, ca, ca_key = _authority(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_name(name), ca.subject, key.public_key(), days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(digital_signature=True), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.public_key()), critical=False)  # type: ignore[arg-type]
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
    certificate = builder.sign(ca_key, hashes.SHA256())
    _write(folder, {CA: ca_text, CERTIFICATE: certificate.public_bytes(serialization.Encoding.PEM), KEY: _pem(key)})
    return folder


def _authority(folder: Path) -> tuple[bytes, x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the authority's certificate as text and read, and its key. Raises ConfigError."""
    try:
        text = (folder / CA).read_bytes()
        certificate = x509.load_pem_x509_certificate(text)
        key = serialization.load_pem_private_key((folder / CA_KEY).read_bytes(), None)
    except (OSError, ValueError) as error:
        raise ConfigError(f"there is no authority in {folder} ({error}): `jumpgate certs init` makes one") from error
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return text, certificate, key


def revoke(authority: Path, certificate: Path) -> Path:
    """Add a certificate to the authority's revocation list; return the list's file. Raises ConfigError."""
    file = authority / LIST
    _, ca, ca_key = _authority(authority)
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateRevocationListBuilder().issuer_name(ca.subject).last_update(now - SKEW)
    builder = builder.next_update(now + datetime.timedelta(days=CA_DAYS))
    try:
        gone = x509.load_pem_x509_certificate(certificate.read_bytes())
        gone.verify_directly_issued_by(ca)
        known = list(x509.load_pem_x509_crl(file.read_bytes())) if file.exists() else []
    except (OSError, ValueError, TypeError, InvalidSignature) as error:
        raise ConfigError(f"{certificate} cannot be revoked by the authority in {authority}: {error}") from error
    entry = x509.RevokedCertificateBuilder().serial_number(gone.serial_number).revocation_date(now).build()
    for one in [*(k for k in known if k.serial_number != gone.serial_number), entry]:
        builder = builder.add_revoked_certificate(one)
    text = builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    _write(authority, {LIST: text})
    return file


def for_job() -> JobCertificate:
    """A new one; it outlives the longest job."""
    certificate, key = _unsigned("Jumpgate job", [], DAYS)
    return JobCertificate(certificate.decode(), key.decode())


def for_agent(host: str) -> tuple[bytes, bytes]:
    """The certificate of an agent that is reached at this name or address, and its key; whoever is to believe it has to
    know the certificate itself."""
    return _unsigned("Jumpgate agent", [host], DAYS)


def _unsigned(text: str, hosts: Sequence[str], days: int) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(text)
    builder = _builder(name, name, key.public_key(), days)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem(key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _usage(*, key_cert_sign: bool = False, digital_signature: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(digital_signature, False, False, False, False, key_cert_sign, key_cert_sign, False, False)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in files.items():
            state.write(folder / name, text.decode())
    except OSError as error:
        raise ConfigError(f"cannot write to {folder}: {error.strerror}", file=folder) from error
