"""Makes what a release consists of (`./dev wheel`, `./dev release`)."""
