//! Messages from track to track: where each is sent, in the device that carries it if that has a track, and where it is received, with
//! its length.

use super::{ModuleLine, Perfetto, ns};
use quintet_contract::NodeId;
use quintet_perfetto::{Detail, Flow};
use quintet_simulate::{MessageType, MessageUnderWay, Passed, Picos, Settled};
use std::collections::BTreeMap;

/// Messages under way, and what became of others since the last look.
pub(super) struct Flows<'a> {
    /// The names of messages, by their numbers.
    names: &'a [String],
    under_way: BTreeMap<u64, MessageUnderWay>,
    pub(super) settled: Vec<Settled>,
    /// Taken by links since the last look.
    pub(super) passed: Vec<Passed>,
    /// What links will deliver, by when, by its number among theirs, and whether it is the copy.
    arriving: BTreeMap<(Picos, u64, bool), Passed>,
    /// How many messages links have taken.
    count: u64,
}

/// Numbers of messages of links begin here: those of devices are counted by themselves.
const OF_LINKS: u64 = 1 << 63;

/// A message between two modules, seen from one of them.
struct Told {
    flow: Flow,
    bytes: u64,
    message: Option<MessageType>,
    /// Its number, where it has one that is shown elsewhere too.
    number: Option<u64>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(names: &'a [String]) -> Flows<'a> {
        let (under_way, arriving) = (BTreeMap::new(), BTreeMap::new());
        Flows { names, under_way, settled: Vec::new(), passed: Vec::new(), arriving, count: 0 }
    }

    /// A device has taken a message.
    pub(super) fn begin(
        &mut self,
        at: Picos,
        message: MessageUnderWay,
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        // What a module asks of a pool goes back to itself.
        if message.sender != message.receiver {
            self.sends(at, &message.into(), (message.sender, message.receiver), modules, trace);
        }
        self.under_way.insert(message.ticket, message);
    }

    /// Messages that have arrived are received, and those that links have taken are sent.
    pub(super) fn look(&mut self, at: Picos, modules: &[ModuleLine<'_>], trace: &mut Perfetto<'_>) {
        for Settled { ticket, delivered } in std::mem::take(&mut self.settled) {
            let message = self.under_way.remove(&ticket).filter(|_| delivered);
            if let Some(message) = message.filter(|message| message.sender != message.receiver) {
                self.receives(at, &message.into(), (message.sender, message.receiver), modules, trace);
            }
        }
        for passed in std::mem::take(&mut self.passed) {
            self.take(at, passed, modules, trace);
        }
        while let Some(next) = self.arriving.first_entry().filter(|next| next.key().0 <= at) {
            let ((at, number, _), passed) = next.remove_entry();
            let ends = (passed.sender, passed.receiver);
            self.receives(at, &Told::of(passed, number), ends, modules, trace);
        }
    }

    /// A link has taken a message. Between modules of one processor nothing is told: that is no way, and takes no time.
    fn take(&mut self, at: Picos, passed: Passed, modules: &[ModuleLine<'_>], trace: &mut Perfetto<'_>) {
        let ends = (passed.sender, passed.receiver);
        let Some((here, there)) = line(ends.0, modules).zip(line(ends.1, modules)) else { return };
        if here.track == there.track {
            return;
        }
        let number = self.count;
        self.count += 1;
        self.sends(at, &Told::of(passed, number), ends, modules, trace);
        let arrivals = [(passed.arrival, false), (passed.copy, true)];
        for (arrival, is_copy) in arrivals.into_iter().filter_map(|(at, is_copy)| Some((at?, is_copy))) {
            self.arriving.insert((arrival, number, is_copy), passed);
        }
    }

    fn sends(
        &self,
        at: Picos,
        told: &Told,
        (sender, receiver): (NodeId, NodeId),
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        self.tell(at, "sends", ("to", sender, receiver), told, modules, trace);
    }

    fn receives(
        &self,
        at: Picos,
        told: &Told,
        (sender, receiver): (NodeId, NodeId),
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        self.tell(at, "receives", ("from", receiver, sender), told, modules, trace);
    }

    fn tell(
        &self,
        at: Picos,
        what: &str,
        (relation, here, there): (&str, NodeId, NodeId),
        told: &Told,
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        let Some((here, there)) = line(here, modules).zip(line(there, modules)) else { return };
        let name = told.message.and_then(|number| self.names.get(number.0 as usize));
        let mut details = vec![
            ("module", Detail::Text(here.name)),
            (relation, Detail::Text(there.name)),
            ("bytes", Detail::Number(told.bytes)),
        ];
        details.extend(told.number.map(|number| ("number", Detail::Number(number))));
        let text = format!("{what} {}", name.map_or("a reply", String::as_str));
        trace.instant_with(ns(at), here.track, &text, &details, &[told.flow]);
    }
}

/// The line of a module's node.
fn line<'m, 'a>(node: NodeId, modules: &'m [ModuleLine<'a>]) -> Option<&'m ModuleLine<'a>> {
    modules.get(usize::from(node.0).wrapping_sub(1))
}

impl From<MessageUnderWay> for Told {
    fn from(message: MessageUnderWay) -> Told {
        let MessageUnderWay { ticket, bytes, message, .. } = message;
        Told { flow: Flow(ticket), bytes, message, number: Some(ticket) }
    }
}

impl Told {
    /// The message of a link.
    fn of(Passed { bytes, message, .. }: Passed, number: u64) -> Told {
        Told { flow: Flow(OF_LINKS | number), bytes, message, number: None }
    }
}
