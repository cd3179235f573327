//! What the study held fixed: one client, one compute head, text on the wire, the machines of 1991.

use super::given;
use super::inferred::Inferred;
use super::machines::Machines;

/// What surrounds a case's application. The study has one of everything: [`Setting::STUDY`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Clients, each with an application of its own; one at least.
    pub clients: u16,
    /// Compute heads of the vector processor; a client keeps to one. One at least.
    pub heads: u16,
    /// Application processors of the server; a client's process keeps to one. One at least.
    pub server_processors: u16,
    /// How values travel by REXEC and RPC.
    pub encoding: Encoding,
    /// Commands to the device a library call, by DRIVER; one at least.
    pub commands: u16,
    /// What hosts and vector processor are.
    pub machines: Machines,
}

impl Setting {
    /// As the study had it. It has no DRIVER; two commands a call, one that starts it and one that ends it, are assumed.
    pub const STUDY: Setting = Setting {
        clients: 1,
        heads: 1,
        server_processors: 1,
        encoding: Encoding::Text,
        commands: 2,
        machines: Machines::Of1991,
    };
}

/// How values travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// As the study's programs write them: ASCII, 8 bytes a value, converted at both ends.
    Text,
    /// As they lie in memory: 4 bytes a value, copied at both ends.
    Binary,
}

/// Assumed: cycles to copy a word of 4 bytes, a load and a store.
pub(super) const COPY_WORD: f64 = 2.0;

/// What an encoding costs: bytes on the wire and cycles, each for one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    pub(super) bytes: f64,
    /// A buffer of the pool: by RPC at the server and the client, by REXEC at the server and the client.
    pub(super) rpc_buffer: (f64, f64),
    pub(super) rexec_buffer: (f64, f64),
    /// A vector by RPC: to write and to read a value.
    pub(super) print: f64,
    pub(super) scan: f64,
    /// The result of a REXEC job: at the server and the client.
    pub(super) result: (f64, f64),
}

impl Encoding {
    pub(super) fn coding(self, inferred: &Inferred) -> Coding {
        let copied = (COPY_WORD, COPY_WORD);
        match self {
            Encoding::Text => Coding {
                bytes: given::ASCII_BYTES,
                rpc_buffer: (given::MARSHALL_WORD, inferred.convert_word),
                rexec_buffer: (given::MARSHALL_WORD, inferred.read_word),
                print: given::SPRINTF,
                scan: given::SSCANF,
                result: (inferred.result, inferred.result),
            },
            Encoding::Binary => Coding {
                bytes: given::WORD_BYTES,
                rpc_buffer: copied,
                rexec_buffer: copied,
                print: COPY_WORD,
                scan: COPY_WORD,
                result: copied,
            },
        }
    }
}
