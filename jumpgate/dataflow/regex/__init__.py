"""Regular expressions of Rust's crate `regex`, as in DataFusion: parsed, and compiled to automata over UTF-8."""
