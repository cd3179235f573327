//! A protocol whose inputs are in a log.
//!
//! ```text
//! opening   reads the log: the snapshot, then every input behind it, which the protocol is given again; what it sends is dropped
//!           whoever was connected is not any more: the protocol learns that each is down
//! open      an input: a record, handed to the protocol, what it sends held back
//!           at the end of the burst: one batch to the disk; while it is on its way, the next one gathers
//!           durable: what is held back for it goes
//! closed    the log cannot be used, or the disk has failed: nothing goes any more
//! ```
//!
//! The protocol's time is the log's ([`clock`](crate::clock)), and it never hears that a link is full: what a link does not take waits here. So what it
//! does follows from the log alone, and is the same when it is done again.
//!
//! Its answers tell who gets them nothing but what is durable. That is so of what it reads as well: a tuple that is read was put by an input
//! before, or with the same sync.
//!
//! | file | does |
//! | --- | --- |
//! | `opening.rs` | reads the log back, and begins a life |
//! | `replay.rs` | gives the protocol again what it was given |
//! | `state.rs` | the protocol, and whom it knows |
//! | `held.rs` | what waits for a sync, or for a link |
//! | `given.rs` | inputs that came before the log was read |

pub(crate) mod given;
pub(crate) mod held;
mod metrics;
mod opening;
mod replay;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use crate::clock::LogClock;
use crate::config::LoggedConfig;
use crate::defect::seeded;
use crate::log::{Batch, Writer};
use crate::news::LogNews;
use crate::record::{Kept, Life, PART_BYTES, Record};
use bytes::Bytes;
use given::Given;
use held::Held;
use metrics::Counters;
use opening::Opening;
use quintet_contract::{Address, Frame, Input, Meter, Outbox, PeerChange, Protocol, Snapshot, Time, Token};
use quintet_wire::registry::{DISK_DONE, DISK_REPLACE, DISK_WRITE, LOG_NEWS, PORT_CALLERS, PORT_DISK};
use quintet_wire::services::DiskDone;
use quintet_wire::{Decode, Encode, encode_to_vec, send};
use state::State;

/// Under which the disk is asked to write.
const WRITING: Token = Token(2);

/// A protocol that survives the end of its process. What it promises stands at the head of this module's file.
#[derive(Debug)]
pub struct Logged<P: Snapshot> {
    config: LoggedConfig,
    /// What the protocol is made with in this life.
    protocol: P::Config,
    make: fn(&P::Config) -> P,
    phase: Phase<P>,
}

#[derive(Debug)]
enum Phase<P: Snapshot> {
    Opening(Box<Opening<P>>),
    Open(Box<Open<P>>),
    Closed,
}

/// All that there is while requests are served.
#[derive(Debug)]
struct Open<P> {
    state: State<P>,
    clock: LogClock,
    writer: Writer,
    held: Held,
    /// When the next batch is to begin: at the end of this burst.
    begin_at: Option<Time>,
    /// Which life this is.
    life: u64,
    /// What is told once the first batch is durable.
    opened: Option<LogNews>,
    counters: Counters,
}

impl<P: Snapshot> Logged<P>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    /// A protocol with a log, made with `protocol` by `make` where there is no log so far. Where there is one it was perhaps made with other limits; it
    /// goes on with these.
    #[must_use]
    pub fn new(config: LoggedConfig, protocol: P::Config, make: fn(&P::Config) -> P) -> Logged<P> {
        Logged { config, protocol, make, phase: Phase::Opening(Box::default()) }
    }

    /// The protocol, once its log is read: for those who check it in tests.
    #[must_use]
    pub fn protocol(&self) -> Option<&P> {
        match &self.phase {
            Phase::Open(open) => Some(&open.state.protocol),
            Phase::Opening(_) | Phase::Closed => None,
        }
    }

    fn disk(&self) -> Address {
        Address { node: self.config.me.node, port: PORT_DISK }
    }

    /// Tells the callers of the node how it goes.
    fn tell(&self, news: &LogNews, out: &mut dyn Outbox) {
        // Where nobody listens, nobody is to be told.
        let callers = Address { node: self.config.me.node, port: PORT_CALLERS };
        let _ = send(out, callers, LOG_NEWS, Token(0), news);
    }

    /// Nothing goes any more: neither what is held back nor what comes.
    fn close(&mut self, news: &LogNews, out: &mut dyn Outbox) {
        self.phase = Phase::Closed;
        self.tell(news, out);
    }

    /// An input while requests are served.
    fn take(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let disk = self.disk();
        let Phase::Open(open) = &mut self.phase else { return };
        match input {
            Input::Frame(from, frame) if from == disk => self.hear_disk(now, frame, out),
            Input::Writable(to) => open.held.retry(to, out),
            Input::Wake => {
                if open.state.protocol.deadline().is_some_and(|due| due <= open.clock.of_log(now)) {
                    open.record(&self.config, now, Input::Wake, out);
                }
                self.begin_batch(out);
            }
            // Whose memory it is may write it later: what is kept and what the protocol gets has to stay the same.
            Input::Frame(from, frame) if !frame.bulk.is_empty() => {
                let bulk = Bytes::copy_from_slice(frame.bulk);
                open.record(&self.config, now, Input::Frame(from, Frame { bulk: &bulk, ..frame }), out);
            }
            input => {
                if let Input::Peer(peer, PeerChange::Down(_)) = input {
                    open.held.forget(peer);
                }
                open.record(&self.config, now, input, out);
            }
        }
    }

    /// The disk is done with a batch.
    fn hear_disk(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        if frame.kind != DISK_DONE || frame.token != WRITING {
            return;
        }
        let has_failed = DiskDone::decode_all(frame.body).map_or(true, |done| done.failed);
        if has_failed && !seeded!(self.config, FailedSyncBelieved) {
            let text = "the disk has failed: what was not answered may be on it or not".to_owned();
            return self.close(&LogNews::Failed(text), out);
        }
        open.writer.synced();
        open.counters.syncs += 1;
        let opened = open.opened.take();
        if open.writer.is_long(self.config.spare_log_bytes) {
            open.write_anew(&self.config, &self.protocol, now);
        }
        // What is durable is said first: the next batch may find that the disk takes nothing any more.
        open.held.release(|batch| open.writer.is_durable(batch), out);
        opened.iter().for_each(|news| self.tell(news, out));
        self.begin_batch(out);
    }

    fn begin_batch(&mut self, out: &mut dyn Outbox) {
        let disk = self.disk();
        let Phase::Open(open) = &mut self.phase else { return };
        open.begin_at = None;
        let (kind, bytes) = match open.writer.begin() {
            None => return,
            Some(Batch::Whole(bytes)) => (DISK_REPLACE, bytes),
            Some(Batch::Behind(bytes)) => (DISK_WRITE, bytes),
        };
        if let Err(error) = out.send_bulk(disk, kind, WRITING, &[], bytes.into()) {
            let text = format!("the disk takes nothing: {error}");
            self.close(&LogNews::Failed(text), out);
        }
    }
}

impl<P: Snapshot> Open<P>
where
    P::Config: Encode,
{
    /// Keeps an input, and gives it to the protocol.
    fn record(&mut self, config: &LoggedConfig, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let time = self.clock.of_log(now);
        if !(seeded!(config, LostWhileWrittenAnew) && self.writer.is_written_anew()) {
            self.writer.keep(|to| Record::Input(time, Kept::new(&input)).encode(to));
        }
        self.counters.records += 1;
        if self.writer.is_waiting() {
            self.begin_at = Some(now);
        }
        let batch = if seeded!(config, AnsweredBeforeSync) { 0 } else { self.writer.batch() };
        self.held.begin(batch);
        self.state.give(config.me, time, input, &mut self.held, out);
        self.held.release(|batch| self.writer.is_durable(batch), out);
    }

    /// Has the next batch take the place of the whole log.
    fn write_anew(&mut self, config: &LoggedConfig, protocol: &P::Config, now: Time) {
        let bytes = self.state.save();
        let (number, time) = (self.life, self.clock.of_log(now));
        self.writer.begin_anew();
        keep_state::<P>(&mut self.writer, config, protocol, (number, time), &bytes);
        self.counters.rewritten += 1;
    }
}

/// Keeps with what a file begins.
fn keep_state<P: Snapshot>(
    writer: &mut Writer,
    config: &LoggedConfig,
    protocol: &P::Config,
    (number, time): (u64, Time),
    state: &[u8],
) where
    P::Config: Encode,
{
    let protocol = encode_to_vec(protocol);
    let (cluster, port) = (config.cluster, config.me.port.0);
    let life = Life { cluster, port, number, behaviour: P::BEHAVIOUR, time, config: &protocol };
    writer.keep(|to| Record::Life(life).encode(to));
    // One that is empty has a part as well.
    let last = state.len().saturating_sub(1) / PART_BYTES;
    for (number, part) in (0..=last).zip(state.chunks(PART_BYTES).chain([&[][..]])) {
        writer.keep(|to| Record::Snapshot(number == last, part).encode(to));
    }
}

impl<P: Snapshot> Protocol for Logged<P>
where
    P::Config: Encode + for<'a> Decode<'a> + Clone,
{
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let disk = self.disk();
        match &mut self.phase {
            Phase::Closed => {}
            Phase::Open(_) => self.take(now, input, out),
            Phase::Opening(opening) => match input {
                Input::Started => self.begin_opening(out),
                Input::Frame(from, frame) if from == disk => self.go_on_opening(now, frame, out),
                input => opening.waiting.push(Given::new(input)),
            },
        }
    }

    fn deadline(&self) -> Option<Time> {
        let Phase::Open(open) = &self.phase else { return None };
        let due = open.state.protocol.deadline().map(|due| open.clock.of_host(due));
        open.begin_at.into_iter().chain(due).min()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        if let Phase::Open(open) = &self.phase {
            metrics::tell(open.counters, &open.writer, &open.held, meter);
            open.state.protocol.measure(meter);
        }
    }
}
