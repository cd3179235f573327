//! What is due, done at its time also where the manager is woken late.
//!
//! Things are done in the order of their times, and who waits for room is served after each: a put finds the room that a tuple left before the
//! put's deadline, and a lease that ended before its tuple's time left a tuple that was wanted still. What begins by that begins now.

use super::lease::Failure;
use super::{MAX_LATENESS, Space, Timer};
use quintet_contract::{Outbox, Span, Time};

impl Space {
    /// Does what is due, and whatever has room by that: as if it had been called in time, it comes before what is asked now.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.timers.first().is_some_and(|due| due <= now) {
            self.do_what_is_due(now, out);
        }
    }

    fn do_what_is_due(&mut self, now: Time, out: &mut dyn Outbox) {
        let late = self.timers.first().map_or(Span::ZERO, |first| now.since(first));
        if late > MAX_LATENESS {
            self.put_off_leases(now, late);
        }
        while let Some((at, due)) = self.timers.pop(now) {
            match due {
                Timer::Waiter(waiter) => self.time_out_waiter(now, waiter, out),
                Timer::Parked(key) => self.time_out_parked(now, key, out),
                Timer::Watcher(order) => self.conclude_watcher(now, order, out),
                Timer::Lease(first) => {
                    let leases = core::iter::once(first).chain(self.timers.leases_at(at));
                    self.fail_leases(now, leases.collect::<Vec<_>>(), Failure::Expired, out);
                }
                Timer::Tuple(place) => self.expire_shown(now, place),
            }
            self.serve_parked(now, out);
        }
    }
}
