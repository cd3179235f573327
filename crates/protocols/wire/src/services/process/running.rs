//! Processes of jobs that run on the machine, as the host sees them.

use crate::{Decode, DecodeError, Encode, Reader, Sink};

/// Processes of one answer.
pub const MAX_RUNNING: usize = 128;
/// Bytes of the words with which a process was started, as they are told.
pub const MAX_COMMAND_BYTES: usize = 160;
/// Bytes of a job's name, as its processes are told it.
pub const MAX_JOB_BYTES: usize = 128;

/// The variable of the environment by which whoever begins a job names it, for people: the script and who began it.
pub const JOB_VARIABLE: &str = "QUINTET_JOB";
/// The variable by which a process learns its rank.
pub const RANK_VARIABLE: &str = "QUINTET_RANK";

/// A process of a job, with all of its group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunningProcess {
    /// Its number, if the host was asked to start it; else it was started by a command of the same user.
    pub process: Option<u64>,
    /// Its number in the system.
    pub pid: u32,
    /// Processes of its group, itself included.
    pub count: u32,
    /// What it does, as the system has it: `R` runs, `S` and `D` sleep, `T` stands still, `Z` has ended and was not waited for.
    pub state: u8,
    /// How long it has run, in nanoseconds.
    pub age: u64,
    /// Time that its group has had of processors, in nanoseconds.
    pub cpu: u64,
    /// Memory that its group has, in bytes: shared memory counts for each that has it.
    pub memory: u64,
    /// Its rank in its job, if it was given one.
    pub rank: Option<u64>,
    /// Its job, as who began it names it.
    pub job: String,
    /// The words with which it was started, cut where they are long.
    pub command: String,
}

impl Encode for RunningProcess {
    fn encode(&self, sink: &mut impl Sink) {
        write_number(self.process, sink);
        sink.u32(self.pid);
        sink.u32(self.count);
        sink.u8(self.state);
        for number in [self.age, self.cpu, self.memory] {
            sink.u64(number);
        }
        write_number(self.rank, sink);
        sink.counted(self.job.as_bytes());
        sink.counted(self.command.as_bytes());
    }
}

impl Decode<'_> for RunningProcess {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(RunningProcess {
            process: read_number(reader)?,
            pid: reader.u32()?,
            count: reader.u32()?,
            state: match reader.u8()? {
                state @ b'A'..=b'z' => state,
                other => return Err(reader.invalid("state of a process", other, 1)),
            },
            age: reader.u64()?,
            cpu: reader.u64()?,
            memory: reader.u64()?,
            rank: read_number(reader)?,
            job: reader.text("name of a job", MAX_JOB_BYTES)?.to_owned(),
            command: reader.text("command of a process", MAX_COMMAND_BYTES)?.to_owned(),
        })
    }
}

fn write_number(number: Option<u64>, sink: &mut impl Sink) {
    sink.u8(number.is_some().into());
    if let Some(number) = number {
        sink.u64(number);
    }
}

fn read_number(reader: &mut Reader<'_>) -> Result<Option<u64>, DecodeError> {
    Ok(if reader.flag("whether there is a number")? { Some(reader.u64()?) } else { None })
}
