//! Runs of which a trace is written while nodes end and later processes of theirs come back: the programs of members send isochrons to all, which write all variables.

use super::found::Found;
use super::net::{Net, Setting, callers_of, node_at};
use super::view_trace::ViewTrace;
use quintet_contract::{Address, Bytes, Frame, Input, Kind, NodeId, OwnedFrame, Random, Token};
use quintet_isotach::codec::{
    AGREED, BEGUN, DELIVERED, Delivered, ENDED, NextMembers, PROGRAM_STATE, ProgramState, REFUSED, Refusal,
    SUBMIT, TAKE_STATE,
};
use quintet_isotach::{Defect, Isonet, Operation, Shape, Topology, Variable, View};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Isochrons of a run.
const ISOCHRONS: u32 = 16;
/// Steps after which a run that should have ended does not.
const MAX_STEPS: usize = 20_000;

/// What a program knows.
#[derive(Default)]
struct Program {
    /// The view that it was told of last: none before it has joined one.
    view: Option<View>,
    views: BTreeMap<View, Vec<NodeId>>,
    /// What was delivered, also to those who gave the state that it began with.
    ran: Vec<u32>,
    /// States that it is to give.
    to_give: Vec<(View, Vec<u32>)>,
    ended: Option<Refusal>,
}

/// Isochrons as the state of a program, and as the message and the value of one.
pub(super) fn bytes_of(isochrons: &[u32]) -> Vec<u8> {
    isochrons.iter().flat_map(|isochron| isochron.to_le_bytes()).collect()
}

pub(super) fn isochrons_of(bytes: &[u8]) -> Vec<u32> {
    let (isochrons, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "programs write isochrons alone");
    isochrons.iter().copied().map(u32::from_le_bytes).collect()
}

impl Program {
    fn hear(&mut self, frame: Frame<'_>) {
        const TOLD: &str = "what nodes tell their programs can be read";
        let view = || View(u32::from_le_bytes(frame.body.try_into().expect(TOLD)));
        match frame.kind {
            AGREED => {
                let next = NextMembers::decode_all(frame.body).expect(TOLD).next;
                let topology = Topology::parse(next.topology).expect(TOLD);
                self.views.insert(next.view, topology.nodes().collect());
            }
            BEGUN => self.view = Some(view()),
            DELIVERED => self.ran.extend(isochrons_of(Delivered::decode_all(frame.body).expect(TOLD).bytes)),
            TAKE_STATE => self.to_give.push((view(), self.ran.clone())),
            PROGRAM_STATE => self.ran = isochrons_of(ProgramState::decode_all(frame.body).expect(TOLD).bytes),
            ENDED => self.ended = Some(Refusal::decode_all(frame.body).expect(TOLD)),
            REFUSED => {
                let refusal = Refusal::decode_all(frame.body).expect(TOLD);
                assert!(!matches!(refusal, Refusal::Misuse(_) | Refusal::Busy), "{refusal}");
            }
            _ => {}
        }
    }

    /// Its isochron: a message to each node that it knows of, and a value of each variable that has a copy among them.
    fn put_together(&self, number: u32, isonet: &Isonet) -> Vec<u8> {
        let view = self.view.expect("who has joined no view puts nothing together");
        let nodes = &self.views[&view];
        let bytes = || Bytes::from(bytes_of(&[number]));
        let mut operations: Vec<Operation> =
            nodes.iter().map(|to| Operation::Send { to: *to, handler: 7, bytes: bytes() }).collect();
        let has_copy = |shape: &Shape| nodes.iter().any(|node| shape.copies.contains(node));
        let variables = isonet.variables().filter(|(_, shape)| has_copy(shape));
        operations.extend(variables.map(|(variable, _)| Operation::Write(variable, bytes())));
        let mut body = Vec::from(u16::try_from(operations.len()).expect("few").to_le_bytes());
        operations.iter().for_each(|operation| body.extend(encode_to_vec(operation)));
        body.extend(view.0.to_le_bytes());
        body
    }
}

struct Views {
    random: Random,
    net: Net,
    isonet: Arc<Isonet>,
    programs: BTreeMap<NodeId, Program>,
    put_together: u32,
    /// Who is not there, and who has not heard that.
    away: BTreeMap<NodeId, BTreeSet<Address>>,
    life: u64,
}

/// Three to five nodes, the first of which keeps the pulse. One variable has a copy at one node, another one at two.
fn isonet(random: &mut Random) -> Arc<Isonet> {
    let nodes: Vec<NodeId> = (1..=3 + u16::try_from(random.below(3)).expect("small")).map(NodeId).collect();
    let topology = Topology::lan(nodes[0], &nodes).expect("it has nodes");
    let mut any = || nodes[usize::try_from(random.below(nodes.len() as u64)).expect("few")];
    let mut shape = |copies: usize| Shape { bytes: 4, copies: (0..copies).map(|_| any()).collect() };
    let variables = [(Variable(0), shape(1)), (Variable(1), shape(2))].into();
    Arc::new(Isonet::new(topology, variables).expect("they can be shared"))
}

impl Views {
    fn new(seed: u64, defect: Option<Defect>) -> Views {
        let mut random = Random::new(seed, 2);
        let isonet = isonet(&mut random);
        let mut net = Net::new(&isonet, &mut random, defect, Setting::Members);
        net.is_never_full();
        net.record = Some(Box::new(ViewTrace::of(isonet.clone())));
        let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
        let first = || Program {
            view: Some(View(1)),
            views: [(View(1), nodes.clone())].into(),
            ..Program::default()
        };
        let programs = nodes.iter().map(|node| (*node, first())).collect();
        Views { random, net, isonet, programs, put_together: 0, away: BTreeMap::new(), life: 0 }
    }

    fn any<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.random.below(all.len() as u64)).expect("few")]
    }

    fn ask(&mut self, at: NodeId, kind: Kind, token: u32, body: &[u8]) {
        let input = Input::Frame(callers_of(at), Frame::new(kind, Token(token.into()), body));
        self.net.give(node_at(at), input, &mut self.random);
    }

    /// Takes steps, until nothing is to be done any more or so many are done.
    fn go(&mut self, steps: usize) -> Result<(), Found> {
        for _ in 0..steps {
            let gives = self.random.chance(100_000) && self.give_states();
            let has_stepped = gives || self.net.step(&mut self.random) || self.give_states();
            self.listen()?;
            if !has_stepped {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A program puts something together, if it may and not all has been.
    fn act(&mut self) {
        let is_able = |program: &Program| program.view.is_some() && program.ended.is_none();
        let able: Vec<NodeId> =
            self.programs.iter().filter(|(_, program)| is_able(program)).map(|(node, _)| *node).collect();
        if able.is_empty() || self.put_together == ISOCHRONS {
            return;
        }
        self.put_together += 1;
        let by = self.any(&able);
        let body = self.programs[&by].put_together(self.put_together, &self.isonet);
        self.ask(by, SUBMIT, self.put_together, &body);
    }

    fn give_states(&mut self) -> bool {
        let asked: Vec<_> = self
            .programs
            .iter_mut()
            .flat_map(|(node, program)| program.to_give.drain(..).map(|one| (*node, one)).collect::<Vec<_>>())
            .collect();
        for (node, (view, isochrons)) in &asked {
            let state = ProgramState { view: *view, is_complete: true, bytes: &bytes_of(isochrons) };
            self.ask(*node, PROGRAM_STATE, 0, &encode_to_vec(&state));
        }
        !asked.is_empty()
    }

    /// Programs hear what their nodes told them. Who is to be started anew ends.
    fn listen(&mut self) -> Result<(), Found> {
        if let Some((by, whom)) = self.net.cut_off.first() {
            return Err(Found::Other(format!("{by:?} cut {whom:?} off")));
        }
        for (node, frames) in &mut self.net.told {
            let Some(program) = self.programs.get_mut(node) else { continue };
            frames.drain(..).for_each(|frame: OwnedFrame| program.hear(frame.borrow()));
        }
        let ended = self.programs.iter().find_map(|(node, program)| Some((*node, program.ended.clone()?)));
        match ended {
            Some((node, Refusal::LeftBehind(_))) => {
                self.end(node);
                Ok(())
            }
            Some((node, why)) => Err(Found::Other(format!("node {} has ended: {why}", node.0))),
            None => Ok(()),
        }
    }

    fn end(&mut self, node: NodeId) {
        self.net.crash(node);
        self.programs.remove(&node);
        self.away.values_mut().for_each(|unaware| _ = unaware.remove(&node_at(node)));
        self.away.insert(node, self.net.everybody().into_iter().collect());
        self.net.is_ending = true;
    }

    /// Somebody hears that a node is gone: nothing that it has sent arrives there any more.
    fn tell_one(&mut self, gone: NodeId) {
        let unaware: Vec<Address> = self.away[&gone].iter().copied().collect();
        if !unaware.is_empty() {
            let at = self.any(&unaware);
            self.tell(at, gone);
        }
    }

    fn tell(&mut self, at: Address, gone: NodeId) {
        self.away.get_mut(&gone).into_iter().for_each(|unaware| _ = unaware.remove(&at));
        self.net.lose_between(node_at(gone), at);
        self.net.tell_down(at, node_at(gone), &mut self.random);
        self.net.is_ending = self.away.values().any(|unaware| !unaware.is_empty());
    }

    fn tell_all(&mut self, gone: NodeId) {
        let unaware = self.away.get(&gone).cloned().unwrap_or_default();
        unaware.into_iter().for_each(|at| self.tell(at, gone));
    }

    /// A later process of a node begins, and is linked with all.
    fn come_back(&mut self, node: NodeId) {
        self.tell_all(node);
        self.away.remove(&node);
        self.life += 1;
        let others = self.net.everybody();
        self.net.join(node, self.life, &self.isonet);
        self.programs.insert(node, Program::default());
        for other in others {
            self.net.tell_up(other, node_at(node), &mut self.random);
            self.net.tell_up(node_at(node), other, &mut self.random);
        }
    }

    /// Whether more than half of all nodes are in views without a node: so a quorum of any view is there.
    fn may_end(&self, node: NodeId) -> bool {
        let is_in_view = |(other, program): &(&NodeId, &Program)| **other != node && program.view.is_some();
        2 * self.programs.iter().filter(is_in_view).count() > self.isonet.topology().node_count()
    }

    /// Something befalls a node: it ends, is missed, or comes back.
    fn befall(&mut self) -> Result<(), Found> {
        let there: Vec<NodeId> = self.net.nodes.keys().copied().filter(|node| self.may_end(*node)).collect();
        let gone: Vec<NodeId> = self.away.keys().copied().collect();
        if self.random.chance(600_000) {
            self.act();
        }
        match self.random.below(4) {
            0 if !there.is_empty() => {
                let node = self.any(&there);
                self.end(node);
            }
            1 if !gone.is_empty() => {
                let node = self.any(&gone);
                self.come_back(node);
            }
            _ if !gone.is_empty() => {
                let node = self.any(&gone);
                self.tell_one(node);
            }
            _ => {}
        }
        let most = [5, 30, 100][usize::try_from(self.random.below(3)).expect("few")];
        let steps = usize::try_from(self.random.below(most)).expect("few");
        self.go(steps)
    }

    /// All hear of all, and go on until they are at rest.
    fn rest(&mut self) -> Result<(), Found> {
        let gone: Vec<NodeId> = self.away.keys().copied().collect();
        gone.into_iter().for_each(|node| self.tell_all(node));
        self.go(MAX_STEPS)?;
        let is_aware = self.away.values().all(BTreeSet::is_empty);
        if is_aware { Ok(()) } else { self.rest() }
    }

    /// All who are there have come to the same.
    fn check(&self) -> Result<(), Found> {
        let views: BTreeSet<View> = self.net.nodes.values().map(|node| node.view()).collect();
        let ran: BTreeSet<&[u32]> = self.programs.values().map(|program| &program.ran[..]).collect();
        if views.len() > 1 || ran.len() > 1 {
            return Err(Found::Other(format!("in the end {views:?}, and {ran:?}")));
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Found> {
        for _ in 0..16 + self.random.below(16) {
            self.befall()?;
        }
        self.rest()?;
        while self.put_together < ISOCHRONS {
            self.act();
        }
        self.rest()?;
        self.check()
    }
}

/// What is done in a run, line by line; and what came of it.
pub(crate) fn run_of_views(seed: u64, defect: Option<Defect>) -> (Vec<String>, Result<(), Found>) {
    let mut views = Views::new(seed, defect);
    let came = views.run();
    let lines = views.net.record.take().map(|record| record.lines()).unwrap_or_default();
    (lines, came)
}
