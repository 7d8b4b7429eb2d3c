"""Regular expressions of Rust's crate `regex`, as DataFusion has them: parsed, and made into automata over UTF-8."""
