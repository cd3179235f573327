//! What the host's processes are asked and what they answer: programs that the host starts in jobs, watches and ends.
//!
//! A *job* is processes that share a folder and end together. The host keeps files by the hashes of their contents, so that what many
//! jobs use crosses a link once. The instance that uses the service gives the processes their numbers.
//!
//! | [`ProcessRequest`] | tag | body | bulk | [`ProcessAnswer`] |
//! | --- | --- | --- | --- | --- |
//! | `Have` | 0 | hashes | | `Missing`: those that are not kept |
//! | `Store` | 1 | hash | the contents | `Done`, once they are kept |
//! | `Start` | 2 | process u64, job u128 | a [`Start`] | `Started` |
//! | `Read` | 3 | process u64, stream u8, at most u32 | | `Output`, once there is some, or when the stream has ended |
//! | `Wait` | 4 | process u64 | | `Ended`, once the process has |
//! | `Signal` | 5 | process u64, signal u8, to its group u8 | | `Done`, also where it has ended |
//! | `End` | 6 | job u128 | | `Done`, once nothing of the job is left: no process, no folder |
//! | `Load` | 7 | | | `Load` |
//! | `Running` | 8 | after which process of the system u32 | | `Running`: processes of jobs of this user, also of those that commands have begun |
//!
//! Each of them may be answered by `Failed` instead, in words; a request that failed has changed nothing. Of a stream one read is
//! under way at a time. What a process has said before it ended can be read after that, until its job ends. Requests are begun in the order in
//! which they came: an `End` ends what a `Start` before it has started.
//!
//! | file | holds |
//! | --- | --- |
//! | `process/start.rs` | [`Start`]: what is to be started, and whether that can be right |
//! | `process/running.rs` | [`RunningProcess`]: what is told of one |
//! | `process/request.rs`, `process/answer.rs` | what is asked and answered |

mod answer;
mod request;
mod running;
mod start;
#[cfg(test)]
mod tests;

pub use answer::{End, ProcessAnswer};
pub use request::{ProcessRequest, read_signal};
pub use running::{
    JOB_VARIABLE, MAX_COMMAND_BYTES, MAX_JOB_BYTES, MAX_RUNNING, RANK_VARIABLE, RunningProcess,
};
pub use start::{BadStart, Directory, JOBS_VARIABLE, JobFile, Program, Start, check_path};

use crate::{Decode, DecodeError, Encode, Reader, Sink};
use core::fmt;

/// Hashes in one request.
pub const MAX_HASHES: usize = 1024;
/// Bytes of a file.
pub const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of an encoded [`Start`].
pub const MAX_START_BYTES: usize = 1024 * 1024;
/// Files of one [`Start`].
pub const MAX_FILES: usize = 4096;
/// Bytes of a path, its separators included.
pub const MAX_PATH_BYTES: usize = 1024;
/// Bytes of a name in a path.
pub const MAX_PATH_NAME_BYTES: usize = 255;
/// Arguments of a process, and variables of its environment.
pub const MAX_WORDS: usize = 4096;
/// Bytes of one argument, or of a variable with its value. The system takes 128 KiB.
pub const MAX_WORD_BYTES: usize = 128 * 1024 - 2;
/// Bytes of a process' name.
pub const MAX_NAME_BYTES: usize = 64;
/// Bytes of output in one answer.
pub const MAX_OUTPUT_BYTES: usize = 32 * 1024;
/// Bytes of a text that says why something failed.
pub const MAX_TEXT_BYTES: usize = 1024;

/// The SHA-256 of a file's contents: its name among those that are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileHash(pub [u8; 32]);

/// One of the two streams of a process' output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Stream {
    /// Standard output.
    Output = 1,
    /// Standard error.
    Error = 2,
}

impl Stream {
    /// Both.
    pub const ALL: [Stream; 2] = [Stream::Output, Stream::Error];
}

impl fmt::Display for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Encode for Stream {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(*self as u8);
    }
}

impl Decode<'_> for Stream {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            1 => Ok(Stream::Output),
            2 => Ok(Stream::Error),
            other => Err(reader.invalid("stream", other, 1)),
        }
    }
}

/// Writes a count u32 and the hashes.
///
/// # Panics
/// With more than `u32::MAX` of them.
pub fn write_hashes(hashes: &[FileHash], sink: &mut impl Sink) {
    sink.u32(u32::try_from(hashes.len()).expect("at most MAX_HASHES"));
    hashes.iter().for_each(|hash| sink.bytes(&hash.0));
}

/// Reads what [`write_hashes`] wrote.
///
/// # Errors
/// More than [`MAX_HASHES`], or fewer bytes than that many need.
pub fn read_hashes(reader: &mut Reader<'_>) -> Result<Vec<FileHash>, DecodeError> {
    let count = reader.length("number of hashes", MAX_HASHES)?;
    let bytes = reader.bytes(count * 32)?;
    Ok(bytes.chunks_exact(32).map(|hash| FileHash(hash.try_into().expect("chunks of 32"))).collect())
}
