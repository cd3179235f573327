//! Beside the ring a second program, written from the standard (ANSI X3.139-1987, 4.3.3 and 4.4.2.4): the token goes from station to
//! station one hop at a time, also over an idle ring, and the timers of all stations run from one moment to the next. Nothing is
//! computed at a stroke there, so that it takes as long as the ring is idle, and shares no rule with the ring but the standard's.

use super::super::*;
use super::bench::{Bench, MICRO, MILLI};
use quintet_contract::Random;
use std::collections::{BTreeMap, VecDeque};

/// A station: its timer TRT, its late counter, and what waits.
struct Stop {
    runs_since: u64,
    late: u64,
    synchronous: VecDeque<(u64, u64)>,
    asynchronous: VecDeque<(u64, u64)>,
}

struct Walk<'a> {
    parameters: &'a RingParameters,
    now: u64,
    stops: Vec<Stop>,
    /// What is still to come, the last one first.
    to_come: Vec<(u64, Message)>,
    delivered: BTreeMap<u64, u64>,
}

impl Walk<'_> {
    fn until(&mut self, then: u64) {
        self.now = then;
        let target = self.parameters.target_rotation_time.0;
        for stop in &mut self.stops {
            while stop.runs_since + target <= then {
                stop.runs_since += target;
                stop.late += 1;
            }
        }
        while self.to_come.last().is_some_and(|(at, _)| *at <= then) {
            let Some((_, message)) = self.to_come.pop() else { return };
            let stop = &mut self.stops[message.from.index()];
            let queue = match message.class {
                Class::Synchronous => &mut stop.synchronous,
                Class::Asynchronous => &mut stop.asynchronous,
            };
            queue.push_back((message.ticket, message.bytes));
        }
    }

    /// How long the first block of a queue takes.
    fn block(&self, queue: &VecDeque<(u64, u64)>) -> Option<u64> {
        let framing = &self.parameters.framing;
        let (_, rest) = queue.front()?;
        // Serial: an octet is a word of eight cycles.
        let octets = (*rest).min(u64::from(framing.words_per_block));
        Some(octets * 8 * framing.cycle_time.0 + framing.block_overhead.0)
    }

    fn send(&mut self, station: usize, class: Class, time: u64) {
        self.until(self.now + time);
        let largest = u64::from(self.parameters.framing.words_per_block);
        let stop = &mut self.stops[station];
        let queue = match class {
            Class::Synchronous => &mut stop.synchronous,
            Class::Asynchronous => &mut stop.asynchronous,
        };
        let (ticket, rest) = queue.pop_front().expect("it was there");
        match rest.saturating_sub(largest) {
            0 => _ = self.delivered.insert(ticket, self.now),
            left => queue.push_front((ticket, left)),
        }
    }

    /// The token is at a station: it sends what it may.
    fn visit(&mut self, station: usize) {
        let target = self.parameters.target_rotation_time.0;
        let stop = &mut self.stops[station];
        let mut holding = 0;
        if stop.late == 0 {
            holding = stop.runs_since + target - self.now;
            stop.runs_since = self.now;
        }
        stop.late = 0;
        let mut allocated = self.parameters.synchronous_allocations[station].0;
        while let Some(time) = self.block(&self.stops[station].synchronous).filter(|time| *time <= allocated)
        {
            self.send(station, Class::Synchronous, time);
            allocated -= time;
        }
        while holding > 0
            && let Some(time) = self.block(&self.stops[station].asynchronous)
        {
            self.send(station, Class::Asynchronous, time);
            holding = holding.saturating_sub(time);
            // What may be sent synchronously goes before the rest.
            while let Some(time) =
                self.block(&self.stops[station].synchronous).filter(|time| *time <= allocated)
            {
                self.send(station, Class::Synchronous, time);
                allocated -= time;
            }
        }
    }

    fn run(mut self) -> BTreeMap<u64, u64> {
        let all = self.to_come.len();
        for station in (0..self.stops.len()).cycle() {
            if self.delivered.len() == all {
                break;
            }
            self.until(self.now + self.parameters.token_passing_time.0);
            self.visit(station);
        }
        self.delivered
    }
}

fn walk(parameters: &RingParameters, messages: &[(u64, Message)]) -> BTreeMap<u64, u64> {
    let stop =
        || Stop { runs_since: 0, late: 0, synchronous: VecDeque::new(), asynchronous: VecDeque::new() };
    let stops = parameters.synchronous_allocations.iter().map(|_| stop()).collect();
    let to_come = messages.iter().rev().copied().collect();
    Walk { parameters, now: 0, stops, to_come, delivered: BTreeMap::new() }.run()
}

/// Bursts of both classes after idle spells from nothing to fifty targets, at odd times: the token's are even, so that none comes
/// with a message at the same instant.
fn bursts(random: &mut Random, parameters: &RingParameters) -> Vec<(u64, Message)> {
    let stations = parameters.synchronous_allocations.len() as u64;
    let target = parameters.target_rotation_time.0;
    let (mut at, mut messages) = (0, Vec::new());
    for _ in 0..12 {
        at += random.below(50) * random.below(2) * target + random.below(2 * target);
        for _ in 0..=random.below(40) {
            at += random.below(300 * MICRO) * random.below(2);
            let from = random.below(stations) as u16;
            let urgent = random.below(3) == 0 && parameters.synchronous_allocations[usize::from(from)].0 > 0;
            let (class, most) =
                if urgent { (Class::Synchronous, 400) } else { (Class::Asynchronous, 20_000) };
            let to = Station(random.below(stations) as u16);
            let (ticket, bytes) = (messages.len() as u64, 1 + random.below(most));
            let message = Message { ticket, from: Station(from), to, bytes, class, work: Picos::ZERO };
            messages.push((at | 1, message));
        }
    }
    messages
}

#[test]
fn messages_after_idle_spells_go_when_a_token_that_walks_every_hop_lets_them() {
    for seed in 0..150 {
        let random = &mut Random::new(seed, 0);
        let stations = 1 + random.below(16) as usize;
        let allocation = |random: &mut Random| Picos(random.below(2) * 100 * MICRO);
        let parameters = RingParameters {
            framing: Framing {
                words_per_block: 1_000 + random.below(3_500) as u32,
                ..RingParameters::fddi(1).framing
            },
            synchronous_allocations: (0..stations).map(|_| allocation(random)).collect(),
            token_passing_time: Picos(2 * (1 + random.below(30 * MICRO))),
            target_rotation_time: Picos(4 * MILLI + 2 * random.below(4 * MILLI)),
        };
        let messages = bursts(random, &parameters);
        let mut bench = Bench::new(Ring::new(parameters.clone()).expect("it keeps its target"), seed);
        messages.iter().for_each(|(at, message)| bench.request(Picos(*at), *message));
        bench.drain();
        let walked = walk(&parameters, &messages);
        assert_eq!(walked.len(), messages.len());
        for (at, message) in &messages {
            let found = bench.delivered(message.ticket).0;
            assert_eq!(found, walked[&message.ticket], "seed {seed}, {message:?} at {at}");
        }
    }
}
