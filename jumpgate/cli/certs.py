"""`jumpgate certs`: an authority of one's own, and the certificates of machines and clients."""

from __future__ import annotations

from pathlib import Path

import click

FOLDER = click.option(
    "--folder", type=click.Path(path_type=Path), default="certs", show_default=True, help="Of the authority."
)


@click.group("certs")
def command() -> None:
    """Make certificates for encryption between machines (docs/security.md)."""


@command.command("init")
@FOLDER
def init(folder: Path) -> None:
    """Make an authority, whose certificates machines believe."""
    from jumpgate.trust import certificates, tls

    certificates.init(folder)
    print(f"wrote {folder}/{tls.CA} and {folder}/{certificates.CA_KEY}; keep the second to yourself")


@command.command("issue")
@click.argument("name")
@click.option("--host", "hosts", multiple=True, help="A name or address by which others reach it; may be repeated.")
@click.option("--days", type=click.IntRange(1), default=825, show_default=True, help="How long it is valid.")
@FOLDER
def issue(name: str, hosts: tuple[str, ...], days: int, folder: Path) -> None:
    """Make the certificate of a machine or client: a folder to copy there, and to name in [tls] or --tls."""
    from jumpgate.trust import certificates

    print(f"wrote {certificates.issue(folder, name, hosts, days)}; copy it to {name}, where only its user may read it")


@command.command("revoke")
@click.argument("certificate", type=click.Path(path_type=Path))
@FOLDER
def revoke(certificate: Path, folder: Path) -> None:
    """Add a certificate that the authority has signed (NAME/cert.pem) to its list of those that no longer count."""
    from jumpgate.trust import certificates

    file = certificates.revoke(folder, certificate)
    print(f"wrote {file}; copy it into the [tls] folder of each service, which reads it again without a restart")
