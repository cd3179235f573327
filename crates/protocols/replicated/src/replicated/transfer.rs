//! Snapshots, part by part, for replicas that are so far behind that the entries they lack are forgotten.
//!
//! The leader keeps the snapshot that it sends until it is taken; the next part goes when the one before is there, and again with the next beat if
//! no answer comes. The receiver installs it when it is complete and its check fits.

use super::{Phase, Replicated};
use crate::codec::{PART, Place, TAKEN, Taken};
use crate::config::ReplicatedConfig;
use crate::defect::seeded;
use crate::replicas::Replicas;
use bytes::Bytes;
use quintet_contract::{Address, Incarnation, NodeId, Outbox, Snapshot, Time, Token};
use quintet_durable::State;
use quintet_raft::{Message, What};
use quintet_wire::{Decode, Encode, Reader, Sink, encode_to_vec, send};

/// A snapshot on its way to a replica: the log's time u64, and the state.
#[derive(Debug)]
pub(super) struct Transfer {
    index: u64,
    index_term: u64,
    image: Bytes,
    check: u32,
    /// How much of it is there.
    at: u64,
    /// When the next part goes again, if no answer comes.
    again_at: Time,
}

/// A snapshot that comes.
#[derive(Debug)]
pub(super) struct Arriving {
    from: NodeId,
    index: u64,
    of: u64,
    check: u32,
    image: Vec<u8>,
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    /// Sends a replica the part that comes next for it.
    pub(super) fn send_snapshot(&mut self, now: Time, to: NodeId, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        if open.raft.leading().is_none() {
            // What others know as well need not come from here.
            return;
        }
        let transfer = open.transfers.entry(to).or_insert_with(|| {
            let mut image = Vec::new();
            image.u64(open.time.0);
            image.extend(open.state.save());
            let index_term = open.raft.term_at(open.applied).expect("what is committed last is in the log");
            let check = crc32fast::hash(&image);
            Transfer { index: open.applied, index_term, image: image.into(), check, at: 0, again_at: now }
        });
        if transfer.again_at > now {
            return;
        }
        transfer.again_at = now + self.config.heartbeat;
        let (life, term) = (Incarnation(open.life.number), open.raft.term);
        transfer.send(&self.config, (life, term), to, out);
    }

    /// A replica says how much of a snapshot it has.
    pub(super) fn take_taken(&mut self, now: Time, from: NodeId, taken: &Taken, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        open.raft.hear(now, from, taken.term);
        let Some(transfer) = open.transfers.get_mut(&from) else { return };
        let length = transfer.image.len() as u64;
        if taken.index != transfer.index || taken.term != open.raft.term || taken.at > length {
            return;
        }
        let is_new = taken.at != transfer.at;
        if is_new {
            (transfer.at, transfer.again_at) = (taken.at, now);
        }
        match taken.at == length {
            true => _ = open.transfers.remove(&from),
            false if is_new => self.send_snapshot(now, from, out),
            false => {}
        }
    }

    /// A part of a snapshot comes.
    pub(super) fn take_part(
        &mut self,
        now: Time,
        from: NodeId,
        message: Message<Replicas>,
        (mut place, part): (Reader<'_>, &Bytes),
        out: &mut dyn Outbox,
    ) {
        let What::Snapshot { index, index_term, view, .. } = &message.what else { return };
        let (index, index_term) = (*index, *index_term);
        if *view != self.config.all() {
            return;
        }
        let Ok(place) = Place::decode(&mut place).and_then(|read| place.finish().map(|()| read)) else {
            return;
        };
        let Phase::Open(open) = &mut self.phase else { return };
        if !open.raft.heed(now, from, message.term) {
            return;
        }
        if !open.raft.may_install(index_term, message.term) {
            // It is answered that this replica has no log.
            return open.raft.take(now, from, message);
        }
        let (life, term) = (open.life.number, open.raft.term);
        let mut at = place.of;
        if index > open.raft.commit {
            let new = || Arriving::new(from, index, place);
            let arriving = open.arriving.get_or_insert_with(new);
            if !arriving.is_of(from, index, place) {
                *arriving = new();
            }
            at = arriving.add(place, part);
        }
        let taken = Taken { life, term, index, at };
        // What finds no room is lost: the part comes again.
        let _ = send(out, Address { node: from, ..self.config.me }, TAKEN, Token(0), &taken);
        if at < place.of {
            return;
        }
        if index > open.raft.commit {
            self.install(now, from, message, out);
        } else {
            // The leader does not know that this replica has all that, or it would not send it: it is told up to where.
            open.raft.take(now, from, message);
        }
    }

    /// A snapshot is complete.
    fn install(&mut self, now: Time, from: NodeId, message: Message<Replicas>, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let Some(Arriving { index, image, check, .. }) = open.arriving.take() else { return };
        if crc32fast::hash(&image) != check {
            // It comes again.
            return;
        }
        let mut reader = Reader::new(&image);
        let Ok(time) = reader.u64() else { return };
        match State::restore(&self.protocol, &image[reader.at()..]) {
            Ok(mut state) => {
                if seeded!(self.config, InstalledWithoutClients) {
                    state = without_clients(&self.protocol, &state).unwrap_or(state);
                }
                open.staged = Some((index, Time(time), state));
                open.raft.take(now, from, message);
            }
            Err(text) => {
                self.refuse(format!("the snapshot of replica {} cannot be used: {text}", from.0), out)
            }
        }
    }
}

/// A built-in defect: the same, as if nobody was connected.
fn without_clients<P: Snapshot>(config: &P::Config, state: &State<P>) -> Option<State<P>> {
    let mut bytes = vec![0; 4];
    state.protocol.save(&mut bytes);
    State::restore(config, &bytes).ok()
}

impl Transfer {
    fn send(&self, config: &ReplicatedConfig, said: (Incarnation, u64), to: NodeId, out: &mut dyn Outbox) {
        let view = config.all();
        let what = What::Snapshot { index: self.index, index_term: self.index_term, round: 1, view };
        let mut head = encode_to_vec(&Message { incarnation: said.0, term: said.1, what });
        let of = self.image.len() as u64;
        Place { at: self.at, of, check: self.check }.encode(&mut head);
        let begin = usize::try_from(self.at).expect("the image lies in memory");
        let end = (begin + config.part_bytes.max(1)).min(self.image.len());
        // What finds no room is lost: it goes again with the next beat.
        let to = Address { node: to, ..config.me };
        let _ = out.send_bulk(to, PART, Token(0), &head, self.image.slice(begin..end));
    }
}

impl Arriving {
    fn new(from: NodeId, index: u64, place: Place) -> Arriving {
        Arriving { from, index, of: place.of, check: place.check, image: Vec::new() }
    }

    fn is_of(&self, from: NodeId, index: u64, place: Place) -> bool {
        (self.from, self.index, self.of, self.check) == (from, index, place.of, place.check)
    }

    /// Takes a part, if it is the next one. How much is there then.
    fn add(&mut self, place: Place, part: &[u8]) -> u64 {
        let there = self.image.len() as u64;
        if place.at == there && there + part.len() as u64 <= self.of {
            self.image.extend_from_slice(part);
        }
        self.image.len() as u64
    }
}
