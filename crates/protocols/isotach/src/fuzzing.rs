//! Entry points for fuzzers.
