"""Maps a dataflow onto accelerators, chooses by cost, and cuts the plan into fragments, edges and stages."""
