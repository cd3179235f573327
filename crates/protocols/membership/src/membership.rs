//! One machine's part in the membership.

mod desk;
mod metrics;
mod opening;
mod proofs;
mod pump;
mod sight;
#[cfg(test)]
mod tests;
mod upkeep;
mod watchers;

use crate::agreement::Raft;
use crate::agreement::{Message, What};
use crate::codec::{Answer, Request};
use crate::config::MembershipConfig;
use crate::disk::{SYNCING, Writer};
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use desk::{Ask, Desk};
use proofs::Proofs;
use quintet_contract::{
    Address, Frame, Incarnation, Input, Meter, NodeId, Outbox, PeerChange, Protocol, Time, Token,
};
use quintet_wire::registry::{
    DISK_DATA, DISK_DONE, LINK_NEWS, PORT_DISK, PORT_LINKS, PORT_MEMBERSHIP, SERVICE_REFUSED,
};
use quintet_wire::services::{DiskDone, LinkNews};
use quintet_wire::{Decode, send};
use sight::Sight;
use std::collections::{BTreeMap, VecDeque};
use watchers::Watchers;

/// Said of a life that is over whichever it is: the member was removed.
const EVERY_LIFE: Incarnation = Incarnation(u64::MAX);

/// One machine's part in the membership: keeps the log, votes or follows, and answers who is in.
///
/// It stands at [`PORT_MEMBERSHIP`] of its node, above sessions and messaging. Its disk is that of its node.
///
/// # What it promises
/// - Nothing is acknowledged before it is durable at a majority of the voters, and nothing acknowledged is lost while a majority of them keeps its
///   disks.
/// - All members learn the same views in the same order. No number is given twice.
/// - A member without a majority decides nothing, and says so ([`News::is_stale`](crate::News)); a request that needs one fails after
///   [`Timing::request`](crate::Timing) at the latest.
#[derive(Debug)]
pub struct Membership {
    config: MembershipConfig,
    phase: Phase,
    /// What is told when the disk has answered, each after the batch that it waits for.
    unsaid: VecDeque<(u64, NodeId, Message)>,
    desk: Desk,
    watchers: Watchers,
    sight: Sight,
    proofs: Proofs,
    /// Later lives of members than the view knows.
    lives: BTreeMap<NodeId, Incarnation>,
}

/// How far a member is.
#[derive(Debug)]
enum Phase {
    /// It reads its disk; with what was read so far.
    Opening(Vec<u8>),
    Open(Box<Open>),
    /// It takes no part any more, for this reason.
    Closed(Refusal),
}

/// A member that takes part.
#[derive(Debug)]
struct Open {
    raft: Raft,
    writer: Writer,
}

impl Membership {
    /// A member that has not started.
    #[must_use]
    pub fn new(config: MembershipConfig) -> Self {
        Membership {
            phase: Phase::Opening(Vec::new()),
            desk: Desk::new(config.timing),
            sight: Sight::new(config.timing),
            unsaid: VecDeque::new(),
            watchers: Watchers::default(),
            proofs: Proofs::default(),
            lives: BTreeMap::new(),
            config,
        }
    }

    /// The view as this member knows it; none before its disk was read, and once it takes no part any more.
    #[must_use]
    pub fn view(&self) -> Option<&View> {
        self.open().map(|open| &open.raft.view)
    }

    /// The index up to which all is committed, as far as this member knows.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.open().map_or(0, |open| open.raft.commit)
    }

    /// Its term, and who leads it, if that is known.
    #[must_use]
    pub fn term(&self) -> (u64, Option<NodeId>) {
        self.open().map_or((0, None), |open| (open.raft.term, open.raft.leader))
    }

    /// Whether it leads its term.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.open().is_some_and(|open| open.raft.leading().is_some())
    }

    /// Why it takes no part any more, if that is so.
    #[must_use]
    pub fn closed(&self) -> Option<&Refusal> {
        match &self.phase {
            Phase::Closed(refusal) => Some(refusal),
            _ => None,
        }
    }

    fn open(&self) -> Option<&Open> {
        match &self.phase {
            Phase::Open(open) => Some(open),
            _ => None,
        }
    }

    fn disk(&self) -> Address {
        Address { node: self.config.node, port: PORT_DISK }
    }

    fn take_frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if from == self.disk() {
            return self.take_disk(now, frame, out);
        }
        if from == (Address { node: self.config.node, port: PORT_LINKS }) {
            return self.take_link_news(now, frame);
        }
        let is_of_member = from.port == PORT_MEMBERSHIP && from.node != self.config.node;
        if is_of_member && !self.is_who_it_says(from, out) {
            return;
        }
        match Message::decode(frame.kind, frame.body) {
            Ok(message) if is_of_member => self.take_message(now, from.node, message, out),
            // What is no message, and what comes from elsewhere than from a member.
            _ if self.desk.take_answer(now, from, frame, out) => {}
            _ => self.take_request(now, from, frame, out),
        }
    }

    fn take_message(&mut self, now: Time, from: NodeId, message: Message, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        if let What::Gone { incarnation } = message.what {
            if incarnation == EVERY_LIFE {
                let text = "this machine was removed from the cluster";
                self.close(Refusal::new(Reason::Removed, text), out);
            } else if incarnation == open.raft.incarnation {
                let text = "this machine was started anew elsewhere, from a copy of what it keeps, and that one counts";
                self.close(Refusal::new(Reason::Outlived, text), out);
            }
            return;
        }
        let known = open.raft.view.members.get(&from).map(|member| member.incarnation);
        let over = match known {
            None if open.raft.view.has_lost(from) => Some(EVERY_LIFE),
            Some(known) if message.incarnation < known => Some(message.incarnation),
            _ => None,
        };
        if let Some(incarnation) = over {
            let (term, own) = (open.raft.term, open.raft.incarnation);
            let gone = Message { incarnation: own, term, what: What::Gone { incarnation } };
            return say(from, &gone, out);
        }
        if known.is_some_and(|known| known < message.incarnation) {
            self.lives.insert(from, message.incarnation);
        }
        self.sight.hear(now, from);
        open.raft.take(now, from, message);
    }

    /// What the host has found where it dials another member.
    fn take_link_news(&mut self, now: Time, frame: Frame<'_>) {
        let news = LinkNews::decode_all(frame.body).ok().filter(|_| frame.kind == LINK_NEWS);
        match news {
            Some(LinkNews { node, is_refused: false }) => self.sight.linked(now, node),
            Some(LinkNews { node, is_refused: true }) if self.sight.refused(now, node) => {
                if let Phase::Open(open) = &mut self.phase {
                    open.raft.miss(now, node);
                }
            }
            _ => {}
        }
    }

    /// A request of a caller, here or elsewhere, or of another member on behalf of one.
    fn take_request(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if !crate::codec::is_request(frame.kind) {
            return;
        }
        let request = Request::decode(frame.kind, frame.body)
            .map_err(|error| Refusal::new(Reason::Malformed, error.to_string()))
            .and_then(|request| self.may_ask(from, &request).map(|()| request));
        let refusal = match request {
            Err(refusal) => refusal,
            Ok(_) if self.closed().is_some() => self.closed().expect("it was asked").clone(),
            Ok(Request::Join { cluster, .. }) if cluster != self.config.cluster => {
                let text = format!("this is cluster {:032x}, not {cluster:032x}", self.config.cluster);
                Refusal::new(Reason::WrongCluster, text)
            }
            Ok(Request::Watch { view, news, wait }) => {
                let wait = now + wait;
                match self.watchers.add(from, frame.token, (view, news, wait)) {
                    true => return,
                    false => busy(),
                }
            }
            Ok(request) => {
                let until = now + self.config.timing.request;
                match self.desk.add(Ask { from, token: frame.token, request, until, not_before: now }) {
                    true => return,
                    false => busy(),
                }
            }
        };
        if refusal.reason == Reason::NotAllowed {
            self.tell_not_allowed(from, &refusal, out);
        }
        answer(from, frame.token, &Answer::Error(refusal), out);
    }

    fn take_disk(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let failed = frame.kind == SERVICE_REFUSED
            || matches!(frame.kind, DISK_DATA | DISK_DONE)
                && !DiskDone::decode_all(frame.body).is_ok_and(|done| !done.failed);
        if failed {
            let text = "the disk does not take the log any more: it is full, or fails";
            return self.close(Refusal::new(Reason::Damaged, text), out);
        }
        match &mut self.phase {
            Phase::Opening(_) => self.go_on_opening(now, frame, out),
            Phase::Open(open) if frame.token == SYNCING => open.writer.synced(),
            _ => {}
        }
    }

    /// Takes no part any more. Whoever waits learns why.
    fn close(&mut self, refusal: Refusal, out: &mut dyn Outbox) {
        for (from, token) in self.desk.drain().into_iter().chain(self.watchers.drain()) {
            answer(from, token, &Answer::Error(refusal.clone()), out);
        }
        self.unsaid.clear();
        self.phase = Phase::Closed(refusal);
    }
}

/// Answers a request. Room for it was reserved with the request; where its link is gone, so is who asked.
fn answer(to: Address, token: Token, what: &Answer, out: &mut dyn Outbox) {
    let _ = send(out, to, what.kind(), token, what);
}

/// Says something to another member. What finds no room is lost: it is said again.
fn say(to: NodeId, message: &Message, out: &mut dyn Outbox) {
    let to = Address { node: to, port: PORT_MEMBERSHIP };
    let _ = send(out, to, message.kind(), Token(0), message);
}

fn busy() -> Refusal {
    Refusal::new(Reason::Busy, "as many requests wait here as may: ask again in a moment")
}

impl Protocol for Membership {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => self.begin_opening(out),
            Input::Frame(from, frame) => self.take_frame(now, from, frame, out),
            Input::Peer(peer, change) => {
                self.proofs.take_change(peer, change);
                self.sight.take_change(now, peer, change, self.config.node);
                self.watchers.forget(peer, change);
                if let (PORT_MEMBERSHIP, PeerChange::Up { .. }) = (peer.port, change) {
                    self.greet(peer.node);
                }
            }
            Input::Wake | Input::Writable(_) => {}
        }
        self.pump(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        // Before its life is on the disk it does nothing by itself; the disk's answer is an input.
        let open = self.open().filter(|open| open.writer.is_durable(1))?;
        let stale_at = self.sight.stale_at(open.raft.heard_at);
        let (desk, watchers) = (self.desk.deadline(), self.watchers.deadline());
        let times = [open.raft.deadline(), stale_at, self.sight.refusal_over_at(), desk, watchers];
        times.into_iter().min().filter(|time| *time < Time::NEVER)
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.tell_metrics(meter);
    }
}
