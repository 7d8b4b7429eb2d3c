"""Soundex, a scalar function that Jumpgate does not have: names that sound alike have the same code."""

import re
from importlib.resources import files

from jumpgate.dataflow.function import Function
from jumpgate.dataflow.reference import Site
from jumpgate.dataflow.signatures import always, exactly
from jumpgate.dataflow.types import string

#: of the letters a to z; 0: none
_CODES = "01230120022455012623010202"


def _soundex(site: Site, text: str) -> str:
    found, before = "", ""
    for letter in re.findall("[A-Za-z]", text):
        letter = letter.upper()
        code = _CODES[ord(letter) - ord("A")]
        if not found:
            found = letter
        elif code not in ("0", before):
            found += code
        if letter not in "HW":
            before = code
    return found[:4].ljust(4, "0") if found else ""


SOUNDEX = Function(
    "soundex",
    "a letter and three digits that stand for the sound of an English name; empty without ASCII letters",
    arity=(1, 1),
    operands=exactly(string),
    result=always(string),
    body=_soundex,
    cpp="example_soundex(t, {0})",
    cpp_source=files(__package__).joinpath("soundex.h").read_text(),
    sql=("soundex",),
    substrait=("extension:org.example.names:soundex",),
)
