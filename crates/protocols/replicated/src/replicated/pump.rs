//! Carries out what the agreement has decided: what is kept goes to the disk, what is said to the other replicas, what was agreed to the protocol.

use super::{Open, Phase, Replicated, keep};
use crate::batch::Batch;
use crate::codec::PART;
use crate::config::ReplicatedConfig;
use crate::defect::seeded;
use crate::replicas::Replicas;
use bytes::Bytes;
use quintet_contract::{Address, DownCause, Frame, Input, NodeId, Outbox, PeerChange, Snapshot, Time, Token};
use quintet_durable::{Held, State};
use quintet_raft::{Entry, Kept, Message, Said, What};
use quintet_wire::{DecodeError, Encode, Reader, encode_to_vec};
use std::collections::BTreeSet;

/// A longer message travels as bulk.
const BODY_BYTES: usize = 32 * 1024;

/// Reads a message of the agreement, and what stands behind it.
pub(super) fn read<'a>(frame: Frame<'a>) -> Result<(Message<Replicas>, Reader<'a>), DecodeError> {
    let is_bulk = frame.body.is_empty() && frame.kind != PART;
    let mut reader = Reader::new(if is_bulk { &frame.bulk[..] } else { frame.body });
    let message = Message::decode_from(frame.kind, &mut reader)?;
    if frame.kind != PART {
        reader.clone().finish()?;
    }
    Ok((message, reader))
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    /// Does all that can be done now; at the end of a burst also what waited for it.
    pub(super) fn pump(&mut self, now: Time, is_wake: bool, out: &mut dyn Outbox) {
        if is_wake {
            self.go_on_meeting(now, out);
        }
        let Phase::Open(open) = &mut self.phase else { return };
        if open.writer.is_durable(1) {
            // Before, its life is not on the disk, and the next one might have the same number.
            open.raft.tick(now, &BTreeSet::new());
        }
        self.settle(now, out);
        if is_wake {
            self.wake_protocol(now);
        }
        let Phase::Open(open) = &mut self.phase else { return };
        let is_end = open.end_of_burst.is_some_and(|end| end <= now) && is_wake;
        if is_end || open.gathering.bytes() >= self.config.batch_bytes {
            self.agree(now);
            self.settle(now, out);
        }
        if is_end {
            self.begin_batch(out);
        }
    }

    /// Has what was gathered agreed on.
    fn agree(&mut self, now: Time) {
        let Phase::Open(open) = &mut self.phase else { return };
        if open.leadership.is_none() {
            return open.gathering.clear();
        }
        if let Some(batch) = open.gathering.take() {
            open.raft.propose(now, batch);
        }
    }

    /// Carries out what is left to be done, until nothing is.
    fn settle(&mut self, now: Time, out: &mut dyn Outbox) {
        loop {
            let Phase::Open(open) = &mut self.phase else { return };
            let effects = core::mem::take(&mut open.raft.effects);
            let is_due = open.unsaid.front().is_some_and(|(batch, ..)| open.writer.is_durable(*batch));
            if effects.is_empty() && !is_due {
                break;
            }
            open.keep_on_disk(effects.kept);
            if open.writer.is_waiting() {
                open.end_of_burst.get_or_insert(now);
            }
            for (index, entry, _) in effects.applied {
                open.apply(&self.config, index, &entry, out);
            }
            for said in effects.said {
                self.say(now, said, out);
            }
            self.say_what_is_durable(now, out);
            self.look_who_leads(now, out);
        }
        self.look_who_leads(now, out);
    }

    fn say(&mut self, now: Time, said: Said<Replicas>, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let Said { to, after_sync, message } = said;
        let batch = if after_sync && !seeded!(self.config, SaidBeforeSync) { open.writer.batch() } else { 0 };
        match message.what {
            What::Snapshot { .. } => self.send_snapshot(now, to, out),
            _ if !open.writer.is_durable(batch) => open.unsaid.push_back((batch, to, message)),
            _ if to == self.config.me.node => open.raft.take(now, to, message),
            _ => say(&self.config, to, &message, out),
        }
    }

    /// Says what waits no longer. What it says to itself, it hears.
    fn say_what_is_durable(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let Open { raft, writer, unsaid, .. } = &mut **open;
        while let Some((_, to, message)) = unsaid.pop_front_if(|(batch, ..)| writer.is_durable(*batch)) {
            match to == self.config.me.node {
                true => raft.take(now, to, message),
                false => say(&self.config, to, &message, out),
            }
        }
    }

    /// A message of a replica that has been met.
    pub(super) fn take_message(
        &mut self,
        now: Time,
        from: NodeId,
        message: Message<Replicas>,
        behind: (Reader<'_>, &Bytes),
        out: &mut dyn Outbox,
    ) {
        let Phase::Open(open) = &mut self.phase else { return };
        match message.what {
            What::Snapshot { .. } => self.take_part(now, from, message, behind, out),
            _ => open.raft.take(now, from, message),
        }
    }
}

/// Says something to another replica. What finds no room is lost: it is said again.
fn say(config: &ReplicatedConfig, to: NodeId, message: &Message<Replicas>, out: &mut dyn Outbox) {
    let to = Address { node: to, ..config.me };
    let bytes = encode_to_vec(message);
    let _ = match bytes.len() <= BODY_BYTES {
        true => out.send(to, message.kind(), Token(0), &bytes),
        false => out.send_bulk(to, message.kind(), Token(0), &[], bytes.into()),
    };
}

impl<P: Snapshot> Open<P> {
    pub(super) fn deadline(&self) -> Option<Time> {
        let wake = self
            .leadership
            .as_ref()
            .and_then(|leadership| leadership.wake_at(self.state.protocol.deadline()));
        let raft = self.writer.is_durable(1).then(|| self.raft.deadline());
        [raft, wake, self.end_of_burst].into_iter().flatten().min()
    }

    fn keep_on_disk(&mut self, all: Vec<Kept<Replicas>>) {
        for kept in all {
            if let Kept::Snapshot { index, .. } = kept {
                // With it all is kept that the agreement knows by now.
                self.install(index);
                self.write_anew();
                self.votes_with.get_or_insert(self.writer.batch());
                return;
            }
            keep(&mut self.writer, kept);
        }
    }

    /// The agreement goes on behind a snapshot, which is there: so does the protocol.
    fn install(&mut self, index: u64) {
        match self.staged.take() {
            Some((staged, time, state)) if staged == index => {
                (self.applied, self.time, self.state) = (index, time, state);
            }
            _ => unreachable!("what is installed was complete"),
        }
    }

    /// Gives the protocol what was agreed on.
    fn apply(&mut self, config: &ReplicatedConfig, index: u64, entry: &Entry<Batch>, out: &mut dyn Outbox) {
        self.applied = index;
        // Who leads now answers what it began itself: what others began was asked by their clients.
        let is_own = self.leadership.as_ref().is_some_and(|leadership| leadership.term == entry.term);
        let answers = is_own || seeded!(config, AnsweredForAnother) && self.leadership.is_some();
        if entry.change.is_empty() {
            return self.give_up_clients(config.me, out);
        }
        for (time, kept) in entry.change.inputs() {
            self.time = self.time.max(time);
            let (state, held, time): (&mut State<P>, &mut Held, _) =
                (&mut self.state, &mut self.held, self.time);
            kept.give(|input| {
                if let (Input::Wake, Some(leadership), true) = (input, &mut self.leadership, is_own) {
                    leadership.wake_is_asked = false;
                }
                state.give(config.me, time, input, held, out);
            });
            match answers {
                true => self.held.release(|_| true, out),
                false => self.held.clear(),
            }
        }
    }

    /// Another term begins: whoever was connected is not any more.
    fn give_up_clients(&mut self, me: Address, out: &mut dyn Outbox) {
        for address in self.state.known() {
            let down = PeerChange::Down(DownCause::Died);
            self.state.give(me, self.time, Input::Peer(address, &down), &mut self.held, out);
        }
        self.held.clear();
    }
}
