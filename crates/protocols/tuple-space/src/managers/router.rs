//! The calling side of a space with several managers: asks each request of the manager that has what it is about.
//!
//! Requests go in the order in which they were asked. One that has to go to another manager than a put before it, which is not known to have
//! been handled, goes after a fence: a request that is answered at once, behind that put. What a manager does not have comes back as `MOVED`;
//! then nothing goes until the directory has said where everything is, and what came back goes first, in its old order.
//!
//! A manager that is gone for good ends all: every request is answered with an error that names it.

mod again;
mod control;
mod merge;
mod metrics;
mod outgoing;
mod parts;
mod seek;
mod target;

use super::{Placement, gone, gone_or_its_kernel};
use crate::codec::{
    self, ACK, CANCEL, COLLECTED, ERROR, LIST, LISTED, MOVED, READ, RENEW, RETURN, Refusal, Route, SELECTED,
    STATUS, TUPLE,
};
use merge::Merge;
use metrics::Counts;
use parts::Several;
use quintet_contract::{
    Address, DownCause, Frame, Input, Kind, Meter, Outbox, OwnedFrame, PeerChange, Protocol, SendError, Time,
    Token,
};
use quintet_errors::Code;
use quintet_wire::encode_to_vec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use target::Target;

/// Why a request is refused that no link takes.
const TOO_LONG: &str = "the request is too long for the link";

/// Whom a router speaks for, and to.
#[derive(Clone, Debug)]
pub struct RouterConfig {
    /// The callers of this node.
    pub callers: Address,
    /// The managers, the one with the directory first.
    pub managers: Vec<Address>,
    /// How calls end whose manager is gone.
    pub loss: fn(DownCause) -> Code,
}

/// A client's side of a space with several managers.
#[derive(Debug)]
pub struct Router {
    callers: Address,
    loss: fn(DownCause) -> Code,
    managers: Vec<Manager>,
    /// Where everything is, as the directory has said; none before that.
    placement: Option<Placement>,
    /// Where each manager listens, as the directory has said.
    addresses: Vec<String>,
    /// What is to be asked, in order.
    queue: VecDeque<Item>,
    /// What came back, by its place in the order.
    moved: BTreeMap<u64, Item>,
    open: BTreeMap<Token, Open>,
    /// Takes that may still be undone, and who answered them.
    taken: BTreeMap<Token, u8>,
    /// What this router has asked for itself: nothing else goes meanwhile.
    controls: BTreeMap<Token, Control>,
    /// Why nothing is asked any more: a manager is gone for good.
    lost: Option<Refusal>,
    last_number: u64,
    last_token: u64,
    counts: Counts,
    #[cfg(feature = "seeded-defects")]
    defect: Option<crate::Defect>,
}

/// One manager, as the router sees it.
#[derive(Debug)]
struct Manager {
    address: Address,
    is_up: bool,
    /// It is asked through the kernel of a machine.
    is_relayed: bool,
    /// Urgent frames and the router's own, for which its link has no room.
    outgoing: VecDeque<OwnedFrame>,
    /// How many requests were sent to it, and up to which of them it has handled all, as a fence has said.
    sent: u64,
    handled: u64,
    /// Those that put and have no answer.
    puts: BTreeSet<u64>,
    /// Those of them that end a lease: their results may be on their way to another manager when a later request to this one is answered.
    acks: BTreeSet<u64>,
}

/// A request of a caller.
#[derive(Debug)]
struct Item {
    /// Its place in the order.
    number: u64,
    frame: OwnedFrame,
    /// When it was first sent, if it was.
    since: Option<Time>,
}

/// A request without an answer.
#[derive(Debug)]
struct Open {
    item: Item,
    asked: Asked,
    /// It is not to be asked again.
    is_cancelled: bool,
}

#[derive(Debug)]
enum Asked {
    /// The manager, and which of its requests it is.
    One(u8, u64),
    All(Merge),
    /// One after the other, each of a part.
    Several(Several),
}

/// What the router asks for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
    /// Whether all that was asked of this manager has been handled: which of its requests it is.
    Fence(u8, u64),
    Route,
    /// That a part which this manager has prepared comes to nothing.
    GiveUp(u8),
}

impl Router {
    /// A router that knows nothing yet.
    ///
    /// # Panics
    /// Without managers, or with too many.
    #[must_use]
    pub fn new(config: RouterConfig) -> Router {
        let number = config.managers.len();
        assert!(
            (1..=crate::codec::MAX_MANAGERS).contains(&number),
            "a space has one manager to MAX_MANAGERS"
        );
        let manager = |address| {
            let outgoing = VecDeque::new();
            Manager {
                address,
                is_up: false,
                is_relayed: false,
                outgoing,
                sent: 0,
                handled: 0,
                puts: BTreeSet::new(),
                acks: BTreeSet::new(),
            }
        };
        Router {
            callers: config.callers,
            loss: config.loss,
            managers: config.managers.into_iter().map(manager).collect(),
            placement: None,
            addresses: Vec::new(),
            queue: VecDeque::new(),
            moved: BTreeMap::new(),
            open: BTreeMap::new(),
            taken: BTreeMap::new(),
            controls: BTreeMap::new(),
            lost: None,
            last_number: 0,
            last_token: 0,
            counts: Counts::default(),
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    /// The same with a defect built in.
    #[cfg(feature = "seeded-defects")]
    #[must_use]
    pub fn with_defect(self, defect: Option<crate::Defect>) -> Router {
        Router { defect, ..self }
    }

    fn numbers(&self) -> impl Iterator<Item = u8> + use<> {
        0..u8::try_from(self.managers.len()).expect("at most MAX_MANAGERS")
    }

    fn manager(&self, address: Address) -> Option<u8> {
        let found = self.managers.iter().position(|manager| manager.address == address)?;
        u8::try_from(found).ok()
    }

    fn at(&mut self, manager: u8) -> &mut Manager {
        &mut self.managers[usize::from(manager)]
    }

    /// A caller's frame.
    fn request(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        if let Some(Refusal { code, text }) = &self.lost {
            if !control::is_urgent(frame.kind) {
                self.refuse(frame.token, *code, text, out);
            }
            return;
        }
        self.settle(&frame);
        match frame.kind {
            RENEW => self.numbers().for_each(|manager| self.tell(manager, frame.to_owned(), out)),
            CANCEL => self.cancel(frame, out),
            RETURN => self.undo(frame, out),
            _ => {
                // It tells how many keys are elsewhere, which changes without a word to who does not ask for one.
                if frame.kind == STATUS && self.controls.is_empty() {
                    self.ask_routes(&Route::ASK, out);
                }
                self.last_number += 1;
                self.queue.push_back(Item { number: self.last_number, frame: frame.to_owned(), since: None });
                self.pump(now, out);
            }
        }
    }

    /// Forgets the takes that are not undone any more.
    fn settle(&mut self, frame: &Frame<'_>) {
        if let Some(settled) = codec::settled(frame)
            && self.taken.first_key_value().is_some_and(|(first, _)| *first < settled)
        {
            self.taken = self.taken.split_off(&settled);
        }
    }

    /// A request that was not sent is cancelled here.
    fn cancel(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        if let Some(open) = self.open.get_mut(&frame.token) {
            open.is_cancelled = true;
            let asked: Vec<u8> = match &open.asked {
                Asked::One(manager, _) => vec![*manager],
                Asked::All(_) => self.numbers().collect(),
                Asked::Several(several) => vec![several.asked()],
            };
            asked.into_iter().for_each(|manager| self.tell(manager, frame.to_owned(), out));
            return;
        }
        let is_it = |item: &Item| item.frame.token == frame.token;
        let before = self.queue.len() + self.moved.len();
        self.queue.retain(|item| !is_it(item));
        self.moved.retain(|_, item| !is_it(item));
        if self.queue.len() + self.moved.len() < before {
            self.refuse(frame.token, Code::Cancelled, "at the sender's request", out);
        }
    }

    /// Undoes a take, where it was answered or is to be.
    fn undo(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        let of_open = self.open.get_mut(&frame.token).and_then(|open| match &mut open.asked {
            Asked::One(manager, _) => Some(*manager),
            // Whichever manager answers is told then.
            Asked::Several(several) => {
                several.undo(frame.to_owned());
                None
            }
            Asked::All(_) => None,
        });
        if let Some(manager) = self.taken.remove(&frame.token).or(of_open) {
            self.tell(manager, frame.to_owned(), out);
        }
    }

    /// Sends what may go, in order.
    fn pump(&mut self, now: Time, out: &mut dyn Outbox) {
        while self.lost.is_none() && self.placement.is_some() && self.controls.is_empty() {
            // What came back goes first, as it was asked.
            while let Some((_, item)) = self.moved.pop_last() {
                self.queue.push_front(item);
            }
            let Some(item) = self.queue.front() else { return };
            let target = self.target(&item.frame);
            match target {
                Target::Refused(code, text) => {
                    let token = item.frame.token;
                    self.queue.pop_front();
                    self.refuse(token, code, text, out);
                }
                Target::Gather(signature) => return self.ask_routes(&Route::Gather(signature), out),
                Target::One(manager, body) => {
                    if self.fence_all_but(Some(manager), out) || !self.send(now, manager, body, out) {
                        return;
                    }
                }
                Target::All(merge, kind, bodies) => {
                    if self.fence_all_but(None, out) {
                        return;
                    }
                    self.send_to_all(now, merge, kind, bodies, out);
                }
                Target::Several(several) => {
                    if self.fence_all_but(None, out) {
                        return;
                    }
                    self.begin_parts(now, several, out);
                }
            }
        }
    }

    /// Sends the first of the queue to one manager, with another body if one is given. False: its link has no room.
    fn send(&mut self, now: Time, manager: u8, body: Option<Vec<u8>>, out: &mut dyn Outbox) -> bool {
        let Some(mut item) = self.queue.pop_front() else { return true };
        let original = item.frame.body.clone();
        body.into_iter().for_each(|body| item.frame.body = body.into());
        again::spend(&mut item, now);
        let at = self.at(manager);
        if !at.outgoing.is_empty() {
            item.frame.body = original;
            self.queue.push_front(item);
            return false;
        }
        let sent = forward(item.frame.borrow(), at.address, out);
        item.frame.body = original;
        match sent {
            Ok(()) => {}
            Err(SendError::Full) => {
                self.queue.push_front(item);
                return false;
            }
            Err(SendError::TooLong { .. }) => {
                self.refuse(item.frame.token, Code::TooLarge, TOO_LONG, out);
                return true;
            }
            Err(SendError::Unreachable) => {
                let text = self.gone(manager);
                self.refuse(item.frame.token, Code::Unreachable, text, out);
                return true;
            }
        }
        let at = self.at(manager);
        at.sent += 1;
        let number = at.sent;
        if target::puts(&item.frame) {
            at.puts.insert(number);
            if item.frame.kind == ACK {
                at.acks.insert(number);
            }
        }
        item.since = item.since.or(Some(now));
        self.open
            .insert(item.frame.token, Open { item, asked: Asked::One(manager, number), is_cancelled: false });
        true
    }

    /// Sends the first of the queue to all. What a link has no room for goes when it has.
    fn send_to_all(
        &mut self,
        now: Time,
        merge: Merge,
        kind: Kind,
        bodies: Vec<Option<Vec<u8>>>,
        out: &mut dyn Outbox,
    ) {
        let Some(mut item) = self.queue.pop_front() else { return };
        self.counts.of_all += 1;
        for (manager, body) in self.numbers().zip(bodies) {
            let body = body.map_or_else(|| item.frame.body.clone(), Into::into);
            self.at(manager).sent += 1;
            self.tell(manager, OwnedFrame { kind, body, ..item.frame.clone() }, out);
        }
        item.since = item.since.or(Some(now));
        self.open.insert(item.frame.token, Open { item, asked: Asked::All(merge), is_cancelled: false });
    }

    /// What a manager answers.
    fn answer(&mut self, now: Time, manager: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        if control::is_own(frame.token) {
            return self.answer_to_control(now, manager, frame, out);
        }
        let Some(open) = self.open.get_mut(&frame.token) else { return };
        match &mut open.asked {
            Asked::One(asked, number) if *asked == manager => {
                let number = *number;
                let Some(open) = self.open.remove(&frame.token) else { return };
                let at = self.at(manager);
                at.puts.remove(&number);
                at.acks.remove(&number);
                if frame.kind == MOVED {
                    self.comes_back(open, [manager], out);
                } else {
                    self.deliver(&open, manager, frame, out);
                }
            }
            Asked::All(merge) => {
                if merge.add(manager, &frame) {
                    self.conclude(frame.token, out);
                }
            }
            Asked::Several(several) if several.is_asked(manager) => {
                self.answer_of_part(now, manager, frame, out)
            }
            Asked::One(..) | Asked::Several(_) => {}
        }
        self.pump(now, out);
    }

    /// All managers have answered.
    fn conclude(&mut self, token: Token, out: &mut dyn Outbox) {
        let Some(Open { item, asked: Asked::All(merge), is_cancelled }) = self.open.remove(&token) else {
            return;
        };
        match merge.finish() {
            Ok(answer) => {
                // Callers always have room for the answers to their requests.
                let _ = out.send(self.callers, answer.kind, token, &answer.body);
            }
            Err(moved) => {
                let open = Open { item, asked: Asked::One(0, 0), is_cancelled };
                self.comes_back(open, moved, out);
            }
        }
    }

    /// Hands an answer on.
    fn deliver(&mut self, open: &Open, manager: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        let kind = open.item.frame.kind;
        if matches!(frame.kind, TUPLE | SELECTED | COLLECTED) && target::is_plain(&open.item.frame) {
            self.taken.insert(frame.token, manager);
        }
        let rewritten = match frame.kind {
            TUPLE if kind == READ => target::name_witness(&frame, manager),
            // Of a named space the first manager has all.
            LISTED if kind == LIST => target::name_cursor(&frame, manager, self.managers.len()),
            _ => None,
        };
        let body = rewritten.as_deref().unwrap_or(frame.body);
        // Callers always have room for the answers to their requests.
        let _ = forward(Frame { body, ..frame }, self.callers, out);
    }

    fn gone(&self, manager: u8) -> String {
        let address = self.addresses.get(usize::from(manager)).map_or("", String::as_str);
        let said = if self.managers[usize::from(manager)].is_relayed { gone_or_its_kernel } else { gone };
        said(manager, self.managers.len(), address)
    }

    fn refuse(&self, token: Token, code: Code, text: impl Into<String>, out: &mut dyn Outbox) {
        // Callers always have room for the answers to their requests.
        let _ = out.send(self.callers, ERROR, token, &encode_to_vec(&Refusal::new(code, text)));
    }
}

fn forward(frame: Frame<'_>, to: Address, out: &mut dyn Outbox) -> Result<(), SendError> {
    if frame.bulk.is_empty() {
        out.send(to, frame.kind, frame.token, frame.body)
    } else {
        out.send_bulk(to, frame.kind, frame.token, frame.body, frame.bulk.clone())
    }
}

impl Protocol for Router {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from == self.callers => self.request(now, frame, out),
            Input::Frame(from, frame) => {
                if let Some(manager) = self.manager(from) {
                    self.answer(now, manager, frame, out);
                }
            }
            Input::Writable(to) => {
                if let Some(manager) = self.manager(to) {
                    self.flush(manager, out);
                    self.pump(now, out);
                }
            }
            Input::Peer(peer, change) => match (self.manager(peer), change) {
                (Some(manager), PeerChange::Up { link, .. }) => {
                    self.at(manager).is_relayed = link.is_relayed;
                    self.comes_up(now, manager, out);
                }
                (Some(manager), PeerChange::Down(cause)) => {
                    let why = Refusal::new((self.loss)(*cause), self.gone(manager));
                    self.lose(why, out);
                }
                (None, _) => {}
            },
            Input::Started | Input::Wake => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.counts.tell(meter);
    }
}
