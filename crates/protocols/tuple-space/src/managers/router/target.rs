//! Whom a request is asked of.

use super::Router;
use super::merge::{Merge, Sum};
use super::parts::Several;
use crate::Signature;
use crate::codec::{
    ACK, COMMIT, CollectInto, FURTHER, Further, FurtherOperation, LeaseId, NamedFront, OUT, Put, ROUTE,
    RequestView, Route, SpaceNumber, State, TAKE, Uses, View, Witness, encode_uses,
};
use crate::managers::{Home, Placement};
use quintet_contract::{Frame, Kind, OwnedFrame};
use quintet_errors::Code;
use quintet_wire::{Sink, encode_to_vec};

/// Whom a request is asked of, and how.
pub(super) enum Target {
    /// This manager, perhaps with another body.
    One(u8, Option<Vec<u8>>),
    /// All of them, in frames of this kind, each perhaps with another body.
    All(Merge, Kind, Vec<Option<Vec<u8>>>),
    /// Several of them, each of a part of it, which happen at one instant.
    Several(Several),
    /// A template does not give the key of its signature, which is to be gathered before.
    Gather(Signature),
    /// Nobody can do it at one instant.
    Refused(Code, String),
}

/// The byte of a place, or of the place in a cursor, in which a router writes which manager it is of.
const MANAGER_BYTE: usize = 7;
/// Where the place of a witness lies in an answer: behind its age and a zero.
const WITNESS_PLACE: usize = 8 + 4;
/// Where the place of a cursor lies in a request, and in an answer.
const CURSOR_IN_REQUEST: usize = 8 + 1 + 1;
const CURSOR_IN_PAGE: usize = 1;
/// The part of a cursor behind the last page.
const NO_PART: u8 = 255;

/// Whether this request puts, in whichever space: what is asked of other managers after it is not to be done before it.
pub(super) fn puts(request: &OwnedFrame) -> bool {
    use FurtherOperation::{CollectInto, CopyCollectInto, Replace};
    let (_, kind, body) = NamedFront::unwrap(request.kind, &request.body);
    match kind {
        OUT | ACK | COMMIT => true,
        FURTHER => {
            let operation = FurtherOperation::of_body(body);
            matches!(operation, Some(Replace | CollectInto | CopyCollectInto))
        }
        _ => false,
    }
}

/// Whether a request is of the space that all managers have, and not of a named one, which is at the first.
pub(super) fn is_of_all(request: &OwnedFrame) -> bool {
    NamedFront::unwrap(request.kind, &request.body).0 == SpaceNumber::UNNAMED
}

/// Whether a take is a plain one, or a page that is taken, which may be undone by its token.
pub(super) fn is_plain(take: &OwnedFrame) -> bool {
    let (_, kind, body) = NamedFront::unwrap(take.kind, &take.body);
    let further = FurtherOperation::of_body(body).filter(|_| kind == FURTHER);
    if further == Some(FurtherOperation::Collect) {
        return true;
    }
    let lease = match (kind, further) {
        (TAKE, _) => body.get(17..25),
        // A byte in front says which operation it is.
        (_, Some(FurtherOperation::SelectTake)) => body.get(18..26),
        _ => None,
    };
    lease.is_some_and(|lease| lease == [0; 8])
}

/// The answer to a group's read with the manager's number in its place; none for the answer to any other read.
pub(super) fn name_witness(frame: &Frame<'_>, manager: u8) -> Option<Vec<u8>> {
    let is_witness = frame.body.get(..8).is_some_and(|age| age != [0; 8]);
    is_witness.then(|| with_byte(frame.body, WITNESS_PLACE + MANAGER_BYTE, manager))
}

/// A page whose next one begins at the manager that gave it, or at the next one.
pub(super) fn name_cursor(frame: &Frame<'_>, manager: u8, managers: usize) -> Option<Vec<u8>> {
    if frame.body.first() != Some(&NO_PART) {
        return Some(with_byte(frame.body, CURSOR_IN_PAGE + MANAGER_BYTE, manager));
    }
    let next = usize::from(manager) + 1;
    (next < managers).then(|| {
        let mut body = with_byte(frame.body, CURSOR_IN_PAGE + MANAGER_BYTE, manager + 1);
        body[0] = 0;
        body
    })
}

fn with_byte(body: &[u8], at: usize, byte: u8) -> Vec<u8> {
    let mut body = body.to_vec();
    body.get_mut(at).into_iter().for_each(|place| *place = byte);
    body
}

impl Router {
    /// Whom to ask. What cannot be read goes to the first manager, which says so, as does what is asked of a named space.
    pub(super) fn target(&self, frame: &OwnedFrame) -> Target {
        let (space, kind, body) = NamedFront::unwrap(frame.kind, &frame.body);
        if space != SpaceNumber::UNNAMED && !FurtherOperation::is_into(kind, body) {
            return Target::One(0, None);
        }
        let inner = Frame { kind, body, ..frame.borrow() };
        let (Ok((_, request)), Some(placement)) = (RequestView::decode(&inner), &self.placement) else {
            return Target::One(0, None);
        };
        match &request {
            RequestView::Further(Further::CollectInto(asked)) => collect_into(placement, space, asked),
            RequestView::Out(put) => self.put(placement, put),
            RequestView::Take(query) | RequestView::Read(query) => of_template(placement, &query.template),
            RequestView::Further(Further::Replace(replace)) => self.replacement(placement, replace),
            RequestView::Further(Further::Select(select)) => self.select(placement, select),
            RequestView::Further(Further::Collect(asked)) => of_template(placement, &asked.template),
            RequestView::Count(template) => self.count(placement, frame, template),
            RequestView::Ack(lease, put) => self.acknowledge(placement, *lease, put),
            RequestView::Release(lease) => Target::One(self.of_lease(*lease), None),
            RequestView::Commit(uses, put) if uses.is_commit => self.commit(placement, frame, uses, put),
            RequestView::Commit(uses, _) => self.abort(frame, uses),
            RequestView::Status => {
                let bodies = self.numbers().map(|_| None).collect();
                let moved_keys = placement.moved_keys().count() as u64;
                let sum = Sum::State(Box::new(State { moved_keys, ..State::default() }));
                Target::All(Merge::new(self.numbers(), sum), frame.kind, bodies)
            }
            RequestView::List(_) => self.list(frame),
            // One of several says that it cannot be watched as a whole.
            RequestView::More(more) => {
                more.template().map_or(Target::One(0, None), |template| of_template(placement, template))
            }
            RequestView::Grant(_) | RequestView::Cancel | RequestView::Return | RequestView::Renew => {
                Target::One(0, None)
            }
        }
    }

    /// A manager gives leases numbers of its own remainder.
    pub(super) fn of_lease(&self, lease: LeaseId) -> u8 {
        u8::try_from(lease.0 % self.managers.len() as u64).expect("there are fewer managers")
    }

    fn count(&self, placement: &Placement, frame: &OwnedFrame, template: &View<'_>) -> Target {
        if let Home::One(manager) = placement.of_template(template) {
            return Target::One(manager, None);
        }
        let mut body = encode_to_vec(&Route::Count(placement.epoch));
        body.extend_from_slice(&frame.body[size_of::<u64>()..]);
        let bodies = self.numbers().map(|_| Some(body.clone())).collect();
        Target::All(Merge::new(self.numbers(), Sum::Count(0)), ROUTE, bodies)
    }

    fn put(&self, placement: &Placement, put: &Put<'_>) -> Target {
        match home(placement, put) {
            Some(manager) => Target::One(manager, None),
            None => self.of_several(placement, (&[], &[]), put),
        }
    }

    /// Results that belong to one manager, whichever, come there from the lease's.
    fn acknowledge(&self, placement: &Placement, lease: LeaseId, put: &Put<'_>) -> Target {
        match home(placement, put) {
            Some(_) => Target::One(self.of_lease(lease), None),
            None => self.of_several(placement, (&[lease], &[]), put),
        }
    }

    fn commit(&self, placement: &Placement, frame: &OwnedFrame, uses: &Uses<'_>, put: &Put<'_>) -> Target {
        let leases = uses.leases().map(|lease| self.of_lease(lease));
        let witnesses = uses.witnesses().map(|witness| of_witness(&witness));
        let puts = put.tuples.views().map(|tuple| placement.of_tuple(&tuple));
        let mut managers = leases.chain(witnesses).chain(puts);
        let first = managers.next().unwrap_or(0);
        let is_one = managers.all(|manager| manager == first);
        if uses.witnesses().any(|witness| usize::from(of_witness(&witness)) >= self.managers.len()) {
            let text = "the group has read a tuple of a manager that there is not";
            return Target::Refused(Code::Malformed, text.to_owned());
        }
        if !is_one {
            let (leases, witnesses): (Vec<_>, Vec<_>) = (uses.leases().collect(), uses.witnesses().collect());
            return self.of_several(placement, (&leases, &witnesses), put);
        }
        // Only a router knows what is written in the place.
        let mut body = frame.body.to_vec();
        let mut at = 8 + 1 + 4 + uses.leases().count() * 8 + 4;
        for _ in uses.witnesses() {
            body[at + 8 + MANAGER_BYTE] = 0;
            at += 16;
        }
        Target::One(first, Some(body))
    }

    /// Each manager returns what it gave.
    fn abort(&self, frame: &OwnedFrame, uses: &Uses<'_>) -> Target {
        let bodies = self.numbers().map(|manager| {
            let own: Vec<LeaseId> = uses.leases().filter(|lease| self.of_lease(*lease) == manager).collect();
            let mut body = frame.body[..8].to_vec();
            encode_uses(false, &own, &[], &mut body);
            body.u64(u64::MAX);
            body.u32(0);
            Some(body)
        });
        Target::All(Merge::new(self.numbers(), Sum::Done), frame.kind, bodies.collect())
    }

    fn list(&self, frame: &OwnedFrame) -> Target {
        let at = CURSOR_IN_REQUEST + MANAGER_BYTE;
        let manager = frame.body.get(at).copied().unwrap_or(0);
        if usize::from(manager) >= self.managers.len() {
            let text = format!("a page of manager {manager}, of {}", self.managers.len());
            return Target::Refused(Code::Malformed, text);
        }
        Target::One(manager, Some(with_byte(&frame.body, at, 0)))
    }
}

/// The manager of what matches a template; what lies at several is gathered first.
pub(super) fn of_template(placement: &Placement, template: &View<'_>) -> Target {
    match placement.of_template(template) {
        Home::One(manager) => Target::One(manager, None),
        Home::Any => Target::Gather(Signature(template.signature().into())),
    }
}

/// Whom to ask to collect from one space into another: the first manager, which has the named ones, and asks others. What is collected at one instant is
/// gathered before.
fn collect_into(placement: &Placement, source: SpaceNumber, asked: &CollectInto<'_>) -> Target {
    match (source, placement.of_template(&asked.template)) {
        (SpaceNumber::UNNAMED, Home::Any) => of_template(placement, &asked.template),
        _ => Target::One(0, None),
    }
}

/// The manager of these tuples, if they are one's: the first one, if there are none.
fn home(placement: &Placement, put: &Put<'_>) -> Option<u8> {
    let mut homes = put.tuples.views().map(|tuple| placement.of_tuple(&tuple));
    let first = homes.next().unwrap_or(0);
    homes.all(|home| home == first).then_some(first)
}

/// The manager of what was read.
pub(super) fn of_witness(witness: &Witness) -> u8 {
    witness.place.to_le_bytes()[MANAGER_BYTE]
}

/// What was read as its manager knows it: only a router knows what is written in the place.
pub(super) fn without_manager(witness: &Witness) -> Witness {
    let mut place = witness.place.to_le_bytes();
    place[MANAGER_BYTE] = 0;
    Witness { place: u64::from_le_bytes(place), ..*witness }
}
