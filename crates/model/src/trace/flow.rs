//! Messages from track to track: where each is sent, in the device that carries it, and where it is received, with its length.

use super::{ModuleLine, Perfetto, ns};
use quintet_contract::NodeId;
use quintet_perfetto::{Detail, Flow};
use quintet_simulate::{MessageUnderWay, Picos, Settled};
use std::collections::BTreeMap;

/// Messages under way, and what became of others since the last look.
pub(super) struct Flows<'a> {
    /// The names of messages, by their numbers.
    names: &'a [String],
    under_way: BTreeMap<u64, MessageUnderWay>,
    pub(super) settled: Vec<Settled>,
}

impl<'a> Flows<'a> {
    pub(super) fn new(names: &'a [String]) -> Flows<'a> {
        Flows { names, under_way: BTreeMap::new(), settled: Vec::new() }
    }

    /// A message is sent.
    pub(super) fn begin(
        &mut self,
        at: Picos,
        message: MessageUnderWay,
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        self.tell(at, "sends", ("to", message.sender, message.receiver), &message, modules, trace);
        self.under_way.insert(message.ticket, message);
    }

    /// Those that arrived are received.
    pub(super) fn end(&mut self, at: Picos, modules: &[ModuleLine<'_>], trace: &mut Perfetto<'_>) {
        for Settled { ticket, delivered } in std::mem::take(&mut self.settled) {
            if let Some(message) = self.under_way.remove(&ticket).filter(|_| delivered) {
                let ends = ("from", message.receiver, message.sender);
                self.tell(at, "receives", ends, &message, modules, trace);
            }
        }
    }

    fn tell(
        &self,
        at: Picos,
        what: &str,
        (relation, here, there): (&str, NodeId, NodeId),
        message: &MessageUnderWay,
        modules: &[ModuleLine<'_>],
        trace: &mut Perfetto<'_>,
    ) {
        // What a module asks of a pool goes back to itself.
        if here == there {
            return;
        }
        let line = |node: NodeId| modules.get(usize::from(node.0).wrapping_sub(1));
        let Some((here, there)) = line(here).zip(line(there)) else { return };
        let name = message.message.and_then(|number| self.names.get(number.0 as usize));
        let details = [
            ("module", Detail::Text(here.name)),
            (relation, Detail::Text(there.name)),
            ("bytes", Detail::Number(message.bytes)),
            ("number", Detail::Number(message.ticket)),
        ];
        let text = format!("{what} {}", name.map_or("a reply", String::as_str));
        trace.instant_with(ns(at), here.track, &text, &details, &[Flow(message.ticket)]);
    }
}
