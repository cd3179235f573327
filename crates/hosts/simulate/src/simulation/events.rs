//! Events: what is pending, and what each does.

use super::Simulation;
use crate::arrival::{Arrival, News};
use crate::device::Timer;
use crate::ids::{DeviceId, NodePlace, ProcessorId, RouteId};
use crate::node::Instance;
use crate::parcel::{Label, Parcel};
use crate::picos::Picos;
use core::fmt;
use quintet_contract::{Address, Incarnation, NodeId, OwnedFrame, Port, Span, Time};
use quintet_wire::registry::PORT_CALLERS;

pub(super) enum Event {
    Arrive {
        to: Address,
        incarnation: Incarnation,
        arrival: Arrival,
        way: Way,
    },
    /// A frame left its link and is lost, or a device is done with it.
    Left(RouteId),
    /// A processor's present work, or its time slice, is at its end.
    Advance(ProcessorId, u64),
    Device(DeviceId, Timer),
    /// The program that drives the run wanted to be called.
    Call(u64),
}

/// A frame that a held link keeps back.
pub(super) struct KeptBack {
    pub(super) route: RouteId,
    pub(super) to: Address,
    pub(super) incarnation: Incarnation,
    pub(super) arrival: Arrival,
}

/// How an input came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the host, from within the node, or as the copy of another.
    Host,
    /// Over a link, where it makes room by arriving.
    Link,
    Device,
}

/// Events at one instant beyond which a run is said to stall.
const MOST_EVENTS_AT_ONCE: u64 = 1_000_000;

/// A run in which time does not pass any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stall {
    /// When.
    pub at: Picos,
    /// A node that is part of the cycle, if the last event concerned one.
    pub node: Option<NodeId>,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "time stands still at {}: {MOST_EVENTS_AT_ONCE} events, none of which takes time",
            self.at
        )?;
        self.node.map_or(Ok(()), |node| write!(f, "; node {} is among them", node.0))
    }
}

impl core::error::Error for Stall {}

impl Simulation {
    /// Handles the next event. False when none is pending, or when time stands still.
    pub fn step(&mut self) -> bool {
        if self.stall.is_some() {
            return false;
        }
        let Some((at, event)) = self.schedule.pop() else { return false };
        self.pass(at, &event);
        match event {
            Event::Arrive { to, incarnation, arrival, way } => self.arrive(to, incarnation, arrival, way),
            Event::Left(route) => self.leave(route),
            Event::Advance(processor, generation) => self.advance_at(processor, generation),
            Event::Device(device, timer) => self.wake_device(device, timer),
            Event::Call(number) => self.call(number),
        }
        true
    }

    fn pass(&mut self, at: Picos, event: &Event) {
        self.events += 1;
        self.events_now = if at > self.now { 0 } else { self.events_now + 1 };
        self.now = at;
        if self.events_now > MOST_EVENTS_AT_ONCE {
            let node = if let Event::Arrive { to, .. } = event { Some(to.node) } else { None };
            self.stall = Some(Stall { at, node });
        }
    }

    /// Why the run goes no further, if time stands still.
    #[must_use]
    pub fn stall(&self) -> Option<Stall> {
        self.stall
    }

    /// Runs until `span` has passed.
    pub fn run_for(&mut self, span: Span) {
        self.run_to(self.now.after(span));
    }

    /// Runs until `end`, or until time stands still.
    pub fn run_to(&mut self, end: Picos) {
        while self.schedule.next_at().is_some_and(|at| at <= end) {
            if !self.step() {
                return;
            }
        }
        self.now = end.max(self.now);
    }

    /// Runs until `done` says so, nothing is pending or `limit` has passed. True if `done` said so.
    pub fn run_until(&mut self, limit: Span, mut done: impl FnMut(&Simulation) -> bool) -> bool {
        let end = self.now.after(limit);
        loop {
            if done(self) {
                return true;
            }
            if self.schedule.next_at().is_none_or(|at| at > end) || !self.step() {
                return false;
            }
        }
    }

    /// Hands a frame to the instance at `to` as if a caller in its own process had sent it.
    pub fn inject(&mut self, to: Address, frame: OwnedFrame) {
        self.inject_from(PORT_CALLERS, to, frame);
    }

    /// The same, as if another port of the node had sent it: a service of the host that tells what it was not asked.
    pub fn inject_from(&mut self, from: Port, to: Address, frame: OwnedFrame) {
        let from = Address { node: to.node, port: from };
        let parcel = Parcel::of(Label { from, to, route: None }, frame.borrow());
        self.deliver(to, Arrival::Frame(parcel), self.now);
    }

    pub(super) fn deliver(&mut self, to: Address, arrival: Arrival, at: Picos) {
        self.schedule_arrival(to, arrival, at, Way::Host);
    }

    #[inline]
    pub(super) fn schedule_arrival(&mut self, to: Address, arrival: Arrival, at: Picos, way: Way) {
        if let Some(node) = self.nodes.get(to.node) {
            let incarnation = node.incarnation;
            self.schedule.add_with(at, || Event::Arrive { to, incarnation, arrival, way });
        }
    }

    fn arrive(&mut self, to: Address, incarnation: Incarnation, arrival: Arrival, way: Way) {
        if way == Way::Link
            && let Arrival::Frame(parcel) = &arrival
            && let Some(route) = parcel.label.route.filter(|route| self.routes[*route].held)
        {
            return self.kept_back.push(KeptBack { route, to, incarnation, arrival });
        }
        self.digest.add(self.now, to, &arrival);
        let mut is_late = false;
        if let Arrival::Frame(parcel) = &arrival
            && let Some(route) = parcel.label.route
        {
            is_late = self.routes[route].is_over();
            if way == Way::Link {
                self.leave(route);
            }
        }
        let Some(node) = self.nodes.get(to.node) else { return };
        let (thread, lives) = (node.threads.of(to.port), node.alive && node.incarnation == incarnation);
        if lives && !is_late && (way != Way::Device || self.admit(thread, to.port, &arrival)) {
            self.enter(thread, to.port, arrival);
        }
    }

    #[inline]
    pub(super) fn leave(&mut self, id: RouteId) {
        let route = &mut self.routes[id];
        route.left();
        if route.closed {
            return self.tell_when_drained(id);
        }
        if !route.refused.is_empty() {
            self.tell_room(id);
        }
    }

    /// Tells all who were refused that there is room, in the order of the refusals.
    #[cold]
    fn tell_room(&mut self, id: RouteId) {
        for pair in std::mem::take(&mut self.routes[id].refused) {
            let (from, to) = self.routes[id].addresses(pair);
            self.deliver(from, News::Writable(to).into(), self.now);
        }
    }

    pub(super) fn schedule_wake(&mut self, place: NodePlace, port: Port) {
        let deadline = self.nodes[place].instance_mut(port).and_then(Instance::next_wake);
        if let Some(deadline) = deadline {
            self.wake_at(place, port, deadline);
        }
    }

    /// Lets an instance be woken when its node's clock shows `time`.
    pub(super) fn wake_at(&mut self, place: NodePlace, port: Port, time: Time) {
        let node = &self.nodes[place];
        let at = node.clock.wakes_at(time, self.now);
        let (to, incarnation) = (Address { node: node.id, port }, node.incarnation);
        let event = || Event::Arrive { to, incarnation, arrival: Arrival::Wake, way: Way::Host };
        self.schedule.add_with(at, event);
    }
}
