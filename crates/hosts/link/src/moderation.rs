//! When a receiver lets frames gather, as network cards moderate their interrupts.
//!
//! A reader right behind the writer makes each line of the ring cross between the processors alone, and twice: it takes the line
//! that the writer is about to write, and waits for it to come back. Where frames come one way, close together, nobody
//! waits for the next one. A reader that has read everything then looks away for [`GATHER`] and reads what came meanwhile at
//! once. A stream that ends is noticed by a gathering in vain; its last frames were late by that much.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::time::Instant;

/// How long frames gather: less than a wake-up takes, and less than a wait spins.
const GATHER: Duration = Duration::from_micros(5);
/// A stream is dense if its frames come closer together than this.
const DENSE: Duration = Duration::from_nanos(500);
/// Frames without an answer after which it is seen whether they are a dense stream, to begin with.
const STRETCH: u32 = 64;
/// And at most, after gatherings in vain.
const LONGEST_STRETCH: u32 = 1 << 16;
/// A gathering of fewer frames was in vain.
const WORTH: u32 = 4;

/// Whether an end has sent frames since its receiver found nothing left to read: then somebody may wait for the answer to them.
/// Both halves have it.
#[derive(Debug, Default)]
pub(crate) struct Sent(AtomicBool);

impl Sent {
    /// Frames were sent.
    #[inline]
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    #[inline]
    fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What one receiver knows of the stream that it reads.
#[derive(Debug)]
pub(crate) struct Moderation {
    /// Frames since the stretch began, or the gathering.
    frames: u32,
    stretch: u32,
    /// When the stretch began; unknown of the first one.
    began: Option<Instant>,
    /// The end of the gathering.
    until: Option<Instant>,
}

impl Default for Moderation {
    fn default() -> Self {
        Moderation { frames: 0, stretch: STRETCH, began: None, until: None }
    }
}

impl Moderation {
    /// Whether frames are gathering now.
    #[inline]
    pub(crate) fn gathers(&self, sent: &Sent) -> bool {
        self.until.is_some_and(lies_ahead) && !sent.is_noted()
    }

    /// Waits while frames gather, unless something else calls.
    #[cold]
    pub(crate) fn gather(&self, sent: &Sent, is_called: impl Fn() -> bool) {
        while self.gathers(sent) && !is_called() {
            spin_loop();
        }
    }

    /// A frame was read.
    #[inline]
    pub(crate) fn read(&mut self) {
        self.frames = self.frames.saturating_add(1);
    }

    /// This side has sent something: the peer may wait for the answer to its next frame.
    #[inline]
    fn answered(&mut self) {
        self.frames = 0;
        self.began = None;
        self.until = None;
    }

    /// Nothing is left to read. Lets the next frames gather if they are a stream, unless somebody may wait for an answer to what
    /// this end sent.
    #[inline]
    pub(crate) fn emptied(&mut self, sent: &Sent) {
        if sent.is_noted() {
            sent.0.store(false, Ordering::Relaxed);
            self.answered();
        } else if self.until.is_some() || self.frames >= self.stretch {
            self.judge(Instant::now());
        }
    }

    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Instant) {
        if self.until.is_none() {
            let dense = self.began.is_some_and(|began| now - began < DENSE * self.frames);
            self.until = dense.then(|| now + GATHER);
        } else if self.frames >= WORTH {
            self.stretch = STRETCH;
            self.until = Some(now + GATHER);
        } else {
            self.stretch = (self.stretch * 2).min(LONGEST_STRETCH);
            self.until = None;
        }
        self.began = Some(now);
        self.frames = 0;
    }
}

/// Apart, so that the clock stays out of the way of receivers that let nothing gather.
#[cold]
fn lies_ahead(until: Instant) -> bool {
    Instant::now() < until
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A moderation, and a clock of its own.
    struct Reader {
        moderation: Moderation,
        now: Instant,
    }

    impl Reader {
        fn new() -> Self {
            Reader { moderation: Moderation::default(), now: Instant::now() }
        }

        /// Reads so many frames, which took so long together, and empties the ring. Whether the next ones are to gather.
        fn reads(&mut self, frames: u32, took: Duration) -> bool {
            self.now += took;
            (0..frames).for_each(|_| self.moderation.read());
            if self.moderation.until.is_some() || self.moderation.frames >= self.moderation.stretch {
                self.moderation.judge(self.now);
            }
            self.moderation.until.is_some()
        }

        /// Reads a dense stretch, of which nothing is known before, and one more.
        fn reads_dense_stretches(&mut self) -> bool {
            let frames = self.moderation.stretch;
            self.reads(frames, Duration::ZERO) | self.reads(frames, DENSE * (frames - 1))
        }
    }

    #[test]
    fn a_dense_stream_gathers_until_it_ends() {
        let mut reader = Reader::new();
        assert!(reader.reads_dense_stretches());
        assert!(reader.reads(WORTH, GATHER) && reader.reads(1_000, GATHER), "as long as it is worth it");
        assert!(!reader.reads(WORTH - 1, GATHER), "it has ended");
    }

    #[test]
    fn frames_far_apart_do_not_gather() {
        let mut reader = Reader::new();
        assert!(!reader.reads(STRETCH, Duration::ZERO), "how long they took is not known");
        assert!((0..10).all(|_| !reader.reads(STRETCH, DENSE * STRETCH)));
        assert!(!reader.reads(STRETCH - 1, Duration::ZERO), "too few");
    }

    #[test]
    fn an_answer_ends_the_gathering_and_begins_anew() {
        let mut reader = Reader::new();
        assert!(reader.reads_dense_stretches());
        reader.moderation.answered();
        assert!(!reader.moderation.gathers(&Sent::default()));
        assert!(!reader.reads(STRETCH, Duration::ZERO));
        for _ in 0..1_000 {
            assert!(!reader.reads(STRETCH - 1, Duration::from_nanos(1)));
            reader.moderation.answered();
        }
    }

    #[test]
    fn what_was_sent_ends_the_gathering_once() {
        let mut reader = Reader::new();
        let sent = Sent::default();
        assert!(reader.reads_dense_stretches());
        reader.moderation.until = Some(Instant::now() + Duration::from_secs(3600));
        assert!(reader.moderation.gathers(&sent));
        sent.note();
        assert!(!reader.moderation.gathers(&sent), "at once");
        reader.moderation.emptied(&sent);
        assert!(!sent.is_noted() && reader.moderation.until.is_none(), "it is seen to");
    }

    #[test]
    fn gatherings_in_vain_become_rare() {
        let mut reader = Reader::new();
        for expected in [128, 256, 512] {
            reader.moderation.answered();
            assert!(reader.reads_dense_stretches());
            assert!(!reader.reads(0, GATHER));
            assert_eq!(reader.moderation.stretch, expected);
        }
        assert!(!reader.reads(STRETCH, Duration::ZERO));
        assert!(reader.reads_dense_stretches());
        assert!(reader.reads(WORTH, GATHER));
        assert_eq!(reader.moderation.stretch, STRETCH, "one that was worth it");
    }
}
