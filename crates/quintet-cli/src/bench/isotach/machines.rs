//! Two members on two machines of a testbed, linked over TLS: isochrons beside plain messages. The first of them measures, as this process is on neither machine.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::{Over, arguments, identified};
use super::super::space::served::first_address;
use super::member::{Member, Waits};
use super::task::{Noted, Task, Way};
use super::{PLAIN, case, latency, stream};
use crate::connection::refused;
use crate::output::print_line;
use clap::Args;
use quintet::{Code, Error, LinkAddress};
use quintet_testbed::{Child, Machine, Plan, Program, Testbed, TestbedError};
use std::ffi::OsString;
use std::io::stdin;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Round trips of a round, and messages.
const TRIPS: usize = 2_000;
const MESSAGES: usize = 20_000;
const ISOCHRONS: Way = Way::Isochrons(1);
/// How long a round may take, or a process until it is there.
const LIMIT: Duration = Duration::from_secs(60);
/// What the first member is asked for, before the task.
const ROUND_TRIPS: &str = "round-trips";
const STREAM: &str = "stream";

macro_rules! sized {
    ($trips:literal, $stream:literal, $bytes:expr) => {
        [
            (
                $trips,
                (Unit::Nanoseconds, Better::Lower, latency::GOAL),
                || round_trips(ISOCHRONS, $bytes),
                || round_trips(Way::Plain, $bytes),
            ),
            (
                $stream,
                (Unit::BytesPerSecond, Better::Higher, stream::GOAL),
                || streams(ISOCHRONS, $bytes),
                || streams(Way::Plain, $bytes),
            ),
        ]
    };
}

pub(super) fn cases() -> Vec<Case> {
    let all: [[(_, _, Prepare, Prepare); 2]; 2] = [
        sized!("isochron-rtt-64-machines-tls", "isochron-stream-64-machines-tls", 64),
        sized!("isochron-rtt-1k-machines-tls", "isochron-stream-1k-machines-tls", 1 << 10),
    ];
    let case_of = |(name, (unit, better, goal), isochrons, plain)| {
        case(name, (unit, better), isochrons, (PLAIN, plain)).goal(goal)
    };
    all.into_iter().flatten().map(case_of).collect()
}

/// The mean of the round trips, in nanoseconds.
fn round_trips(way: Way, bytes: usize) -> Result<Round, Error> {
    let mut pair = Pair::start()?;
    let task = move |count| Task { way, bytes, count, window: 1, receivers: vec![1], noted: Noted::Nothing };
    pair.time(ROUND_TRIPS, &task(TRIPS / 10))?;
    Ok(Box::new(move || Ok(pair.time(ROUND_TRIPS, &task(TRIPS))? / TRIPS as f64)))
}

/// What arrives, in bytes a second.
fn streams(way: Way, bytes: usize) -> Result<Round, Error> {
    let mut pair = Pair::start()?;
    pair.time(STREAM, &stream::task(way, bytes, MESSAGES / 10, 1))?;
    let task = stream::task(way, bytes, MESSAGES, 1);
    Ok(Box::new(move || Ok((bytes * MESSAGES) as f64 * 1e9 / pair.time(STREAM, &task)?)))
}

/// The first member, which measures.
#[derive(Args)]
pub(crate) struct FirstArguments {
    /// Where the lab's space is
    space: LinkAddress,
    /// Where it listens
    listen: LinkAddress,
    /// The identity of all
    #[arg(long)]
    identity: String,
}

impl FirstArguments {
    /// Does what it is told, a line each, and says how many nanoseconds that took.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let [space, listen] =
            [&self.space, &self.listen].map(|place| identified(place, Some(&self.identity)));
        let member = Member::join(&space?, (0, 2), listen?, Waits::Adaptively)?;
        for line in stdin().lines() {
            let line = line.map_err(refused("read what is asked"))?;
            let asked =
                line.split_once(' ').and_then(|(what, task)| Some((what, Task::read(task.as_bytes())?)));
            let (what, task) =
                asked.ok_or_else(|| Error::new(Code::BadValue, format!("asked for {line:?}")))?;
            let started = Instant::now();
            match what {
                ROUND_TRIPS => member.ping(task.way, 1, task.bytes, task.count)?,
                _ => drop(member.perform(&task)?),
            }
            print_line(started.elapsed().as_nanos())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Two machines with a member each, and the space by which they have found each other at the first. Dropped in this order.
struct Pair {
    first: Child,
    _second: Child,
    _space: Child,
    _bed: Testbed,
    _room: TempDir,
}

impl Pair {
    fn start() -> Result<Pair, Error> {
        let room = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let identity = Over::Tls.identity(room.path())?.unwrap_or_default();
        let bed = Testbed::up(&Plan::unnamed(["a", "b"])).map_err(not_up)?;
        let [a, b] = [bed.machine("a").map_err(not_up)?, bed.machine("b").map_err(not_up)?];
        let at = |machine: &Machine| format!("tls:{}:0", machine.address());
        let own = format!("--set=cluster.identity={identity}");
        let serve = ["serve", "--cluster-id", "0", "--json", "--listen", &at(&a), &own];
        let served = start(&a, serve.map(OsString::from))?;
        let said = served.output().next_line(LIMIT).and_then(|line| first_address(&line));
        let space = said.ok_or_else(|| silent(&served))?.to_string();
        let play = |machine: &Machine, side, words: &[&str]| {
            let place = at(machine);
            let others = [words, &[&place, "--identity", &identity]].concat();
            start(machine, arguments(side, others.into_iter().map(OsString::from)))
        };
        let second = play(&b, "member", &[&space, "1", "2"])?;
        let first = play(&a, "first", &[&space])?;
        Ok(Pair { first, _second: second, _space: served, _bed: bed, _room: room })
    }

    /// How many nanoseconds the first member takes for that.
    fn time(&mut self, what: &str, task: &Task) -> Result<f64, Error> {
        self.first.say(&format!("{what} {}", task.write())).map_err(refused("ask the first member"))?;
        let said = self.first.output().next_line(LIMIT);
        said.and_then(|line| line.parse().ok()).ok_or_else(|| silent(&self.first))
    }
}

/// Starts this program on a machine.
fn start(machine: &Machine, words: impl IntoIterator<Item = OsString>) -> Result<Child, Error> {
    let this = std::env::current_exe().map_err(refused("find this program"))?;
    let program = words.into_iter().fold(Program::new(this), Program::arg);
    program.on(machine).map_err(not_up)?.spawn().map_err(refused("start a process on a machine"))
}

fn silent(child: &Child) -> Error {
    let text = format!("a process on a machine did not answer: {}", child.output().text());
    Error::new(Code::PeerSilent, text)
}

fn not_up(error: TestbedError) -> Error {
    Error::new(error.code(), error.to_string())
}
