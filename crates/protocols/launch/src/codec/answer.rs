//! Answers.

use super::{ANSWER, ProcessInfo};
use crate::limits::{MAX_BATCH_BYTES, MAX_HAPPENINGS, MAX_RUNNING, MAX_VERSION_BYTES};
use crate::refusal::Refusal;
use quintet_contract::Kind;
use quintet_wire::services::process::{
    End, FileHash, MAX_OUTPUT_BYTES, MAX_PATH_BYTES, Stream, read_hashes, write_hashes,
};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// These files are not kept.
    Missing {
        /// By their hashes, in the order of the request.
        hashes: Vec<FileHash>,
    },
    /// It was done.
    Done,
    /// The process runs.
    Started {
        /// Its number at this launcher, which no other gets.
        process: u64,
        /// Its job's folder on the machine, from the root.
        folder: Vec<u8>,
    },
    /// What has happened in a job, in its order; nothing, where nothing did in the time that was asked for.
    Happened(Vec<Happening>),
    /// The machine.
    Info(Info),
    /// Processes of jobs that run on the machine, by their numbers in the system.
    Running {
        /// [`MAX_RUNNING`](crate::limits::MAX_RUNNING) at most.
        processes: Vec<ProcessInfo>,
        /// Whether no more follow.
        is_last: bool,
    },
    /// It failed.
    Error(Refusal),
}

/// Something that happened in a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happening {
    /// To which process.
    pub process: u64,
    /// What.
    pub what: What,
}

/// What can happen to a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// It has said something.
    Output {
        /// On which stream.
        stream: Stream,
        /// A piece of what it said: as much as was there, wherever that begins and ends.
        bytes: Vec<u8>,
    },
    /// It has ended. That comes after all that it said.
    Ended(End),
}

/// How a machine is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Its processors.
    pub cores: u16,
    /// Processes that want one, in hundredths, averaged over the last minute.
    pub load: u32,
    /// Processes that the launcher has started and that have not ended.
    pub processes: u32,
    /// Their jobs.
    pub jobs: u32,
    /// The version of the program that runs there.
    pub version: String,
}

impl Answer {
    /// The kind under which it travels.
    #[must_use]
    pub fn kind(&self) -> Kind {
        ANSWER
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`DecodeError::Invalid`] for a kind that is no answer.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Answer, DecodeError> {
        if kind != ANSWER {
            return Err(DecodeError::Invalid { at: 0, field: "kind", value: kind.0.into() });
        }
        let reader = &mut Reader::new(body);
        let answer = match reader.u8()? {
            0 => Answer::Missing { hashes: read_hashes(reader)? },
            1 => Answer::Done,
            2 => {
                let process = reader.u64()?;
                Answer::Started { process, folder: reader.counted("folder", MAX_PATH_BYTES)?.to_vec() }
            }
            3 => Answer::Happened(read_happenings(reader)?),
            4 => Answer::Info(Info::decode(reader)?),
            5 => Answer::Error(Refusal::decode(reader)?),
            6 => {
                let is_last = reader.flag("last processes")?;
                let count = reader.length("number of processes", MAX_RUNNING)?;
                let processes = (0..count).map(|_| ProcessInfo::decode(reader)).collect::<Result<_, _>>()?;
                Answer::Running { processes, is_last }
            }
            other => return Err(reader.invalid("answer", other, 1)),
        };
        reader.clone().finish()?;
        Ok(answer)
    }
}

fn read_happenings(reader: &mut Reader<'_>) -> Result<Vec<Happening>, DecodeError> {
    let mut happenings = Vec::new();
    for _ in 0..reader.length("number of happenings", MAX_HAPPENINGS)? {
        happenings.push(Happening::decode(reader)?);
    }
    Ok(happenings)
}

impl Encode for Answer {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Answer::Missing { hashes } => {
                sink.u8(0);
                write_hashes(hashes, sink);
            }
            Answer::Done => sink.u8(1),
            Answer::Started { process, folder } => {
                sink.u8(2);
                sink.u64(*process);
                sink.counted(folder);
            }
            Answer::Happened(happenings) => {
                sink.u8(3);
                sink.u32(u32::try_from(happenings.len()).expect("at most MAX_HAPPENINGS"));
                happenings.iter().for_each(|happening| happening.encode(sink));
            }
            Answer::Info(info) => {
                sink.u8(4);
                info.encode(sink);
            }
            Answer::Running { processes, is_last } => {
                sink.u8(6);
                sink.u8((*is_last).into());
                sink.u32(u32::try_from(processes.len()).expect("at most MAX_RUNNING"));
                processes.iter().for_each(|process| process.encode(sink));
            }
            Answer::Error(refusal) => {
                sink.u8(5);
                refusal.encode(sink);
            }
        }
    }
}

impl Encode for Happening {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.process);
        match &self.what {
            What::Output { stream, bytes } => {
                sink.u8(0);
                stream.encode(sink);
                sink.counted(bytes);
            }
            What::Ended(end) => {
                sink.u8(1);
                end.encode(sink);
            }
        }
    }
}

impl Decode<'_> for Happening {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let process = reader.u64()?;
        let what = match reader.u8()? {
            0 => {
                let stream = Stream::decode(reader)?;
                What::Output { stream, bytes: reader.counted("output", MAX_OUTPUT_BYTES)?.to_vec() }
            }
            1 => What::Ended(End::decode(reader)?),
            other => return Err(reader.invalid("happening", other, 1)),
        };
        Ok(Happening { process, what })
    }
}

impl Encode for Info {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.cores);
        sink.u32(self.load);
        sink.u32(self.processes);
        sink.u32(self.jobs);
        sink.counted(self.version.as_bytes());
    }
}

impl Decode<'_> for Info {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (cores, load) = (reader.u16()?, reader.u32()?);
        let (processes, jobs) = (reader.u32()?, reader.u32()?);
        let version = reader.text("version", MAX_VERSION_BYTES)?.to_owned();
        Ok(Info { cores, load, processes, jobs, version })
    }
}

const _: () = assert!(MAX_BATCH_BYTES <= quintet_contract::limits::MAX_PAYLOAD_BYTES, "a batch is one frame");
