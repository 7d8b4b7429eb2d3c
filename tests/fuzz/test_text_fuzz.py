"""The JSON and CSV readers on hostile files."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pytest

import jumpgate.converters
from tests.support import cpp, fuzz

HERE = Path(__file__).parent
CONVERTERS = Path(jumpgate.converters.__file__).parent
#: of what all readers share
PARTS = ("column_room", "input_file", "object_reader", "placed_parts", "read_error")

JSON = [
    '{"a":1,"b":"x","c":1.25,"d":"2001-02-03","e":1e3,"f":-0.5,"g":"2001-02-03 04:05:06.789","h":true}\n' * 3,
    '{"b":"\\u00e4\\ud83d\\ude00\\"","a":null}\r\n\n{"x":[1,{"a":2}],"a":-9223372036854775808}\n{}\n{"a":1',
    '\ufeff [{"a":1,"b":"],[{\\"\\ud83d\\ude00"},\n{"c":2.5,\n"x":[[{}],{}]} ,'
    '{"g":"2001-02-03T04:05:06.5000000+02:00"}]\n',
    '{"nested":{"n":1,"l":["x",null,"\\u0061"],"m":{"k":{"n":2,"l":[]},"j":null,"k":{}}},"a":1}\n' * 2
    + '{"nested":{"m":{},"l":null,"n":3.0,"n":4}}\n{"nested":{}}\n{"nested":null}\n{"nested":[{"n":[[]]}]}\n',
    '{"a":-12,"b":"x\\\\","c":0.5,"z":"ä"}\n' * 60
    + '{"a":-12,"b":"x\\","c":0.5,"z":"ä"}\n'
    + '{"a":1,"b":"","c":null,"z":7}\n' * 50,
    '\ufeff{"a": 12345678 , "c" : "99999.995","e":9223372036854775808}\n{"a":1,"a":2,"\\u0062":"y"}\nnull\n[1]\n',
]
CSV = [
    "a,b,c,d,e,f,g,h\n" + "1,x,1.25,2001-02-03,1e3,-.5,2001-02-03 04:05:06.789,true\n" * 3,
    'a,b,c\r1,"x\r\n""y"\r\r2\r3,""\r,,2001-02-03T04:05:06Z',
    'h,g,f,e,d,c,b,a\r\nf,,1e308,9223372036854775808,"2001-02-03",1.005,"q""u,o\r\n\nte",-9223372036854775808\r\n\r\n,,,,,,"",""',
    '\ufeffa,b,c,d,e,f,g,h\n1,x\n1,"x"y,,,,,,\n2,x"y,,,,,,\n' + '3,"' + ",\n" * 40 + '",,,,,,\n4,"open,,,,,,',
]


@pytest.mark.nightly(but="csv")
@pytest.mark.parametrize(("format", "texts"), [("json", JSON), ("csv", CSV)])
@pytest.mark.timeout(fuzz.SECONDS + fuzz.BUILD_SECONDS_MAX)
def test_no_file_crashes_the_readers(tmp_path: Path, format: str, texts: list[str]) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for i, text in enumerate(texts):
        for how in range(0, 64, 3):
            encoding = ("utf-8", "utf-16", "latin-1", "utf-16-be")[how >> 4]
            data = text.encode(encoding, errors="replace")
            (corpus / f"{i}-{how}").write_bytes(bytes([how]) + data)
            packed = [gzip.compress(data), bz2.compress(data), pa.compress(data, "zstd", asbytes=True)][how % 3]
            (corpus / f"{i}-{how}-packed").write_bytes(bytes([how]) + packed)
    library = pa.get_library_dirs()[0]
    soname = next(Path(library).glob("libarrow.so.*")).name
    sources = [
        HERE / f"{format}_fuzz.cpp", CONVERTERS / "readers.cpp", *sorted(CONVERTERS.glob(f"{format}/*.cpp")),
        *sorted(CONVERTERS.glob("text/*.cpp")),
        *(CONVERTERS / f"common/{name}.cpp" for name in PARTS),
        *cpp.object_sources(),
        *(cpp.runtime_source() / f"src/functions/{name}.cpp" for name in ("functions", "cast", "case")),
    ]  # fmt: skip
    flags = ("-I", str(CONVERTERS), "-isystem", pa.get_include(), f"-L{library}",
             f"-Wl,-rpath,{library}", "-Wl,--no-as-needed", f"-l:{soname}")  # fmt: skip
    assert fuzz.fuzz(format, sources, HERE / "mutate_main.cpp", corpus, flags) > 8 * len(texts)
