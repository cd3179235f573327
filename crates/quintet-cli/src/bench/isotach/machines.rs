//! Members on machines of a testbed, one on each, linked over TLS: isochrons beside plain messages, and the end of one of three. The first of them measures, as this process is on
//! none of the machines.

use super::super::case::{Better, Case, Prepare, Round, Unit};
use super::super::link::{Over, arguments, identified};
use super::super::space::served::first_address;
use super::member::{Member, Waits};
use super::stall::stall;
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
/// Before the number of a member that is about to be lost.
const STALL: &str = "stall";
/// What the first member says once it may be.
const BEGUN: &str = "begun";

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
    let mut pair = Machines::start(2)?;
    let task = move |count| Task { way, bytes, count, window: 1, receivers: vec![1], noted: Noted::Nothing };
    pair.time(ROUND_TRIPS, &task(TRIPS / 10))?;
    Ok(Box::new(move || Ok(pair.time(ROUND_TRIPS, &task(TRIPS))? / TRIPS as f64)))
}

/// What arrives, in bytes a second.
fn streams(way: Way, bytes: usize) -> Result<Round, Error> {
    let mut pair = Machines::start(2)?;
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
    /// Members of the isonet
    members: u16,
    /// The identity of all
    #[arg(long)]
    identity: String,
}

impl FirstArguments {
    /// Does what it is told, a line each, and says how many nanoseconds that took.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let [space, listen] =
            [&self.space, &self.listen].map(|place| identified(place, Some(&self.identity)));
        let member = Member::join(&space?, (0, self.members), listen?, Waits::Adaptively)?;
        for line in stdin().lines() {
            let line = line.map_err(refused("read what is asked"))?;
            let unknown = || Error::new(Code::BadValue, format!("asked for {line:?}"));
            let (what, of) = line.split_once(' ').ok_or_else(unknown)?;
            let took = match (what, of.parse(), Task::read(of.as_bytes())) {
                (STALL, Ok(lost), _) => stall(&member, &[lost], || print_line(BEGUN).map(drop))?,
                (what, _, Some(task)) => perform(&member, what, &task)?,
                _ => return Err(unknown()),
            };
            print_line(took.as_nanos())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How long the first member takes for that.
fn perform(member: &Member, what: &str, task: &Task) -> Result<Duration, Error> {
    let started = Instant::now();
    match what {
        ROUND_TRIPS => member.ping(task.way, 1, task.bytes, task.count)?,
        _ => drop(member.perform(task)?),
    }
    Ok(started.elapsed())
}

/// Machines with a member each, and the space by which they have found each other at the first. Dropped in this order.
pub(super) struct Machines {
    first: Child,
    others: Vec<Child>,
    _space: Child,
    _bed: Testbed,
    _room: TempDir,
}

impl Machines {
    /// So many, up to three.
    pub(super) fn start(count: u16) -> Result<Machines, Error> {
        let room = tempfile::Builder::new().prefix("quintet-").tempdir().map_err(refused("make a folder"))?;
        let identity = Over::Tls.identity(room.path())?.unwrap_or_default();
        let names = &["a", "b", "c"][..usize::from(count)];
        let bed = Testbed::up(&Plan::unnamed(names.iter().copied())).map_err(not_up)?;
        let machines = names.iter().map(|name| bed.machine(name).map_err(not_up));
        let machines = machines.collect::<Result<Vec<_>, Error>>()?;
        let at = |machine: &Machine| format!("tls:{}:0", machine.address());
        let own = format!("--set=cluster.identity={identity}");
        let serve = ["serve", "--cluster-id", "0", "--json", "--listen", &at(&machines[0]), &own];
        let served = start(&machines[0], serve.map(OsString::from))?;
        let said = served.output().next_line(LIMIT).and_then(|line| first_address(&line));
        let space = said.ok_or_else(|| silent(&served))?.to_string();
        let play = |machine: &Machine, side, words: &[&str]| {
            let words = [words, &["--identity", &identity]].concat();
            start(machine, arguments(side, words.into_iter().map(OsString::from)))
        };
        let members = count.to_string();
        let other = |(number, machine): (usize, &Machine)| {
            play(machine, "member", &[&space, &number.to_string(), &members, &at(machine)])
        };
        let others = machines.iter().enumerate().skip(1).map(other).collect::<Result<Vec<_>, Error>>()?;
        let first = play(&machines[0], "first", &[&space, &at(&machines[0]), &members])?;
        Ok(Machines { first, others, _space: served, _bed: bed, _room: room })
    }

    /// The longest time between two isochrons of the first member while the process of the last one is lost, in nanoseconds.
    pub(super) fn stall(&mut self, lose: fn(&mut Child) -> std::io::Result<()>) -> Result<f64, Error> {
        self.ask(&format!("{STALL} {}", self.others.len()))?;
        let has_begun = self.hear().as_deref() == Some(BEGUN);
        let lost = self.others.last_mut().filter(|_| has_begun);
        lose(lost.ok_or_else(|| silent(&self.first))?).map_err(refused("end a member"))?;
        self.told()
    }

    fn ask(&mut self, what: &str) -> Result<(), Error> {
        self.first.say(what).map_err(refused("ask the first member"))
    }

    fn hear(&self) -> Option<String> {
        self.first.output().next_line(LIMIT)
    }

    /// How many nanoseconds the first member says.
    fn told(&self) -> Result<f64, Error> {
        self.hear().and_then(|line| line.parse().ok()).ok_or_else(|| silent(&self.first))
    }

    /// How many nanoseconds the first member takes for that.
    fn time(&mut self, what: &str, task: &Task) -> Result<f64, Error> {
        self.ask(&format!("{what} {}", task.write()))?;
        self.told()
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
