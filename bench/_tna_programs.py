"""Public programs for a Tofino, compiled for the software switch.

`JUMPGATE_TNA_PROGRAMS` names a folder with clones of REPOSITORIES, or with those of their folders that have programs
which include tna.p4, as the recorded figure is of. A program is a file that instantiates `Switch`; those for a Tofino 2
alone (t2na.p4) are left out. Headers are looked for beside a program, in the folder above, and in FOLDERS there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench._measure import Figure, remark
from jumpgate.p4.compiler import P4Error, compile_source

#: on GitHub, at the commits that the recorded figure is of
REPOSITORIES = {
    "COMSYS/pie-for-tofino": "81b880c2da", "COMSYS/tofino-spin-bit-tracker": "7863bfdf4e",
    "CharlesHan24/francis_tofino_testbed": "adbcfc42a2", "DataManagementLab/p4db": "a221708787",
    "NUS-CIR/tofino-ascon": "4fc6871b04", "Princeton-Cabernet/p4-projects": "e5c7cca1e4",
    "RaymondHuang210129/P4_permutation_Tofino": "27b54f372c", "YinchuanCong/BurstMon_tofino": "0e080a9a4c",
    "barefootnetworks/Open-Tofino": "7cdda03453", "cheetahlb/cheetah-tcp-timestamp-tofino": "cac036094e",
    "chipmunk-project/chipmunk-tofino": "5af0d91050", "erbth/mpitofino": "67a91f1987",
    "khooi8913/tofino-cu": "0118a55cd5", "khooi8913/tofino-dida": "45cce46dbf",
    "p4lang/open-p4studio": "1f97778f9a", "p4lang/p4app-switchML": "b5c74a04fa", "p4lang/p4c": "34b86e9bac",
    "stratum/fabric-tna": "fd3c3f0989", "uni-tue-kn/p4-bier-tofino": "b69e26ae94",
    "vuhpdc/tofino-simple-switch": "47bc4de4ff",
}  # fmt: skip
FOLDERS = ("shared", "common", "includes", "include")
#: 160 of 179
VARIABLE = "JUMPGATE_TNA_PROGRAMS"
TARGET = 160 / 179
_MAIN = re.compile(r"\bSwitch\b[^;]*\bmain\s*;")
_INCLUDED = re.compile(r'#\s*include\s*[<"](t2na|tna|v1model|psa|pna)\.p4[>"]')


def programs(folder: Path) -> Iterator[Path]:
    """Yield the programs for a Tofino 1 below a folder."""
    for file in sorted(folder.rglob("*.p4")):
        text = file.read_text(errors="replace")
        named = set(_INCLUDED.findall(text))
        if _MAIN.search(text) and (not named or "tna" in named):
            yield file


def refusal(file: Path, profile: str = "none") -> str:
    """Return the first line of why a program is refused; nothing if its C++ and its P4Info are made."""
    folders = [file.parent, file.parent.parent, *(file.parent.parent / name for name in FOLDERS)]
    includes = [folder for folder in folders if folder.is_dir()]
    try:
        compiled = compile_source(file.read_text(errors="replace"), str(file), profile=profile, includes=includes)
        assert compiled.cpp and compiled.p4info
    except P4Error as error:
        return str(error).splitlines()[0]
    return ""


def tna_compiles() -> Figure:
    """Return the share of the programs that compile. Raises KeyError where no folder is named."""
    folder = Path(os.environ[VARIABLE]).absolute()
    found = [*programs(folder)]
    with ProcessPoolExecutor() as pool:
        refused = [text for text in pool.map(refusal, found) if text]
    for text in refused:
        remark(f"  {text.removeprefix(f'{folder}/')}")
    words = (
        f"{len(found) - len(refused)} of {len(found)} public programs of {len(REPOSITORIES)} repositories, no profile"
    )
    return Figure("tna_compiles", 1 - len(refused) / len(found), TARGET, "higher", words)
