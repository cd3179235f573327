//! TLS 1.3 around a stream: both sides prove who they are before a byte of a preamble is heard.
//!
//! The library keeps no buffers (its unbuffered interface): bytes are encrypted where a batch is written, and decrypted where a
//! poll reads, in buffers of the link. A farewell is followed by TLS's own (`close_notify`); a stream that ends without was cut.
//!
//! | file | holds |
//! | --- | --- |
//! | `session.rs` | one TLS connection: opens and seals records |
//! | `greeting.rs` | a connection until both sides are known |
//! | `opener.rs` | what comes, decrypted |
//! | `sealer.rs` | what goes, encrypted |
//! | `fault.rs` | [`TlsFault`]: why a connection was not made |

pub(super) mod fault;
pub(super) mod greeting;
pub(super) mod opener;
pub(super) mod sealer;
pub(super) mod session;

pub use fault::TlsFault;
