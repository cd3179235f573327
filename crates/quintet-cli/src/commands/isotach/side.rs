//! One philosopher: says how it goes as a JSON object a line, and ends with its input.

use super::told;
use crate::connection::refused;
use clap::Args;
use quintet::{Error, Executed, Isonet, Lab, LinkAddress, Variable};
use serde_json::{Value, json};
use std::io::{Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a fork: how often it was used, u64 little-endian.
pub(super) const FORK_BYTES: usize = 8;
/// The name of the philosophers' isonet.
const TABLE: &str = "philosophers";
/// Between two words of how it goes.
const BETWEEN_WORDS: Duration = Duration::from_millis(100);
/// How long a philosopher thinks.
const THOUGHT: Duration = Duration::from_millis(1);
/// How long the space counts on a process that it does not hear.
const LEASE: Duration = Duration::from_secs(10);

#[derive(Args)]
pub(crate) struct SideArguments {
    /// Find the others here
    #[arg(long)]
    at: LinkAddress,
    /// Which philosopher
    #[arg(long)]
    member: u16,
    /// How many there are
    #[arg(long)]
    of: u16,
}

/// The forks of a philosopher: the one behind it, which it shares with the philosopher before it, comes second.
pub(super) fn forks_of(member: u16, of: u16) -> [Variable; 2] {
    [Variable(member.into()), Variable(((member + of - 1) % of).into())]
}

/// Those between whom a fork lies.
pub(super) fn copies_of(fork: u16, of: u16) -> [u16; 2] {
    [fork, (fork + 1) % of]
}

impl SideArguments {
    /// Thinks and eats until the input ends.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let (lab, is_over) = (Lab::connect(self.at.clone(), 0, LEASE)?, ends_with_input());
        let builder = lab.isochrons(TABLE).member(self.member, self.of).keep_witness();
        let table = (0..self.of)
            .fold(builder, |builder, fork| {
                builder.variable_at(Variable(fork.into()), FORK_BYTES, &copies_of(fork, self.of))
            })
            .join()?;
        let dined = self.dine(&table, &is_over).and_then(|meals| {
            table.close()?;
            Ok(meals)
        });
        match dined {
            Ok(meals) => {
                for witnessed in table.take_witness() {
                    say(&told::write(&witnessed)?)?;
                }
                say(&json!({"ended": true, "meals": meals}))?;
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

    fn dine(&self, table: &Isonet, is_over: &AtomicBool) -> Result<u64, Error> {
        let forks = forks_of(self.member, self.of);
        let (mut meals, mut said) = (0, Instant::now());
        while !is_over.load(Ordering::Acquire) {
            let taken = take(table, forks)?;
            meals += 1;
            put(table, forks, &taken)?;
            if said.elapsed() >= BETWEEN_WORDS {
                say(&json!({"pulse": taken.place.stamp.pulse.0, "meals": meals}))?;
                said = Instant::now();
            }
            std::thread::sleep(THOUGHT);
        }
        Ok(meals)
    }
}

/// Takes both forks at one instant: reserves their next places, and reads what whoever had each before gives back, once it does.
fn take(table: &Isonet, forks: [Variable; 2]) -> Result<Executed, Error> {
    let mut taking = table.isochron()?;
    for fork in forks {
        taking.read(fork)?;
        taking.schedule(fork)?;
    }
    taking.execute()
}

/// Puts both down at one instant, used once more.
fn put(table: &Isonet, forks: [Variable; 2], taken: &Executed) -> Result<Executed, Error> {
    let mut putting = table.isochron()?;
    for (fork, used) in forks.into_iter().zip(&taken.values) {
        let used =
            used.as_ref().and_then(|used| used[..].first_chunk().copied()).map_or(0, u64::from_le_bytes);
        putting.assign(fork, (used + 1).to_le_bytes().to_vec())?;
    }
    putting.execute()
}

fn say(line: &Value) -> Result<(), Error> {
    let mut out = stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(refused("say how a philosopher does"))
}

/// Becomes true when whoever started this process wants it to end.
fn ends_with_input() -> Arc<AtomicBool> {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // However the input ends: nobody is left who wants more.
        let _ = std::io::copy(&mut stdin().lock(), &mut std::io::sink());
        told.store(true, Ordering::Release);
    });
    is_over
}
