//! A manager that is one of several: it does what it has, and sends away what it has not.

mod collecting;
mod commit;
mod directory;
mod fellows;
mod heat;
mod loads;
mod metrics;
mod moving;
mod usage;

use super::{Home, Placement};
use crate::codec::{
    CANCEL, Class, FENCE, FURTHER, Further, FurtherOperation, MIGRATE, NAMED, NamedFront, PREPARE, Put,
    RENEW, RETURN, ROUTE, RequestView, SPACES, TRANSFER, View,
};
use crate::space::{Elsewhere, seeded};
use crate::{Signature, SpaceConfig, Spaces, SpacesConfig};
use bytes::Bytes;
use commit::Commits;
use directory::Directory;
use fellows::Fellows;
pub use heat::HotKeysConfig;
use loads::Loads;
use metrics::Counts;
use moving::{Batch, Incoming, Sent};
use quintet_contract::{
    Address, Frame, Input, Kind, Meter, Outbox, OwnedFrame, PeerChange, PeerMap, Protocol, SendError, Span,
    Time, Token,
};
use quintet_errors::Code;
use std::collections::{BTreeMap, VecDeque};
use usage::Usages;

/// Which managers there are, and which one this is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ManagersConfig {
    /// All of them, the one with the directory first; [`MAX_MANAGERS`](crate::codec::MAX_MANAGERS) at most.
    pub managers: Vec<Address>,
    /// Where each listens, as clients are told; empty texts where nobody has to know. With addresses they are in processes of their own, and nothing is
    /// done before all have said that they are of one space.
    pub addresses: Vec<String>,
    /// Which one this is.
    pub me: u8,
    /// Keys the hash that says where a tuple is; the same at all of them.
    pub seed: u64,
    /// So many templates of a signature have to give the same field before it is spread by that, [`ManagersConfig::SPREAD_AFTER`] by default.
    pub spread_after: u32,
    /// When keys move because of what is asked of them; the same at all of them.
    pub hot_keys: HotKeysConfig,
    /// Who of its node is told when all are there, and when one is gone; none: nobody.
    pub told: Option<Address>,
}

impl ManagersConfig {
    /// Templates of a signature that are looked at before it is spread.
    pub const SPREAD_AFTER: u32 = 64;
}

/// One manager of several: the tuples of the unnamed space that belong to it, and, at the first, the named spaces and the directory.
#[derive(Debug)]
pub struct Manager {
    spaces: Spaces,
    #[cfg(feature = "seeded-defects")]
    config: SpaceConfig,
    me: u8,
    managers: Vec<Address>,
    /// Where each listens.
    addresses: Vec<String>,
    fellows: Fellows,
    /// Clients whose requests are done; those of others are answered as moved.
    admitted: PeerMap<()>,
    /// Signatures of which not all has come.
    incoming: BTreeMap<Signature, Incoming>,
    /// What came from managers that are ahead: it waits for the news that they have.
    early: Vec<(u8, OwnedFrame)>,
    /// What was asked of other managers.
    sent: BTreeMap<Token, Sent>,
    batches: BTreeMap<u64, Batch>,
    last_batch: u64,
    last_token: u64,
    /// What waits for the link to each manager.
    outgoing: Vec<VecDeque<OwnedFrame>>,
    directory: Option<Directory>,
    /// What this and other managers do together.
    commits: Commits,
    usages: Usages,
    loads: Loads,
    counts: Counts,
}

impl Manager {
    /// A manager with these limits. Named spaces are at the first one only.
    ///
    /// # Panics
    /// If it is none of the managers, or there are too many.
    #[must_use]
    pub fn new(space: SpaceConfig, spaces: SpacesConfig, managers: &ManagersConfig) -> Manager {
        let number = managers.managers.len();
        assert!(
            (1..=crate::codec::MAX_MANAGERS).contains(&number),
            "a space has one manager to MAX_MANAGERS"
        );
        assert!(usize::from(managers.me) < number, "it is one of the managers");
        assert_eq!(managers.addresses.len(), number, "each has an address, an empty one perhaps");
        let number = u8::try_from(number).expect("at most MAX_MANAGERS");
        let is_first = managers.me == 0;
        // Those of one process were told the same.
        let are_apart = managers.addresses.iter().any(|address| !address.is_empty());
        let asks = |other: &u8| are_apart && *other != managers.me;
        let spaces = if is_first { spaces } else { SpacesConfig { max_spaces: 0, ..spaces } };
        // One alone has nobody to give a key to.
        let alone = HotKeysConfig { period: Span::ZERO, ..managers.hot_keys };
        let hot_keys = if number > 1 { managers.hot_keys } else { alone };
        let mut spaces = Spaces::new(space, spaces);
        let placement = Placement::new(managers.seed, number);
        spaces.unnamed_mut().set_elsewhere(Elsewhere::new(placement, managers.me, number));
        Manager {
            spaces,
            #[cfg(feature = "seeded-defects")]
            config: space,
            me: managers.me,
            managers: managers.managers.clone(),
            addresses: managers.addresses.clone(),
            fellows: Fellows::new((0..number).filter(asks), managers.told),
            admitted: PeerMap::new(),
            incoming: BTreeMap::new(),
            early: Vec::new(),
            sent: BTreeMap::new(),
            batches: BTreeMap::new(),
            last_batch: 0,
            last_token: 0,
            outgoing: managers.managers.iter().map(|_| VecDeque::new()).collect(),
            directory: is_first.then(|| Directory::new(hot_keys)),
            commits: Commits::default(),
            usages: Usages::new(managers.spread_after),
            loads: Loads::new(hot_keys),
            counts: Counts::default(),
        }
    }

    /// The spaces that it keeps.
    #[must_use]
    pub fn spaces(&self) -> &Spaces {
        &self.spaces
    }

    fn fellow(&self, address: Address) -> Option<u8> {
        let found = self.managers.iter().position(|manager| *manager == address)?;
        u8::try_from(found).ok()
    }

    fn placement(&mut self) -> &mut Placement {
        self.spaces.unnamed_mut().placement().expect("it is one of several")
    }

    fn client_frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        match frame.kind {
            ROUTE => self.route(now, from, &frame, out),
            FENCE => self.fence(from, frame.token, out),
            CANCEL | RETURN | RENEW => self.spaces.handle(now, Input::Frame(from, frame), out),
            MIGRATE | TRANSFER => {
                let text = "only another manager of the space may say that";
                self.spaces.unnamed_mut().refuse(from, frame.token, Code::NotAllowed, text, out);
            }
            PREPARE => self.prepare(now, from, frame, out),
            kind if !is_asked(kind) => {}
            _ if !self.admitted.contains(from) => self.send_away(from, frame.token, out),
            NAMED | FURTHER if goes_into_another(&frame) => self.collect_into(now, from, frame, out),
            NAMED | SPACES => self.spaces.handle(now, Input::Frame(from, frame), out),
            _ => self.request(now, from, frame, out),
        }
    }

    /// A request for the unnamed space is done if all that it is about is here.
    fn request(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let copy;
        let frame = if !frame.bulk.is_empty() && RequestView::relies_on_bulk(&frame) {
            copy = Bytes::copy_from_slice(frame.bulk);
            Frame { bulk: &copy, ..frame }
        } else {
            frame
        };
        // What cannot be read the space answers.
        if let Ok((_, request)) = RequestView::decode(&frame) {
            if !self.has(&request) {
                self.admitted.remove(from);
                return self.send_away(from, frame.token, out);
            }
            let placement = self.spaces.unnamed_mut().placement().expect("it is one of several");
            self.loads.note(now, &request, placement);
            let key = self.note_usage(&request);
            self.spaces.handle(now, Input::Frame(from, frame), out);
            if let Some((signature, field)) = key {
                self.ask_to_spread(signature, field, now, out);
            }
            return;
        }
        self.spaces.handle(now, Input::Frame(from, frame), out);
    }

    fn send_away(&mut self, to: Address, token: Token, out: &mut dyn Outbox) {
        self.counts.moved_answers += 1;
        self.spaces.unnamed_mut().reply_moved(to, token, out);
    }

    /// Whether all that a request is about is here, and all of it.
    fn has(&mut self, request: &RequestView<'_>) -> bool {
        match request {
            RequestView::Out(put) => self.has_all_of(put),
            RequestView::Commit(uses, put) if uses.is_commit => self.has_all_of(put),
            RequestView::Take(query) | RequestView::Read(query) => self.is_here(&query.template),
            RequestView::Count(template) => self.is_here(template),
            RequestView::Ack(_, put) => self.belong_together(put),
            RequestView::Further(Further::Replace(replace)) => {
                self.is_here(&replace.template) && replace.tuples.views().all(|tuple| self.is_here(&tuple))
            }
            RequestView::Further(Further::Collect(asked)) => self.is_here(&asked.template),
            RequestView::More(more) => more.template().is_none_or(|template| self.is_here(template)),
            RequestView::Further(Further::Select(select)) => {
                select.templates.iter().all(|(template, _)| self.is_here(template))
            }
            _ => true,
        }
    }

    fn has_all_of(&mut self, put: &Put<'_>) -> bool {
        put.tuples.views().all(|tuple| self.is_here(&tuple))
    }

    /// Whether the results of a lease are at one manager, whichever.
    fn belong_together(&mut self, put: &Put<'_>) -> bool {
        let placement = self.placement();
        let mut homes = put.tuples.views().map(|tuple| placement.of_tuple(&tuple));
        let first = homes.next();
        homes.all(|home| Some(home) == first)
    }

    /// Whether all that matches a template, or a tuple, is here.
    fn is_here(&mut self, about: &View<'_>) -> bool {
        let has_come = self.incoming_with(about).is_none() || seeded!(self.config, AnsweredDuringMigration);
        let me = self.me;
        let home = self.placement().of_template(about);
        let is_old_place = seeded!(self.config, KeyServedAtOldPlace) && {
            let placement = self.placement();
            placement.home_by_value(about.signature(), placement.key_of(about)) == me
        };
        has_come && (home == Home::One(me) || is_old_place || seeded!(self.config, AnsweredInOldEpoch))
    }

    /// Counts by class. The key of a queue, now and then, if all its templates have given one.
    fn note_usage(&mut self, request: &RequestView<'_>) -> Option<(Signature, u8)> {
        let template = match request {
            RequestView::Take(query) | RequestView::Read(query) => &query.template,
            // Who watches without the key is to have it at one manager.
            RequestView::More(more) => more.template()?,
            _ => return None,
        };
        let class = self.placement().class(template.signature());
        self.counts.count(class);
        if class != Class::Queue || self.managers.len() == 1 {
            return None;
        }
        let field = self.usages.note(template)?;
        Some((Signature(template.signature().into()), field))
    }

    /// Puts a frame to another manager behind those that wait for its link.
    fn tell(&mut self, manager: u8, frame: OwnedFrame, out: &mut dyn Outbox) {
        self.outgoing[usize::from(manager)].push_back(frame);
        self.flush(manager, out);
    }

    fn flush(&mut self, manager: u8, out: &mut dyn Outbox) {
        let to = self.managers[usize::from(manager)];
        let waiting = &mut self.outgoing[usize::from(manager)];
        while let Some(frame) = waiting.front() {
            let sent = if frame.bulk.is_empty() {
                out.send(to, frame.kind, frame.token, &frame.body)
            } else {
                out.send_bulk(to, frame.kind, frame.token, &frame.body, frame.bulk.clone())
            };
            // Who is not there so far comes up, or the space is over.
            if matches!(sent, Err(SendError::Full | SendError::Unreachable)) {
                return;
            }
            waiting.pop_front();
        }
    }

    fn peer_change(&mut self, now: Time, peer: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match (self.fellow(peer), change) {
            (Some(manager), PeerChange::Up { .. }) => {
                self.greet(manager, out);
                self.flush(manager, out);
            }
            (Some(manager), PeerChange::Down(cause)) => self.fellow_down(now, manager, *cause, out),
            (None, change) => {
                self.directory.iter_mut().for_each(|directory| directory.note(peer, change));
                if matches!(change, PeerChange::Down(_)) {
                    self.admitted.remove(peer);
                    self.forget_asked(peer);
                    self.fellows.forget(peer);
                }
                self.spaces.handle(now, Input::Peer(peer, change), out);
            }
        }
    }

    /// Checks that the parts agree: for tests and fuzzing.
    ///
    /// # Panics
    /// If they do not.
    pub(crate) fn verify(&self) {
        self.spaces.verify();
        assert!(self.batches.values().all(|batch| batch.left > 0), "a batch that has come is answered");
    }
}

/// Whether a frame of this kind is asked of a space.
fn is_asked(kind: Kind) -> bool {
    kind == NAMED || RequestView::is_request(kind)
}

/// Whether it is a collection from one space into another.
fn goes_into_another(frame: &Frame<'_>) -> bool {
    let (_, kind, body) = NamedFront::unwrap(frame.kind, frame.body);
    FurtherOperation::is_into(kind, body)
}

impl Manager {
    /// Does what an input asks for.
    fn attend(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => match self.fellow(from) {
                Some(manager) => self.fellow_frame(now, manager, frame, out),
                // The node's own callers say what concerns the node.
                None if from.node == self.managers[usize::from(self.me)].node => {
                    self.spaces.handle(now, input, out);
                }
                None => self.client_frame(now, from, frame, out),
            },
            Input::Writable(to) => match self.fellow(to) {
                Some(manager) => self.flush(manager, out),
                None => self.spaces.handle(now, input, out),
            },
            Input::Peer(peer, change) => self.peer_change(now, peer, change, out),
            Input::Started | Input::Wake => self.spaces.handle(now, input, out),
        }
        self.send_leaving(now, out);
        self.tell_load(now, out);
    }
}

impl Protocol for Manager {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if self.stands_still_for(&input) {
            return self.hold(&input);
        }
        self.attend(now, input, out);
        self.go_on(now, out);
    }

    /// Time stands still as well while this manager does.
    fn deadline(&self) -> Option<Time> {
        let due = [self.spaces.deadline(), self.loads.deadline()].into_iter().flatten().min();
        due.filter(|_| !self.commits.stands_still())
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.spaces.measure(meter);
        self.counts.tell(meter);
    }
}
