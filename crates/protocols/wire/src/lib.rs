//! How things lie on the wire: the frame header, the registry of numbers, and the primitive codecs.
//!
//! Payload layouts are not here: each lies in the `codec` module beside its protocol, written with the
//! [`Encode`] and [`Decode`] of this crate. All integers are little-endian.
//!
//! | file | holds |
//! | --- | --- |
//! | `header.rs` | [`Header`]: the 32 bytes in front of every frame, with a picture |
//! | `journal.rs` | the layout of the flight recorder's file |
//! | `link_info.rs` | what a link is, as the recorder keeps it |
//! | `refusal.rs` | [`refusal::Refusal`]: why a service refuses a request |
//! | `registry.rs` | every protocol, port and kind number, given out once |
//! | `services.rs` | what a host's disk and device are asked, and answer |
//! | `encode.rs` | [`Sink`], [`Encode`]: writing, and counting with the same code |
//! | `decode.rs` | [`Reader`], [`Decode`], [`DecodeError`]: reading what a stranger may have written |
#![forbid(unsafe_code)]

mod decode;
mod encode;
mod header;
pub mod journal;
mod link_info;
pub mod refusal;
pub mod registry;
pub mod services;

pub use decode::{Decode, DecodeError, Reader};
pub use encode::{Encode, Sink, encode_to_vec, send};
pub use header::{Header, HeaderError, MAGIC, STAMP_BYTES, VERSION};
