//! What the host's processes answer.

use super::request::read_signal;
use super::{
    FileHash, MAX_OUTPUT_BYTES, MAX_PATH_BYTES, MAX_RUNNING, MAX_TEXT_BYTES, RunningProcess, read_hashes,
    write_hashes,
};
use crate::{Decode, DecodeError, Encode, Reader, Sink};
use core::fmt;

/// The body of [`PROCESS_ANSWER`](crate::registry::PROCESS_ANSWER).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProcessAnswer {
    /// These files are not kept.
    Missing {
        /// By their hashes.
        hashes: Vec<FileHash>,
    },
    /// It was done.
    Done,
    /// The process runs.
    Started {
        /// Its job's folder, from the root.
        folder: Vec<u8>,
    },
    /// What a process has said.
    Output {
        /// What.
        bytes: Vec<u8>,
        /// Whether nothing more comes.
        is_last: bool,
    },
    /// A process has ended.
    Ended(End),
    /// How busy the machine is.
    Load {
        /// Its processors.
        cores: u16,
        /// Processes that want one, in hundredths, averaged over the last minute.
        load: u32,
    },
    /// Processes of jobs, by their numbers in the system.
    Running {
        /// [`MAX_RUNNING`] at most.
        processes: Vec<RunningProcess>,
        /// Whether no more follow.
        is_last: bool,
    },
    /// It was not done.
    Failed {
        /// Whether a file of a start is not kept: it can be stored, and the start asked again.
        is_missing_file: bool,
        /// Why, in words, and where.
        text: String,
    },
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself, with this exit status.
    Exited(u8),
    /// By this signal.
    Killed(u8),
}

impl ProcessAnswer {
    /// A failure; the text is cut to [`MAX_TEXT_BYTES`].
    #[must_use]
    pub fn failed(text: impl Into<String>) -> ProcessAnswer {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        ProcessAnswer::Failed { is_missing_file: false, text }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Exited(status) => write!(f, "status {status}"),
            End::Killed(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl Encode for ProcessAnswer {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            ProcessAnswer::Missing { hashes } => {
                sink.u8(0);
                write_hashes(hashes, sink);
            }
            ProcessAnswer::Done => sink.u8(1),
            ProcessAnswer::Started { folder } => {
                sink.u8(2);
                sink.counted(folder);
            }
            ProcessAnswer::Output { bytes, is_last } => {
                sink.u8(3);
                sink.u8((*is_last).into());
                sink.counted(bytes);
            }
            ProcessAnswer::Ended(end) => {
                sink.u8(4);
                end.encode(sink);
            }
            ProcessAnswer::Load { cores, load } => {
                sink.u8(5);
                sink.u16(*cores);
                sink.u32(*load);
            }
            ProcessAnswer::Running { processes, is_last } => {
                sink.u8(7);
                sink.u8((*is_last).into());
                sink.u32(u32::try_from(processes.len()).expect("at most MAX_RUNNING"));
                processes.iter().for_each(|process| process.encode(sink));
            }
            ProcessAnswer::Failed { is_missing_file, text } => {
                sink.u8(6);
                sink.u8((*is_missing_file).into());
                sink.counted(text.as_bytes());
            }
        }
    }
}

impl Decode<'_> for ProcessAnswer {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => ProcessAnswer::Missing { hashes: read_hashes(reader)? },
            1 => ProcessAnswer::Done,
            2 => ProcessAnswer::Started { folder: reader.counted("folder", MAX_PATH_BYTES)?.to_vec() },
            3 => {
                let is_last = reader.flag("last output")?;
                ProcessAnswer::Output { bytes: reader.counted("output", MAX_OUTPUT_BYTES)?.to_vec(), is_last }
            }
            4 => ProcessAnswer::Ended(End::decode(reader)?),
            5 => ProcessAnswer::Load { cores: reader.u16()?, load: reader.u32()? },
            6 => {
                let is_missing_file = reader.flag("missing file")?;
                let text = reader.text("text of a failure", MAX_TEXT_BYTES)?.to_owned();
                ProcessAnswer::Failed { is_missing_file, text }
            }
            7 => {
                let is_last = reader.flag("last processes")?;
                let count = reader.length("number of processes", MAX_RUNNING)?;
                let processes =
                    (0..count).map(|_| RunningProcess::decode(reader)).collect::<Result<_, _>>()?;
                ProcessAnswer::Running { processes, is_last }
            }
            other => return Err(reader.invalid("answer", other, 1)),
        })
    }
}

impl Encode for End {
    fn encode(&self, sink: &mut impl Sink) {
        let (tag, number) = match *self {
            End::Exited(status) => (0, status),
            End::Killed(signal) => (1, signal),
        };
        sink.u8(tag);
        sink.u8(number);
    }
}

impl Decode<'_> for End {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            0 => Ok(End::Exited(reader.u8()?)),
            1 => Ok(End::Killed(read_signal(reader)?)),
            other => Err(reader.invalid("end", other, 1)),
        }
    }
}
