//! The philosophers' table: starts them, shows how it goes, and checks in the end that all was done in one order.

use super::side::{FORK_BYTES, copies_of};
use super::told;
use crate::companion::Companion;
use crate::connection::refused;
use crate::interrupt::on_interrupt;
use crate::output::{print_json, print_line};
use clap::Args;
use quintet::isotach::{Isonet, Run, Shape, Topology, View, Witnessed, check};
use quintet::{Code, Error, NodeId, ServeConfig, Server, Variable, stack};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{ChildStdin, ExitCode};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Between two lines of how it goes.
const BETWEEN_LINES: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(super) struct Arguments {
    /// How many philosophers, each a process
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=64))]
    number: u16,
    /// For how long they dine; ctrl-C ends it before
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Kill one in the middle: the others halt and say who is gone
    #[arg(long)]
    kill_one: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of seconds"))?;
    if (0.0..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("0 to 3600 seconds".to_owned()) }
}

/// What happens at the table.
enum Event {
    /// A philosopher tells something.
    Told(u16, Value),
    /// It has ended.
    Ended(u16),
    /// Whoever looks on has seen enough.
    Enough,
}

/// What was heard of all philosophers.
#[derive(Default)]
struct Heard {
    meals: BTreeMap<u16, u64>,
    pulse: u64,
    said: BTreeMap<NodeId, Vec<Witnessed>>,
    /// Who has told all that it did.
    complete: BTreeSet<u16>,
    /// What those say who cannot go on.
    halted: BTreeMap<u16, String>,
    gone: BTreeSet<u16>,
}

/// The processes of the philosophers. They end when their input does.
struct Table {
    philosophers: BTreeMap<u16, (Companion, Option<ChildStdin>)>,
    events: Receiver<Event>,
    heard: Heard,
    is_shown: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = Folder::new()?;
    let server = Server::start(&folder.0.join("space"), &ServeConfig::default())?;
    let (tell, events) = channel();
    let enough = tell.clone();
    // Who does not listen any more has ended.
    on_interrupt(move |_| drop(enough.send(Event::Enough)))?;
    let philosophers = (0..arguments.number).map(|member| {
        let at = server.addresses()[0].to_string();
        Ok((member, start(member, arguments.number, &at, &tell)?))
    });
    let philosophers = philosophers.collect::<Result<_, Error>>()?;
    let is_shown = !arguments.json;
    let mut table = Table { philosophers, events, heard: Heard::default(), is_shown };
    let time = Duration::from_secs_f64(arguments.seconds);
    if arguments.kill_one {
        table.dine(time / 2)?;
        return table.lose_one(arguments.json);
    }
    table.dine(time)?;
    table.end()?;
    table.conclude(arguments)
}

fn start(
    member: u16,
    of: u16,
    at: &str,
    tell: &Sender<Event>,
) -> Result<(Companion, Option<ChildStdin>), Error> {
    let (member_text, of) = (member.to_string(), of.to_string());
    let arguments = ["philosopher", "--at", at, "--member", &member_text, "--of", &of].map(OsString::from);
    let mut companion = Companion::start_listening(arguments)?;
    let output = companion.output().expect("it is given once");
    let tell = tell.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let line = serde_json::from_str(&line).unwrap_or(Value::Null);
            if tell.send(Event::Told(member, line)).is_err() {
                return;
            }
        }
        // The table may have been left.
        let _ = tell.send(Event::Ended(member));
    });
    let input = companion.input();
    Ok((companion, input))
}

impl Heard {
    fn hear(&mut self, member: u16, line: &Value) -> Result<(), Error> {
        if line.is_array() {
            self.said.entry(NodeId(member)).or_default().push(told::read(line)?);
            return Ok(());
        }
        if let Some(meals) = line["meals"].as_u64() {
            self.meals.insert(member, meals);
        }
        self.pulse = self.pulse.max(line["pulse"].as_u64().unwrap_or(0));
        if line["ended"] == json!(true) {
            self.complete.insert(member);
        }
        if let Some(text) = line["text"].as_str() {
            self.halted.insert(member, text.to_owned());
        }
        Ok(())
    }
}

impl Table {
    /// Looks on for a time, or until somebody has had enough, or a philosopher cannot go on.
    fn dine(&mut self, time: Duration) -> Result<(), Error> {
        let mut end = None;
        let mut shown = Instant::now();
        loop {
            // The time begins with the first meals: processes start at their own pace.
            if end.is_none() && self.heard.meals.len() == self.philosophers.len() {
                end = Some(Instant::now() + time);
            }
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(());
            }
            let left = end.map_or(BETWEEN_LINES, |end| end.saturating_duration_since(Instant::now()));
            match self.events.recv_timeout(left.min(BETWEEN_LINES)) {
                Ok(Event::Enough) => return Ok(()),
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if let Some((member, text)) = self.heard.halted.first_key_value() {
                return Err(Error::new(Code::PeerDied, format!("philosopher {member} cannot go on: {text}")));
            }
            if let Some(member) = self.heard.gone.first() {
                return Err(Error::new(Code::PeerDied, format!("philosopher {member} has ended by itself")));
            }
            if self.is_shown && end.is_some() && shown.elapsed() >= BETWEEN_LINES {
                shown = Instant::now();
                self.show()?;
            }
        }
    }

    fn show(&self) -> Result<(), Error> {
        let meals: Vec<String> = self.heard.meals.values().map(u64::to_string).collect();
        print_line(format_args!("pulse {}: meals {}", self.heard.pulse, meals.join(" "))).map(drop)
    }

    fn take(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Told(member, line) => self.heard.hear(member, &line),
            Event::Ended(member) => {
                self.heard.gone.insert(member);
                Ok(())
            }
            Event::Enough => Ok(()),
        }
    }

    /// Has all end, and hears what they did.
    fn end(&mut self) -> Result<(), Error> {
        self.wait_for_ends()?;
        let silent = self.philosophers.keys().find(|member| !self.heard.complete.contains(member));
        let Some(member) = silent else { return Ok(()) };
        let why = self.heard.halted.get(member).map_or("it has ended by itself", String::as_str);
        Err(Error::new(Code::PeerDied, format!("philosopher {member} has not told what it did: {why}")))
    }

    fn wait_for_ends(&mut self) -> Result<(), Error> {
        self.philosophers.values_mut().for_each(|(_, input)| drop(input.take()));
        while !self.philosophers.keys().all(|member| self.heard.gone.contains(member)) {
            let Ok(event) = self.events.recv() else { break };
            self.take(event)?;
        }
        Ok(())
    }

    /// Checks what all did, and says how it was.
    fn conclude(&mut self, arguments: &Arguments) -> Result<ExitCode, Error> {
        let said = core::mem::take(&mut self.heard.said);
        let isochrons =
            said.values().flatten().filter(|done| matches!(done, Witnessed::Completed { .. })).count();
        let run = Run { said, views: views(arguments.number)?, gone: BTreeSet::new(), has_ended: true };
        let meals: Vec<u64> = self.heard.meals.values().copied().collect();
        let checked = check(&run);
        if let Err(violation) = &checked {
            return Err(Error::new(Code::Mismatch, format!("the order is not one: {violation}")));
        }
        if arguments.json {
            let object = json!({
                "philosophers": arguments.number, "meals": meals, "isochrons": isochrons, "pulse": self.heard.pulse, "one_order": true,
            });
            print_json(&object)?;
        } else {
            let (all, least) = (meals.iter().sum::<u64>(), meals.iter().min().copied().unwrap_or(0));
            let number = arguments.number;
            print_line(format_args!(
                "{number} philosophers had {all} meals, each {least} or more, by {isochrons} isochrons"
            ))?;
            print_line(
                "the order is one: all that they did was done again in it, and each read gave what was written last",
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Kills one, and hears what the others say.
    fn lose_one(&mut self, is_for_a_program: bool) -> Result<ExitCode, Error> {
        let last = *self.philosophers.last_key_value().expect("there are two at least").0;
        drop(self.philosophers.remove(&last));
        while self.heard.halted.len() < self.philosophers.len() {
            match self.events.recv() {
                Ok(Event::Enough) | Err(_) => break,
                Ok(event) => self.take(event)?,
            }
        }
        self.wait_for_ends()?;
        if !is_for_a_program {
            for (member, text) in &self.heard.halted {
                print_line(format_args!("philosopher {member}: {text}"))?;
            }
        }
        let halted = self.heard.halted.len();
        let text = format!("philosopher {last} was killed, as asked: {halted} halted and say who is gone");
        Err(Error::new(Code::PeerDied, text))
    }
}

/// What all philosophers know, as they make it themselves.
fn views(number: u16) -> Result<BTreeMap<View, Arc<Isonet>>, Error> {
    let bad = |text: String| Error::new(Code::BadValue, text);
    let nodes: Vec<NodeId> = (0..number).map(NodeId).collect();
    let topology =
        Topology::lan(stack::token_manager_node(0), &nodes).map_err(|error| bad(error.to_string()))?;
    let fork = |fork: u16| {
        let copies = copies_of(fork, number).map(NodeId).into();
        (Variable(fork.into()), Shape { bytes: FORK_BYTES, copies })
    };
    let isonet =
        Isonet::new(topology, (0..number).map(fork).collect()).map_err(|error| bad(error.to_string()))?;
    Ok(BTreeMap::from([(View(1), Arc::new(isonet))]))
}

/// A folder for this user alone, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, Error> {
        let path = std::env::temp_dir().join(format!("quintet-philosophers-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path).map_err(refused("make a folder"))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left there is nobody's.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
