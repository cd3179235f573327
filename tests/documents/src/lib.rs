//! The programs in the documents, as documentation tests: a reader may copy them as they are.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
