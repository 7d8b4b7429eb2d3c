"""Maps a dataflow onto accelerators, chooses by cost, and cuts the plan into fragments, edges and stages."""

from jumpgate.compiler.compile import PASSES, compile_dataflow
from jumpgate.compiler.explain import explain_text
from jumpgate.compiler.plan import CompileOptions

__all__ = ["PASSES", "CompileOptions", "compile_dataflow", "explain_text"]
