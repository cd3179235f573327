//! Who sends on the cable, and who hears what when.

use super::super::message::Station;
use super::parameters::span;
use crate::picos::Picos;

/// A transmission that some station may still hear, or whose gap some station may still keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) by: Station,
    pub(super) start: Picos,
    /// When it ends if no collision is heard before; when it ended, once it is over.
    pub(super) end: Picos,
    /// When the first collision reaches the sender.
    pub(super) hears_at: Picos,
    /// Whether the sender heard one.
    pub(super) jamming: bool,
    pub(super) over: bool,
}

/// The cable.
#[derive(Debug)]
pub(super) struct Carrier {
    /// Each station's distance from the end of the cable, in time.
    places: Vec<Picos>,
    longest: Picos,
    gap: Picos,
    gap_first_part: Picos,
    list: Vec<Transmission>,
    /// From when until when one station hears each transmission; kept for its memory.
    heard: Vec<(Picos, Picos)>,
}

impl Carrier {
    pub(super) fn new(places: Vec<Picos>, gap: Picos, gap_first_part: Picos) -> Carrier {
        Carrier { longest: span(&places), places, gap, gap_first_part, list: Vec::new(), heard: Vec::new() }
    }

    pub(super) fn delay(&self, a: Station, b: Station) -> Picos {
        let (a, b) = (self.places[a.index()], self.places[b.index()]);
        a.max(b) - a.min(b)
    }

    /// When a station with a frame at hand may send, as far as is known at `now`; `None` while it hears a transmission
    /// whose end is open.
    ///
    /// A carrier that began before the moment of sending defers it until a gap after the carrier's end, except one that
    /// began in the second part of the gap kept at that moment (IEEE 802.3, 4.2.3.2.2).
    pub(super) fn free_at(&mut self, now: Picos, station: Station) -> Option<Picos> {
        self.heard.clear();
        for sent in &self.list {
            let delay = self.delay(sent.by, station);
            let until = if sent.over { sent.end + delay } else { Picos::NEVER };
            self.heard.push((sent.start + delay, until));
        }
        self.heard.sort_unstable();
        let (mut send, mut silent) = (now, None::<Picos>);
        for &(from, until) in &self.heard {
            if from >= send {
                break;
            }
            if silent.is_some_and(|silent| send == silent + self.gap && from >= silent + self.gap_first_part)
            {
                continue;
            }
            if until == Picos::NEVER {
                return None;
            }
            let silence = silent.map_or(until, |silent| silent.max(until));
            silent = Some(silence);
            send = now.max(silence + self.gap);
        }
        Some(send)
    }

    /// A station starts to send, until `end` if no collision is heard before. Calls `collide` with each station that
    /// will hear a collision earlier than known so far, and when.
    pub(super) fn start(
        &mut self,
        now: Picos,
        by: Station,
        end: Picos,
        mut collide: impl FnMut(Station, Picos),
    ) {
        let mut hears_at = Picos::NEVER;
        for index in 0..self.list.len() {
            let delay = self.delay(self.list[index].by, by);
            let other = &mut self.list[index];
            let heard = now.max(other.start + delay);
            if !other.over || other.end + delay > heard {
                hears_at = hears_at.min(heard);
            }
            let reaches = now + delay;
            if !other.over && !other.jamming && reaches < other.end.min(other.hears_at) {
                other.hears_at = reaches;
                collide(other.by, reaches);
            }
        }
        if hears_at < end {
            collide(by, hears_at);
        }
        self.list.push(Transmission { by, start: now, end, hears_at, jamming: false, over: false });
    }

    /// The transmission under way of a station.
    pub(super) fn of(&mut self, station: Station) -> Option<&mut Transmission> {
        self.list.iter_mut().find(|sent| sent.by == station && !sent.over)
    }

    /// Forgets what nobody hears any more. True if nobody sends.
    pub(super) fn prune(&mut self, now: Picos) -> bool {
        let (longest, gap) = (self.longest, self.gap);
        self.list.retain(|sent| !sent.over || sent.end + longest + gap >= now);
        self.list.iter().all(|sent| sent.over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Picos = Picos(96);
    const NEAR: Station = Station(0);
    const MIDDLE: Station = Station(1);
    const FAR: Station = Station(2);

    /// Stations at 0, 10 and 100; a gap of 96 whose first part is 64.
    fn carrier() -> Carrier {
        Carrier::new(vec![Picos(0), Picos(10), Picos(100)], GAP, Picos(64))
    }

    /// What stations will hear because one starts.
    fn start(carrier: &mut Carrier, now: u64, by: Station) -> Vec<(Station, u64)> {
        let mut heard = Vec::new();
        carrier.start(Picos(now), by, Picos(now + 1_000), |who, at| heard.push((who, at.0)));
        heard
    }

    fn end(carrier: &mut Carrier, now: u64, by: Station) {
        let sent = carrier.of(by).unwrap();
        sent.end = Picos(now);
        sent.over = true;
    }

    #[test]
    fn a_station_may_start_until_the_carrier_has_passed_it() {
        let mut carrier = carrier();
        start(&mut carrier, 0, NEAR);
        assert_eq!(
            carrier.free_at(Picos(100), FAR),
            Some(Picos(100)),
            "at the very moment, it has heard nothing"
        );
        assert_eq!(carrier.free_at(Picos(101), FAR), None);
        end(&mut carrier, 500, NEAR);
        assert_eq!(carrier.free_at(Picos(500), FAR), Some(Picos(600) + GAP));
        assert_eq!(carrier.free_at(Picos(500), MIDDLE), Some(Picos(510) + GAP));
    }

    #[test]
    fn each_hears_the_other_when_its_signal_arrives() {
        let mut carrier = carrier();
        assert_eq!(start(&mut carrier, 0, NEAR), []);
        assert_eq!(start(&mut carrier, 5, MIDDLE), [(NEAR, 15), (MIDDLE, 10)]);
        assert_eq!(start(&mut carrier, 40, FAR), [(FAR, 95)], "the others hear it later than each other");
    }

    #[test]
    fn two_alone_hear_each_other_a_delay_apart() {
        let mut carrier = carrier();
        start(&mut carrier, 0, NEAR);
        assert_eq!(start(&mut carrier, 40, FAR), [(NEAR, 140), (FAR, 100)]);
    }

    /// What is over already still runs along the cable.
    #[test]
    fn a_fragment_that_ended_is_heard_on_its_way() {
        let mut carrier = carrier();
        start(&mut carrier, 0, NEAR);
        end(&mut carrier, 30, NEAR);
        assert!(carrier.prune(Picos(30)));
        assert_eq!(start(&mut carrier, 50, FAR), [(FAR, 100)]);
    }

    /// A carrier in the first part of the gap starts the wait again; one in the second part is not heeded.
    #[test]
    fn the_second_part_of_the_gap_is_blind() {
        for (at, free) in [(63, 0), (64, 96)] {
            let mut carrier = carrier();
            start(&mut carrier, 0, MIDDLE);
            end(&mut carrier, 1_000, MIDDLE);
            start(&mut carrier, 1_010 - 10 + at, MIDDLE);
            let found = carrier.free_at(Picos(1_010 + 95), NEAR);
            assert_eq!(
                found,
                (free > 0).then_some(Picos(1_010 + free)),
                "a carrier {at} after the end of the last"
            );
        }
    }

    #[test]
    fn the_gap_is_kept_for_what_is_no_longer_sent() {
        let mut carrier = carrier();
        start(&mut carrier, 0, NEAR);
        end(&mut carrier, 1_000, NEAR);
        carrier.prune(Picos(1_100));
        assert_eq!(carrier.free_at(Picos(1_100), FAR), Some(Picos(1_100) + GAP));
        carrier.prune(Picos(1_197));
        assert!(carrier.list.is_empty(), "nobody can hear or heed it any more");
    }
}
