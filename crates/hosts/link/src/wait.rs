//! How a receiver waits: it spins a little, yields, then sleeps, and learns when spinning does not pay.
//!
//! Spinning beside a peer that needs the same core costs many times what a sleep costs; spinning for less time than a
//! wake-up takes makes both sides sleep for ever after. Hence the two rules: spin longer than a wake-up takes, and stop
//! spinning when the signs say that the peer shares the core.

use core::hint::spin_loop;
use core::time::Duration;
use std::thread::yield_now;
use std::time::Instant;

/// How long a wait spins unless told otherwise. A wake-up takes about 5 us; a shorter spin would lock both sides into sleeping.
pub const SPIN: Duration = Duration::from_micros(8);
/// Looks between two readings of the clock.
const LOOKS: u32 = 16;
/// Yields after the spin.
const YIELDS: u32 = 3;
/// A yield longer than this ran somebody else: the core is shared.
const YIELD_SHARED: Duration = Duration::from_nanos(1_250);
/// A yield longer than this ran somebody who does not give the core back soon.
const YIELD_BUSY: Duration = Duration::from_micros(50);
/// How long yields stay off then.
const NO_YIELDS: Duration = Duration::from_millis(500);
/// An arrival this soon after falling asleep shows that the spin did not pay.
const SLEPT_IN_VAIN: Duration = Duration::from_micros(100);
/// Strikes that turn spinning off.
const STRIKES: u32 = 2;
/// With spinning off, one wait in this many probes whether it pays again.
const PROBE: u32 = 128;
/// A probe spins that often, with a yield after each: the other side sleeps as well by now, and where a wake-up takes long
/// a single spin would never meet it.
const PROBE_SPINS: u32 = 8;
/// After a probe that paid, waits spin for so many times as long as it took, a whole probe at most, until one sleeps: the other side has to be woken each time until
/// its own probe, which finds nobody spinning otherwise.
const PROBE_LASTS: u32 = 2;

/// What waits.
pub trait Waiting {
    /// Whether the wait is over. Cheap: called every few nanoseconds.
    fn ready(&self) -> bool;
    /// Whether what it waits for is on its way already: then it spins whatever was learnt before.
    fn is_near(&self) -> bool {
        false
    }
    /// Sleeps until somebody wakes it or `limit` has passed. May return early.
    fn sleep(&mut self, limit: Option<Duration>);
}

/// How a wait begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spins {
    Once,
    ToProbe,
    Not,
}

/// What one waiter has learnt about spinning.
#[derive(Debug)]
pub struct Patience {
    /// As it was told.
    spin: Duration,
    /// How long waits spin at present.
    present_spin: Duration,
    strikes: u32,
    /// Waits since spinning was turned off.
    waits: u32,
    no_yields_until: Option<Instant>,
}

impl Default for Patience {
    fn default() -> Self {
        Patience::new(SPIN)
    }
}

impl Patience {
    /// Knows nothing yet, and spins so long. Without any spin it looks a few times.
    #[must_use]
    pub fn new(spin: Duration) -> Self {
        Patience { spin, present_spin: spin, strikes: 0, waits: 0, no_yields_until: None }
    }

    /// Waits until `waiting` is ready or `limit` has passed.
    #[inline]
    pub fn wait(&mut self, waiting: &mut impl Waiting, limit: Option<Duration>) {
        if waiting.ready() || limit == Some(Duration::ZERO) {
            return;
        }
        let spin_for = limit.map_or(self.present_spin, |limit| limit.min(self.present_spin));
        let spins = if waiting.is_near() { Spins::Once } else { self.spins() };
        let ended = match spins {
            Spins::Once => spin(waiting, spin_for),
            Spins::ToProbe => self.probe(waiting, limit),
            Spins::Not => false,
        };
        if ended {
            self.spin_paid();
        } else {
            self.wait_longer(waiting, limit);
        }
    }

    /// Yields, then sleeps as often as it takes.
    #[cold]
    fn wait_longer(&mut self, waiting: &mut impl Waiting, limit: Option<Duration>) {
        let mut now = Instant::now();
        let deadline = limit.and_then(|limit| now.checked_add(limit));
        for _ in 0..self.yields(now) {
            yield_now();
            let after = Instant::now();
            self.yielded(after, after - now);
            now = after;
            if waiting.ready() {
                return;
            }
        }
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
            if left == Some(Duration::ZERO) {
                return;
            }
            waiting.sleep(left);
            self.present_spin = self.spin;
            let woke = Instant::now();
            if waiting.ready() {
                self.slept(woke - now);
                return;
            }
            now = woke;
        }
    }

    fn spins(&mut self) -> Spins {
        if self.strikes < STRIKES {
            return Spins::Once;
        }
        self.waits = (self.waits + 1) % PROBE;
        if self.waits == 0 { Spins::ToProbe } else { Spins::Not }
    }

    /// Whether it became ready while this side spun for longer than a wake-up takes.
    #[cold]
    fn probe(&mut self, waiting: &impl Waiting, limit: Option<Duration>) -> bool {
        let took = probe(waiting, self.spin, limit);
        took.inspect(|took| self.probe_paid(*took)).is_some()
    }

    fn probe_paid(&mut self, took: Duration) {
        self.present_spin = (took * PROBE_LASTS).clamp(self.spin, self.spin * PROBE_SPINS);
    }

    fn spin_paid(&mut self) {
        self.strikes = 0;
    }

    fn strike(&mut self) {
        self.strikes = (self.strikes + 1).min(STRIKES);
    }

    fn yields(&self, now: Instant) -> u32 {
        if self.no_yields_until.is_some_and(|until| now < until) { 0 } else { YIELDS }
    }

    fn yielded(&mut self, now: Instant, took: Duration) {
        if took > YIELD_SHARED {
            self.strike();
        }
        if took > YIELD_BUSY {
            self.no_yields_until = now.checked_add(NO_YIELDS);
        }
    }

    fn slept(&mut self, took: Duration) {
        if took < SLEPT_IN_VAIN {
            self.strike();
        }
    }
}

/// Whether it became ready within about `limit`. The clock is read only after the first looks: most waits end before.
fn spin(waiting: &impl Waiting, limit: Duration) -> bool {
    let mut started = None;
    loop {
        for _ in 0..LOOKS {
            if waiting.ready() {
                return true;
            }
            spin_loop();
        }
        if started.get_or_insert_with(Instant::now).elapsed() >= limit {
            return false;
        }
    }
}

/// When it became ready, from the begin, if it did while this side spun for longer than a wake-up takes. Ends early where the core is shared.
fn probe(waiting: &impl Waiting, spin_for: Duration, limit: Option<Duration>) -> Option<Duration> {
    let started = Instant::now();
    let end = limit.and_then(|limit| started.checked_add(limit));
    for _ in 0..PROBE_SPINS {
        if spin(waiting, spin_for) {
            return Some(started.elapsed());
        }
        let before = Instant::now();
        yield_now();
        let after = Instant::now();
        if after - before > YIELD_SHARED || end.is_some_and(|end| after >= end) {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_strikes_turn_spinning_off_and_a_probe_that_pays_turns_it_on() {
        let mut patience = Patience::default();
        let now = Instant::now();
        patience.yielded(now, YIELD_SHARED + Duration::from_nanos(1));
        assert_eq!(patience.spins(), Spins::Once, "one strike is no proof");
        patience.slept(SLEPT_IN_VAIN - Duration::from_nanos(1));
        let probes = (0..PROBE * 3).filter(|_| patience.spins() == Spins::ToProbe).count();
        assert_eq!(probes, 3, "one wait in {PROBE} probes");
        patience.spin_paid();
        assert_eq!(patience.spins(), Spins::Once);
    }

    #[test]
    fn after_a_probe_that_paid_waits_spin_for_longer_until_one_sleeps() {
        let mut patience = Patience::default();
        for (took, lasts) in [(SPIN / 4, SPIN), (SPIN * 3, SPIN * 6), (SPIN * 7, SPIN * 8)] {
            patience.probe_paid(took);
            assert_eq!(patience.present_spin, lasts);
        }
        patience.wait(&mut At { look: 3, looks: 0.into(), slept: vec![] }, None);
        assert_eq!(patience.present_spin, SPIN * 8, "it paid");
        patience.wait(&mut At { look: u32::MAX, looks: 0.into(), slept: vec![] }, None);
        assert_eq!(patience.present_spin, SPIN);
    }

    #[test]
    fn quick_yields_and_long_sleeps_are_no_strikes() {
        let mut patience = Patience::default();
        for _ in 0..10 {
            patience.yielded(Instant::now(), YIELD_SHARED);
            patience.slept(SLEPT_IN_VAIN);
        }
        assert_eq!(patience.spins(), Spins::Once);
    }

    #[test]
    fn a_busy_core_turns_yields_off_for_a_while() {
        let mut patience = Patience::default();
        let now = Instant::now();
        patience.yielded(now, YIELD_BUSY);
        assert_eq!(patience.yields(now), YIELDS);
        patience.yielded(now, YIELD_BUSY + Duration::from_nanos(1));
        assert_eq!(patience.yields(now), 0);
        assert_eq!(patience.yields(now + NO_YIELDS), YIELDS);
    }

    /// Ready at the look of that number.
    struct At {
        look: u32,
        looks: std::cell::Cell<u32>,
        slept: Vec<Option<Duration>>,
    }

    impl Waiting for At {
        fn ready(&self) -> bool {
            self.looks.set(self.looks.get() + 1);
            self.looks.get() > self.look
        }
        fn sleep(&mut self, limit: Option<Duration>) {
            self.slept.push(limit);
            self.look = 0;
        }
    }

    #[test]
    fn it_sleeps_only_when_spinning_and_yielding_did_not_help() {
        let mut soon = At { look: 3, looks: 0.into(), slept: vec![] };
        Patience::default().wait(&mut soon, None);
        assert!(soon.slept.is_empty());
        let mut later = At { look: u32::MAX, looks: 0.into(), slept: vec![] };
        Patience::default().wait(&mut later, None);
        assert_eq!(later.slept, [None]);
    }

    #[test]
    fn the_spin_is_as_long_as_it_is_told() {
        let slept = |spin, look| {
            let mut waiting = At { look, looks: 0.into(), slept: vec![] };
            Patience::new(spin).wait(&mut waiting, None);
            waiting.slept.len()
        };
        assert_eq!(slept(Duration::from_secs(100), LOOKS * 100), 0, "it waits for its peer for minutes");
        assert_eq!(slept(Duration::ZERO, LOOKS * 100), 1, "it looks a few times");
    }

    #[test]
    fn what_is_on_its_way_is_worth_a_spin_that_did_not_pay_before() {
        struct Near(At);
        impl Waiting for Near {
            fn ready(&self) -> bool {
                self.0.ready()
            }
            fn is_near(&self) -> bool {
                true
            }
            fn sleep(&mut self, limit: Option<Duration>) {
                self.0.sleep(limit);
            }
        }
        let mut patience = Patience::default();
        (0..STRIKES).for_each(|_| patience.strike());
        let mut near = Near(At { look: 3, looks: 0.into(), slept: vec![] });
        patience.wait(&mut near, None);
        assert!(near.0.slept.is_empty());
        assert_eq!(patience.spins(), Spins::Once, "it paid");
    }

    #[test]
    fn no_time_means_one_look() {
        let mut never = At { look: u32::MAX, looks: 0.into(), slept: vec![] };
        Patience::default().wait(&mut never, Some(Duration::ZERO));
        assert_eq!((never.looks.get(), never.slept.len()), (1, 0));
    }
}
