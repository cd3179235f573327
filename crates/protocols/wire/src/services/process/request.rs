//! What the host's processes are asked.

use super::{FileHash, MAX_OUTPUT_BYTES, Stream, read_hashes, write_hashes};
use crate::{Decode, DecodeError, Encode, Reader, Sink};

/// The body of [`PROCESS_REQUEST`](crate::registry::PROCESS_REQUEST).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProcessRequest {
    /// Which of these files are kept?
    Have {
        /// By their hashes.
        hashes: Vec<FileHash>,
    },
    /// Keep a file: the bulk.
    Store {
        /// Its hash, which the host checks.
        hash: FileHash,
    },
    /// Start a process: the bulk is a [`Start`](super::Start).
    Start {
        /// Its number from now on, unlike that of any other.
        process: u64,
        /// The job to which it belongs. With its first process the job begins.
        job: u128,
    },
    /// Read what it says.
    Read {
        /// Which process.
        process: u64,
        /// Which of its streams.
        stream: Stream,
        /// So many bytes, 1 to [`MAX_OUTPUT_BYTES`]; fewer, where no more are there.
        at_most: u32,
    },
    /// Wait for its end.
    Wait {
        /// Which process.
        process: u64,
    },
    /// Send it a signal.
    Signal {
        /// Which process.
        process: u64,
        /// The signal's number, as Linux counts.
        signal: u8,
        /// To all of its process group; else to it alone.
        to_group: bool,
    },
    /// End all processes of a job and what they started, and remove its folder.
    End {
        /// Which job.
        job: u128,
    },
    /// How busy is the machine?
    Load,
    /// Which processes of jobs run, by their numbers in the system?
    Running {
        /// Those with higher ones.
        after: u32,
    },
}

impl Encode for ProcessRequest {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            ProcessRequest::Have { hashes } => {
                sink.u8(0);
                write_hashes(hashes, sink);
            }
            ProcessRequest::Store { hash } => {
                sink.u8(1);
                sink.bytes(&hash.0);
            }
            ProcessRequest::Start { process, job } => {
                sink.u8(2);
                sink.u64(*process);
                sink.bytes(&job.to_le_bytes());
            }
            ProcessRequest::Read { process, stream, at_most } => {
                sink.u8(3);
                sink.u64(*process);
                stream.encode(sink);
                sink.u32(*at_most);
            }
            ProcessRequest::Wait { process } => {
                sink.u8(4);
                sink.u64(*process);
            }
            ProcessRequest::Signal { process, signal, to_group } => {
                sink.u8(5);
                sink.u64(*process);
                sink.u8(*signal);
                sink.u8((*to_group).into());
            }
            ProcessRequest::End { job } => {
                sink.u8(6);
                sink.bytes(&job.to_le_bytes());
            }
            ProcessRequest::Load => sink.u8(7),
            ProcessRequest::Running { after } => {
                sink.u8(8);
                sink.u32(*after);
            }
        }
    }
}

impl Decode<'_> for ProcessRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => ProcessRequest::Have { hashes: read_hashes(reader)? },
            1 => ProcessRequest::Store { hash: FileHash(reader.array()?) },
            2 => ProcessRequest::Start { process: reader.u64()?, job: u128::from_le_bytes(reader.array()?) },
            3 => ProcessRequest::Read {
                process: reader.u64()?,
                stream: Stream::decode(reader)?,
                at_most: match reader.u32()? {
                    at_most if (1..=MAX_OUTPUT_BYTES).contains(&(at_most as usize)) => at_most,
                    other => return Err(reader.invalid("bytes to read", other, 4)),
                },
            },
            4 => ProcessRequest::Wait { process: reader.u64()? },
            5 => ProcessRequest::Signal {
                process: reader.u64()?,
                signal: read_signal(reader)?,
                to_group: reader.flag("to its group")?,
            },
            6 => ProcessRequest::End { job: u128::from_le_bytes(reader.array()?) },
            7 => ProcessRequest::Load,
            8 => ProcessRequest::Running { after: reader.u32()? },
            other => return Err(reader.invalid("request", other, 1)),
        })
    }
}

/// Reads the number of a signal, 1 to 64.
///
/// # Errors
/// Another number, or none.
pub fn read_signal(reader: &mut Reader<'_>) -> Result<u8, DecodeError> {
    match reader.u8()? {
        signal @ 1..=64 => Ok(signal),
        other => Err(reader.invalid("signal", other, 1)),
    }
}
