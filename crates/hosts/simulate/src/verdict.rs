//! What a replay came to.

use quintet_contract::{Address, Time};
use quintet_wire::journal::JOURNAL_VERSION;
use std::fmt;
use std::io;

/// What a replay that found no difference went through.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// Instances, by address and protocol name.
    pub instances: Vec<(Address, String)>,
    /// Inputs given.
    pub steps: u64,
    /// Frames compared.
    pub frames: u64,
    /// Bytes of body and bulk data compared.
    pub bytes: u64,
    /// The time of the last input.
    pub last: Time,
    /// Whether the recording stops before its end: its process was killed. What is there was compared.
    pub cut_short: bool,
}

/// The first step in which the replay went another way than the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Counted from 0.
    pub step: u64,
    /// The time of the step.
    pub now: Time,
    /// The instance.
    pub at: Address,
    /// The input, in words.
    pub input: String,
    /// What was recorded, in words.
    pub recorded: String,
    /// What the replay did, in words.
    pub replayed: String,
}

/// Why a replay ended early.
#[derive(Debug)]
pub enum ReplayError {
    /// The file could not be read.
    Io(io::Error),
    /// The file is not a recording, or one of another version.
    NotARecording {
        /// The first eight bytes found.
        found: Vec<u8>,
    },
    /// A record is damaged.
    Damaged {
        /// Its place in the file, in bytes.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// The recording holds no whole step, so that there is nothing to compare.
    Empty,
    /// The recording needs a protocol this program does not have, or refuses the configuration of.
    UnknownProtocol {
        /// Its name.
        name: String,
        /// Why this program does not make it.
        problem: String,
    },
    /// The replay went another way.
    Different(Box<Difference>),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Io(error) => write!(f, "the recording cannot be read: {error}"),
            ReplayError::NotARecording { found } => write!(
                f,
                "not a recording of this version: it begins with {found:02x?} instead of QREC and version {JOURNAL_VERSION}"
            ),
            ReplayError::Damaged { offset, problem } => {
                write!(f, "the recording is damaged at byte {offset}: {problem}")
            }
            ReplayError::Empty => f.write_str("the recording holds no whole step"),
            ReplayError::UnknownProtocol { name, problem } => {
                write!(f, "the recording needs the protocol {name:?}, which cannot be made: {problem}")
            }
            ReplayError::Different(d) => write!(
                f,
                "the replay differs at step {} ({}, instance {}):\n  input    {}\n  recorded {}\n  replayed {}",
                d.step, d.now, d.at, d.input, d.recorded, d.replayed
            ),
        }
    }
}

impl std::error::Error for ReplayError {}
