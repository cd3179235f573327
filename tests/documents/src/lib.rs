//! The programs in the documents, as documentation tests: a reader may copy them as they are. Those in Python and for a shell are run by
//! `test_programs.py` beside this crate, those in C by the tests of the C library.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../crates/quintet/README.md")]
struct PackageReadme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/isochrons.md")]
struct Isochrons;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/testbed.md")]
struct Testbeds;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/exploring.md")]
struct Exploring;
