"""The kit for authors of accelerators: `jumpgate nca check` and the tests that `jumpgate nca new` writes run it."""
