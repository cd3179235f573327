//! A member that breaks the protocol: the others are told who it was, and go on in one order.

use super::links::{Links, Places};
use super::meeting::{Meeting, describe};
use super::{PresentView, shared};
use crate::stack::{IsotachConfig, StackConfig, isotach_member, node};
use crate::{Cause, Error, Isonet, IsonetCause, Lab, LinkConfig, LossCause, Lost, PendingIsochron};
use quintet_contract::{Address, Frame, Input, Kind, NodeId, Outbox, Protocol, Span, Time, Token};
use quintet_isotach::codec::{AGREE, COMPLETED, MARKERS, PART, PLAIN};
use quintet_isotach::{Delivery, Member, Run, View, check};
use quintet_runtime::{Instance, NodeHandle};
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH, PORT_SESSION};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(20);
const MEMBERS: u16 = 3;
const FORGER: u16 = 2;
/// Isochrons that each of the others begins at a time.
const SOME: u8 = 10;
/// Of the first view, and nothing that can be read behind that.
const GARBAGE: [u8; 8] = [1, 0, 0, 0, 255, 255, 255, 255];

/// A member that has no part of any isochron, and sends frames of this kind that nobody can read once a plain message comes. After that it says nothing.
struct Forger {
    member: Member,
    kind: Kind,
    /// Who has not been sent one, once it forges.
    left: Option<Vec<u16>>,
    now: Time,
}

impl Forger {
    fn forge(&mut self, out: &mut dyn Outbox) {
        let Some(left) = &mut self.left else { return };
        left.retain(|member| {
            let to = Address { node: NodeId(*member), port: PORT_ISOTACH };
            out.send(to, self.kind, Token(9), &GARBAGE).is_err()
        });
    }
}

impl Protocol for Forger {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.now = now;
        match input {
            Input::Frame(_, Frame { kind: PART, .. }) => {}
            Input::Frame(_, Frame { kind: PLAIN, .. }) => self.left = Some((0..FORGER).collect()),
            _ if self.left.is_some() => {}
            _ => self.member.handle(now, input, out),
        }
        self.forge(out);
    }

    fn deadline(&self) -> Option<Time> {
        match &self.left {
            Some(left) => (!left.is_empty()).then_some(self.now + Span::from_millis(1)),
            None => self.member.deadline(),
        }
    }
}

/// A program that hears nothing.
struct Deaf;

impl Protocol for Deaf {
    fn handle(&mut self, _now: Time, _input: Input<'_>, _out: &mut dyn Outbox) {}

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Joins as the last member.
fn forger(lab: &Lab, kind: Kind) -> Result<(NodeHandle, JoinHandle<()>), Error> {
    let until = Instant::now() + LIMIT;
    let (me, isonet) = (NodeId(FORGER), shared(MEMBERS, &BTreeMap::new(), Delivery::Safe)?);
    let places = Places::listen(None)?;
    let meeting = Meeting { lab, name: "forged", me: FORGER, members: MEMBERS, until };
    let met = meeting.hold(&describe(&isonet), &places)?;
    let links = Links { met, link: LinkConfig::default(), recorder: None, until };
    let isotach = IsotachConfig { me, view: View(1), isonet, joins: None, keeps_witness: false };
    let config = StackConfig { isotach: Some(isotach), ..links.config() };
    let placed = isotach_member(&config).map(|member| Forger { member, kind, left: None, now: Time::ZERO });
    let Places { listener, folder, .. } = places;
    let mut host = links.node(me, listener)?;
    links.dial(&mut host, me, false);
    host.add(PORT_CALLERS, Instance::new(Deaf));
    host.add(PORT_SESSION, Instance::new(node(me, &config, vec![placed])));
    let handle = host.handle();
    let run = move || {
        let _folder = folder;
        host.run().expect("it is stopped");
    };
    Ok((handle, thread::spawn(run)))
}

/// The two others, and what they are told of views.
fn others(lab: &Lab) -> Vec<(Isonet, Receiver<PresentView>)> {
    let join = |me| {
        let (tell, told) = channel();
        let builder = lab.isochrons("forged").member(me, MEMBERS).handler(1, |_| {}).keep_witness();
        let joined = builder.on_view(move |view| drop(tell.send(view.clone()))).join();
        (joined.expect("all are there"), told)
    };
    thread::scope(|scope| {
        let joining: Vec<_> = (0..FORGER).map(|me| scope.spawn(move || join(me))).collect();
        joining.into_iter().map(|joining| joining.join().expect("it has joined")).collect()
    })
}

/// Isochrons to both of the others.
fn begin_some(isonet: &Isonet) -> Vec<PendingIsochron> {
    let begin = |number: u8| {
        let mut isochron = isonet.isochron().expect("it is a member");
        (0..FORGER).for_each(|to| isochron.send(to, 1, vec![number]).expect("it is a member"));
        isochron.begin().expect("it is a member")
    };
    (0..SOME).map(begin).collect()
}

/// What the two others see of it, what one of them is told of an isochron that only the forger would execute, and what both have executed before, meanwhile and behind it.
fn seen_of(kind: Kind) -> ([PresentView; 2], Error, Run) {
    let lab = Lab::embedded();
    let (forger, others) = thread::scope(|scope| {
        let joining = scope.spawn(|| forger(&lab, kind));
        let others = others(&lab);
        (joining.join().expect("it has joined"), others)
    });
    let (handle, thread) = forger.expect("all are there");
    let isonets = || others.iter().map(|(isonet, _)| isonet);
    let begin_all = || isonets().flat_map(begin_some).collect::<Vec<_>>();
    begin_all().into_iter().for_each(|pending| drop(pending.finish().expect("nothing is forged so far")));
    let mut isochron = others[1].0.isochron().expect("it is a member");
    isochron.send(FORGER, 1, "for it alone").expect("it is a member");
    let pending = isochron.begin().expect("it is a member");
    let meanwhile = begin_all();
    others[0].0.begin_plain(FORGER, 1, "now").map(drop).expect("it is a member");
    let views = [0, 1].map(|member| {
        let (isonet, told) = &others[member];
        told.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no view begins: {:?}", isonet.maker().end()))
    });
    let refused = pending.finish().expect_err("nobody has executed it");
    meanwhile.into_iter().for_each(|pending| drop(pending.finish()));
    begin_all().into_iter().for_each(|pending| drop(pending.finish().expect("the others go on")));
    thread::scope(|scope| {
        let closing: Vec<_> = isonets().map(|isonet| scope.spawn(|| isonet.close())).collect();
        closing.into_iter().for_each(|closing| closing.join().expect("no panic").expect("all end"));
    });
    handle.stop();
    thread.join().expect("no panic");
    let run = Run {
        said: isonets().map(|one| (NodeId(one.member()), one.take_witness())).collect(),
        views: others[0].0.views(),
        gone: BTreeSet::from([NodeId(FORGER)]),
        has_ended: true,
    };
    (views, refused, run)
}

#[test]
fn who_breaks_the_protocol_is_named_and_the_others_keep_one_order() {
    for kind in [PART, MARKERS, AGREE, COMPLETED] {
        let (views, refused, run) = seen_of(kind);
        for view in &views {
            let lost: Vec<u16> = view.lost.iter().map(|lost| lost.member).collect();
            assert_eq!((&view.members[..], &lost[..], &view.back[..]), (&[0, 1][..], &[FORGER][..], &[][..]));
        }
        // Who hears of it by the other one first knows no more than that it is missed.
        let broken = Lost { member: FORGER, cause: LossCause::Misbehaved };
        assert!(views.iter().any(|view| view.lost == [broken]), "{kind:?}: {views:?}");
        assert_eq!(refused.cause(), &Cause::Isonet(IsonetCause::ViewChanged), "{refused}");
        assert!(refused.text().contains("without member 2, which"), "{refused}");
        let executed = run.said.values().map(Vec::len).min().expect("both say what they did");
        assert!(executed >= 4 * usize::from(SOME), "{executed}: before and behind it, of both");
        assert_eq!(check(&run), Ok(()), "{kind:?}");
    }
}
