//! What nodes and token managers of a run did, step by step, as the specification of pulses names it: a line of JSON each (`specs/README.md`).

use super::line::list;
use super::record::{Record, There};
use quintet_contract::{Address, Frame, Input, NodeId};
use quintet_isotach::codec::{
    ANNOUNCE, MARKERS, Ordered, PART, Part, RECEIVED, TOKEN, read_announcements, read_markers, read_received,
    read_token,
};
use quintet_isotach::{Isonet, Operation, Place, Pulse, Rank, Witnessed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The steps of a run without faults, and without what is none of the order: plain messages, answers, values.
pub(crate) struct Trace {
    isonet: Arc<Isonet>,
    steps: Vec<Step>,
    /// Isochrons that a token manager has heard of. Others run at their nodes alone.
    announced: BTreeSet<(NodeId, Rank)>,
    /// How much each node has said that it did.
    said: BTreeMap<NodeId, usize>,
    pulses: BTreeMap<NodeId, Pulse>,
}

/// A line, and the isochron that its node submits by it.
struct Step {
    line: String,
    submits: Option<(NodeId, Rank)>,
}

impl Trace {
    pub(crate) fn of(isonet: Arc<Isonet>) -> Trace {
        let (announced, said, pulses) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Trace { isonet, steps: Vec::new(), announced, said, pulses }
    }

    fn takes_frame(&mut self, at: NodeId, from: NodeId, frame: Frame<'_>) {
        const SENT: &str = "what nodes send each other can be read";
        match frame.kind {
            PART => {
                let Part { rank, .. } = Part::of(frame).expect(SENT);
                self.step(format!(
                    "\"step\":\"part\",\"node\":{},\"sender\":{},\"rank\":{}",
                    at.0, from.0, rank.0
                ));
            }
            MARKERS => {
                for marker in read_markers(frame.body).expect(SENT).1 {
                    self.step(format!("\"step\":\"marker\",\"node\":{},\"stamp\":{}", at.0, stamp(&marker)));
                }
            }
            ANNOUNCE => {
                for one in read_announcements(frame.body).expect(SENT).1 {
                    self.announced.insert((from, one.rank));
                    let to = list(one.receivers.iter().map(|node| node.0));
                    let (node, rank) = (from.0, one.rank.0);
                    self.step(format!("\"step\":\"announced\",\"node\":{node},\"rank\":{rank},\"to\":{to}"));
                }
            }
            RECEIVED => {
                for (sender, rank) in read_received(frame.body).expect(SENT).1 {
                    let (node, sender, rank) = (from.0, sender.0, rank.0);
                    self.step(format!(
                        "\"step\":\"received\",\"node\":{node},\"sender\":{sender},\"rank\":{rank}"
                    ));
                }
            }
            TOKEN => {
                let token = read_token(frame.body).expect(SENT);
                assert!(token.is_complete, "runs are too small for tokens in pieces");
                let (number, stamps) =
                    (token.number, list(token.entries.iter().map(|(ordered, _)| stamp(ordered))));
                let (manager, from) = (at.0, from.0);
                self.step(format!(
                    "\"step\":\"token\",\"manager\":{manager},\"from\":{from},\"number\":{number},\"stamps\":{stamps}"
                ));
            }
            _ => {}
        }
    }

    /// A node has done what it says.
    fn did(&mut self, node: NodeId, witness: &[Witnessed]) {
        let from = self.said.insert(node, witness.len()).unwrap_or(0);
        for one in &witness[from..] {
            match one {
                Witnessed::Submitted { rank, operations, .. } => {
                    let to = list(self.receivers(node, operations).iter().map(|node| node.0));
                    self.step(format!(
                        "\"step\":\"submit\",\"node\":{},\"rank\":{},\"to\":{to}",
                        node.0, rank.0
                    ));
                    self.steps.last_mut().expect("one was added").submits = Some((node, *rank));
                }
                Witnessed::Executed { place: Place { stamp: at, behind: 0 }, sender, rank } => {
                    let ordered = Ordered { pulse: at.pulse, sender: *sender, rank: *rank };
                    self.step(format!(
                        "\"step\":\"execute\",\"node\":{},\"stamp\":{}",
                        node.0,
                        stamp(&ordered)
                    ));
                }
                Witnessed::Executed { .. }
                | Witnessed::Received { .. }
                | Witnessed::Lost { .. }
                | Witnessed::Completed { .. } => {}
            }
        }
    }

    /// A token manager is in this pulse.
    fn is_in(&mut self, manager: NodeId, pulse: Pulse) {
        let last = self.pulses.insert(manager, pulse).unwrap_or(Pulse(0));
        for ended in last.0 + 1..=pulse.0 {
            self.step(format!("\"step\":\"pulse\",\"manager\":{},\"pulse\":{ended}", manager.0));
        }
    }

    fn receivers(&self, sender: NodeId, operations: &[Operation]) -> BTreeSet<NodeId> {
        let of = |operation: &Operation| -> Vec<NodeId> {
            match operation {
                Operation::Send { to, .. } => vec![*to],
                Operation::Read(variable) => self.isonet.copy_for(sender, *variable).into_iter().collect(),
                Operation::Write(variable, _)
                | Operation::Sched(variable)
                | Operation::Assign(variable, _) => self
                    .isonet
                    .shape(*variable)
                    .into_iter()
                    .flat_map(|shape| &shape.copies)
                    .copied()
                    .collect(),
            }
        };
        operations.iter().flat_map(of).collect()
    }

    fn step(&mut self, fields: String) {
        self.steps.push(Step { line: format!("{{{fields}}}"), submits: None });
    }
}

impl Record for Trace {
    fn takes(&mut self, at: Address, input: &Input<'_>) {
        if let Input::Frame(from, frame) = input {
            self.takes_frame(at.node, from.node, *frame);
        }
    }

    fn took(&mut self, at: Address, there: &There<'_>) {
        there.manager.into_iter().for_each(|manager| self.is_in(at.node, manager.pulse()));
        there.node.into_iter().for_each(|node| self.did(at.node, node.witness()));
    }

    fn lines(&self) -> Vec<String> {
        let topology = self.isonet.topology();
        let switches = topology.switches().iter().map(|switch| {
            format!(
                "{{\"manager\":{},\"nodes\":{}}}",
                switch.manager.0,
                list(switch.nodes.iter().map(|node| node.0))
            )
        });
        let manager = |switch: usize| topology.switches()[switch].manager.0;
        let wires = (0..topology.switches().len()).flat_map(|one| {
            let beside = topology.neighbours(one).iter().filter(move |other| one < **other);
            beside.map(move |other| list([manager(one), manager(*other)]))
        });
        let first = format!("{{\"switches\":{},\"wires\":{}}}", list(switches), list(wires));
        let is_shared = |step: &&Step| step.submits.is_none_or(|isochron| self.announced.contains(&isochron));
        let steps = self.steps.iter().filter(is_shared).map(|step| step.line.clone());
        core::iter::once(first).chain(steps).collect()
    }
}

fn stamp(ordered: &Ordered) -> String {
    list([ordered.pulse.0, u64::from(ordered.sender.0), ordered.rank.0])
}
