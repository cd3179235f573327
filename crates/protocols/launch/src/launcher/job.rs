//! A job: who it belongs to, and what has happened in it that nobody has asked for so far.

use crate::codec::{Happening, What};
use crate::limits::{MAX_BATCH_BYTES, MAX_HAPPENINGS, MAX_PROCESSES};
use quintet_contract::{Address, Time, Token};
use quintet_wire::Encode;
use quintet_wire::services::process::{End, Stream};
use std::collections::{BTreeMap, VecDeque};

/// Requests that wait for the end of one job.
const MAX_ENDS: usize = 16;

/// A job.
#[derive(Debug)]
pub(super) struct Job {
    /// Whose it is.
    pub(super) owner: Address,
    /// Whether a process of it has brought files along.
    pub(super) has_code: bool,
    /// How often a process of each name was started.
    starts: BTreeMap<String, u32>,
    /// Whether a process of it was ever started.
    pub(super) has_begun: bool,
    /// Who waits for what happens next, and until when.
    pub(super) next: Option<(Address, Token, Time)>,
    /// What has happened and was not told, oldest first: of each process one piece of each stream at most, and its end.
    untold: VecDeque<Happening>,
    /// Those who wait for its end, if it is being ended.
    ending: Option<Vec<(Address, Token)>>,
}

/// A process, from the request for its start until its end was told.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) job: u128,
    pub(super) name: String,
    /// How often one of this name was started before.
    pub(super) restarts: u32,
    /// Streams that may say something more.
    open: [bool; 2],
    end: Option<End>,
}

impl Job {
    pub(super) fn new(owner: Address) -> Job {
        let starts = BTreeMap::new();
        Job {
            owner,
            has_code: false,
            starts,
            has_begun: false,
            next: None,
            untold: VecDeque::new(),
            ending: None,
        }
    }

    /// One of this name is started: how often that was so before. Of too many names none more is counted.
    pub(super) fn count_start(&mut self, name: &str) -> u32 {
        if let Some(count) = self.starts.get_mut(name) {
            *count = count.saturating_add(1);
            return *count;
        }
        if self.starts.len() < MAX_PROCESSES {
            self.starts.insert(name.to_owned(), 0);
        }
        0
    }

    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Nothing of it is told any more.
    pub(super) fn begin_ending(&mut self) {
        self.untold.clear();
        self.ending.get_or_insert_default();
    }

    /// Somebody waits for its end. False if too many do.
    pub(super) fn await_end(&mut self, who: Address, token: Token) -> bool {
        let waiting = self.ending.get_or_insert_default();
        let has_room = waiting.len() < MAX_ENDS;
        if has_room {
            waiting.push((who, token));
        }
        has_room
    }

    /// Those who wait for its end.
    pub(super) fn take_ends(&mut self) -> Vec<(Address, Token)> {
        self.ending.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Nobody at this peer waits any more.
    pub(super) fn forget(&mut self, peer: Address) {
        self.next = self.next.filter(|(who, ..)| *who != peer);
        self.ending.iter_mut().for_each(|waiting| waiting.retain(|(who, _)| *who != peer));
    }

    pub(super) fn note(&mut self, process: u64, what: What) {
        self.untold.push_back(Happening { process, what });
    }

    pub(super) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    /// As much of what has happened as one answer holds.
    pub(super) fn batch(&mut self) -> Vec<Happening> {
        let mut batch = Vec::new();
        // The answer's tag and its count.
        let mut bytes = 5;
        while let Some(happening) = self.untold.front() {
            bytes += happening.encoded_len();
            if bytes > MAX_BATCH_BYTES || batch.len() == MAX_HAPPENINGS {
                break;
            }
            batch.extend(self.untold.pop_front());
        }
        batch
    }
}

impl Process {
    pub(super) fn new(job: u128, name: &str, restarts: u32) -> Process {
        Process { job, name: name.to_owned(), restarts, open: [true; 2], end: None }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn is_open(&self, stream: Stream) -> bool {
        self.open[index(stream)]
    }

    /// The stream says nothing more. The process' end, if that is to be told now.
    pub(super) fn close(&mut self, stream: Stream) -> Option<End> {
        let was_open = std::mem::replace(&mut self.open[index(stream)], false);
        self.end.filter(|_| was_open && self.open == [false; 2])
    }

    /// It has ended. Its end, if that is to be told now and not after more output.
    pub(super) fn note_end(&mut self, end: End) -> Option<End> {
        self.end = Some(end);
        self.end.filter(|_| self.open == [false; 2])
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Error)
}
