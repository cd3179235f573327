//! The hold model: how fast the queue of pending events is, beside the standard library's heap in the same run.
//!
//! `n` events are pending; a hold takes the next one out and schedules it again after a random increment. Prints
//! millions of holds a second, and the ratio, for each number of events and each distribution of the increments that
//! the literature uses (Jones, "An empirical comparison of priority-queue and event-set implementations", Comm. ACM
//! 29, 1986). Run it with `cargo run --release -p quintet-simulate --example hold`.

use quintet_contract::Random;
use quintet_simulate::{Picos, Schedule};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Mean increment, in picoseconds: a microsecond.
const MEAN: f64 = 1e6;
/// Holds that are timed.
const HOLDS: usize = 2_000_000;
/// Times measured; the best counts.
const ROUNDS: usize = 3;

type Increment = fn(f64) -> f64;

/// Name and inverse distribution function, of mean 1.
const INCREMENTS: [(&str, Increment); 4] = [
    ("exponential", |u| -libm::log(1.0 - u)),
    ("uniform", |u| 2.0 * u),
    ("bimodal", |u| (u + if u < 0.1 { 10.0 } else { 0.0 }) / 1.5),
    ("triangular", |u| 1.5 * libm::sqrt(u)),
];

trait Queue {
    fn add(&mut self, at: Picos, event: u64);
    fn pop(&mut self) -> Option<(Picos, u64)>;
}

impl Queue for Schedule<u64> {
    fn add(&mut self, at: Picos, event: u64) {
        Schedule::add(self, at, event);
    }
    fn pop(&mut self) -> Option<(Picos, u64)> {
        Schedule::pop(self)
    }
}

#[derive(Default)]
struct Heap {
    heap: BinaryHeap<Reverse<(Picos, u64, u64)>>,
    scheduled: u64,
}

impl Queue for Heap {
    fn add(&mut self, at: Picos, event: u64) {
        self.scheduled += 1;
        self.heap.push(Reverse((at, self.scheduled, event)));
    }
    fn pop(&mut self) -> Option<(Picos, u64)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }
}

/// Increments in the order in which they are used; many, so that drawing them is not timed.
fn increments(increment: Increment) -> Vec<Picos> {
    let mut random = Random::new(1986, 0);
    let draw =
        |_| Picos::from_seconds(increment((random.bits() >> 11) as f64 / (1_u64 << 53) as f64) * MEAN / 1e12);
    (0..1 << 16).map(draw).collect()
}

/// Millions of holds a second, and the last time, by which queues are compared.
fn measure(queue: &mut impl Queue, pending: usize, increments: &[Picos]) -> (f64, Picos) {
    let mut next = increments.iter().cycle();
    let mut increment = || *next.next().expect("a cycle has no end");
    for event in 0..pending {
        queue.add(increment(), event as u64);
    }
    let mut hold = || {
        let (at, event) = queue.pop().expect("each hold adds what it took");
        queue.add(at + increment(), event);
        at
    };
    for _ in 0..2 * pending {
        hold();
    }
    let start = Instant::now();
    let mut last = Picos::ZERO;
    for _ in 0..HOLDS {
        last = hold();
    }
    (HOLDS as f64 / start.elapsed().as_secs_f64() / 1e6, last)
}

fn main() {
    println!("{:>11} {:>9} {:>9} {:>9} {:>6}", "increments", "pending", "schedule", "heap", "ratio");
    for (name, increment) in INCREMENTS {
        let increments = increments(increment);
        for pending in [1_000, 10_000, 100_000, 1_000_000] {
            let (mut ours, mut heap) = (0.0_f64, 0.0_f64);
            for _ in 0..ROUNDS {
                let (a, ours_end) = measure(&mut Schedule::new(), pending, &increments);
                let (b, heap_end) = measure(&mut Heap::default(), pending, &increments);
                assert_eq!(ours_end, heap_end, "both pop the same events");
                (ours, heap) = (ours.max(a), heap.max(b));
            }
            println!("{name:>11} {pending:>9} {ours:>6.2} M/s {heap:>5.2} M/s {:>6.2}", ours / heap);
        }
    }
}
