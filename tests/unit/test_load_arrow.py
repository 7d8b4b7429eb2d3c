"""pyarrow without pandas."""

import subprocess
import sys

CODE = """
from jumpgate.extras import load_arrow
load_arrow()
import sys
import pyarrow as pa
import pyarrow.compute as pc
assert pc.sum(pa.array([1, 2])).as_py() == 3
assert not any(name.partition(".")[0] == "pandas" for name in sys.modules)
frame = pa.table({"a": [1, None]}).to_pandas()
assert frame["a"].isna().tolist() == [False, True]
import pandas
assert pa.Table.from_pandas(pandas.DataFrame({"b": [1]})).schema.names == ["b"]
"""


def test_pandas_is_loaded_where_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)
