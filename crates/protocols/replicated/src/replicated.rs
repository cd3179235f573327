//! One replica of a protocol.
//!
//! ```text
//! opening   reads its disk: a snapshot, a vote, entries
//! meeting   there was nothing: asks all others who they are. If none has taken part in anything, they found the group; else this replica has
//!           lost its log, takes the others' terms for its own, and follows without a vote until a leader has sent it all
//! open      takes part: follows, or leads
//! closed    its log cannot be used, or the disk has failed, or the others are of another group: nothing goes any more
//! ```
//!
//! ```text
//! client ── request ──▶ leader ── at the end of the burst: one batch ──▶ log of each replica, synced
//!                                          a majority has it ──▶ given to the protocol by each ──▶ the leader sends what it answers
//! ```
//!
//! What the protocol does follows from the log alone: it never hears that a link is full, and its time is the log's, which the leader counts and which
//! stands still while nobody leads. Reads go through the log as well, so that none is answered by who leads no more.
//!
//! A leader's clients are its own: when another one leads they are down for the protocol, as those of a process that ended, and their links are closed by who led.
//! A replica that does not lead answers every request with who does.
//!
//! | file | does |
//! | --- | --- |
//! | `opening.rs` | reads the disk |
//! | `meeting.rs` | who the others are; how a group is founded |
//! | `pump.rs` | carries out what the agreement has decided |
//! | `transfer.rs` | snapshots for replicas that are far behind |
//! | `serving.rs` | clients, and what comes with leading |

mod meeting;
mod opening;
mod pump;
mod serving;
mod transfer;

use crate::batch::Gathering;
use crate::codec::{LEADER, Leader, MEET, Meet, TAKEN, Taken};
use crate::config::ReplicatedConfig;
use crate::record::{Life, PART_BYTES, Record};
use crate::replicas::Replicas;
use meeting::Meeting;
use opening::Opening;
use quintet_contract::{
    Address, Frame, Incarnation, Input, Kind, LinkInfo, Meter, NodeId, Outbox, PeerChange, Protocol,
    Snapshot, Time, Token, digest_of,
};
use quintet_durable::log::{Batch as Piece, Writer};
use quintet_durable::{Held, LogNews, State};
use quintet_raft::{Kept, Message, Raft};
use quintet_wire::registry::{DISK_DONE, DISK_REPLACE, DISK_WRITE, LOG_NEWS, PORT_CALLERS, PORT_DISK};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, Encode, encode_to_vec, send};
use serving::Leadership;
use std::collections::{BTreeMap, VecDeque};
use transfer::{Arriving, Transfer};

/// Under which the disk is asked to write.
const WRITING: Token = Token(2);

/// One replica of a protocol. What it promises stands at the head of this module's file.
#[derive(Debug)]
pub struct Replicated<P: Snapshot> {
    config: ReplicatedConfig,
    /// What the protocol is made with, the same at all replicas.
    protocol: P::Config,
    make: fn(&P::Config) -> P,
    /// Which kinds of frames are answered.
    is_request: fn(Kind) -> bool,
    /// Sums up what all replicas have to be made with.
    settings: u64,
    phase: Phase<P>,
    /// Who is linked, besides replicas.
    clients: BTreeMap<Address, (Incarnation, LinkInfo)>,
}

#[derive(Debug)]
enum Phase<P: Snapshot> {
    Opening(Box<Opening>),
    Meeting(Meeting),
    Open(Box<Open<P>>),
    Closed,
}

/// A replica that takes part.
#[derive(Debug)]
struct Open<P> {
    raft: Raft<Replicas>,
    writer: Writer,
    life: Life,
    state: State<P>,
    /// Up to which index the protocol was given the log, and the log's time there.
    applied: u64,
    time: Time,
    /// What is said after the batch with that number.
    unsaid: VecDeque<(u64, NodeId, Message<Replicas>)>,
    /// When what came in this burst is agreed on and written: at its end.
    end_of_burst: Option<Time>,
    /// The lives of the other replicas, as far as they have shown that they are of this group.
    met: BTreeMap<NodeId, u64>,
    /// Inputs of this burst.
    gathering: Gathering,
    leadership: Option<Leadership>,
    /// Who leads, as its callers were told.
    told: Option<Leader>,
    held: Held,
    transfers: BTreeMap<NodeId, Transfer>,
    arriving: Option<Arriving>,
    /// A snapshot that is complete and not installed: the index, the log's time, the state.
    staged: Option<(u64, Time, State<P>)>,
    opened: Option<LogNews>,
    /// With which batch this replica has the log on its disk, and votes, until that is told.
    votes_with: Option<u64>,
}

/// How it stands with a replica, for those who look at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its term.
    pub term: u64,
    /// Whether it leads it.
    pub leads: bool,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    /// Up to which index its protocol was given the log.
    pub applied: u64,
    /// Whether it has the log on its disk, and votes. One that has lost it does again when a leader has sent it all.
    pub votes: bool,
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    /// A replica of a protocol that is made with `protocol` by `make`. Frames of the kinds that `is_request` tells are answered: by
    /// who does not lead, with [`LEADER`].
    ///
    /// # Panics
    /// The replicas are no odd number from 1 to [`MAX_REPLICAS`](crate::MAX_REPLICAS), or this one is none of them.
    #[must_use]
    pub fn new(
        config: ReplicatedConfig,
        is_request: fn(Kind) -> bool,
        protocol: P::Config,
        make: fn(&P::Config) -> P,
    ) -> Replicated<P> {
        let count = config.replicas.len();
        assert!(
            count % 2 == 1 && count <= crate::MAX_REPLICAS && config.replicas.contains(&config.me.node),
            "an odd number of replicas, this one among them"
        );
        let settings = settings(&config, P::BEHAVIOUR, &protocol);
        let phase = Phase::Opening(Box::default());
        Replicated { config, protocol, make, is_request, settings, phase, clients: BTreeMap::new() }
    }

    /// Where it is.
    #[must_use]
    pub fn me(&self) -> Address {
        self.config.me
    }

    /// What it tells others of how it was made.
    pub(crate) fn settings(&self) -> u64 {
        self.settings
    }

    /// The number of its group; 0: none so far.
    pub(crate) fn group(&self) -> u128 {
        match &self.phase {
            Phase::Open(open) => open.life.group,
            _ => 0,
        }
    }

    /// How it stands, once it takes part.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let Phase::Open(open) = &self.phase else { return None };
        let raft = &open.raft;
        Some(Standing {
            term: raft.term,
            leads: raft.leading().is_some(),
            leader: raft.leader,
            applied: open.applied,
            votes: raft.last() > 0 && open.votes_with.is_none(),
        })
    }

    /// A number that is the same for replicas that were given the same log up to the same index: for those who check it in tests.
    #[must_use]
    pub fn digest(&self) -> Option<(u64, u64)> {
        let Phase::Open(open) = &self.phase else { return None };
        Some((open.applied, digest_of(&open.state.save())))
    }

    /// Whether nothing goes any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    fn disk(&self) -> Address {
        Address { node: self.config.me.node, port: PORT_DISK }
    }

    /// Tells the callers of the node how it goes.
    fn tell(&self, news: &LogNews, out: &mut dyn Outbox) {
        // Where nobody listens, nobody is to be told.
        let callers = Address { node: self.config.me.node, port: PORT_CALLERS };
        let _ = send(out, callers, LOG_NEWS, Token(0), news);
    }

    fn close(&mut self, news: &LogNews, out: &mut dyn Outbox) {
        self.phase = Phase::Closed;
        self.tell(news, out);
    }

    /// Says why it takes no part: of its log while it is read, and else that it ends.
    fn refuse(&mut self, text: impl Into<String>, out: &mut dyn Outbox) {
        let news = match self.phase {
            Phase::Opening(_) => LogNews::Refused(text.into()),
            _ => LogNews::Failed(text.into()),
        };
        self.close(&news, out);
    }

    fn take_frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if from == self.disk() {
            return match &self.phase {
                Phase::Opening(_) => self.go_on_opening(now, frame, out),
                Phase::Open(_) => self.hear_disk(now, frame, out),
                Phase::Meeting(_) | Phase::Closed => {}
            };
        }
        match self.config.is_other(from) {
            true => self.take_replicas(now, from.node, frame, out),
            false => self.take_clients(now, from, frame, out),
        }
    }

    /// Something that another replica says. What cannot be read is not heard: a good one says it again in other words.
    fn take_replicas(&mut self, now: Time, from: NodeId, frame: Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind == MEET {
            if let Ok(meet) = Meet::decode_all(frame.body) {
                self.meet(now, from, meet, out);
            }
            return;
        }
        let Phase::Open(open) = &mut self.phase else { return };
        let met = open.met.get(&from).copied();
        if frame.kind == TAKEN {
            let Ok(taken) = Taken::decode_all(frame.body) else { return };
            return match met == Some(taken.life) {
                true => self.take_taken(now, from, &taken, out),
                false => self.say_meet(from, true, out),
            };
        }
        // What is of another kind cannot be read as one.
        let Ok((message, behind)) = pump::read(frame) else { return };
        match met == Some(message.incarnation.0) {
            true => self.take_message(now, from, message, (behind, frame.bulk), out),
            false => self.say_meet(from, true, out),
        }
    }

    /// The disk is done with a batch.
    fn hear_disk(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        if frame.kind != DISK_DONE || frame.token != WRITING {
            return;
        }
        if DiskDone::decode_all(frame.body).map_or(true, |done| done.failed) {
            let text = "the disk has failed: what was not answered may be on it or not".to_owned();
            return self.close(&LogNews::Failed(text), out);
        }
        open.writer.synced();
        if open.writer.is_waiting() {
            open.end_of_burst = Some(now);
        }
        let opened = open.opened.take();
        if open.writer.is_long(self.config.spare_log_bytes) {
            open.write_anew();
            open.end_of_burst = Some(now);
        }
        if opened.is_some() {
            self.meet_all(true, out);
        }
        opened.iter().for_each(|news| self.tell(news, out));
        self.tell_votes(out);
    }

    /// Tells once that this replica votes, when what it needs for that is on the disk.
    fn tell_votes(&mut self, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let writer = &open.writer;
        if open.votes_with.take_if(|batch| writer.is_durable(*batch)).is_some() {
            self.tell(&LogNews::Votes, out);
        }
    }

    fn begin_batch(&mut self, out: &mut dyn Outbox) {
        let disk = self.disk();
        let Phase::Open(open) = &mut self.phase else { return };
        open.end_of_burst = None;
        let (kind, bytes) = match open.writer.begin() {
            None => return,
            Some(Piece::Whole(bytes)) => (DISK_REPLACE, bytes),
            Some(Piece::Behind(bytes)) => (DISK_WRITE, bytes),
        };
        if let Err(error) = out.send_bulk(disk, kind, WRITING, &[], bytes.into()) {
            self.close(&LogNews::Failed(format!("the disk takes nothing: {error}")), out);
        }
    }
}

impl<P: Snapshot> Open<P> {
    /// Has the next batch take the place of the whole log.
    fn write_anew(&mut self) {
        self.writer.begin_anew();
        self.keep_all();
    }

    /// Keeps all that is known.
    fn keep_all(&mut self) {
        let writer = &mut self.writer;
        writer.keep(|to| Record::Life(self.life.clone()).encode(to));
        for kept in self.raft.records() {
            match kept {
                Kept::Snapshot { index, term, .. } => {
                    let time = self.time;
                    writer.keep(|to| Record::Snapshot { index, term, time }.encode(to));
                    let state = self.state.save();
                    let last = state.len().saturating_sub(1) / PART_BYTES;
                    for (number, part) in (0..=last).zip(state.chunks(PART_BYTES).chain([&[][..]])) {
                        writer.keep(|to| Record::Part(number == last, part).encode(to));
                    }
                }
                other => keep(writer, other),
            }
        }
    }
}

fn keep(writer: &mut Writer, kept: Kept<Replicas>) {
    match kept {
        Kept::Vote { term, voted_for } => writer.keep(|to| Record::Vote { term, voted_for }.encode(to)),
        Kept::Entry { index, entry } => writer.keep(|to| Record::Entry { index, entry }.encode(to)),
        Kept::Snapshot { .. } => unreachable!("a snapshot is kept with all that is known"),
    }
}

/// Sums up what all replicas have to be made with.
fn settings(config: &ReplicatedConfig, behaviour: u32, protocol: &impl Encode) -> u64 {
    let mut bytes = config.cluster.to_le_bytes().to_vec();
    bytes.extend(config.me.port.0.to_le_bytes());
    bytes.extend(behaviour.to_le_bytes());
    bytes.extend(encode_to_vec(&config.all()));
    bytes.extend(encode_to_vec(protocol));
    digest_of(&bytes)
}

impl<P: Snapshot> Protocol for Replicated<P>
where
    P::Config: Encode + Clone,
{
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => self.read_on(0, out),
            Input::Frame(from, frame) => self.take_frame(now, from, frame, out),
            Input::Peer(peer, change) if self.config.is_other(peer) => {
                if let PeerChange::Up { .. } = change {
                    self.say_meet(peer.node, true, out);
                } else if let Phase::Open(open) = &mut self.phase {
                    open.raft.miss(now, peer.node);
                }
            }
            Input::Peer(peer, change) => self.take_change(now, peer, change),
            Input::Writable(to) => {
                if let Phase::Open(open) = &mut self.phase {
                    open.held.retry(to, out);
                }
            }
            Input::Wake => {}
        }
        self.pump(now, matches!(input, Input::Wake), out);
    }

    fn deadline(&self) -> Option<Time> {
        match &self.phase {
            Phase::Open(open) => open.deadline(),
            Phase::Meeting(meeting) => Some(meeting.next_at),
            Phase::Opening(_) | Phase::Closed => None,
        }
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        if let Phase::Open(open) = &self.phase {
            open.state.protocol.measure(meter);
        }
    }
}

/// Answers a request with who leads.
fn answer_leader(to: Address, token: Token, leader: Leader, out: &mut dyn Outbox) {
    // Room for an answer was kept with its request.
    let _ = send(out, to, LEADER, token, &leader);
}
