//! One run: programs that submit at random, until all has completed, and what is checked of it.

use super::found::Found;
use super::lost;
use super::net::{Net, Setting, callers_of, manager_at, node_at};
use super::plan;
use super::trace::Trace;
use quintet_contract::{Address, Bytes, Frame, Input, NodeId, Random, Token};
use quintet_isotach::codec::{
    AGREED, BEGUN, COMPLETED, Completed, DELIVERED, Delivered, ENDED, HALTED, INSTALLED, LEFT, NEXT_VIEW,
    NextView, PLAIN, Plain, REFUSED, SENT, SUBMIT,
};
use quintet_isotach::{
    Composer, Defect, Delivery, Isonet, Operation, Place, Rank, Refusal, Run, Topology, Variable, View,
    Witnessed, check,
};
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Isochrons of each program.
const EACH: u64 = 12;
/// Steps after which a run that should have ended does not.
const MAX_STEPS: usize = 400_000;

/// A program.
pub(crate) struct Program {
    composer: Composer,
    me: NodeId,
    left: u64,
    token: u64,
    /// Places that it has reserved.
    reserved: BTreeSet<Variable>,
    /// What it has submitted and not heard of, with what is reserved before and behind it.
    pub(crate) open: BTreeMap<Token, (Vec<Operation>, BTreeSet<Variable>)>,
    /// The first that was refused as its view ended: what was before it is so again.
    refused: Option<Token>,
    is_of_minority: bool,
    /// What completed, where, and who had a message of it.
    completed: Vec<(Rank, Place, NodeId)>,
    pub(crate) plain: u64,
    /// What was agreed on, and said by nobody so far to a token manager of this process.
    pub(crate) agreed: Vec<(View, String)>,
    pub(crate) ended: Option<Refusal>,
    pub(crate) has_left: bool,
    /// All that it has submitted and that was not refused, where nodes agree on views by themselves.
    kept: Option<BTreeMap<Token, Vec<Operation>>>,
    last_delivered: Option<Place>,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) net: Net,
    pub(crate) programs: BTreeMap<NodeId, Program>,
    pub(crate) run: Run,
    /// What a token manager knew is gone with it: who is gone as well may have executed what nobody else knows the place of.
    pub(crate) has_lost_manager: bool,
    /// The views of token managers when they ended, where nodes agree on views by themselves.
    pub(crate) managers_lost_in: BTreeSet<View>,
}

impl World {
    pub(crate) fn new(seed: u64, delivery: Delivery, defect: Option<Defect>, setting: Setting) -> World {
        let mut random = Random::new(seed, 1);
        let isonet = plan::isonet(&mut random, delivery);
        let isonet = if setting == Setting::Members { plan::of_members(&isonet) } else { isonet };
        let net = Net::new(&isonet, &mut random, defect, setting);
        let program = |me| (me, Program::new(isonet.clone(), me));
        let programs = isonet.topology().nodes().map(program).collect();
        let run = Run { views: [(View(1), isonet.clone())].into(), ..Run::default() };
        World { random, net, programs, run, has_lost_manager: false, managers_lost_in: BTreeSet::new() }
    }

    /// Takes steps, and lets programs act, until there is nothing to do any more; or, with `steps`, after so many.
    pub(crate) fn go(&mut self, steps: Option<usize>) -> Result<(), Found> {
        // What came of an end that was told in between is heard before anybody acts.
        self.listen()?;
        for step in 0..MAX_STEPS {
            if steps == Some(step) {
                return Ok(());
            }
            let acts = self.random.chance(150_000);
            let has_stepped = !acts && self.net.step(&mut self.random);
            if !has_stepped && !self.act() && !acts && !self.net.step(&mut self.random) {
                return self.listen();
            }
            self.listen()?;
            self.staff_agreed();
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
                program.hear(frame.borrow(), &mut self.run.views).map_err(Found::Other)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check(&mut self) -> Result<(), Found> {
        for (node, machine) in &mut self.net.nodes {
            self.run.said.entry(*node).or_default().extend(machine.take_witness());
        }
        let checked =
            if self.has_lost_manager { lost::check_what_is_left(&mut self.run) } else { check(&self.run) };
        checked.map_err(Found::Violation)
    }

    /// Nothing is under way, everybody has been answered, and all switches are in one pulse.
    fn check_rest(&mut self) -> Result<(), Found> {
        self.run.has_ended = true;
        self.check()?;
        self.check_told()?;
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

    /// Somebody ends, at any moment of the others, who hear of it one after the other; then they are told of views without it.
    fn crash(&mut self) -> Result<(), Found> {
        let nodes: Vec<NodeId> = self.net.everybody().into_iter().map(|at| at.node).collect();
        let first = self.any(&nodes);
        let held = self.end(first)?;
        let again = self.random.chance(300_000);
        self.change(View(2), again)?;
        self.net.let_go(held);
        Ok(())
    }

    pub(crate) fn any<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.random.below(all.len() as u64)).expect("few")]
    }

    /// Ends a node or a token manager. What it sent arrives in part now, and in part when the next view has begun.
    fn end(&mut self, gone: NodeId) -> Result<Held, Found> {
        let (port, last) = match self.net.nodes.get_mut(&gone) {
            Some(node) => (node_at(gone), node.take_witness()),
            None => (manager_at(gone), Vec::new()),
        };
        self.has_lost_manager |= port == manager_at(gone);
        self.run.said.entry(gone).or_default().extend(last);
        self.net.crash(gone);
        self.programs.remove(&gone);
        self.run.gone.insert(gone);
        let held = self.net.hold_back(gone, &mut self.random);
        let mut unaware = self.net.everybody();
        while !unaware.is_empty() {
            self.go_some(40)?;
            let at = unaware.remove(usize::try_from(self.random.below(unaware.len() as u64)).expect("few"));
            self.net.tell_down(at, port, &mut self.random);
        }
        Ok(held)
    }

    pub(crate) fn go_some(&mut self, below: u64) -> Result<(), Found> {
        let steps = usize::try_from(self.random.below(below)).expect("few");
        self.go(Some(steps))
    }

    /// Tells everybody of the next view. If somebody else ends in the midst of it, it is another one.
    fn change(&mut self, view: View, ends_another: bool) -> Result<(), Found> {
        let first = self.run.views[&View(1)].clone();
        let last = self.run.views.values().last().expect("a view is there").clone();
        let isonet = plan::without(&last, &self.run.gone, u16::try_from(view.0).expect("few"));
        self.run.views.insert(view, isonet.clone());
        self.net.staff(&isonet, view, &mut self.random);
        let (left, of) = (isonet.topology().nodes().count(), first.topology().nodes().count());
        let mut all = self.net.everybody();
        let another = self.random.below(all.len() as u64 + 1);
        let text = isonet.topology().to_text();
        while !all.is_empty() {
            if ends_another && 2 * (left - 1) > of && all.len() as u64 == another {
                let nodes: Vec<NodeId> = self.net.everybody().into_iter().map(|at| at.node).collect();
                let second = self.any(&nodes);
                let held = self.end(second)?;
                self.change(View(view.0 + 1), false)?;
                self.net.let_go(held);
                return Ok(());
            }
            let at = all.remove(usize::try_from(self.random.below(all.len() as u64)).expect("few"));
            let body = encode_to_vec(&NextView { view, topology: &text });
            let frame = Frame::new(NEXT_VIEW, next_view_token(view), &body);
            // Some begin the view, and speak in it, before others are told of it.
            self.net.give(at, Input::Frame(callers_of(at.node), frame), &mut self.random);
            self.go_some(30)?;
        }
        Ok(())
    }

    /// What programs were told of their isochrons is what has happened, at those who are left.
    pub(crate) fn check_told(&self) -> Result<(), Found> {
        let mut executed = BTreeMap::new();
        for (node, list) in self.run.said.iter().filter(|(node, _)| !self.run.gone.contains(*node)) {
            for witnessed in list {
                if let Witnessed::Executed { place, sender, rank } = witnessed {
                    executed.insert((*node, *sender, *rank), *place);
                }
            }
        }
        for (sender, program) in &self.programs {
            for (rank, place, receiver) in &program.completed {
                let at = executed.get(&(*receiver, *sender, *rank));
                if self.programs.contains_key(receiver) && at != Some(place) {
                    let (rank, by) = (rank.0, receiver.0);
                    let text = format!(
                        "isochron {rank} of node {} completed at {place:?}, and node {by} executed it at {at:?}",
                        sender.0
                    );
                    return Err(Found::Other(text));
                }
            }
        }
        Ok(())
    }

    /// Too few are left: all of them say so, and nothing of a next view begins.
    fn is_minority(&self) -> bool {
        let first: Vec<NodeId> = self.run.views[&View(1)].topology().nodes().collect();
        let left = self.programs.len();
        2 * left < first.len() || 2 * left == first.len() && self.run.gone.contains(&first[0])
    }

    fn check_minority(&self) -> Result<(), Found> {
        let has_begun = self.net.nodes.values().any(|node| node.view() != View(1));
        let is_told = self.programs.values().all(|program| program.is_of_minority);
        if has_begun || !is_told {
            return Err(Found::Other("a minority began a view, or was not told that it is one".to_owned()));
        }
        Ok(())
    }
}

type Held = BTreeMap<(Address, Address), std::collections::VecDeque<quintet_contract::OwnedFrame>>;

/// Under which token a program says what the next view is.
fn next_view_token(view: View) -> Token {
    Token(u64::MAX - u64::from(view.0))
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
            refused: None,
            is_of_minority: false,
            completed: Vec::new(),
            plain: 0,
            agreed: Vec::new(),
            ended: None,
            has_left: false,
            kept: None,
            last_delivered: None,
        }
    }

    /// It may submit: also to give values for what it has reserved.
    fn is_able(&self) -> bool {
        let goes_on = self.refused.is_none() && self.ended.is_none();
        goes_on && (self.left > 0 || !self.reserved.is_empty())
    }

    /// Its node agrees on views with the others.
    pub(crate) fn agrees(&mut self) {
        self.kept = Some(BTreeMap::new());
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
        self.kept.iter_mut().for_each(|kept| _ = kept.insert(Token(self.token), operations.clone()));
        self.open.insert(Token(self.token), (operations, before));
        (SUBMIT, Token(self.token), body)
    }

    fn hear(&mut self, frame: Frame<'_>, views: &mut BTreeMap<View, Arc<Isonet>>) -> Result<(), String> {
        let said = |error| format!("node {} told what cannot be read: {error}", self.me.0);
        match frame.kind {
            COMPLETED => {
                let completed = Completed::decode_all(frame.body).map_err(said)?;
                let (operations, _) = self.open.remove(&frame.token).ok_or("answered twice")?;
                for operation in &operations {
                    if let Operation::Send { to, .. } = operation {
                        self.completed.push((completed.rank, completed.place, *to));
                    }
                }
                let reads = operations.iter().filter(|one| matches!(one, Operation::Read(_))).count();
                (reads == completed.values.len()).then_some(()).ok_or("values of no read".to_owned())
            }
            REFUSED => match Refusal::decode_all(frame.body).map_err(said)? {
                Refusal::Misuse(text) => Err(format!("node {} was refused: {text}", self.me.0)),
                Refusal::Busy => Err(format!("node {} was busy", self.me.0)),
                Refusal::Minority { .. } if self.kept.is_none() => {
                    self.is_of_minority = true;
                    Ok(())
                }
                _ => {
                    self.take_back(frame.token);
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
                self.refused = None;
                let installed = views.iter().find(|(view, _)| next_view_token(**view) == frame.token);
                let (_, isonet) = installed.ok_or("a view begins that nobody asked for")?;
                self.begin_view(isonet.clone());
                Ok(())
            }
            AGREED => {
                let NextView { view, topology } = NextView::decode_all(frame.body).map_err(said)?;
                let first = views.first_key_value().expect("there is one").1;
                let isonet = Arc::new(first.among(Topology::parse(topology).expect("it is a tree")));
                self.agreed.push((view, topology.to_owned()));
                let known = views.entry(view).or_insert_with(|| isonet.clone());
                (*known == isonet).then_some(()).ok_or(format!("two views {} are agreed on", view.0))
            }
            BEGUN => {
                let view = View(u32::from_le_bytes(frame.body.try_into().map_err(|_| "no view")?));
                self.begin_view(views[&view].clone());
                Ok(())
            }
            ENDED => {
                let why = Refusal::decode_all(frame.body).map_err(said)?;
                self.ended.replace(why).is_none().then_some(()).ok_or("it ended twice".to_owned())
            }
            LEFT => {
                (!core::mem::replace(&mut self.has_left, true)).then_some(()).ok_or("left twice".to_owned())
            }
            PLAIN | HALTED => Ok(()),
            other => Err(format!("node {} was told kind {}", self.me.0, other.0)),
        }
    }

    /// What was refused has reserved nothing, and given no value.
    fn take_back(&mut self, token: Token) {
        if let Some(kept) = &mut self.kept {
            if self.open.remove(&token).is_none() {
                self.plain -= 1;
                return;
            }
            kept.remove(&token);
            self.reserved.clear();
            for operation in kept.values().flatten() {
                match operation {
                    Operation::Sched(variable) => _ = self.reserved.insert(*variable),
                    Operation::Assign(variable, _) => _ = self.reserved.remove(variable),
                    _ => {}
                }
            }
            return;
        }
        match self.open.remove(&token) {
            Some((_, before)) if self.refused.is_none_or(|first| token < first) => {
                (self.reserved, self.refused) = (before, Some(token));
            }
            Some(_) => {}
            // A view was asked for, and then a later one.
            None if token.0 > u64::MAX / 2 => {}
            None => self.plain -= 1,
        }
    }
}

/// A run without faults.
pub(crate) fn run(seed: u64, defect: Option<Defect>) -> Result<(), Found> {
    let delivery = if seed.is_multiple_of(2) { Delivery::Safe } else { Delivery::Agreed };
    let mut world = World::new(seed, delivery, defect, Setting::Told);
    world.go(None)?;
    world.check_rest()
}

/// What is done in a run without faults, in safe delivery, line by line; and what came of it.
pub(crate) fn run_traced(seed: u64, defect: Option<Defect>) -> (Vec<String>, Result<(), Found>) {
    let mut world = World::new(seed, Delivery::Safe, defect, Setting::Told);
    world.net.trace = Some(Trace::of(world.run.views[&View(1)].clone()));
    let came = world.go(None);
    let lines = world.net.trace.take().map(|trace| trace.lines()).unwrap_or_default();
    (lines, came.and_then(|()| world.check_rest()))
}

/// A run in which one node ends, and the others go on.
pub(crate) fn run_with_crash(seed: u64, delivery: Delivery, defect: Option<Defect>) -> Result<(), Found> {
    let mut world = World::new(seed, delivery, defect, Setting::Told);
    let steps = usize::try_from(world.random.below(400)).expect("few");
    world.go(Some(steps))?;
    world.crash()?;
    world.go(None)?;
    if world.is_minority() {
        world.check()?;
        return world.check_minority();
    }
    world.check_rest()
}
