//! Reads the log back, and begins a life.

use super::given::Given;
use super::replay::Replay;
use super::{Logged, Open, Phase, keep_state};
use crate::clock::LogClock;
use crate::defect::seeded;
use crate::log::{Recovery, Unreadable, Writer};
use crate::news::LogNews;
use crate::record::FORMAT;
use quintet_contract::{Frame, Outbox, Snapshot, Time, Token};
use quintet_wire::registry::{DISK_DATA, DISK_READ};
use quintet_wire::services::{DiskDone, DiskRead};
use quintet_wire::{Decode, Encode, send};

/// Under which the disk is read.
const READING: Token = Token(1);

/// How much is read at a time.
const PIECE_BYTES: u32 = 1024 * 1024;

/// After so many bytes it is told how far the reading is.
const TOLD_BYTES: u64 = 64 * 1024 * 1024;

/// What is known while the log is read.
#[derive(Debug)]
pub(super) struct Opening<P: Snapshot> {
    recovery: Recovery,
    replay: Replay<P>,
    /// How far it was told.
    told: u64,
    /// What came meanwhile.
    pub(super) waiting: Vec<Given>,
}

impl<P: Snapshot> Default for Opening<P> {
    fn default() -> Self {
        Opening { recovery: Recovery::new(FORMAT), replay: Replay::default(), told: 0, waiting: Vec::new() }
    }
}

impl<P: Snapshot> Logged<P>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    pub(super) fn begin_opening(&mut self, out: &mut dyn Outbox) {
        self.read_on(0, out);
    }

    fn read_on(&mut self, at: u64, out: &mut dyn Outbox) {
        if let Err(error) = send(out, self.disk(), DISK_READ, READING, &DiskRead { at, len: PIECE_BYTES }) {
            self.refuse(format!("the log needs a disk: {error}"), out);
        }
    }

    fn refuse(&mut self, text: String, out: &mut dyn Outbox) {
        self.close(&LogNews::Refused(text), out);
    }

    pub(super) fn go_on_opening(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Phase::Opening(opening) = &mut self.phase else { return };
        if frame.kind != DISK_DATA || frame.token != READING {
            return;
        }
        let Ok(DiskDone { failed: false, length }) = DiskDone::decode_all(frame.body) else {
            return self.refuse("the disk cannot be read".to_owned(), out);
        };
        let (recovery, replay, config) = (&mut opening.recovery, &mut opening.replay, &self.config);
        let taken = recovery.take(frame.bulk, length, &mut |record| replay.take(config, record, out));
        match taken {
            Ok(()) => {}
            Err(Unreadable::Damage { .. }) if seeded!(self.config, DamageCutOff) => {
                return self.start(now, out);
            }
            Err(unreadable) => {
                let text = replay.stranger.take().unwrap_or_else(|| unreadable.to_string());
                return self.refuse(text, out);
            }
        }
        let (read, is_complete) = (recovery.taken(), recovery.is_complete());
        if read >= opening.told + TOLD_BYTES {
            opening.told = read;
            self.tell(&LogNews::Reading { read, of: length }, out);
        }
        // A disk that gives nothing where there is something would be asked for ever.
        match (is_complete, frame.bulk.is_empty()) {
            (true, _) => self.start(now, out),
            (false, true) => self.refuse("the disk cannot be read to its end".to_owned(), out),
            (false, false) => self.read_on(read, out),
        }
    }

    /// All is read: begins to serve, with a life of its own and a log that holds nothing torn.
    fn start(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Opening(opening) = &mut self.phase else { return };
        let Opening { recovery, replay, waiting, .. } = core::mem::take(&mut **opening);
        let torn_bytes = recovery.torn();
        let ended = match replay.end(&self.config, &self.protocol, self.make, out) {
            Ok(ended) => ended,
            Err(text) => {
                let offset = recovery.whole();
                return self.refuse(format!("the log is damaged at byte {offset}: {text}"), out);
            }
        };
        let life = ended.life + 1;
        let mut writer = Writer::new(FORMAT);
        keep_state::<P>(&mut writer, &self.config, &self.protocol, (life, ended.time), &ended.saved);
        let base = if seeded!(self.config, ClockBeginsAnew) { Time::ZERO } else { ended.time };
        self.phase = Phase::Open(Box::new(Open {
            state: ended.state,
            clock: LogClock::new(now, base),
            writer,
            held: super::Held::default(),
            begin_at: Some(now),
            life,
            opened: Some(LogNews::Open { life, inputs: ended.inputs, torn_bytes }),
            counters: super::Counters::default(),
        }));
        waiting.iter().for_each(|given| self.take(now, given.input(), out));
    }
}
