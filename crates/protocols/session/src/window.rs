//! Sending again what may be lost: the sending half of retransmission, over what is kept in any case.

use crate::config::WindowLimits;
use crate::estimator::Estimator;
use crate::recovery::Recovery;
use crate::retention::{Departure, Retention};
use crate::sequence::Sequence;
use crate::stamp::Stamp;
use quintet_contract::{Span, Time};

/// RFC 5681 (3.2): so many acknowledgements of the same frame mean that the next one was lost.
const DUPLICATES_MEAN_LOSS: u32 = 3;

/// What an acknowledgement did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// Nothing new.
    None,
    /// Frames were released.
    Released,
    /// Frames seem lost.
    Lost,
    /// It covers frames that were never sent.
    Impossible,
}

/// The frames of one direction of one session, on a link that may lose them.
#[derive(Debug)]
pub(crate) struct Window {
    frames: Retention,
    estimator: Estimator,
    timer: Option<Time>,
    duplicates: u32,
    /// What is being sent again.
    recovery: Option<Recovery>,
}

impl Window {
    pub(crate) fn new(initial_timeout: Span, limits: WindowLimits) -> Self {
        Window {
            frames: Retention::new(limits),
            estimator: Estimator::new(initial_timeout),
            timer: None,
            duplicates: 0,
            recovery: None,
        }
    }

    /// What is kept.
    pub(crate) fn frames(&self) -> &Retention {
        &self.frames
    }

    /// See [`Window::frames`].
    pub(crate) fn frames_mut(&mut self) -> &mut Retention {
        &mut self.frames
    }

    /// Room for a frame of so many bytes; remembers a refusal.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        self.frames.has_room(|kept, limit| kept.saturating_add(bytes as u64) <= limit)
    }

    /// When the oldest frame is due again.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.timer
    }

    /// The link is new: everything has to be sent again, as room permits.
    pub(crate) fn rewind(&mut self) {
        self.frames.rewind();
        self.timer = None;
        self.duplicates = 0;
        self.recovery = None;
        // What the old link lost says nothing about this one.
        self.estimator.end_back_off();
    }

    /// Sends what the present link was not given yet, as far as it takes it. Whether anything departed.
    pub(crate) fn send_waiting(&mut self, departure: &mut Departure<'_>) -> bool {
        let departed = self.frames.send_waiting(departure);
        if self.frames.has_departed() && self.timer.is_none() {
            // RFC 6298 (5.1)
            self.timer = Some(departure.now + self.estimator.timeout());
        }
        departed
    }

    /// Sends again what seems lost, as much as may be under way.
    pub(crate) fn resend(&mut self, departure: &mut Departure<'_>) -> bool {
        let mut sent = false;
        while let Some(recovery) = &mut self.recovery
            && let Some(sequence) = recovery.due(self.frames.first())
            && self.frames.transmit(sequence, departure)
        {
            recovery.departed();
            sent = true;
        }
        self.restart_timer(departure.now);
        sent
    }

    fn restart_timer(&mut self, now: Time) {
        self.timer = self.frames.has_departed().then(|| now + self.estimator.timeout());
    }

    /// The timer expired: RFC 6298 (5.4) to (5.6).
    pub(crate) fn time_out(&mut self, departure: &mut Departure<'_>) -> bool {
        self.estimator.back_off();
        self.duplicates = 0;
        let (first, until) = (self.frames.first(), self.frames.transmitted_to());
        let earlier = self.recovery.take();
        self.recovery = Some(Recovery::after_timeout(earlier, first, until, departure.now));
        self.resend(departure)
    }

    /// Everything before `acknowledged` has arrived. `echo`: the stamp of the frame that this answers. `alone`: no frame from above
    /// came with it.
    pub(crate) fn acknowledge(
        &mut self,
        acknowledged: Sequence,
        echo: Stamp,
        alone: bool,
        now: Time,
    ) -> Progress {
        let oldest = self.frames.oldest_sent();
        let released = match acknowledged.ahead_of(self.frames.first()) {
            ..0 => return Progress::None,
            0 => return self.acknowledged_again(alone, now),
            1.. => self.frames.release(acknowledged),
        };
        let Some(released) = released else { return Progress::Impossible };
        let age = self.measure(oldest, echo, now);
        self.duplicates = 0;
        // RFC 6298 (5.2), (5.3)
        self.restart_timer(now);
        let recovery = self.recovery.take();
        self.recovery = recovery.and_then(|recovery| recovery.advance(acknowledged, released, age, now));
        if self.recovery.is_some() { Progress::Lost } else { Progress::Released }
    }

    fn acknowledged_again(&mut self, alone: bool, now: Time) -> Progress {
        if !alone || !self.frames.has_departed() {
            return Progress::None;
        }
        self.duplicates += 1;
        if self.duplicates != DUPLICATES_MEAN_LOSS || self.recovery.is_some() {
            return Progress::None;
        }
        let (first, until) = (self.frames.first(), self.frames.transmitted_to());
        self.recovery = Some(Recovery::after_duplicates(first, until, now));
        Progress::Lost
    }

    /// The age of the frame that the echo names is a sample of the round trip, whichever transmission it was (RFC 7323, section
    /// 4); none if it is older than the `oldest` of the frames that are acknowledged.
    fn measure(&mut self, oldest: Option<Time>, echo: Stamp, now: Time) -> Option<Span> {
        let age = oldest.and_then(|oldest| echo.age(oldest, now));
        match age {
            Some(age) => self.estimator.sample(age),
            // RFC 9002 (6.2.1): what arrives ends the back-off. A timeout that is too short learns so from the next echo.
            None => self.estimator.end_back_off(),
        }
        age
    }
}

#[cfg(test)]
#[path = "window/tests.rs"]
mod tests;
