//! What clients ask.

use super::expiring::span_of;
use super::ledger::{Asked, Held, Ledger, Waits, What};
use super::templates::{NAMED, OF_NOBODY, ranged, stored, template};
use super::watching::Watch;
use super::{Placement, Spaces};
use crate::system::{Call, Chooser, Request};
use quintet_contract::{Effects, Frame, NodeId, OwnedFrame, Span, Token};
use quintet_linearizability::{Act, Partition, Pattern, Purpose};
use quintet_stack::{SPACE, kind_name};
use quintet_tuple_space::codec::CANCEL;
use quintet_tuple_space::{
    self as space, Answer, SpaceNumber, SpaceSettings, SpacesRequest, Template, Tuple, Wait,
};

/// Requests of a client under way at most: what waits for a server that is down can be answered in so many orders that looking for one takes long.
const AT_ONCE: usize = 2;
/// Keys of each signature.
const KEYS: u64 = 2;
/// Tuples of a page at most.
pub(super) const MOST_OF_A_PAGE: u64 = 3;
/// The number that the first named space gets.
const FIRST_NAMED: SpaceNumber = SpaceNumber(1);
/// Longer than any run.
const LEASE: Span = Span::from_secs(10_000);

/// What a client may ask, the simplest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Out,
    Take,
    Lease,
    End,
    Read,
    Hold,
    Witness,
    Replace,
    Select,
    Count,
    Cancel,
    Within,
    Collect,
    Watch,
    Choose,
}

const SORTS: [(u32, Sort); 15] = [
    (24, Sort::Out),
    (12, Sort::Take),
    (8, Sort::Lease),
    (14, Sort::End),
    (6, Sort::Read),
    (8, Sort::Hold),
    (5, Sort::Witness),
    (6, Sort::Replace),
    (5, Sort::Select),
    (4, Sort::Count),
    (8, Sort::Cancel),
    (5, Sort::Within),
    (5, Sort::Collect),
    (6, Sort::Watch),
    (3, Sort::Choose),
];

/// The keys that there are.
pub(super) fn keys() -> impl Iterator<Item = i64> {
    (0..KEYS).map(|key| i64::try_from(key).expect("a small number"))
}

/// In which space the tuples of this signature lie.
pub(super) fn space_of(signature: u8) -> SpaceNumber {
    if (NAMED..OF_NOBODY).contains(&signature) { FIRST_NAMED } else { SpaceNumber::UNNAMED }
}

/// The frame of a request.
pub(super) fn frame(request: &space::Request<'_>, token: Token, settled: Token) -> OwnedFrame {
    frame_in(SpaceNumber::UNNAMED, request, token, settled)
}

/// The same to a space that may have a name.
pub(super) fn frame_in(
    space: SpaceNumber,
    request: &space::Request<'_>,
    token: Token,
    settled: Token,
) -> OwnedFrame {
    let mut out = Effects::default();
    let planned = request.planned().expect("it is small").to_space(space);
    planned.send(&mut out, SPACE, token, settled).expect("an outbox without a limit");
    out.frames().pop().map(|(_, frame)| frame).expect("it was sent in the line before")
}

/// The frame that ends the wait of a request. Each call of a run has a token of its own, and this one has that of the request: it stands in front of the
/// body until it is where the call begins.
pub(super) fn cancel(token: Token, settled: Token) -> OwnedFrame {
    let frame = frame(&space::Request::Cancel, token, settled);
    let body = [&token.0.to_le_bytes()[..], &frame.body].concat().into();
    OwnedFrame { body, ..frame }
}

/// Which request's wait ends, and the rest of the frame's body.
pub(super) fn cancelled(body: &[u8]) -> Option<(Token, &[u8])> {
    let (token, rest) = body.split_first_chunk()?;
    Some((Token(u64::from_le_bytes(*token)), rest))
}

/// What is being drawn.
struct Asking<'a> {
    placement: Placement,
    seed: u64,
    node: NodeId,
    token: Token,
    ledger: &'a mut Ledger,
    draw: &'a mut Chooser,
}

impl Spaces {
    /// What a client asks next, if it has not enough under way.
    pub(super) fn ask(&self, call: Call, ledger: &mut Ledger, draw: &mut Chooser) -> Option<Request> {
        if !ledger.may_ask(call.node, AT_ONCE, self.comes_back()) {
            return None;
        }
        let sort = *draw.weighted(&SORTS);
        let Call { node, token, seed, .. } = call;
        let mut asking = Asking { placement: self.placement, seed, node, token, ledger, draw };
        let OwnedFrame { kind, body, .. } = asking.ask(sort);
        Some(Request { kind, body: body.to_vec() })
    }
}

impl Asking<'_> {
    fn ask(&mut self, sort: Sort) -> OwnedFrame {
        match sort {
            Sort::Out => self.out(),
            Sort::Take => self.query(Purpose::Take, None),
            Sort::Lease => self.query(Purpose::Lease, Some(Held::Lease)),
            Sort::Read => self.query(Purpose::Read, None),
            Sort::Hold => self.query(Purpose::Lease, Some(Held::ForGroup)),
            Sort::Witness => self.query(Purpose::Read, Some(Held::ForGroup)),
            Sort::End => self.end(),
            Sort::Replace => self.replace(),
            Sort::Select => {
                let (first, takes) = (self.pattern(), self.draw.chance(700_000));
                self.select(first, if takes { Purpose::Take } else { Purpose::Read })
            }
            Sort::Count if self.placement == Placement::Managers && self.token.0.is_multiple_of(2) => {
                self.query_named()
            }
            Sort::Count => self.count(),
            Sort::Cancel => self.give_up(),
            Sort::Within => self.within(),
            Sort::Collect if self.placement == Placement::Managers && self.token.0.is_multiple_of(2) => {
                self.move_all()
            }
            Sort::Collect => self.collect(),
            Sort::Watch if self.placement != Placement::Managers => self.watch(),
            Sort::Watch => self.watch_part(),
            Sort::Choose => {
                let first = self.pattern();
                self.select(first, Purpose::Lease)
            }
        }
    }

    /// Writes down what is asked.
    fn asked(
        &mut self,
        act: Act,
        waits: Waits,
        held: Option<Held>,
        request: &space::Request<'_>,
    ) -> OwnedFrame {
        self.asks(What::Act(act), waits, held, request)
    }

    fn asks(
        &mut self,
        what: What,
        waits: Waits,
        held: Option<Held>,
        request: &space::Request<'_>,
    ) -> OwnedFrame {
        let (node, token) = (self.node, self.token);
        let settled = self.ledger.asked(Asked { node, token, what, waits, held });
        frame(request, token, settled)
    }

    fn pattern(&mut self) -> Pattern {
        let (signature, key) = self.partition();
        // Where a key was left out, what is spread by it is gathered.
        let key = (!self.draw.chance(300_000)).then_some(key);
        let last = self.ledger.last_number();
        ranged(self.seed, self.token, last, Pattern { key, ..Pattern::of(signature) })
    }

    fn partition(&mut self) -> Partition {
        let signature = u8::from(self.draw.chance(200_000));
        (signature, i64::try_from(self.draw.below(KEYS)).expect("a small number"))
    }

    /// What is put: one or two tuples.
    fn puts(&mut self) -> Vec<(Partition, u32)> {
        let partition = self.partition();
        let mut puts = vec![(partition, self.ledger.number())];
        if self.draw.chance(200_000) {
            let number = self.ledger.number();
            let other = match self.placement {
                // Of the same partition, or of what is likely to be another manager's.
                Placement::Managers if number.is_multiple_of(2) => partition,
                Placement::Managers => (1 - partition.0, partition.1),
                _ => self.partition(),
            };
            puts.push((other, number));
        }
        puts
    }

    /// In how long those expire that are put.
    fn expiries(&mut self, puts: &[(Partition, u32)]) -> Vec<Option<Span>> {
        let spans: Vec<_> = puts.iter().map(|(_, number)| span_of(self.seed, *number)).collect();
        for ((_, number), span) in puts.iter().zip(&spans) {
            if let Some(span) = span {
                self.ledger.expiring.note(*number, *span);
            }
        }
        spans
    }

    fn wait(&mut self) -> (Wait, Waits) {
        if self.draw.chance(500_000) { (Wait::Forever, Waits::ForMatch) } else { (Wait::AtOnce, Waits::No) }
    }

    fn out(&mut self) -> OwnedFrame {
        let puts = self.puts();
        let (tuples, expiries) = (tuples(&puts), self.expiries(&puts));
        let request = space::Request::Out { deadline: None, tuples: &tuples, expiries: &expiries };
        self.asked(Act::Out(puts), Waits::No, None, &request)
    }

    fn query(&mut self, purpose: Purpose, held: Option<Held>) -> OwnedFrame {
        let (pattern, wait) = (self.pattern(), self.wait());
        self.query_for(pattern, wait, purpose, held)
    }

    fn query_for(
        &mut self,
        pattern: Pattern,
        (wait, waits): (Wait, Waits),
        purpose: Purpose,
        held: Option<Held>,
    ) -> OwnedFrame {
        let template = &template(pattern);
        let request = match (purpose, held) {
            (Purpose::Read, None) => space::Request::Read { wait, template },
            (Purpose::Read, Some(_)) => space::Request::Witness { wait, template },
            (_, Some(Held::ForGroup)) => space::Request::Hold { wait, lease: LEASE, limit: None, template },
            (_, held) => space::Request::Take { wait, lease: held.map(|_| LEASE), template },
        };
        self.asked(Act::Query { of: vec![pattern], purpose, found: None }, waits, held, &request)
    }

    /// Waits for a while, and no longer.
    fn within(&mut self) -> OwnedFrame {
        let (pattern, takes) = (self.pattern(), !self.draw.chance(300_000));
        let wait = Wait::For(Span::from_micros(1 + self.draw.below(20_000)));
        let purpose = if takes { Purpose::Take } else { Purpose::Read };
        self.query_for(pattern, (wait, Waits::ForAWhile), purpose, None)
    }

    fn select(&mut self, first: Pattern, purpose: Purpose) -> OwnedFrame {
        let second = Pattern { signature: 1 - first.signature, ..self.pattern() };
        let of = vec![first, second];
        let (wait, waits) = self.wait();
        let templates: Vec<Template> = of.iter().copied().map(template).collect();
        let (takes, held) = (purpose != Purpose::Read, (purpose == Purpose::Lease).then_some(Held::Lease));
        let request =
            space::Request::Select { takes, wait, lease: held.map(|_| LEASE), templates: &templates };
        self.asked(Act::Query { of, purpose, found: None }, waits, held, &request)
    }

    /// The first page of a collection.
    fn collect(&mut self) -> OwnedFrame {
        let (of, takes) = (self.pattern(), !self.draw.chance(400_000));
        let most = 1 + u32::try_from(self.draw.below(MOST_OF_A_PAGE)).expect("a few");
        let request = space::Request::Collect { takes, from: 0, below: None, most, template: &template(of) };
        let act = Act::Collect { of, takes, found: Vec::new(), is_all: false };
        self.asked(act, Waits::No, None, &request)
    }

    /// All that match go from one space into the other. It draws what a collection would draw.
    fn move_all(&mut self) -> OwnedFrame {
        let (here, leaves) = (self.pattern(), !self.draw.chance(400_000));
        self.draw.below(MOST_OF_A_PAGE);
        if !self.ledger.has_named {
            return self.create();
        }
        let named = Pattern { signature: here.signature + NAMED, ..here };
        let of = if leaves { [here, named] } else { [named, here] };
        let (into, template) = (space_of(of[1].signature), &template(here));
        let request = space::Request::CollectInto { takes: true, into, template };
        self.asked_in(space_of(of[0].signature), Act::Move { of, count: None }, &request)
    }

    /// Takes or reads what has gone into the named space. It draws what a count would draw.
    fn query_named(&mut self) -> OwnedFrame {
        let here = self.pattern();
        if !self.ledger.has_named {
            return self.create();
        }
        let (named, wait) = (Pattern { signature: here.signature + NAMED, ..here }, Wait::AtOnce);
        let (purpose, request) = match self.token.0.is_multiple_of(4) {
            true => (Purpose::Read, space::Request::Read { wait, template: &template(named) }),
            false => (Purpose::Take, space::Request::Take { wait, lease: None, template: &template(named) }),
        };
        self.asked_in(FIRST_NAMED, Act::Query { of: vec![named], purpose, found: None }, &request)
    }

    fn asked_in(&mut self, space: SpaceNumber, act: Act, request: &space::Request<'_>) -> OwnedFrame {
        let (node, token, what) = (self.node, self.token, What::Act(act));
        let settled = self.ledger.asked(Asked { node, token, what, waits: Waits::No, held: None });
        frame_in(space, request, token, settled)
    }

    /// Makes the named space, or finds that it is there.
    fn create(&mut self) -> OwnedFrame {
        let name = "named".parse().expect("a name");
        let create = SpacesRequest::Create(name, SpaceSettings::default());
        self.asks(What::Create, Waits::No, None, &space::Request::Spaces(&create))
    }

    /// Goes on behind what it was told last, before its crash perhaps.
    fn watch(&mut self) -> OwnedFrame {
        let watch = Watch {
            since: self.ledger.watching.mark(self.node, None),
            of: self.draw.chance(300_000).then(|| self.pattern()),
            is_apart: false,
        };
        let most = 1 + u32::try_from(self.draw.below(8)).expect("a few");
        let wait = self.wait();
        self.watch_for(watch, most, wait)
    }

    /// The same of several managers, none of which knows all that happens. It draws what a read would draw.
    fn watch_part(&mut self) -> OwnedFrame {
        // What has numbers of its own is watched whole.
        let Pattern { signature, key, .. } = self.pattern();
        let (of, wait) = (Some(Pattern { key, ..Pattern::of(signature) }), self.wait());
        let watch = Watch { since: self.ledger.watching.mark(self.node, of), of, is_apart: true };
        let most = 1 + u32::try_from(self.token.0 % 8).expect("a few");
        self.watch_for(watch, most, wait)
    }

    fn watch_for(&mut self, watch: Watch, most: u32, (wait, waits): (Wait, Waits)) -> OwnedFrame {
        let template = watch.of.map(template);
        let request = space::Request::Watch { since: watch.since, most, wait, template: template.as_ref() };
        self.asks(What::Watch(watch), waits, None, &request)
    }

    fn replace(&mut self) -> OwnedFrame {
        let (of, puts, (wait, waits)) = (self.pattern(), self.puts(), self.wait());
        let (tuples, expiries, template) = (tuples(&puts), self.expiries(&puts), &template(of));
        let request = space::Request::Replace { wait, template, tuples: &tuples, expiries: &expiries };
        self.asked(Act::Replace { of, found: None, puts }, waits, None, &request)
    }

    fn count(&mut self) -> OwnedFrame {
        let pattern = self.pattern();
        let request = space::Request::Count { template: &template(pattern) };
        self.asked(Act::Count(pattern, 0), Waits::No, None, &request)
    }

    /// Ends a lease, or a group, with a result or without; without any of them it puts something.
    fn end(&mut self) -> OwnedFrame {
        let succeeds = !self.draw.chance(300_000);
        if let Some((number, lease)) = self.ledger.take_lease(self.node) {
            if !succeeds {
                let request = space::Request::Release { lease };
                return self.asked(Act::Return(vec![number]), Waits::No, None, &request);
            }
            let puts = self.puts();
            let (tuples, expiries) = (tuples(&puts), self.expiries(&puts));
            let act = Act::Commit { leased: vec![number], witnessed: Vec::new(), puts, happened: true };
            let request = space::Request::Ack { lease, deadline: None, tuples: &tuples, expiries: &expiries };
            return self.asked(act, Waits::No, None, &request);
        }
        let Some(group) = self.ledger.take_group(self.node) else { return self.out() };
        let leases: Vec<_> = group.leased.iter().map(|(lease, _)| *lease).collect();
        let leased = group.leased.iter().map(|(_, number)| *number).collect();
        if group.was_refused || !succeeds {
            let request = space::Request::Abort { leases: &leases };
            return self.asked(Act::Return(leased), Waits::No, None, &request);
        }
        let witnesses: Vec<_> = group.witnessed.iter().map(|(witness, _)| *witness).collect();
        let witnessed = group.witnessed.iter().map(|(_, number)| *number).collect();
        let puts = self.puts();
        let (tuples, expiries) = (tuples(&puts), self.expiries(&puts));
        let request = space::Request::Commit {
            leases: &leases,
            witnesses: &witnesses,
            deadline: None,
            tuples: &tuples,
            expiries: &expiries,
        };
        let act = Act::Commit { leased, witnessed, puts, happened: true };
        let frame = self.asked(act, Waits::No, None, &request);
        self.ledger.keep_group(self.token, group);
        frame
    }

    /// Gives up one that waits, if any does.
    fn give_up(&mut self) -> OwnedFrame {
        let waiting = self.ledger.first_waiting(self.node);
        waiting.map_or_else(|| self.out(), |(token, settled)| cancel(token, settled))
    }
}

fn tuples(puts: &[(Partition, u32)]) -> Vec<Tuple> {
    puts.iter().copied().map(stored).collect()
}

/// A frame in words.
pub(super) fn in_words(frame: Frame<'_>) -> String {
    let Frame { kind, token, body, bulk, .. } = frame;
    match (kind, Answer::decode(kind, body, bulk)) {
        (CANCEL, _) => format!("gives up {}", cancelled(body).map_or(token.0, |(token, _)| token.0)),
        (_, Ok(answer)) => format!("token {}: {answer:?}", token.0),
        _ => format!("{}, token {}, {} bytes", kind_name(kind), token.0, body.len()),
    }
}
