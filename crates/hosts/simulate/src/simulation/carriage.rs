//! How frames travel: over links, through devices, within a node.

use super::events::{Event, Way};
use super::{Passed, Settled, Simulation};
use crate::arrival::Arrival;
use crate::device::{Device, Effects, Message, Outcome, Station, Timer};
use crate::ids::{DeviceId, ProcessorId};
use crate::mark::Mark;
use crate::module::{Drawn, is_use, mark_of, message_class, modelled_bytes, proceeds, use_of};
use crate::parcel::{Label, Parcel};
use crate::picos::Picos;
use crate::program::call_of;
use crate::route::Carrier;
use quintet_contract::Random;

/// A transfer device in a run.
pub(super) struct Medium {
    pub(super) device: Box<dyn Device>,
    random: Random,
    /// What it wants after a call; kept for their room.
    timers: Vec<(Picos, Timer)>,
    outcomes: Vec<Outcome>,
}

impl Medium {
    pub(super) fn new(device: Box<dyn Device>, random: Random) -> Medium {
        Medium { device, random, timers: Vec::new(), outcomes: Vec::new() }
    }
}

/// A frame that a device carries.
pub(super) struct Carried {
    pub(super) parcel: Box<Parcel>,
    lost: bool,
    /// The processor that is busy until it is there, and the generation of that wait.
    holds: Option<(ProcessorId, u64)>,
}

impl Simulation {
    /// Sends a frame on its way, from a processor. True if that is busy until the frame is there.
    pub(super) fn transmit(&mut self, mut parcel: Box<Parcel>, by: ProcessorId) -> bool {
        let (now, to) = (self.now, parcel.label.to);
        let Some(id) = parcel.label.route else {
            self.transmit_within(parcel, by);
            return false;
        };
        let route = &mut self.routes[id];
        if route.closed {
            self.leave(id);
            return false;
        }
        let cut = route.cut;
        if route.is_dialled && route.first_word.is_none() {
            route.first_word = Some(parcel.frame().to_owned());
        }
        if parcel.is_stamped
            && let Some(node) = self.nodes.get(parcel.label.from.node)
        {
            parcel.depart(node.clock.shows(now));
        }
        match &mut route.carrier {
            Carrier::Link(link) => {
                let passage = link.carry(now);
                let is_lost = passage.lost || cut;
                let copy = passage.copy.filter(|_| !cut);
                if let Some(passed) = &mut self.passed {
                    let arrival = (!is_lost).then_some(passage.arrival);
                    passed.extend(Passed::of(&parcel, arrival, copy));
                }
                if let Some(at) = copy {
                    self.deliver(to, Arrival::Frame(parcel.clone()), at);
                }
                if is_lost {
                    self.schedule.add(passage.arrival, Event::Left(id));
                } else {
                    self.schedule_arrival(to, Arrival::Frame(parcel), passage.arrival, Way::Link);
                }
                false
            }
            Carrier::Device { device, from: here, to: there, .. } => {
                let (device, here, there) = (*device, *here, *there);
                self.tickets += 1;
                let ticket = self.tickets;
                let frame = parcel.frame();
                let bytes = modelled_bytes(&frame);
                let class = message_class(parcel.kind).unwrap_or_default();
                let message = Message { ticket, from: here, to: there, bytes, class, work: Picos::ZERO };
                let (message, holds) = match use_of(&frame) {
                    Some(drawn) => (of_use(message, drawn), None),
                    None => (message, self.hold(by)),
                };
                self.carried.insert(ticket, Carried { parcel, lost: cut, holds });
                self.with_device(device, |device, now, effects| device.request(now, message, effects));
                holds.is_some()
            }
        }
    }

    /// The processor, if it cannot execute while a device carries: it is busy until that is over.
    fn hold(&mut self, id: ProcessorId) -> Option<(ProcessorId, u64)> {
        let processor = &mut self.processors[id.0];
        if processor.model.output_controller {
            return None;
        }
        processor.generation += 1;
        Some((id, processor.generation))
    }

    /// Within a node: to a service of the host, or to another instance.
    fn transmit_within(&mut self, parcel: Box<Parcel>, on: ProcessorId) {
        let (Label { from, to, .. }, frame) = (parcel.label, parcel.frame());
        if let Some((number, ready)) = mark_of(&frame) {
            self.marks.push(Mark { node: from.node, on, number, ready, at: self.now });
            return self.parcels.keep(parcel);
        }
        if proceeds(frame.kind) {
            return self.proceed(on, parcel);
        }
        if let Some(number) = call_of(&frame) {
            self.call(number);
            return self.parcels.keep(parcel);
        }
        if !self.services.provides(to.port) {
            return self.deliver(to, Arrival::Frame(parcel), self.now);
        }
        let (now, services) = (self.now, self.services);
        let mut random = self.service_random.clone();
        let (ends, answer) = services.answer(now, parcel.label, &frame, self.disk(to.node), &mut random);
        self.service_random = random;
        self.deliver(from, Arrival::Frame(answer), ends);
        self.parcels.keep(parcel);
    }

    pub(super) fn wake_device(&mut self, id: DeviceId, timer: Timer) {
        self.with_device(id, |device, now, effects| device.wake(now, timer, effects));
    }

    fn with_device(&mut self, id: DeviceId, act: impl FnOnce(&mut dyn Device, Picos, &mut Effects<'_>)) {
        let Medium { device, random, timers, outcomes } = &mut self.media[id.0];
        act(&mut **device, self.now, &mut Effects { random, timers, outcomes });
        for (at, timer) in timers.drain(..) {
            self.schedule.add(at, Event::Device(id, timer));
        }
        let mut outcomes = std::mem::take(outcomes);
        for outcome in outcomes.drain(..) {
            self.settle(outcome);
        }
        self.media[id.0].outcomes = outcomes;
    }

    /// A device is done with a message.
    fn settle(&mut self, outcome: Outcome) {
        let (ticket, delivered) = match outcome {
            Outcome::Delivered { ticket } => (ticket, true),
            Outcome::Dropped { ticket, .. } => (ticket, false),
        };
        let Some(carried) = self.carried.remove(&ticket) else { return };
        if let Some(settled) = &mut self.settled {
            settled.push(Settled { ticket, delivered: delivered && !carried.lost });
        }
        let Carried { parcel, lost, holds } = carried;
        let Label { to, route, .. } = parcel.label;
        if delivered && !lost {
            // With a pool a processor has nothing to do but to go on.
            let way = if is_use(parcel.kind) { Way::Host } else { Way::Device };
            self.schedule_arrival(to, Arrival::Frame(parcel), self.now, way);
        }
        if let Some(route) = route {
            self.schedule.add(self.now, Event::Left(route));
        }
        if let Some((processor, generation)) = holds {
            self.schedule.add(self.now, Event::Advance(processor, generation));
        }
    }
}

/// The message for the server that a use has chosen.
fn of_use(message: Message, drawn: Drawn) -> Message {
    let to = drawn.server.map_or(message.to, Station);
    Message { to, work: drawn.work, ..message }
}
