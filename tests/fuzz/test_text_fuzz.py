"""The JSON and CSV readers on hostile files."""

from __future__ import annotations

from pathlib import Path

import pytest
import simdjson

import jumpgate.converters
from jumpgate.testing import cpp, fuzz

HERE = Path(__file__).parent
CONVERTERS = Path(jumpgate.converters.__file__).parent
SIMDJSON = Path(simdjson.__file__).parent

JSON = [
    '{"a":1,"b":"x","c":1.25,"d":"2001-02-03","e":1e3,"f":-0.5,"g":"2001-02-03 04:05:06.789","h":true}\n' * 3,
    '{"b":"\\u00e4\\ud83d\\ude00\\"","a":null}\r\n\n{"x":[1,{"a":2}],"a":-9223372036854775808}\n{}\n{"a":1',
    '\ufeff{"a": 12345678 , "c" : "99999.995","e":9223372036854775808}\n{"a":1,"a":2,"\\u0062":"y"}\nnull\n[1]\n',
]
CSV = [
    "a,b,c,d,e,f,g,h\n" + "1,x,1.25,2001-02-03,1e3,-.5,2001-02-03 04:05:06.789,true\n" * 3,
    'h,g,f,e,d,c,b,a\r\nf,,1e308,9223372036854775808,"2001-02-03",1.005,"q""u,o\r\n\nte",-9223372036854775808\r\n\r\n,,,,,,"",""',
    '\ufeffa,b,c,d,e,f,g,h\n1,x\n1,"x"y,,,,,,\n2,x"y,,,,,,\n' + '3,"' + ",\n" * 40 + '",,,,,,\n4,"open,,,,,,',
]


@pytest.mark.parametrize(("format", "texts"), [("json", JSON), ("csv", CSV)])
@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_no_file_crashes_the_readers(tmp_path: Path, format: str, texts: list[str]) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for i, text in enumerate(texts):
        for how in range(8):
            (corpus / f"{i}-{how}").write_bytes(bytes([how]) + text.encode())
    sources = [
        HERE / f"{format}_fuzz.cpp", *sorted(CONVERTERS.glob(f"{format}/*.cpp")), CONVERTERS / "text/line_chunks.cpp",
        CONVERTERS / "common/column_room.cpp", cpp.runtime_source() / "src/functions.cpp",
        *([SIMDJSON / "simdjson.cpp"] if format == "json" else []),
    ]  # fmt: skip
    flags = ("-I", str(CONVERTERS), "-isystem", str(SIMDJSON))
    assert fuzz.fuzz(format, sources, HERE / "mutate_main.cpp", corpus, flags) > 8 * len(texts)
