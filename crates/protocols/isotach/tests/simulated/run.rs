//! One run: programs that submit at random, until all has completed, and what is checked of it.

use super::found::Found;
use super::lost;
use super::net::{Net, Setting, callers_of, manager_at, node_at};
use super::plan;
use super::program::{Program, next_view_token};
use super::trace::Trace;
use quintet_contract::{Address, Frame, Input, NodeId, Random};
use quintet_isotach::codec::{NEXT_VIEW, NextView};
use quintet_isotach::{Defect, Delivery, Run, View, Witnessed, check_where};
use quintet_wire::encode_to_vec;
use std::collections::{BTreeMap, BTreeSet};

/// Steps after which a run that should have ended does not.
const MAX_STEPS: usize = 400_000;

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) net: Net,
    pub(crate) programs: BTreeMap<NodeId, Program>,
    pub(crate) run: Run,
    /// What a token manager knew is gone with it: who is gone as well may have executed what nobody else knows the place of.
    pub(crate) has_lost_manager: bool,
    /// The views of token managers when they ended, where nodes agree on views by themselves.
    pub(crate) managers_lost_in: BTreeSet<View>,
    /// Views may have nodes that the one before has not: programs go by their own.
    pub(crate) rejoins: bool,
    /// Views that began somewhere.
    pub(crate) begun: BTreeSet<View>,
    /// It ends where something is not so of somebody that is always. With a defect it goes on, to be judged from outside.
    pub(crate) looks_inside: bool,
    /// What programs have given as their states.
    pub(crate) given: BTreeMap<View, BTreeSet<Vec<u8>>>,
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
        let (managers_lost_in, given) = (BTreeSet::new(), BTreeMap::new());
        World {
            random,
            net,
            programs,
            run,
            has_lost_manager: false,
            managers_lost_in,
            rejoins: false,
            looks_inside: defect.is_none(),
            begun: BTreeSet::new(),
            given,
        }
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
                self.listen()?;
                if !self.give_states(true) {
                    return Ok(());
                }
            }
            self.listen()?;
            self.staff_agreed();
            self.give_states(false);
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
        let program = self.programs.get_mut(&chosen).expect("it was found there");
        let last = self.run.views.values().last().expect("a view is there");
        let view = program.state.view().unwrap_or(View(1));
        let own = self.rejoins.then(|| &self.run.views[&view]);
        let isonet = own.unwrap_or(last).clone();
        let (kind, token, body) = program.act(&isonet, &mut self.random);
        let frame = Frame::new(kind, token, &body);
        self.net.give(node_at(chosen), Input::Frame(callers_of(chosen), frame), &mut self.random);
        true
    }

    /// Programs hear what their nodes told them.
    fn listen(&mut self) -> Result<(), Found> {
        if let Some((at, broken)) = self.net.broken.filter(|_| self.looks_inside) {
            return Err(Found::Other(format!("of {at:?} it is not so that {broken}")));
        }
        if let Some((by, whom)) = self.net.cut_off.first() {
            let halt = self.net.nodes.get(&by.node).and_then(|node| node.halt());
            let halt = halt.or_else(|| self.net.managers.get(&by.node).and_then(|manager| manager.halt()));
            return Err(halt.map_or(Found::Other(format!("{by:?} cut {whom:?} off")), Found::Halted));
        }
        for (node, frames) in &mut self.net.told {
            let Some(program) = self.programs.get_mut(node) else { continue };
            for frame in frames.drain(..) {
                program.hear(frame.borrow(), &mut self.run.views).map_err(Found::Other)?;
                self.begun.extend(program.state.view());
            }
        }
        Ok(())
    }

    pub(crate) fn check(&mut self) -> Result<(), Found> {
        for (node, machine) in &mut self.net.nodes {
            self.run.said.entry(*node).or_default().extend(machine.take_witness());
            machine.check_counts(*node)?;
        }
        let checked = if self.has_lost_manager {
            lost::check_what_is_left(&mut self.run)
        } else {
            check_where(&self.run, |view| !self.rejoins || view == View(1) || self.begun.contains(&view))
        };
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
                let is_later = |program: &Program| program.state.joined_after(place.stamp.view);
                let is_left = self.programs.get(receiver).is_some_and(|program| !is_later(program));
                if is_left && at != Some(place) {
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

/// A run without faults.
pub(crate) fn run(seed: u64, defect: Option<Defect>) -> Result<(), Found> {
    let delivery = if seed.is_multiple_of(2) { Delivery::Safe } else { Delivery::Agreed };
    let mut world = World::new(seed, delivery, defect, Setting::Told);
    world.go(None)?;
    world.check_rest()
}

/// What the machines of such a run find of themselves, if that comes before anything else is wrong with it.
pub(crate) fn broken_in(seed: u64, defect: Defect) -> Option<&'static str> {
    let mut world = World::new(seed, Delivery::Safe, Some(defect), Setting::Told);
    world.looks_inside = true;
    let _ = world.go(None);
    world.net.broken.map(|(_, broken)| broken)
}

/// What is done in a run without faults, in safe delivery, line by line; and what came of it.
pub(crate) fn run_traced(seed: u64, defect: Option<Defect>) -> (Vec<String>, Result<(), Found>) {
    let mut world = World::new(seed, Delivery::Safe, defect, Setting::Told);
    world.net.record = Some(Box::new(Trace::of(world.run.views[&View(1)].clone())));
    let came = world.go(None);
    let lines = world.net.record.take().map(|record| record.lines()).unwrap_or_default();
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
