//! The philosophers' table: starts them, shows how it goes, and checks in the end that all was done in one order.

use super::heard::Heard;
use super::picture::{BETWEEN_LOOKS, Picture};
use super::places::{Places, Seat};
use super::side::{FORK_BYTES, copies_of};
use crate::interrupt::on_interrupt;
use crate::output::{print_json, print_line};
use crate::watch::interval;
use clap::Args;
use quintet::isotach::{Isonet, Run, Shape, Topology, View, Witnessed, check};
use quintet::{Code, Error, NodeId, Variable};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

#[derive(Args)]
pub(super) struct Arguments {
    /// How many philosophers, each a process
    #[arg(short = 'n', long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=64))]
    number: u16,
    /// Have them dine on these machines of the cluster to which this one belongs, in turn, with commas between their names; their agents start them. This machine needs a token that allowed run
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    hosts: Vec<String>,
    /// For how long they dine; ctrl-C ends it before
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Kill one in the middle, the last or the one of this number: the others go on
    #[arg(long, value_name = "N", num_args = 0..=1)]
    kill_one: Option<Option<u16>>,
    /// Have another process come back in place of the one that was killed
    #[arg(long, requires = "kill_one")]
    come_back: bool,
    /// Stop one instead until the others go on without it (SIGSTOP, a second), and wake it: it is told
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with = "kill_one")]
    stop_one: Option<Option<u16>>,
    /// One of which nothing is heard for so long is lost to the others
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = silence)]
    silence: f64,
    /// Tell every so many seconds how far apart pulses were meanwhile, as a histogram
    #[arg(long, value_name = "S", value_parser = interval)]
    intervals: Option<Duration>,
    /// Print a JSON object
    #[arg(long)]
    pub(super) json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of seconds"))?;
    if (0.0..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("0 to 3600 seconds".to_owned()) }
}

fn silence(text: &str) -> Result<f64, String> {
    seconds(text)
        .and_then(|seconds| if seconds < 0.1 { Err("0.1 to 3600 seconds".to_owned()) } else { Ok(seconds) })
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

type Philosophers = BTreeMap<u16, Seat>;

/// The processes of the philosophers. They end when the dinner is over.
struct Table {
    philosophers: Philosophers,
    places: Places,
    tell: Sender<Event>,
    events: Receiver<Event>,
    heard: Heard,
    /// None for a program, and once the dinner is over.
    picture: Option<Picture>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let loss = arguments.loss()?;
    let places = Places::prepare(&arguments.hosts, arguments.number, arguments.json)?;
    let (tell, events) = channel();
    let enough = tell.clone();
    // Who does not listen any more has ended.
    on_interrupt(move |_| drop(enough.send(Event::Enough)))?;
    let heard = Heard::default();
    let mut table = Table { philosophers: BTreeMap::new(), places, tell, events, heard, picture: None };
    (0..arguments.number).try_for_each(|member| table.seat(member, arguments, false))?;
    if !arguments.json {
        table.begin_to_show(arguments.number)?;
    }
    let time = Duration::from_secs_f64(arguments.seconds);
    let Some(loss) = loss else {
        table.dine(time)?;
        table.end()?;
        return table.conclude(arguments, None);
    };
    table.dine(time / 2)?;
    let told = table.lose(loss)?;
    if arguments.come_back {
        table.wait_for_end_of(loss.member)?;
        table.seat(loss.member, arguments, true)?;
    }
    table.dine(time / 2)?;
    table.end()?;
    table.conclude(arguments, Some((loss, told)))
}

/// Who is lost in the middle.
#[derive(Clone, Copy)]
struct Loss {
    member: u16,
    /// It is stopped, and goes on when the others have.
    is_stopped: bool,
}

impl Loss {
    fn what(self) -> &'static str {
        if self.is_stopped { "was stopped" } else { "was killed" }
    }
}

impl Arguments {
    fn loss(&self) -> Result<Option<Loss>, Error> {
        let asked = self.kill_one.map(|asked| (asked, false)).or(self.stop_one.map(|asked| (asked, true)));
        let Some((asked, is_stopped)) = asked else { return Ok(None) };
        let member = asked.unwrap_or(self.number - 1);
        if member < self.number {
            return Ok(Some(Loss { member, is_stopped }));
        }
        let text = format!("there is no philosopher {member} to be lost: they are numbered from 0");
        Err(Error::new(Code::BadValue, text))
    }
}

impl Table {
    /// Starts one, and listens to it.
    fn seat(&mut self, member: u16, arguments: &Arguments, comes_back: bool) -> Result<(), Error> {
        let (number, of, silence) =
            (member.to_string(), arguments.number.to_string(), arguments.silence.to_string());
        let words = ["philosopher", "--member", &number, "--of", &of, "--silence", &silence];
        let words = words.into_iter().chain(comes_back.then_some("--rejoin")).map(str::to_owned);
        let intervals = arguments.intervals.map(|every| every.as_secs_f64().to_string());
        let words = words.chain(intervals.into_iter().flat_map(|every| ["--intervals".to_owned(), every]));
        let (seat, said) = self.places.start(member, words.collect())?;
        self.philosophers.insert(member, seat);
        let tell = self.tell.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::Null);
                if tell.send(Event::Told(member, line)).is_err() {
                    return;
                }
            }
            // The table may have been left.
            let _ = tell.send(Event::Ended(member));
        });
        Ok(())
    }

    /// Looks on for a time, or until somebody has had enough, or a philosopher cannot go on.
    fn dine(&mut self, time: Duration) -> Result<(), Error> {
        let mut end = None;
        loop {
            // The time begins with the first meals: processes start at their own pace.
            let have_eaten = self.philosophers.keys().all(|member| self.heard.meals.contains_key(member));
            if end.is_none() && have_eaten {
                end = Some(Instant::now() + time);
            }
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(());
            }
            let left = end.map_or(BETWEEN_LOOKS, |end| end.saturating_duration_since(Instant::now()));
            match self.events.recv_timeout(left.min(BETWEEN_LOOKS)) {
                Ok(Event::Enough) => return Ok(()),
                Ok(event) => self.take(event)?,
                Err(RecvTimeoutError::Timeout) => self.show()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            self.check_that_all_go_on()?;
        }
    }

    fn begin_to_show(&mut self, number: u16) -> Result<(), Error> {
        if let Some(names) = self.places.names(number) {
            print_line(format_args!("philosophers 0 to {}: on {}", number - 1, names.join(" ")))?;
        }
        let tell = self.tell.clone();
        // Who does not listen any more has ended.
        self.picture = Some(Picture::begin(number, move || drop(tell.send(Event::Enough)))?);
        Ok(())
    }

    fn show(&mut self) -> Result<(), Error> {
        self.picture.as_mut().map_or(Ok(()), |picture| picture.show(&self.heard, Instant::now()))
    }

    fn take(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Told(member, line) => self.heard.hear(member, &line)?,
            Event::Ended(member) => drop(self.heard.gone.insert(member)),
            Event::Enough => {}
        }
        self.show()
    }

    /// Has all end, and hears what they did.
    fn end(&mut self) -> Result<(), Error> {
        self.picture.take().map_or(Ok(()), |picture| picture.end(&self.heard))?;
        self.wait_for_ends()?;
        let silent = self.philosophers.keys().find(|member| !self.heard.complete.contains(member));
        let Some(member) = silent else { return Ok(()) };
        let why = self.heard.halted.get(member).map_or("it has ended by itself", String::as_str);
        Err(Error::new(Code::PeerDied, format!("philosopher {member} has not told what it did: {why}")))
    }

    fn wait_for_ends(&mut self) -> Result<(), Error> {
        self.places.end_dinner()?;
        while !self.philosophers.keys().all(|member| self.heard.gone.contains(member)) {
            let Ok(event) = self.events.recv() else { break };
            self.take(event)?;
        }
        Ok(())
    }

    /// Checks what all did, and says how it was. Of who was lost: what it was told.
    fn conclude(
        &mut self,
        arguments: &Arguments,
        lost: Option<(Loss, Option<String>)>,
    ) -> Result<ExitCode, Error> {
        let said = core::mem::take(&mut self.heard.said);
        let isochrons =
            said.values().flatten().filter(|done| matches!(done, Witnessed::Completed { .. })).count();
        let is_gone = !arguments.come_back;
        let gone = lost.iter().filter(|_| is_gone).map(|(loss, _)| NodeId(loss.member)).collect();
        let run = Run { said, views: views(arguments.number, &self.heard.views)?, gone, has_ended: true };
        if let Err(violation) = check(&run) {
            return Err(Error::new(Code::Mismatch, format!("the order is not one: {violation}")));
        }
        let meals: Vec<u64> = self.heard.meals.values().copied().collect();
        let lost = lost.map(|(loss, told)| Lost {
            loss,
            told,
            stall_ms: self.heard.stall_ms,
            meals: self.heard.meals_since(),
            back: self.heard.meals.get(&loss.member).copied().filter(|_| arguments.come_back),
        });
        if arguments.json {
            let (view, pulse) = self.heard.at.unzip();
            let object = json!({
                "philosophers": arguments.number, "machines": self.places.names(arguments.number), "meals": meals, "isochrons": isochrons, "view": view.map(|view| view.0), "pulse": pulse.map(|pulse| pulse.0), "pulses_apart_us": self.heard.apart_us,
                "intervals": self.heard.reports.iter().map(|report| &report.object).collect::<Vec<_>>(), "one_order": true,
                "lost": lost.as_ref().map(|lost| lost.loss.member), "stall_ms": lost.as_ref().map(|lost| lost.stall_ms),
                "meals_after": lost.as_ref().map(|lost| lost.meals), "told": lost.as_ref().and_then(|lost| lost.told.as_deref()),
                "repaired": self.heard.repaired, "meals_back": lost.as_ref().and_then(|lost| lost.back),
            });
            print_json(&object)?;
            return Ok(ExitCode::SUCCESS);
        }
        let (all, least) = (meals.iter().sum::<u64>(), meals.iter().min().copied().unwrap_or(0));
        let number = arguments.number;
        print_line(format_args!(
            "{number} philosophers had {all} meals, each {least} or more, by {isochrons} isochrons"
        ))?;
        lost.iter().try_for_each(|lost| lost.print(self.heard.repaired))?;
        print_line(
            "the order is one: all that they did was done again in it, and each read gave what was written last",
        )?;
        Ok(ExitCode::SUCCESS)
    }

    /// Waits until the process of one has told all that it tells: then another one may take its place.
    fn wait_for_end_of(&mut self, member: u16) -> Result<(), Error> {
        self.hear_until(|heard, _| heard.gone.contains(&member))?;
        self.heard.gone.remove(&member);
        self.heard.meals.remove(&member);
        self.heard.lost.remove(&member);
        Ok(())
    }

    /// Kills one, or stops it, and waits until all others go on. Who was stopped goes on then: what it is told.
    fn lose(&mut self, loss: Loss) -> Result<Option<String>, Error> {
        let Some(seat) = self.philosophers.remove(&loss.member) else { return Ok(None) };
        seat.signal(if loss.is_stopped { Signal::STOP } else { Signal::KILL })?;
        self.heard.lost.insert(loss.member, loss.what());
        self.hear_until(|heard, left| left.keys().all(|member| heard.went_on.contains_key(member)))?;
        if !loss.is_stopped {
            return Ok(None);
        }
        seat.signal(Signal::CONT)?;
        self.hear_until(|heard, _| heard.halted.contains_key(&loss.member))?;
        Ok(self.heard.halted.remove(&loss.member))
    }

    /// Listens until something is so, or somebody has had enough. Who is left is to go on.
    fn hear_until(&mut self, is_so: impl Fn(&Heard, &Philosophers) -> bool) -> Result<(), Error> {
        while !is_so(&self.heard, &self.philosophers) {
            match self.events.recv() {
                Ok(Event::Enough) | Err(_) => return Ok(()),
                Ok(event) => self.take(event)?,
            }
            self.check_that_all_go_on()?;
        }
        Ok(())
    }

    fn check_that_all_go_on(&self) -> Result<(), Error> {
        let left = |member: &&u16| self.philosophers.contains_key(member);
        if let Some((member, text)) = self.heard.halted.iter().find(|(member, _)| left(member)) {
            return Err(Error::new(Code::PeerDied, format!("philosopher {member} cannot go on: {text}")));
        }
        match self.heard.gone.iter().find(left) {
            Some(member) => {
                Err(Error::new(Code::PeerDied, format!("philosopher {member} has ended by itself")))
            }
            None => Ok(()),
        }
    }
}

/// What became of who was lost, and of the others.
struct Lost {
    loss: Loss,
    told: Option<String>,
    stall_ms: f64,
    /// Of those who are left, since.
    meals: u64,
    /// Of the process that came back in its place.
    back: Option<u64>,
}

impl Lost {
    fn print(&self, repaired: u64) -> Result<(), Error> {
        let Lost { loss, told, stall_ms, meals, back } = self;
        let (member, what) = (loss.member, loss.what());
        print_line(format_args!(
            "philosopher {member} {what}: the others stood still for {stall_ms:.1} ms at most, and had {meals} meals since; {repaired} forks without a value were laid down anew"
        ))?;
        back.iter().try_for_each(|meals| {
            print_line(format_args!("philosopher {member} came back, and had {meals} meals")).map(drop)
        })?;
        told.iter().try_for_each(|told| {
            print_line(format_args!("philosopher {member} woke up and was told: {told}")).map(drop)
        })
    }
}

/// What all philosophers know, as they make it themselves.
fn views(number: u16, told: &BTreeMap<View, String>) -> Result<BTreeMap<View, Arc<Isonet>>, Error> {
    let bad = |text: String| Error::new(Code::BadValue, text);
    let nodes: Vec<NodeId> = (0..number).map(NodeId).collect();
    let topology = Topology::lan(NodeId(0), &nodes).map_err(|error| bad(error.to_string()))?;
    let fork = |fork: u16| {
        let copies = copies_of(fork, number).map(NodeId).into();
        (Variable(fork.into()), Shape { bytes: FORK_BYTES, copies })
    };
    let isonet =
        Isonet::new(topology, (0..number).map(fork).collect()).map_err(|error| bad(error.to_string()))?;
    let later = told.iter().filter(|(view, _)| **view > View(1)).map(|(view, topology)| {
        let topology = Topology::parse(topology).map_err(|error| bad(error.to_string()))?;
        Ok((*view, Arc::new(isonet.among(topology))))
    });
    let mut views = later.collect::<Result<BTreeMap<_, _>, Error>>()?;
    views.insert(View(1), Arc::new(isonet));
    Ok(views)
}
