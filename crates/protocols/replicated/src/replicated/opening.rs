//! Reads the disk, and begins a life.

use super::meeting::Meeting;
use super::{Open, Phase, Replicated};
use crate::batch::{Batch, Gathering};
use crate::record::{FORMAT, Life, Record};
use crate::replicas::Replicas;
use quintet_contract::{Frame, Incarnation, NodeId, Outbox, Snapshot, Time, Token};
use quintet_durable::log::{Recovery, Writer};
use quintet_durable::{Held, LogNews, State};
use quintet_raft::{Entry, Raft, Restored};
use quintet_wire::registry::{DISK_DATA, DISK_READ};
use quintet_wire::services::{DiskDone, DiskRead};
use quintet_wire::{Decode, Encode, send};
use std::collections::{BTreeMap, VecDeque};

/// Under which the disk is read.
const READING: Token = Token(1);
/// How much is read at a time.
const PIECE_BYTES: u32 = 1024 * 1024;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Opening {
    recovery: Recovery,
    found: Found,
}

impl Default for Opening {
    fn default() -> Self {
        Opening { recovery: Recovery::new(FORMAT), found: Found::default() }
    }
}

/// What the records so far come to.
#[derive(Debug, Default)]
struct Found {
    life: Option<Life>,
    vote: (u64, Option<NodeId>),
    /// The index of the snapshot, its term, the log's time there.
    snapshot: Option<(u64, u64, Time)>,
    image: Vec<u8>,
    is_whole: bool,
    entries: Vec<Entry<Batch>>,
}

impl Found {
    fn take(&mut self, record: &[u8]) -> Result<(), String> {
        match Record::decode_all(record).map_err(|error| error.to_string())? {
            Record::Life(life) if self.life.is_none() => self.life = Some(life),
            Record::Life(_) => return Err("a second life in one file".to_owned()),
            _ if self.life.is_none() => return Err("a record before the life".to_owned()),
            Record::Vote { term, voted_for } => self.vote = (term, voted_for),
            Record::Snapshot { index, term, time } if self.snapshot.is_none() => {
                self.snapshot = Some((index, term, time));
            }
            Record::Part(is_last, part) if self.snapshot.is_some() && !self.is_whole => {
                self.image.extend_from_slice(part);
                self.is_whole = is_last;
            }
            Record::Snapshot { .. } | Record::Part(..) => {
                return Err("a part of a snapshot where there should be none".to_owned());
            }
            Record::Entry { index, entry } => self.add(index, entry)?,
        }
        Ok(())
    }

    fn add(&mut self, index: u64, entry: Entry<Batch>) -> Result<(), String> {
        let base = self.snapshot.map_or(0, |(index, ..)| index);
        let place = index.checked_sub(base + 1).ok_or("an entry before the snapshot")?;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place > self.entries.len() || !self.is_whole {
            return Err("an entry without what lies before it".to_owned());
        }
        self.entries.truncate(place);
        self.entries.push(entry);
        Ok(())
    }
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    pub(super) fn read_on(&mut self, at: u64, out: &mut dyn Outbox) {
        if let Err(error) = send(out, self.disk(), DISK_READ, READING, &DiskRead { at, len: PIECE_BYTES }) {
            self.refuse(format!("a replica needs a disk: {error}"), out);
        }
    }

    pub(super) fn go_on_opening(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Phase::Opening(opening) = &mut self.phase else { return };
        if frame.kind != DISK_DATA || frame.token != READING {
            return;
        }
        let Ok(DiskDone { failed: false, length }) = DiskDone::decode_all(frame.body) else {
            return self.refuse("the disk cannot be read", out);
        };
        let Opening { recovery, found } = &mut **opening;
        if let Err(unreadable) = recovery.take(frame.bulk, length, &mut |record| found.take(record)) {
            return self.refuse(unreadable.to_string(), out);
        }
        let (read, is_complete) = (recovery.taken(), recovery.is_complete());
        // A disk that gives nothing where there is something would be asked for ever.
        match (is_complete, frame.bulk.is_empty()) {
            (true, _) => self.start(now, out),
            (false, true) => self.refuse("the disk cannot be read to its end", out),
            (false, false) => self.read_on(read, out),
        }
    }

    /// Why the log is not one that this replica can go on with.
    fn misfit(&self, life: &Life) -> Option<String> {
        let (config, all) = (&self.config, self.config.all());
        let (cluster, place) = ((config.cluster, life.cluster), (config.me.node, life.node));
        Some(match life {
            _ if cluster.0 != cluster.1 => {
                format!("the log is that of a space of cluster {}, not of {}", cluster.1, cluster.0)
            }
            _ if life.port != config.me.port.0 => {
                format!("the log is that of port {}, not of port {}", life.port, config.me.port.0)
            }
            _ if place.0 != place.1 => {
                format!("the log is that of replica {}, and this is replica {}", place.1.0, place.0.0)
            }
            _ if life.replicas != all => format!(
                "the log is that of a space with {} replicas, and this one is told of {}: they stay the same as long as it lives",
                life.replicas.0.len(),
                all.0.len()
            ),
            _ if life.behaviour != P::BEHAVIOUR => format!(
                "the log was written by a program that handles requests otherwise (its behaviour is {}, this program's {}): start that program",
                life.behaviour,
                P::BEHAVIOUR
            ),
            _ if life.settings != self.settings => {
                "the limits of a replicated space stay the same as long as it lives: start it with those that it was made with".to_owned()
            }
            _ => return None,
        })
    }

    /// All is read.
    fn start(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Opening(opening) = &mut self.phase else { return };
        let Opening { recovery, found } = core::mem::take(&mut **opening);
        let torn_bytes = recovery.torn();
        let Some(life) = found.life else {
            self.phase = Phase::Meeting(Meeting::new(now));
            self.tell(&LogNews::Open { life: 0, inputs: 0, torn_bytes: 0 }, out);
            return self.meet_all(true, out);
        };
        if let Some(text) = self.misfit(&life) {
            return self.refuse(text, out);
        }
        let (term, voted_for) = found.vote;
        let inputs = found.entries.len() as u64;
        let (snapshot, state, time) = match found.snapshot {
            None => ((0, 0, Replicas::default()), State::new((self.make)(&self.protocol)), Time::ZERO),
            Some((index, term, time)) => match State::restore(&self.protocol, &found.image) {
                Ok(state) if found.is_whole => ((index, term, self.config.all()), state, time),
                Ok(_) => return self.refuse("the log is damaged: its snapshot is cut short", out),
                Err(text) => return self.refuse(format!("the log is damaged: {text}"), out),
            },
        };
        let restored = Restored { term, voted_for, snapshot, entries: found.entries };
        let number = self.config.incarnation.0.max(life.number.saturating_add(1));
        let news = LogNews::Open { life: number, inputs, torn_bytes };
        self.open(now, Life { number, ..life }, restored, (state, time), news);
    }

    /// Begins to take part.
    pub(super) fn open(
        &mut self,
        now: Time,
        life: Life,
        restored: Restored<Replicas>,
        (state, time): (State<P>, Time),
        news: LogNews,
    ) {
        let applied = restored.snapshot.0;
        let has_log = applied > 0;
        let raft = Raft::new(self.config.of_raft(), Incarnation(life.number), restored, now);
        let mut open = Open {
            raft,
            writer: Writer::new(FORMAT),
            life,
            state,
            applied,
            time,
            unsaid: VecDeque::new(),
            end_of_burst: Some(now),
            met: BTreeMap::new(),
            gathering: Gathering::default(),
            leadership: None,
            told: None,
            held: Held::default(),
            transfers: BTreeMap::new(),
            arriving: None,
            staged: None,
            opened: Some(news),
            votes_with: None,
        };
        open.keep_all();
        open.votes_with = has_log.then(|| open.writer.batch());
        self.phase = Phase::Open(Box::new(open));
    }

    /// A life of this replica in a group.
    pub(super) fn life(&self, group: u128) -> Life {
        Life {
            cluster: self.config.cluster,
            group,
            node: self.config.me.node,
            port: self.config.me.port.0,
            number: self.config.incarnation.0,
            behaviour: P::BEHAVIOUR,
            settings: self.settings,
            replicas: self.config.all(),
        }
    }
}
