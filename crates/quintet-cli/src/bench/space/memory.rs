//! What a stored tuple takes beyond its data.
//!
//! A process of its own fills a space and asks the kernel how its anonymous memory grew. That is more than what was asked of
//! the allocator: what the allocator adds to each piece is in it, 20 bytes a tuple where both were compared. The kernel counts
//! pages, an error of less than 0.1 bytes a tuple among a million (up to 2 where it joins pages to huge ones).

use super::super::case::{Better, Case, Group, Prepare, Round, Unit};
use super::super::peer::Statistic;
use crate::companion::Companion;
use crate::connection::refused;
use crate::output::print_line;
use clap::{Args, ValueEnum};
use quintet::{Code, Error, Lab, Space, Template, Tuple, template, tuple};
use serde_json::json;
use std::io::read_to_string;
use std::process::ExitCode;

/// Bytes of a tuple's last field.
const BYTES: usize = 64;
/// A tuple's data: a name, a number and the bytes.
const DATA: u64 = ("pair".len() + size_of::<i64>() + BYTES) as u64;
const GOAL: f64 = 200.;

/// Fills a space and says what a tuple took.
#[derive(Args)]
pub(crate) struct MemoryArguments {
    /// Which index is in use
    #[arg(value_enum)]
    index: Use,
    /// How many tuples are stored
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..))]
    tuples: i64,
}

/// What the space was asked before it was filled, and so which index it keeps.
#[derive(Clone, Copy, ValueEnum)]
enum Use {
    /// Nothing: no index.
    None,
    /// Tuples of a name, which all have: one queue.
    Name,
    /// Tuples of a number, which no two share.
    Number,
}

pub(super) fn cases() -> Vec<Case> {
    let case = |name, prepare: Prepare| {
        Case::new(Group::Space, name, Unit::Bytes, Better::Lower, prepare).goal(GOAL)
    };
    vec![
        case("memory-64", || prepare("none")),
        case("memory-64-by-name", || prepare("name")),
        case("memory-64-by-number", || prepare("number")),
    ]
}

/// Bytes beyond the data that a tuple of a name, a number and 64 bytes takes in an embedded space, among a million of them.
/// The data are 76 bytes.
fn prepare(index: &'static str) -> Result<Round, Error> {
    Ok(Box::new(move || {
        let mut filling = Companion::start(["bench-memory".into(), index.into()])?;
        let said = filling.output().map(read_to_string).transpose();
        let said = said.map_err(refused("hear what the tuples took"))?.unwrap_or_default();
        let missing =
            || Error::new(Code::PeerDied, "the process that stores tuples ended before it was done");
        Statistic::Mean.find(&said).ok_or_else(missing)
    }))
}

impl MemoryArguments {
    /// Says it as the programs of benches/peers do.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let space = Lab::embedded().space();
        if let Some(template) = self.index.template() {
            // An index is made by the first question that needs it, if there is a tuple.
            space.out(numbered(-1))?;
            space.take(&template)?;
        }
        let before = anonymous_bytes()?;
        (0..self.tuples).try_for_each(|number| space.out(numbered(number)))?;
        let taken = anonymous_bytes()?.saturating_sub(before);
        check(&space, self.tuples)?;
        let value = taken as f64 / self.tuples as f64 - DATA as f64;
        print_line(json!({"case": "memory-64", "unit": "bytes", "statistic": "mean", "value": value}))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Use {
    fn template(self) -> Option<Template> {
        match self {
            Use::None => None,
            Use::Name => Some(template!["pair", ?i64, ?[u8]]),
            Use::Number => Some(template![?str, -1i64, ?[u8]]),
        }
    }
}

fn numbered(number: i64) -> Tuple {
    tuple!["pair", number, &[7u8; BYTES]]
}

/// That the space holds what was counted.
fn check(space: &Space, tuples: i64) -> Result<(), Error> {
    let held = space.status()?.tuples;
    if held == tuples.unsigned_abs() {
        return Ok(());
    }
    Err(Error::new(Code::Mismatch, format!("the space holds {held} tuples, not {tuples}")))
}

/// This process's anonymous memory: its heap and its stacks.
pub(in crate::bench) fn anonymous_bytes() -> Result<u64, Error> {
    bytes_of("self", "Anonymous:")
}

/// What a process has in memory, with what it shares with others.
pub(super) fn resident_bytes(process: u32) -> Result<u64, Error> {
    bytes_of(&process.to_string(), "Rss:")
}

/// What the kernel says of a process's memory under this name.
fn bytes_of(process: &str, name: &str) -> Result<u64, Error> {
    let path = format!("/proc/{process}/smaps_rollup");
    let said = std::fs::read_to_string(&path).map_err(refused("ask for the memory in use"))?;
    let line = said.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let missing = || Error::new(Code::Resource, format!("{path} does not tell {name}"));
    kibibytes.map(|number| number * 1024).ok_or_else(missing)
}
