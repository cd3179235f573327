//! Reads a file back: what its records come to, in this format or the first one.

use super::record::FORMAT;
use super::{Life, Record};
use crate::agreement::Restored;
use core::fmt;
use quintet_durable::log::{self, Recovery};
use quintet_wire::Decode;

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recovered {
    /// The last life that began.
    pub(crate) life: Option<Life>,
    /// What the agreement goes on with; none if nothing was agreed.
    pub(crate) state: Option<Restored>,
    /// Up to where the file is whole.
    pub(crate) length: usize,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unreadable {
    /// What was durable has changed.
    Damage {
        /// Where the record begins that cannot be read.
        offset: usize,
        problem: String,
    },
    /// A later version has written it, in this format.
    Format(u32),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Damage { offset, problem } => {
                write!(f, "the log is damaged at byte {offset}: {problem}")
            }
            Unreadable::Format(format) => write!(
                f,
                "the log is of format {format}, and this version reads formats 1 and 2: start the version that has written it, or a later one"
            ),
        }
    }
}

impl From<log::Unreadable> for Unreadable {
    fn from(unreadable: log::Unreadable) -> Unreadable {
        match unreadable {
            log::Unreadable::Damage { offset, problem } => {
                Unreadable::Damage { offset: in_memory(offset), problem }
            }
            log::Unreadable::Version { found, .. } => Unreadable::Format(found),
            log::Unreadable::OtherFile => Unreadable::Damage { offset: 0, problem: unreadable.to_string() },
        }
    }
}

/// A place in a file that was read as a whole.
fn in_memory(place: u64) -> usize {
    usize::try_from(place).expect("the file lies in memory")
}

/// Reads a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Recovered, Unreadable> {
    let found = match Recovered::read(bytes, Recovery::new(FORMAT)) {
        Err(log::Unreadable::OtherFile) => Recovered::read(bytes, Recovery::without_header(FORMAT)),
        found => found,
    };
    Ok(found?)
}

impl Recovered {
    fn read(bytes: &[u8], mut recovery: Recovery) -> Result<Recovered, log::Unreadable> {
        let mut found = Recovered { life: None, state: None, length: 0 };
        recovery.take(bytes, bytes.len() as u64, &mut |record| {
            let record = Record::decode_all(record).map_err(|error| error.to_string())?;
            found.take(record).map_err(str::to_owned)
        })?;
        found.length = in_memory(recovery.whole());
        Ok(found)
    }

    fn take(&mut self, record: Record) -> Result<(), &'static str> {
        let state = self.state.get_or_insert_default();
        match record {
            Record::Life(life) => self.life = Some(life),
            Record::Vote { term, voted_for } => (state.term, state.voted_for) = (term, voted_for),
            Record::Entry { index, entry } => {
                let kept = index.checked_sub(state.snapshot.0 + 1).ok_or("an entry before the view")?;
                let kept = usize::try_from(kept).unwrap_or(usize::MAX);
                if kept > state.entries.len() {
                    return Err("an entry without the one before it");
                }
                state.entries.truncate(kept);
                state.entries.push(entry);
            }
            Record::Snapshot { index, term, view } => {
                state.snapshot = (index, term, view);
                state.entries.clear();
            }
        }
        Ok(())
    }
}
