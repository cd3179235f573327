//! The keeper: the agent's own thread. It follows the views that the member learns, and does what follows from them.

mod confirming;
mod remembering;

use crate::admission::Admission;
use crate::callers::Inbox;
use crate::client::{Nothing, random};
use crate::early::Early;
use crate::enrolling::Joining;
use crate::kept_spaces::KeptSpaces;
use crate::notice::{Notice, Refused};
use crate::record::Record;
use crate::space::ClusterSpace;
use crate::upkeep::{Upkeep, UpkeepTimes};
use crate::{AgentError, Told, address};
use bytes::Bytes;
use core::net::SocketAddr;
use quintet_contract::{Identity, Kind, NodeId, OwnedFrame, Span, Token};
use quintet_errors::Code;
use quintet_launch::NotGranted;
use quintet_launch::codec::NOT_GRANTED;
use quintet_link::Credentials;
use quintet_membership::codec::ERROR;
use quintet_membership::{Answer, News, NotAllowed, Reason, Refusal, Request, Suspect, View};
use quintet_messaging::upcall::split;
use quintet_runtime::{NodeHandle, Redial};
use quintet_stack::enrolment::{AGENT_ENDS, END_AGENT, ENROL, NOT_ENROLLED, NotEnrolled, RENEW};
use quintet_wire::registry::{ENROLMENT, MEMBERSHIP, PORT_CALLERS, PORT_SESSION};
use quintet_wire::{Decode, Encode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// A member is dialled as long as it is one.
const DIAL_WINDOW: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How long one request waits for the next view.
const WATCH: Span = Span::from_secs(60);

/// What an answer of the member is for.
pub(crate) enum Purpose {
    View,
    /// A majority is to say which view is the latest.
    Confirm,
    Watch,
    /// This machine is reached elsewhere.
    Move,
    /// A replica that this machine keeps in another's place has the log.
    Ready,
    /// A machine is let in: the token of what it asked, and what it is told.
    Join(Box<Joining>),
}

/// Who has asked, and how its answer is marked.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) token: Token,
    kind: Kind,
    pub(crate) identity: Option<Identity>,
    /// What it says that it is to be called.
    pub(crate) name: Option<String>,
}

impl Asker {
    /// Of what was handed up.
    pub(crate) fn of(frame: &OwnedFrame) -> Asker {
        let proved = quintet_messaging::upcall::split(&frame.body);
        let identity = proved.and_then(|(identity, _)| identity);
        Asker { token: frame.token, kind: frame.kind, identity, name: None }
    }

    fn what(&self) -> &'static str {
        match self.kind {
            ENROL => "enrolment",
            RENEW => "renewal",
            _ => "agent",
        }
    }
}

/// The agent's own thread.
pub(crate) struct Keeper {
    pub(crate) handle: NodeHandle,
    pub(crate) folder: PathBuf,
    pub(crate) record: Record,
    pub(crate) cluster: u128,
    pub(crate) credentials: Credentials,
    admission: Admission,
    pub(crate) told: Told,
    pub(crate) view: View,
    pub(crate) news: News,
    /// Where each member is dialled.
    dialled: BTreeMap<NodeId, String>,
    /// What was asked of the member and not answered yet.
    open: BTreeMap<u64, Purpose>,
    next: u64,
    /// Requests that came before a view was known that is as new as the one remembered.
    pub(crate) early: Early,
    /// Whether a majority has said what the latest view is, since this agent was started or was out of touch.
    pub(crate) is_confirmed: bool,
    /// Whether one has said so since this agent was started.
    was_confirmed: bool,
    is_ending: bool,
    /// Why the record could not be written, so that it is told once.
    unwritten: Option<String>,
    pub(crate) upkeep: Upkeep,
    /// The cluster's space, if this machine is one to serve it.
    pub(crate) space: Option<ClusterSpace>,
    /// The spaces that this machine keeps, if it is one to keep any.
    pub(crate) kept: Option<KeptSpaces>,
    /// Those of them whose log is on this machine's disk, by the views since which this machine keeps them.
    votes: BTreeSet<u64>,
}

impl Keeper {
    #[allow(clippy::too_many_arguments, reason = "made in one place")]
    pub(crate) fn new(
        handle: NodeHandle,
        folder: PathBuf,
        record: Record,
        cluster: u128,
        credentials: Credentials,
        admission: Admission,
        told: Told,
    ) -> Keeper {
        let upkeep = Upkeep::new(UpkeepTimes::default(), &folder, credentials.clone(), Arc::clone(&told));
        let mut keeper = Keeper {
            handle,
            folder,
            record,
            cluster,
            credentials,
            admission,
            told,
            view: View::default(),
            news: News::default(),
            dialled: BTreeMap::new(),
            open: BTreeMap::new(),
            next: 0,
            early: Early::default(),
            is_confirmed: false,
            was_confirmed: false,
            is_ending: false,
            unwritten: None,
            upkeep,
            space: None,
            kept: None,
            votes: BTreeSet::new(),
        };
        let known: Vec<(NodeId, String)> =
            keeper.record.peers.iter().map(|peer| (peer.node, peer.address.clone())).collect();
        known.into_iter().for_each(|(node, address)| keeper.dial(node, &address));
        keeper
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    /// Follows what happens until the agent is to end.
    ///
    /// # Errors
    /// The member takes no part any more.
    pub(crate) fn run(&mut self, inbox: &Receiver<Inbox>) -> Result<(), AgentError> {
        self.ask(Purpose::View, &Request::View { agreed: false });
        self.confirm();
        while !self.is_ending {
            if self.upkeep.look() && self.unwritten.is_some() {
                self.write_record();
                self.keep_spaces();
            }
            match inbox.recv_timeout(self.upkeep.wait()) {
                Ok(Inbox::Frame(frame)) => self.take(&frame)?,
                Ok(Inbox::Votes(since)) => {
                    self.votes.insert(since);
                    self.say_ready();
                }
                Ok(Inbox::End) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ok(())
    }

    /// Asks the member.
    pub(crate) fn ask(&mut self, purpose: Purpose, request: &Request) {
        self.next += 1;
        self.open.insert(self.next, purpose);
        self.say(request.kind(), Token(self.next), request);
    }

    /// Answers what was handed up.
    pub(crate) fn answer(&self, kind: Kind, token: Token, body: &impl Encode) {
        self.say(kind, token, body);
    }

    fn say(&self, kind: Kind, token: Token, body: &impl Encode) {
        let body = encode_to_vec(body).into();
        let frame = OwnedFrame { kind, token, body, bulk: Bytes::new() };
        self.handle.send(PORT_CALLERS, PORT_SESSION, frame);
    }

    fn take(&mut self, frame: &OwnedFrame) -> Result<(), AgentError> {
        if ENROLMENT.contains(frame.kind) {
            self.take_request(frame);
            return Ok(());
        }
        if frame.kind == NOT_GRANTED {
            self.tell_not_granted(frame);
            return Ok(());
        }
        if frame.kind == ERROR && frame.token == NotAllowed::TOKEN {
            self.tell_not_allowed(frame);
            return Ok(());
        }
        let Some(purpose) = self.open.remove(&frame.token.0).filter(|_| MEMBERSHIP.contains(frame.kind))
        else {
            return Ok(());
        };
        let answer = Answer::decode(frame.kind, &frame.body)
            .map_err(|_| AgentError::Malformed("an answer of this machine's own member"))?;
        self.take_answer(purpose, answer)
    }

    fn take_answer(&mut self, purpose: Purpose, answer: Answer) -> Result<(), AgentError> {
        match (purpose, answer) {
            (Purpose::Join(joining), answer) => self.finish_joining(*joining, answer),
            (_, Answer::Error(refusal)) if is_final(&refusal) => return Err(AgentError::Refused(refusal)),
            (Purpose::View, Answer::Current(view, _)) => {
                self.see(*view);
                self.watch();
            }
            (Purpose::Confirm, Answer::Current(view, _)) => {
                self.see(*view);
                (self.is_confirmed, self.was_confirmed) = (true, true);
                self.follow_confirmed();
                self.keep_spaces();
                self.serve_space().iter().for_each(|notice| (self.told)(notice));
            }
            // It is asked again with the next news, after the next wait for them, and for whoever wants in.
            (Purpose::Confirm, _) => self.refuse_early(),
            (Purpose::View, _) => self.ask(Purpose::View, &Request::View { agreed: false }),
            (Purpose::Watch, Answer::News(news)) => {
                self.hear(news);
                self.watch();
            }
            (Purpose::Watch, Answer::Done) => {
                self.confirm();
                self.move_if_elsewhere();
                self.say_ready();
                self.watch();
            }
            (Purpose::Watch, _) => self.ask(Purpose::View, &Request::View { agreed: false }),
            // Who cannot be moved now is asked for again with the next view or news.
            (Purpose::Move | Purpose::Ready, _) => {}
        }
        Ok(())
    }

    fn watch(&mut self) {
        let request = Request::Watch { view: self.view.number, news: self.news.number, wait: WATCH };
        self.ask(Purpose::Watch, &request);
    }

    /// There is another view.
    pub(crate) fn see(&mut self, view: View) {
        if view.number <= self.view.number {
            return;
        }
        let before = std::mem::replace(&mut self.view, view);
        // A log brings back what was agreed when it was written, which may be before what this machine remembers: who has joined since
        // is let in and dialled all the same, or no majority would come together again.
        if !self.is_behind() {
            let members = self.view.members.iter();
            self.admission.set(members.map(|(node, member)| (member.identity, *node)).collect());
            let names = self.view.members.values().map(|member| (member.identity, member.name.clone()));
            self.admission.set_names(names.collect());
            // Also those under numbers of clients. What this machine's member has said to who is removed goes first.
            let admission = self.admission.clone();
            self.handle.keep_links_of(move |identity| admission.is_listed(identity));
            self.follow_confirmed();
            self.dial_members();
            self.remember();
            self.move_if_elsewhere();
        }
        self.grant_own_code();
        self.keep_spaces();
        self.say_ready();
        let of_space = self.serve_space();
        if before.number == 0 {
            (self.told)(&Notice::Ready);
        }
        of_space.iter().for_each(|notice| (self.told)(notice));
        self.tell_changes(&before);
    }

    /// Dials the other members, where they are now, and nobody who is none any more.
    fn dial_members(&mut self) {
        let members = self.view.members.iter().filter(|(node, _)| **node != self.record.node);
        let places: Vec<(NodeId, String)> =
            members.map(|(node, member)| (*node, member.address.clone())).collect();
        places.iter().for_each(|(node, address)| self.dial(*node, address));
        let gone: Vec<NodeId> =
            self.dialled.keys().copied().filter(|node| !self.view.members.contains_key(node)).collect();
        for node in gone {
            self.dialled.remove(&node);
            self.handle.leave_alone(node);
        }
    }

    /// The member with the lowest number serves the cluster's space. What there is to tell of that.
    fn serve_space(&self) -> Option<Notice> {
        let is_lowest = self.record.peers.iter().all(|peer| peer.node > self.record.node);
        self.space.as_ref()?.follow(is_lowest)
    }

    /// Tells who has come and who has left since that view.
    fn tell_changes(&self, before: &View) {
        let (number, now) = (self.view.number, &self.view.members);
        for (node, member) in now.iter().filter(|(node, _)| !before.members.contains_key(node)) {
            (self.told)(&Notice::Came { name: member.name.clone(), node: *node, view: number });
        }
        for (node, member) in before.members.iter().filter(|(node, _)| !now.contains_key(node)) {
            (self.told)(&Notice::Left { name: member.name.clone(), node: *node, view: number });
        }
    }

    /// Has the view say where this machine is reached.
    fn move_if_elsewhere(&mut self) {
        let (node, ticket) = (self.record.node, self.record.ticket);
        let (name, address) = (self.record.name.clone(), self.record.address.clone());
        let Some(own) = self.view.members.get(&node) else { return };
        let is_asked = self.open.values().any(|purpose| matches!(purpose, Purpose::Move));
        if own.address != address && !is_asked {
            let (identity, grants) = (self.credentials.identity(), own.grants);
            let request = Request::Join { cluster: self.cluster, name, identity, address, grants, ticket };
            self.ask(Purpose::Move, &request);
        }
    }

    /// The member sees something else than before.
    fn hear(&mut self, news: News) {
        // Those who have left are no longer missed.
        let is_new = |suspect: &&Suspect| {
            !self.news.suspects.contains(suspect) && self.view.members.contains_key(&suspect.node)
        };
        for suspect in news.suspects.iter().filter(is_new) {
            (self.told)(&Notice::Suspected { name: self.name(suspect.node), suspect: *suspect });
        }
        let is_back = |before: &&Suspect| {
            news.suspects.iter().all(|suspect| suspect.node != before.node)
                && self.view.members.contains_key(&before.node)
        };
        for Suspect { node, .. } in self.news.suspects.iter().filter(is_back) {
            (self.told)(&Notice::Back { name: self.name(*node), node: *node });
        }
        if news.is_stale != self.news.is_stale {
            (self.told)(&Notice::Stale(news.is_stale));
        }
        // One that has closed its link in order is not dialled again by itself.
        for Suspect { node, .. } in &news.suspects {
            if let Some(place) = self.dialled.remove(node) {
                self.dial(*node, &place);
            }
        }
        self.take_staleness(news.is_stale);
        self.news = news;
        self.move_if_elsewhere();
        self.say_ready();
    }

    fn name(&self, node: NodeId) -> String {
        self.view.members.get(&node).map_or_else(|| format!("node {}", node.0), |member| member.name.clone())
    }

    /// Dials a member, if it is not dialled there already.
    fn dial(&mut self, node: NodeId, place: &str) {
        if self.dialled.get(&node).is_some_and(|dialled| dialled == place) {
            return;
        }
        // A member that nobody reaches dials by itself.
        let Ok(address) = address::tls(place, &self.credentials) else { return };
        let redial = Redial { address, window: DIAL_WINDOW, seed: random() };
        self.handle.dial(node, &[(PORT_SESSION, PORT_SESSION)], redial);
        self.dialled.insert(node, place.to_owned());
    }

    /// What was handed up: a request of a machine that wants in, or of a command of this user.
    fn take_request(&mut self, frame: &OwnedFrame) {
        let Some((proved, body)) = split(&frame.body) else { return };
        match (frame.kind, proved) {
            (END_AGENT, None) => {
                self.answer(AGENT_ENDS, frame.token, &Nothing);
                self.is_ending = true;
            }
            (_, Some(proved)) if !self.is_current() => self.keep_early(frame, proved),
            (_, Some(proved)) => self.take_enrolment(frame.kind, Asker::of(frame), proved, body),
            (_, None) => {
                self.refuse(&Asker::of(frame), Code::NotAllowed, "a machine is let in over TLS only");
            }
        }
    }

    /// The launcher has refused somebody.
    fn tell_not_granted(&self, frame: &OwnedFrame) {
        let Ok(NotGranted { identity, refusal }) = NotGranted::decode_all(&frame.body) else { return };
        let (from, name) = (self.seen_from(identity), self.name_of(identity));
        let (what, code, text) = ("launch", refusal.reason.code(), refusal.text);
        (self.told)(&Notice::NotLaunched(Refused { what, from, identity, name, code, text }));
    }

    /// The member has refused somebody.
    fn tell_not_allowed(&self, frame: &OwnedFrame) {
        let Ok(NotAllowed { identity, refusal }) = NotAllowed::decode_all(&frame.body) else { return };
        let identity = Some(identity);
        let (from, name) = (self.seen_from(identity), self.name_of(identity));
        let (what, code, text) = ("membership", refusal.reason.code(), refusal.text);
        (self.told)(&Notice::NotEnrolled(Refused { what, from, identity, name, code, text }));
    }

    /// What the member with that identity is called.
    fn name_of(&self, identity: Option<Identity>) -> Option<String> {
        let mut members = self.view.members.values();
        members.find(|member| Some(member.identity) == identity).map(|member| member.name.clone())
    }

    /// From where the newest connection of that identity came, or where this machine has dialled it.
    fn seen_from(&self, identity: Option<Identity>) -> Option<SocketAddr> {
        let identity = identity?;
        let dialled = || {
            let member = self.view.members.values().find(|member| member.identity == identity)?;
            member.address.parse().ok()
        };
        self.admission.seen_from(&identity).or_else(dialled)
    }

    /// Refuses what was handed up.
    pub(crate) fn refuse(&self, asker: &Asker, code: Code, text: &str) {
        let name = self.name_of(asker.identity).or_else(|| asker.name.clone());
        let (what, identity, text) = (asker.what(), asker.identity, text.to_owned());
        let from = self.seen_from(identity);
        (self.told)(&Notice::NotEnrolled(Refused { what, from, identity, name, code, text: text.clone() }));
        self.answer(NOT_ENROLLED, asker.token, &NotEnrolled { code: code as u16, text });
    }

    /// Who is in with this identity, and is called that.
    pub(crate) fn member_like(&self, name: &str, identity: Identity) -> Option<String> {
        let mut members = self.view.members.values();
        let taken = members.find(|member| member.name == name || member.identity == identity)?;
        Some(taken.name.clone())
    }
}

/// Whether a member that says this takes no part any more.
fn is_final(refusal: &Refusal) -> bool {
    let Refusal { reason, .. } = refusal;
    matches!(
        reason,
        Reason::Removed | Reason::Outlived | Reason::Damaged | Reason::WrongCluster | Reason::BadName
    )
}

#[cfg(test)]
mod tests;
