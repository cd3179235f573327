//! One philosopher: says how it goes as a JSON object a line, and ends when that is told in the space.

use super::told;
use crate::connection::refused;
use clap::Args;
use quintet::isotach::Intervals;
use quintet::{Cause, Code, Error, Executed, Isonet, IsonetCause, Lab, Space, Variable, template};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a fork: how often it was used, u64 little-endian.
pub(crate) const FORK_BYTES: usize = 8;
/// The name of the philosophers' isonet.
const TABLE: &str = "philosophers";
/// Between two words of how it goes.
const BETWEEN_WORDS: Duration = Duration::from_millis(100);
/// How long a philosopher thinks.
const THOUGHT: Duration = Duration::from_millis(1);
/// Is in the space once all are to end.
pub(super) const IS_OVER: &str = "the dinner is over";

#[derive(Args)]
pub(crate) struct SideArguments {
    /// Which philosopher
    #[arg(long)]
    member: u16,
    /// How many there are
    #[arg(long)]
    of: u16,
    /// How long nothing may be heard of another one, in seconds
    #[arg(long)]
    silence: f64,
    /// It takes the place of one that has ended
    #[arg(long)]
    rejoin: bool,
    /// How often it tells how far apart pulses were, in seconds, if it keeps the pulse
    #[arg(long)]
    intervals: Option<f64>,
}

/// The forks of a philosopher: the one behind it, which it shares with the philosopher before it, comes second.
pub(crate) fn forks_of(member: u16, of: u16) -> [Variable; 2] {
    [Variable(member.into()), Variable(((member + of - 1) % of).into())]
}

/// Those between whom a fork lies.
pub(crate) fn copies_of(fork: u16, of: u16) -> [u16; 2] {
    [fork, (fork + 1) % of]
}

impl SideArguments {
    /// Thinks and eats until the dinner is over, with the others that are where the environment says that the space is.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let lab = Lab::from_environment()?;
        let is_over = is_over(lab.space());
        let silence = Duration::try_from_secs_f64(self.silence)
            .map_err(|error| Error::new(Code::BadValue, format!("--silence: {error}")))?;
        let builder = lab.isochrons(TABLE).member(self.member, self.of).silence_limit(silence).keep_witness();
        let builder = (0..self.of).fold(builder.rejoinable(), |builder, fork| {
            builder.variable_at(Variable(fork.into()), FORK_BYTES, &copies_of(fork, self.of))
        });
        let table = if self.rejoin { builder.rejoin()? } else { builder.join()? };
        let dined = self.dine(&table, &is_over).and_then(|dinner| {
            table.close()?;
            Ok(dinner)
        });
        match dined {
            Ok(dinner) => {
                for witnessed in table.take_witness() {
                    say(&told::write(&witnessed)?)?;
                }
                let views: Vec<Value> = table
                    .views()
                    .iter()
                    .map(|(view, isonet)| json!([view.0, isonet.topology().to_text()]))
                    .collect();
                let stall_ms = dinner.longest.as_secs_f64() * 1e3;
                say(&json!({"ended": true, "meals": dinner.meals, "stall_ms": stall_ms, "views": views}))?;
            }
            Err(error) => {
                // To end now would tell the others that it is this one who has gone.
                say(&json!({"error": error.code().name(), "text": error.text()}))?;
                while !is_over.load(Ordering::Acquire) {
                    std::thread::sleep(THOUGHT);
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn dine(&self, table: &Isonet, is_over: &AtomicBool) -> Result<Dinner, Error> {
        let forks = forks_of(self.member, self.of);
        let (mut dinner, mut said, mut view) = (Dinner::default(), Instant::now(), table.view().view);
        let mut reports = self.intervals.map(Reports::every);
        while !is_over.load(Ordering::Acquire) {
            let taken = in_any_view(|| take(table, forks))?;
            dinner.executed();
            let at = taken.place.stamp;
            if at.view != view {
                view = at.view;
                say(
                    &json!({"went_on": true, "view": at.view.0, "pulse": at.pulse.0, "meals": dinner.meals}),
                )?;
            }
            // The fork of who died with it in the hand has no value: it is laid down anew, and nobody has eaten with it.
            match taken.values.iter().filter(|used| used.is_err()).count() {
                0 => dinner.meals += 1,
                repaired => say(&json!({"repaired": repaired}))?,
            }
            in_any_view(|| put(table, forks, &taken))?;
            dinner.executed();
            if said.elapsed() >= BETWEEN_WORDS {
                let pulses = table.counters()?.pulse_intervals;
                let apart_us = (pulses.count() > 0).then(|| pulses.median().as_secs_f64() * 1e6);
                say(
                    &json!({"view": at.view.0, "pulse": at.pulse.0, "apart_us": apart_us, "meals": dinner.meals}),
                )?;
                said = Instant::now();
            }
            reports.iter_mut().try_for_each(|reports| reports.tell(table))?;
            std::thread::sleep(THOUGHT);
        }
        Ok(dinner)
    }
}

/// Of how far apart pulses are, where that is asked for.
struct Reports {
    every_s: f64,
    last: Instant,
    before: Intervals,
}

impl Reports {
    fn every(every_s: f64) -> Reports {
        Reports { every_s, last: Instant::now(), before: Intervals::default() }
    }

    /// Tells of those since the last time, if it is time and there were some: who does not keep the pulse knows none.
    fn tell(&mut self, table: &Isonet) -> Result<(), Error> {
        let seconds = self.last.elapsed().as_secs_f64();
        if seconds < self.every_s {
            return Ok(());
        }
        let now = table.counters()?.pulse_intervals;
        let since = now.since(&self.before);
        (self.last, self.before) = (Instant::now(), now);
        if since.count() == 0 {
            return Ok(());
        }
        let ns = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let classes = since.classes().map(|class| json!([ns(class.from), ns(class.to), class.count]));
        let classes: Vec<Value> = classes.collect();
        say(&json!({"apart": {"seconds": seconds, "classes_ns": classes}, "histogram": since.to_string()}))
    }
}

/// How it was.
#[derive(Default)]
struct Dinner {
    meals: u64,
    /// When the last isochron was executed.
    last: Option<Instant>,
    /// The longest time between two of them.
    longest: Duration,
}

impl Dinner {
    fn executed(&mut self) {
        let now = Instant::now();
        let since = self.last.replace(now).map_or(Duration::ZERO, |last| now.duration_since(last));
        self.longest = self.longest.max(since);
    }
}

/// Does it again where a view began before it was done.
fn in_any_view(act: impl Fn() -> Result<Executed, Error>) -> Result<Executed, Error> {
    loop {
        match act() {
            Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => {}
            done => return done,
        }
    }
}

/// Takes both forks at one instant: reserves their next places, and reads what whoever had each before gives back, once it does.
pub(crate) fn take(table: &Isonet, forks: [Variable; 2]) -> Result<Executed, Error> {
    let mut taking = table.isochron()?;
    for fork in forks {
        taking.read(fork)?;
        taking.schedule(fork)?;
    }
    taking.execute()
}

/// Puts both down at one instant, used once more.
pub(crate) fn put(table: &Isonet, forks: [Variable; 2], taken: &Executed) -> Result<Executed, Error> {
    let mut putting = table.isochron()?;
    for (fork, used) in forks.into_iter().zip(&taken.values) {
        let used =
            used.as_ref().ok().and_then(|used| used[..].first_chunk().copied()).map_or(0, u64::from_le_bytes);
        putting.assign(fork, (used + 1).to_le_bytes().to_vec())?;
    }
    putting.execute()
}

fn say(line: &Value) -> Result<(), Error> {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(refused("say how a philosopher does"))
}

/// Becomes true when the dinner is over.
fn is_over(space: Space) -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // Where the space is lost, nobody is left who wants more.
        let _ = space.read(&template![IS_OVER]);
        told.store(true, Ordering::Release);
    });
    is_over
}
