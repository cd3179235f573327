//! Plays behaviours: asks drivers for one step after the other, and compares what each comes to with the text.

use crate::behaviour::{Action, Behaviour, Operation, Outcome, Step};
use crate::clinda;
use crate::driver::{Driver, FrontEnd, LONG};
use crate::field::{Field, Fields};
use crate::placement::{Begun, Placement};
use crate::protocol::{Answer, request};
use quintet::{Lab, Space};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Before what others have said is looked for again.
const PAUSE: Duration = Duration::from_millis(10);

/// What became of a behaviour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Played {
    /// Everything came to what the text says.
    Held,
    /// It cannot be played here, and why.
    LeftOut(String),
    /// A driver cannot say a step of it, and why.
    CannotSay(String),
}

/// Drivers of front ends, each process for the clients that have its turn: `a` the first, `b` the second, and so on.
pub struct Player {
    front_ends: Vec<FrontEnd>,
    variables: Vec<(String, PathBuf)>,
    patience: Duration,
    clinda: Option<FrontEnd>,
    /// The processes that are in C-Linda now.
    in_clinda: BTreeSet<usize>,
    /// By the process, and whether it is in C-Linda.
    drivers: BTreeMap<(usize, bool), Driver>,
}

/// What was begun and is not answered so far.
struct Pending {
    step: usize,
    client: char,
    /// It waits for room, and not for a tuple.
    puts: bool,
}

/// One behaviour while it is played.
struct Scene<'a> {
    player: &'a mut Player,
    begun: &'a mut Begun,
    open: Vec<char>,
    /// The number of each step that has a name.
    names: BTreeMap<String, usize>,
    pending: BTreeMap<String, Pending>,
    /// The named spaces that it has, as the observer uses them, once it has looked who waits there.
    named: BTreeMap<String, Option<Space>>,
    next: usize,
}

/// Why a scene ended before its end.
enum End {
    Fails(String),
    CannotSay(String),
}

impl From<String> for End {
    fn from(text: String) -> End {
        End::Fails(text)
    }
}

impl Player {
    /// Players of one front end, or of several: then `a` uses the first, `b` the next. `variables` are those of every driver's environment.
    #[must_use]
    pub fn new(front_ends: &[FrontEnd], variables: &[(String, PathBuf)]) -> Player {
        Player {
            front_ends: front_ends.to_vec(),
            variables: variables.to_vec(),
            patience: LONG,
            clinda: None,
            in_clinda: BTreeSet::new(),
            drivers: BTreeMap::new(),
        }
    }

    /// Has this front end, whose driver is written from the text, play each client of which C-Linda can say all that it does. A behaviour without
    /// such a client is left out.
    #[must_use]
    pub fn with_clinda(self, front_end: FrontEnd) -> Player {
        Player { clinda: Some(front_end), ..self }
    }

    /// For how long an answer, or a wait that has to be seen, may take; [`LONG`] without this.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Player {
        Player { patience, ..self }
    }

    /// Plays a behaviour.
    ///
    /// # Errors
    /// The step that came to something else, and what.
    pub fn play(&mut self, behaviour: &Behaviour, placement: &mut dyn Placement) -> Result<Played, String> {
        if let Some(reason) = placement.cannot(behaviour) {
            return Ok(Played::LeftOut(reason));
        }
        let in_clinda = match self.clinda.as_ref().map(|_| clinda::clients(behaviour)).transpose() {
            Ok(clients) => clients.unwrap_or_default(),
            Err(reason) => return Ok(Played::LeftOut(reason)),
        };
        let named = |text: &str| format!("{}, {}: {text}", behaviour.file, behaviour.name);
        let mut begun = placement.begin(&behaviour.limits).map_err(|text| named(&text))?;
        self.in_clinda = in_clinda.into_iter().map(|client| begun.process(client)).collect();
        let mut scene = Scene {
            player: self,
            begun: &mut begun,
            open: Vec::new(),
            names: BTreeMap::new(),
            pending: BTreeMap::new(),
            named: BTreeMap::new(),
            next: 0,
        };
        let played = behaviour.steps.iter().try_for_each(|step| scene.step(step));
        let reset = scene.reset();
        match played {
            Ok(()) => {
                reset.and_then(|()| placement.end(begun)).map_err(|text| named(&text))?;
                Ok(Played::Held)
            }
            Err(End::CannotSay(reason)) => {
                placement.end(begun).map_err(|text| named(&text))?;
                Ok(Played::CannotSay(reason))
            }
            Err(End::Fails(text)) => {
                // Whatever the drivers are in the midst of, the next behaviour begins with others.
                self.drivers.clear();
                let _ = placement.end(begun);
                Err(named(&text))
            }
        }
    }

    fn driver(&mut self, process: usize) -> Result<&mut Driver, String> {
        let clinda = self.clinda.as_ref().filter(|_| self.in_clinda.contains(&process));
        let key = (process, clinda.is_some());
        if !self.drivers.contains_key(&key) {
            let front_end = clinda.unwrap_or(&self.front_ends[process % self.front_ends.len()]);
            self.drivers.insert(key, Driver::start(front_end, &self.variables, self.patience)?);
        }
        Ok(self.drivers.get_mut(&key).expect("it was started above"))
    }
}

impl Scene<'_> {
    fn step(&mut self, step: &Step) -> Result<(), End> {
        self.act(&step.action).map_err(|end| match end {
            End::Fails(text) => End::Fails(format!("line {}, {}: {text}", step.line, step.text)),
            cannot_say => cannot_say,
        })
    }

    fn act(&mut self, action: &Action) -> Result<(), End> {
        match action {
            Action::Does { client, name, operation, expected, soon } => {
                self.open(*client)?;
                if expected.contains(&Outcome::Waits) {
                    let name = name.as_deref().expect("the text was checked: what waits has a name");
                    return self.begin(*client, name, operation);
                }
                let step = self.number(name.as_deref());
                let line = request(step, *client, operation, self.of(operation), false);
                self.does(*client, step, &line, expected, *soon)?;
                if expected[..] == [Outcome::Done] {
                    self.note_space(operation);
                }
                Ok(())
            }
            Action::Comes { name, expected } => {
                let Pending { step, client, .. } =
                    self.pending.remove(name).expect("the text was checked: it waits");
                let asked = self.number(None);
                let found = self.ask(client, asked, &format!("{asked} {client} collect {step}"))?;
                Ok(compare(&found, expected)?)
            }
            Action::StillWaits(_) => Ok(self.settle()?),
            Action::Dies(client) => {
                let process = self.begun.process(*client);
                self.player.driver(process)?.kill()?;
                self.player.drivers.retain(|(of, _), _| *of != process);
                self.forget(*client);
                Ok(())
            }
            Action::Closes(client) => {
                let step = self.number(None);
                self.ask(*client, step, &format!("{step} {client} close"))?;
                self.forget(*client);
                Ok(())
            }
        }
    }

    /// Does what a line says, and, if it has to come to that soon only, until it does.
    fn does(
        &mut self,
        client: char,
        step: usize,
        line: &str,
        expected: &[Outcome],
        soon: bool,
    ) -> Result<(), End> {
        let since = Instant::now();
        loop {
            let found = self.ask(client, step, line)?;
            match compare(&found, expected) {
                Err(_) if soon && since.elapsed() < self.player.patience => std::thread::sleep(PAUSE),
                compared => return Ok(compared?),
            }
        }
    }

    /// Begins an operation that has to wait, and returns when the space says that it does.
    fn begin(&mut self, client: char, name: &str, operation: &Operation) -> Result<(), End> {
        let step = self.number(Some(name));
        let line = request(step, client, operation, self.of(operation), true);
        let found = self.ask(client, step, &line)?;
        compare(&found, &[Outcome::Waits])?;
        let puts = ["out", "out_for", "out_many", "acknowledge"].contains(&&*operation.verb);
        self.pending.insert(name.to_owned(), Pending { step, client, puts });
        Ok(self.settle()?)
    }

    /// Returns when as many requests wait in the space as the text says, and nothing that waits was answered.
    fn settle(&mut self) -> Result<(), String> {
        let parked = self.pending.values().filter(|pending| pending.puts).count() as u64;
        let waiters = self.pending.len() as u64 - parked;
        let since = Instant::now();
        // However often it asks, drivers remember as many steps as the text has.
        let asked = self.number(None);
        loop {
            let waiting: Vec<(String, char, usize)> = self
                .pending
                .iter()
                .map(|(name, pending)| (name.clone(), pending.client, pending.step))
                .collect();
            for (name, client, step) in waiting {
                let answer = self.ask_plainly(client, asked, &format!("{asked} {client} peek {step}"))?;
                if answer != Answer::Outcome(Outcome::Waits) {
                    return Err(format!("{name} does not wait: it was answered"));
                }
            }
            let found = self.waiting(asked)?;
            if found == (waiters, parked) {
                return Ok(());
            }
            if since.elapsed() > self.player.patience {
                return Err(format!(
                    "of (waiters, parked) the space has {found:?}, expected ({waiters}, {parked})"
                ));
            }
        }
    }

    /// Takes and reads that wait in the space, and puts.
    fn waiting(&mut self, asked: usize) -> Result<(u64, u64), String> {
        if let Some(observer) = self.begun.observer() {
            return waiting_in_all(observer, &mut self.named).map_err(|error| error.to_string());
        }
        // Without connections every client is the same.
        let client = self.open[0];
        let answer = self.ask_plainly(client, asked, &format!("{asked} {client} status -"))?;
        let Answer::Outcome(Outcome::Status(numbers)) = answer else {
            return Err(format!("the driver gave no status: {answer:?}"));
        };
        let number = |name: &str| numbers.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
        number("waiters").zip(number("parked")).ok_or_else(|| "the status has no waiters".to_owned())
    }

    /// Knows which named spaces there are, of what was done.
    fn note_space(&mut self, operation: &Operation) {
        let Some(Fields(fields)) = operation.fields.first() else { return };
        let Some(Field::Text(name)) = fields.first() else { return };
        let name = String::from_utf8_lossy(name).into_owned();
        match &*operation.verb {
            "create_space" | "create_kept_space" => drop(self.named.insert(name, None)),
            "remove_space" => drop(self.named.remove(&name)),
            _ => {}
        }
    }

    fn open(&mut self, client: char) -> Result<(), End> {
        if self.open.contains(&client) {
            return Ok(());
        }
        let step = self.number(None);
        let line = format!("{step} {client} open {}", self.begun.address(client));
        self.open.push(client);
        let found = self.ask(client, step, &line)?;
        Ok(compare(&found, &[Outcome::Done])?)
    }

    fn forget(&mut self, client: char) {
        self.open.retain(|open| *open != client);
        self.pending.retain(|_, pending| pending.client != client);
    }

    /// Ends what all clients have.
    fn reset(&mut self) -> Result<(), String> {
        let step = self.number(None);
        let mut drivers = self.player.drivers.values_mut();
        drivers.try_for_each(|driver| driver.ask(step, &format!("{step} - reset")).map(drop))
    }

    fn number(&mut self, name: Option<&str>) -> usize {
        self.next += 1;
        if let Some(name) = name {
            self.names.insert(name.to_owned(), self.next);
        }
        self.next
    }

    fn of(&self, operation: &Operation) -> Option<usize> {
        operation.of.as_ref().map(|name| self.names[name])
    }

    fn ask(&mut self, client: char, step: usize, line: &str) -> Result<Outcome, End> {
        match self.ask_plainly(client, step, line)? {
            Answer::Outcome(mut outcome) => {
                if let Outcome::Status(numbers) = &mut outcome {
                    self.begun.since_the_beginning(numbers);
                }
                Ok(outcome)
            }
            Answer::Cannot(reason) => Err(End::CannotSay(reason)),
        }
    }

    fn ask_plainly(&mut self, client: char, step: usize, line: &str) -> Result<Answer, String> {
        let process = self.begun.process(client);
        self.player.driver(process)?.ask(step, line)
    }
}

/// Takes and reads that wait, and puts, in the space without a name and in these.
fn waiting_in_all(
    observer: &Lab,
    named: &mut BTreeMap<String, Option<Space>>,
) -> Result<(u64, u64), quintet::Error> {
    let state = observer.space().status()?;
    let (mut waiters, mut parked) = (state.waiters, state.parked);
    for (name, space) in named {
        let state = match space {
            Some(space) => space.status()?,
            None => space.insert(observer.named_space(name)?).status()?,
        };
        waiters += state.waiters;
        parked += state.parked;
    }
    Ok((waiters, parked))
}

fn compare(found: &Outcome, expected: &[Outcome]) -> Result<(), String> {
    if expected.iter().any(|expected| found.is(expected)) {
        return Ok(());
    }
    let expected: Vec<String> = expected.iter().map(Outcome::to_string).collect();
    Err(format!("came to {found}, expected {}", expected.join(" or ")))
}
