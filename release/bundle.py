"""Completes dist/ for a release: jars, container file, site, notes, a list of parts and checksums.

python -m release.bundle dist
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import shutil
import sys
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import DisjunctiveLicense
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement

import jumpgate

ROOT = Path(__file__).resolve().parents[1]
SUMS = "SHA256SUMS"
#: the extras that a bare installation has parts of
EXTRAS = ("all",)


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version."""
    for section in changelog.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        if title == version:
            return f"# Jumpgate {version}\n\n{text.strip()}\n"
    sys.exit(f"CHANGELOG.md has no section '## {version}'")


def needed(name: str, extras: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the packages here that a distribution and its extras need, and those that these need: name → version."""
    found: dict[str, str] = {}
    waiting = [(name, extras)]
    while waiting:
        each, chosen = waiting.pop()
        for text in importlib.metadata.requires(each) or ():
            wanted = Requirement(text)
            if wanted.marker and not any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *chosen)):
                continue
            below = re.sub(r"[-_.]+", "-", wanted.name).lower()
            if below not in found or wanted.extras and below == name:
                found[below] = importlib.metadata.version(below)
                waiting.append((below, tuple(wanted.extras)))
    found.pop(name, None)
    return found


def parts(name: str) -> str:
    """Return a CycloneDX list, as JSON, of what an installation consists of."""
    bom = Bom()
    whole = _component(name, jumpgate.__version__, ComponentType.APPLICATION)
    found = [_component(*each, ComponentType.LIBRARY) for each in sorted(needed(name, EXTRAS).items())]
    bom.metadata.component = whole
    bom.components.update(found)
    bom.register_dependency(whole, found)
    return JsonV1Dot6(bom).output_as_string(indent=1)


def _component(name: str, version: str, type: ComponentType) -> Component:
    license = importlib.metadata.metadata(name).get("License-Expression")
    licenses = [DisjunctiveLicense(name=license)] if license else ()
    return Component(
        name=name, version=version, type=type, licenses=licenses, purl=PackageURL("pypi", None, name, version)
    )


def checksums(folder: Path) -> str:
    """Return the lines of SHA256SUMS for a folder's files."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main(folder: Path) -> None:
    """Complete the folder, which has the wheels."""
    version = jumpgate.__version__
    for jar in sorted((ROOT / "clients").glob("*/python/jars/*.jar")):
        shutil.copy(jar, folder / f"{jar.stem}-{version}.jar")
    shutil.copy(ROOT / "release" / "Dockerfile", folder / "Dockerfile")
    shutil.make_archive(str(folder / f"jumpgate-{version}-site"), "gztar", ROOT / "build" / "site")
    (folder / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(), version))
    (folder / f"jumpgate-{version}.cdx.json").write_text(parts("jumpgate-nca"))
    (folder / SUMS).write_text(checksums(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
