//! Clients, and what comes with leading.

use super::{Open, Phase, Replicated, answer_leader};
use crate::batch::Gathering;
use crate::codec::{LEADER, Leader};
use crate::defect::seeded;
use quintet_contract::{Address, Bytes, Disconnect, Frame, Input, Outbox, PeerChange, Snapshot, Time, Token};
use quintet_durable::{Held, LogClock, State};
use quintet_wire::registry::PORT_CALLERS;
use quintet_wire::{Encode, send};

/// What a replica has while it leads.
#[derive(Debug)]
pub(super) struct Leadership {
    /// The term that it leads.
    pub(super) term: u64,
    /// Counts the log's time.
    clock: LogClock,
    /// Whether the protocol's wake is in the log and was not given so far.
    pub(super) wake_is_asked: bool,
}

impl Leadership {
    /// When the protocol is to be woken that wants to be at this time of the log.
    pub(super) fn wake_at(&self, deadline: Option<Time>) -> Option<Time> {
        deadline.filter(|_| !self.wake_is_asked).map(|deadline| self.clock.of_host(deadline))
    }
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    /// A frame of anybody but a replica or the disk.
    pub(super) fn take_clients(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let is_request = (self.is_request)(frame.kind);
        match &mut self.phase {
            Phase::Open(open) if open.leadership.is_some() => {
                if seeded!(self.config, LeaderAnswersAlone) {
                    return self.answer_alone(now, from, frame, out);
                }
                // Whose memory it is may write it later: what is kept and what the protocol gets has to stay the same.
                let bulk = Bytes::copy_from_slice(frame.bulk);
                open.gather(now, &Input::Frame(from, Frame { bulk: &bulk, ..frame }));
            }
            Phase::Open(open) if is_request => {
                let node = open.raft.leader.filter(|leader| *leader != self.config.me.node);
                let leader = Leader { node, has_no_log: open.raft.last() == 0 };
                answer_leader(from, frame.token, leader, out);
            }
            phase if is_request => {
                let leader = Leader { node: None, has_no_log: matches!(phase, Phase::Meeting(_)) };
                answer_leader(from, frame.token, leader, out);
            }
            _ => {}
        }
    }

    /// A built-in defect: what is asked is answered from what this replica has.
    fn answer_alone(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let restored: Result<State<P>, String> = State::restore(&self.protocol, &open.state.save());
        let (Ok(mut state), mut held) = (restored, Held::default()) else { return };
        state.give(self.config.me, open.time, Input::Frame(from, frame), &mut held, out);
        held.release(|_| true, out);
        open.gather(now, &Input::Frame(from, frame));
    }

    /// A client comes or goes.
    pub(super) fn take_change(&mut self, now: Time, peer: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { incarnation, link } => _ = self.clients.insert(peer, (*incarnation, *link)),
            PeerChange::Down(_) => _ = self.clients.remove(&peer),
        }
        let Phase::Open(open) = &mut self.phase else { return };
        if let PeerChange::Down(_) = change {
            open.held.forget(peer);
        }
        if open.leadership.is_some() {
            open.gather(now, &Input::Peer(peer, change));
        }
    }

    /// Has the protocol woken, if it wants to be.
    pub(super) fn wake_protocol(&mut self, now: Time) {
        let Phase::Open(open) = &mut self.phase else { return };
        let Some(leadership) = &mut open.leadership else { return };
        if leadership.wake_at(open.state.protocol.deadline()).is_some_and(|at| at <= now) {
            leadership.wake_is_asked = true;
            open.gather(now, &Input::Wake);
        }
    }

    /// Begins or ends what comes with leading, and tells the callers of the node who leads.
    pub(super) fn look_who_leads(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let led = open.leadership.as_ref().map(|leadership| leadership.term);
        let leads = open.raft.leading().map(|_| open.raft.term);
        if led != leads {
            open.end_leading();
            if led.is_some() {
                // Whoever waits for an answer gets none from here, and may come back when this replica leads again.
                let how = Disconnect::UntilNextLink;
                self.clients.keys().for_each(|client| out.disconnect(*client, how));
                self.clients.clear();
            }
            if let Some(term) = leads {
                open.begin_to_lead(now, term);
                for (client, (incarnation, link)) in &self.clients {
                    let up = PeerChange::Up { incarnation: *incarnation, link: *link };
                    open.gather(now, &Input::Peer(*client, &up));
                }
            }
        }
        let leader = Leader { node: open.raft.leader, has_no_log: open.raft.last() == 0 };
        if open.told.is_none_or(|told| told.node != leader.node) {
            open.told = Some(leader);
            let callers = Address { node: self.config.me.node, port: PORT_CALLERS };
            // Where nobody listens, nobody is to be told.
            let _ = send(out, callers, LEADER, Token(0), &leader);
        }
    }
}

impl<P: Snapshot> Open<P> {
    /// Takes an input for the batch of this burst.
    fn gather(&mut self, now: Time, input: &Input<'_>) {
        let Some(leadership) = &self.leadership else { return };
        self.gathering.add(leadership.clock.of_log(now), input);
        self.end_of_burst.get_or_insert(now);
    }

    fn end_leading(&mut self) {
        self.leadership = None;
        self.gathering = Gathering::default();
        self.held.clear();
        self.transfers.clear();
    }

    /// The log's time goes on behind all that is in the log, agreed on or not.
    fn begin_to_lead(&mut self, now: Time, term: u64) {
        let times = self.raft.uncommitted().flat_map(|entry| entry.change.inputs().map(|(time, _)| time));
        let base = times.max().unwrap_or(Time::ZERO).max(self.time);
        self.leadership = Some(Leadership { term, clock: LogClock::new(now, base), wake_is_asked: false });
    }
}
