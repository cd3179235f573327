//! One run: programs that submit at random, until all has completed, and what is checked of it.

use super::net::{Net, callers_of, node_at};
use super::plan;
use core::fmt;
use quintet_contract::{Address, Bytes, Frame, Input, NodeId, Random, Token};
use quintet_isotach::codec::{
    COMPLETED, Completed, DELIVERED, Delivered, HALTED, INSTALL, INSTALLED, Install, PLAIN, Plain, REFUSED,
    SENT, SUBMIT,
};
use quintet_isotach::{
    Composer, Defect, Delivery, Halt, Isonet, Operation, Place, Rank, Refusal, Run, Variable, View,
    Violation, Witnessed, check,
};
use quintet_wire::registry::PORT_TOKEN_MANAGER;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Isochrons of each program.
const EACH: u64 = 12;
/// Steps after which a run that should have ended does not.
const MAX_STEPS: usize = 400_000;

/// What is wrong with a run.
#[derive(Debug)]
pub(crate) enum Found {
    Violation(Violation),
    Halted(Halt),
    /// Something was said that is not so.
    Other(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Violation(violation) => violation.fmt(f),
            Found::Halted(halt) => halt.fmt(f),
            Found::Other(text) => f.write_str(text),
        }
    }
}

/// A program.
struct Program {
    composer: Composer,
    me: NodeId,
    left: u64,
    token: u64,
    /// Places that it has reserved.
    reserved: BTreeSet<Variable>,
    /// What it has submitted and not heard of, with what is reserved before and behind it.
    open: BTreeMap<Token, (Vec<Operation>, BTreeSet<Variable>)>,
    /// What was refused as its view ended is taken back: to what was before the first of it.
    has_taken_back: bool,
    plain: u64,
    last_delivered: Option<Place>,
}

struct World {
    random: Random,
    net: Net,
    programs: BTreeMap<NodeId, Program>,
    run: Run,
}

impl World {
    fn new(seed: u64, delivery: Delivery, defect: Option<Defect>) -> World {
        let mut random = Random::new(seed, 1);
        let isonet = plan::isonet(&mut random, delivery);
        let net = Net::new(&isonet, &mut random, defect);
        let program = |me| (me, Program::new(isonet.clone(), me));
        let programs = isonet.topology().nodes().map(program).collect();
        let run = Run { views: [(View(1), isonet.clone())].into(), ..Run::default() };
        World { random, net, programs, run }
    }

    /// Takes steps, and lets programs act, until there is nothing to do any more; or, with `steps`, after so many.
    fn go(&mut self, steps: Option<usize>) -> Result<(), Found> {
        for step in 0..MAX_STEPS {
            if steps == Some(step) {
                return Ok(());
            }
            let acts = self.random.chance(150_000);
            let has_stepped = !acts && self.net.step(&mut self.random);
            if !has_stepped && !self.act() && !acts && !self.net.step(&mut self.random) {
                return Ok(());
            }
            self.listen()?;
        }
        Err(Found::Other("it never comes to rest".to_owned()))
    }

    /// A program submits something. False if all are done.
    fn act(&mut self) -> bool {
        let able = self.programs.values().filter(|program| program.is_able() && self.net.is_told(program.me));
        let able: Vec<NodeId> = able.map(|program| program.me).collect();
        if able.is_empty() {
            return false;
        }
        let chosen = able[usize::try_from(self.random.below(able.len() as u64)).expect("few")];
        let isonet = self.run.views.values().last().expect("a view is there").clone();
        let program = self.programs.get_mut(&chosen).expect("it was found there");
        let (kind, token, body) = program.act(&isonet, &mut self.random);
        let frame = Frame::new(kind, token, &body);
        self.net.give(node_at(chosen), Input::Frame(callers_of(chosen), frame), &mut self.random);
        true
    }

    /// Programs hear what their nodes told them.
    fn listen(&mut self) -> Result<(), Found> {
        if let Some((by, whom)) = self.net.cut_off.first() {
            let halt = self.net.nodes.get(&by.node).and_then(|node| node.halt());
            let halt = halt.or_else(|| self.net.managers.get(&by.node).and_then(|manager| manager.halt()));
            return Err(halt.map_or(Found::Other(format!("{by:?} cut {whom:?} off")), Found::Halted));
        }
        for (node, frames) in &mut self.net.told {
            let Some(program) = self.programs.get_mut(node) else { continue };
            for frame in frames.drain(..) {
                program.hear(frame.borrow()).map_err(Found::Other)?;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Found> {
        for (node, machine) in &mut self.net.nodes {
            self.run.said.entry(*node).or_default().extend(machine.take_witness());
        }
        check(&self.run).map_err(Found::Violation)
    }

    /// Nothing is under way, everybody has been answered, and all switches are in one pulse.
    fn check_rest(&mut self) -> Result<(), Found> {
        self.run.has_ended = true;
        self.check()?;
        let pulses: BTreeSet<_> = self.net.managers.values().map(|manager| manager.pulse()).collect();
        let unanswered = self.programs.values().find(|program| !program.open.is_empty() || program.plain > 0);
        match unanswered {
            Some(program) => Err(Found::Other(format!(
                "node {} was not answered: {:?}, {} plain",
                program.me.0, program.open, program.plain
            ))),
            None if pulses.len() > 1 => Err(Found::Other(format!("at rest in the pulses {pulses:?}"))),
            None => Ok(()),
        }
    }

    /// Ends a node, lets the others come to rest, and begins a view without it, whose cut is the last that one of them has executed.
    fn crash(&mut self) -> Result<(), Found> {
        let nodes: Vec<NodeId> = self.net.nodes.keys().copied().collect();
        let gone = nodes[usize::try_from(self.random.below(nodes.len() as u64)).expect("few")];
        let mut last = self.net.nodes.get_mut(&gone).expect("it is there").take_witness();
        self.run.said.entry(gone).or_default().append(&mut last);
        self.net.crash(gone);
        let program = self.programs.remove(&gone).expect("each node has one");
        self.run.gone.insert(gone);
        drop(program);
        // What it sent arrives in part before the cut, and in part behind it.
        let held = self.net.hold_back(gone, &mut self.random);
        while self.net.step(&mut self.random) {
            self.listen()?;
        }
        self.net.tell_down(gone, &mut self.random);
        while self.net.step(&mut self.random) {
            self.listen()?;
        }
        for (node, machine) in &mut self.net.nodes {
            self.run.said.entry(*node).or_default().extend(machine.take_witness());
        }
        self.install(gone)?;
        self.net.let_go(held);
        Ok(())
    }

    /// The last isochron of a node that one of those who are left has executed in the first view.
    fn executed_of(&self, sender: NodeId) -> Rank {
        let said = self.run.said.iter().filter(|(node, _)| !self.run.gone.contains(*node));
        let ranks = said.flat_map(|(_, list)| list).filter_map(|witnessed| match witnessed {
            Witnessed::Executed { place, sender: of, rank }
                if *of == sender && place.stamp.view == View(1) =>
            {
                Some(*rank)
            }
            _ => None,
        });
        ranks.max().unwrap_or(Rank(0))
    }

    fn install(&mut self, gone: NodeId) -> Result<(), Found> {
        let old = self.run.views[&View(1)].clone();
        let topology = plan::without(old.topology(), gone);
        let variables = old.variables().filter_map(|(variable, shape)| {
            let mut shape = shape.clone();
            shape.copies.remove(&gone);
            (!shape.copies.is_empty()).then_some((variable, shape))
        });
        let isonet = Isonet::new(topology.clone(), variables.collect()).expect("they can be shared");
        let isonet = Arc::new(isonet);
        self.run.views.insert(View(2), isonet.clone());
        let places = self.net.nodes.values().map(|node| node.place().stamp);
        let cut = places.max().expect("somebody is left");
        let text = topology.to_text();
        let nodes = self.net.nodes.keys().map(|node| node_at(*node));
        let managers = self.net.managers.keys().map(|node| Address { node: *node, port: PORT_TOKEN_MANAGER });
        let mut all: Vec<Address> = nodes.chain(managers).collect();
        while !all.is_empty() {
            let at = all.remove(usize::try_from(self.random.below(all.len() as u64)).expect("few"));
            let executed = self.executed_of(at.node);
            let body = encode_to_vec(&Install { view: View(2), cut, executed, topology: &text });
            let frame = Frame::new(INSTALL, Token(u64::MAX), &body);
            self.net.give(at, Input::Frame(callers_of(at.node), frame), &mut self.random);
            // Some begin the view, and speak in it, before others.
            self.listen()?;
            self.programs
                .get_mut(&at.node)
                .into_iter()
                .for_each(|program| program.begin_view(isonet.clone()));
            let steps = usize::try_from(self.random.below(6)).expect("few");
            self.go(Some(steps))?;
        }
        Ok(())
    }
}

impl Program {
    fn new(isonet: Arc<Isonet>, me: NodeId) -> Program {
        let (reserved, open) = (BTreeSet::new(), BTreeMap::new());
        let composer = Composer::new(isonet, me);
        Program {
            composer,
            me,
            left: EACH,
            token: 0,
            reserved,
            open,
            has_taken_back: false,
            plain: 0,
            last_delivered: None,
        }
    }

    /// It may submit: also to give values for what it has reserved.
    fn is_able(&self) -> bool {
        self.left > 0 || !self.reserved.is_empty()
    }

    fn begin_view(&mut self, isonet: Arc<Isonet>) {
        self.composer = Composer::new(isonet, self.me);
        self.left += EACH / 2;
    }

    fn act(&mut self, isonet: &Isonet, random: &mut Random) -> (quintet_contract::Kind, Token, Vec<u8>) {
        self.token += 1;
        self.left = self.left.saturating_sub(1);
        let nodes: Vec<NodeId> = isonet.topology().nodes().collect();
        let any =
            |random: &mut Random| nodes[usize::try_from(random.below(nodes.len() as u64)).expect("few")];
        if random.chance(80_000) && self.left > 0 {
            self.plain += 1;
            let plain = Plain { node: any(random), handler: 1, bytes: b"plain" };
            return (PLAIN, Token(self.token), encode_to_vec(&plain));
        }
        let (mut operations, before) = (Vec::new(), self.reserved.clone());
        let variables: Vec<_> = isonet.variables().map(|(variable, shape)| (variable, shape.bytes)).collect();
        for _ in 0..=random.below(4) {
            let variable = variables.get(usize::try_from(random.below(variables.len() as u64)).expect("few"));
            let value = |bytes: usize, random: &mut Random| {
                Bytes::from((0..bytes).map(|_| random.bits().to_le_bytes()[0]).collect::<Vec<u8>>())
            };
            operations.push(match (random.below(8), variable) {
                (0..=2, _) | (_, None) => {
                    Operation::Send { to: any(random), handler: 7, bytes: Bytes::from_static(b"to all") }
                }
                (3..=4, Some((variable, _))) => Operation::Read(*variable),
                (5, Some((variable, _))) if self.left > 0 && self.reserved.insert(*variable) => {
                    Operation::Sched(*variable)
                }
                (_, Some((variable, bytes))) => Operation::Write(*variable, value(*bytes, random)),
            });
        }
        // What was reserved gets its value sooner or later; at the end, of all.
        let gives = self.left == 0 || random.chance(300_000);
        let known: BTreeMap<Variable, usize> = variables.into_iter().collect();
        let reserved = core::mem::take(&mut self.reserved);
        for variable in reserved {
            match known.get(&variable) {
                Some(bytes) if gives => {
                    let value = Bytes::from(vec![random.bits().to_le_bytes()[0]; *bytes]);
                    operations.push(Operation::Assign(variable, value));
                }
                Some(_) => _ = self.reserved.insert(variable),
                // Nobody has a copy any more.
                None => {}
            }
        }
        self.submit(operations, before)
    }

    fn submit(
        &mut self,
        operations: Vec<Operation>,
        before: BTreeSet<Variable>,
    ) -> (quintet_contract::Kind, Token, Vec<u8>) {
        let mut body = Vec::from(u16::try_from(operations.len()).expect("few").to_le_bytes());
        operations.iter().for_each(|operation| body.extend(encode_to_vec(operation)));
        self.open.insert(Token(self.token), (operations, before));
        (SUBMIT, Token(self.token), body)
    }

    fn hear(&mut self, frame: Frame<'_>) -> Result<(), String> {
        let said = |error| format!("node {} told what cannot be read: {error}", self.me.0);
        match frame.kind {
            COMPLETED => {
                let completed = Completed::decode_all(frame.body).map_err(said)?;
                let (operations, _) = self.open.remove(&frame.token).ok_or("answered twice")?;
                let reads = operations.iter().filter(|one| matches!(one, Operation::Read(_))).count();
                (reads == completed.values.len()).then_some(()).ok_or("values of no read".to_owned())
            }
            REFUSED => match Refusal::decode_all(frame.body).map_err(said)? {
                Refusal::Misuse(text) => Err(format!("node {} was refused: {text}", self.me.0)),
                Refusal::Busy => Err(format!("node {} was busy", self.me.0)),
                refusal => {
                    self.take_back(frame.token, matches!(refusal, Refusal::ViewChanged(_)));
                    Ok(())
                }
            },
            DELIVERED => {
                let place = Delivered::decode_all(frame.body).map_err(said)?.place;
                let is_next = self.last_delivered.replace(place).is_none_or(|last| last <= place);
                is_next.then_some(()).ok_or(format!("node {} was told out of order", self.me.0))
            }
            SENT => self.plain.checked_sub(1).map(|plain| self.plain = plain).ok_or("sent twice".to_owned()),
            INSTALLED => {
                self.has_taken_back = false;
                Ok(())
            }
            PLAIN | HALTED => Ok(()),
            other => Err(format!("node {} was told kind {}", self.me.0, other.0)),
        }
    }

    /// What was refused has reserved nothing, and given no value.
    fn take_back(&mut self, token: Token, is_of_view: bool) {
        match self.open.remove(&token) {
            Some((_, before)) if !self.has_taken_back => {
                (self.reserved, self.has_taken_back) = (before, is_of_view);
            }
            Some(_) => {}
            None => self.plain -= 1,
        }
    }
}

/// A run without faults.
pub(crate) fn run(seed: u64, defect: Option<Defect>) -> Result<(), Found> {
    let delivery = if seed.is_multiple_of(2) { Delivery::Safe } else { Delivery::Agreed };
    let mut world = World::new(seed, delivery, defect);
    world.go(None)?;
    world.check_rest()
}

/// A run in which one node ends, and the others go on.
pub(crate) fn run_with_crash(seed: u64, delivery: Delivery, defect: Option<Defect>) -> Result<(), Found> {
    let mut world = World::new(seed, delivery, defect);
    let steps = usize::try_from(world.random.below(400)).expect("few");
    world.go(Some(steps))?;
    world.crash()?;
    world.go(None)?;
    world.check_rest()
}
