//! What processes do in the place of a module: they execute on its processor, and exchange messages with other modules.

use super::event::{Event, Outcome, State, Subject, trigger, waiting};
use super::run::{Run, bad_value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quintet_contract::Random;
use quintet_model::{Place, Sending, nearest};
use quintet_simulate::{Command, Received};
use std::collections::VecDeque;

/// The place of a module, and the messages that came there.
pub(super) struct Mailbox {
    pub(super) place: Place,
    pub(super) random: Random,
    /// Messages that nobody has received, in the order in which they came.
    messages: VecDeque<Message>,
    /// Who waits for a message, and for which.
    receivers: VecDeque<(Option<String>, Py<Event>)>,
}

/// A message that came.
#[pyclass(frozen, get_all, module = "quintet.simulate")]
#[derive(Clone)]
pub(crate) struct Message {
    /// Its name in the model.
    name: String,
    /// Its length.
    bytes: u64,
    /// When it came, in seconds: the processor may have been busy since.
    came: f64,
}

#[pymethods]
impl Message {
    fn __repr__(&self) -> String {
        format!("<quintet.simulate.Message {}, {} B, came at {} s>", self.name, self.bytes, self.came)
    }
}

impl Mailbox {
    pub(super) fn new(place: Place, random: Random) -> Mailbox {
        Mailbox { place, random, messages: VecDeque::new(), receivers: VecDeque::new() }
    }

    /// The message that came in the words of the model; none if the module waits for no such message.
    pub(super) fn named(&self, received: Received) -> Option<Message> {
        let (name, _) = self.place.messages.iter().find(|(_, number)| **number == received.message)?;
        Some(Message { name: name.clone(), bytes: received.bytes, came: received.came.as_seconds() })
    }

    /// Who is given a message; without one it is kept.
    pub(super) fn receiver<'py>(&mut self, py: Python<'py>, message: &Message) -> Option<Bound<'py, Event>> {
        self.receivers.retain(|(_, event)| event.bind(py).borrow().state == State::Waiting);
        let wants =
            |(name, _): &(Option<String>, Py<Event>)| name.as_ref().is_none_or(|name| *name == message.name);
        let at = self.receivers.iter().position(wants);
        let found = at.and_then(|at| self.receivers.remove(at));
        if found.is_none() {
            self.messages.push_back(message.clone());
        }
        found.map(|(_, event)| event.into_bound(py))
    }

    /// A `receive` that was cancelled leaves the queue.
    pub(super) fn withdraw(&mut self, event: &Bound<'_, Event>) {
        self.receivers.retain(|(_, receiver)| !receiver.is(event));
    }

    fn take(&mut self, name: Option<&str>) -> Option<Message> {
        let at = self.messages.iter().position(|message| name.is_none_or(|name| message.name == name))?;
        self.messages.remove(at)
    }

    /// What is meant by a message and a receiver.
    fn sending(&self, message: &str, to: Option<&str>) -> PyResult<&Sending> {
        let place = &self.place;
        let named = || place.sends.iter().filter(|sent| sent.message == message);
        let mut fitting = named().filter(|sent| to.is_none_or(|to| sent.to == to));
        let found = fitting.next().ok_or_else(|| {
            let names = place.sends.iter().map(|sent| sent.message.as_str());
            match to.filter(|_| named().next().is_some()) {
                Some(to) => unknown(&place.name, "sends", &format!("{message} to {to}"), None),
                None => unknown(&place.name, "sends", message, nearest(message, names)),
            }
        })?;
        match fitting.next() {
            None => Ok(found),
            Some(other) => Err(bad_value(format!(
                "module {} sends {message} to several modules, {} and {} among them: name one by to",
                place.name, found.to, other.to
            ))),
        }
    }
}

fn unknown(module: &str, does: &str, what: &str, nearest: Option<String>) -> PyErr {
    let hint = nearest.map_or(String::new(), |nearest| format!("; did you mean {nearest}?"));
    bad_value(format!("module {module} {does} no {what}{hint}"))
}

/// The place of a module of the model, in which processes execute, send and receive. What it is told it does in order, on its
/// processor, beside the modules that are there.
#[pyclass(frozen, module = "quintet.simulate")]
pub(crate) struct Program {
    pub(super) run: Py<Run>,
    pub(super) index: u32,
}

#[pymethods]
impl Program {
    /// Executes an instruction of the processor so many times, or so many cycles: an event that happens when that is done. One cost is
    /// drawn for all times.
    ///
    /// Raises BadValue for an instruction that the processor has not, and unless one of the two is given.
    #[pyo3(signature = (instruction = None, *, times = 1, cycles = None))]
    fn execute<'py>(
        &self,
        py: Python<'py>,
        instruction: Option<&str>,
        times: u32,
        cycles: Option<u32>,
    ) -> PyResult<Bound<'py, Event>> {
        self.tell(py, |mailbox| {
            let place = &mailbox.place;
            let (stage, units) = match (instruction, cycles) {
                (Some(name), None) => (place.instructions.get(name).copied(), times),
                (None, Some(cycles)) => (place.cycles, cycles),
                _ => return Err(bad_value("execute takes an instruction, or cycles".to_owned())),
            };
            let stage = stage.ok_or_else(|| match instruction {
                Some(name) => {
                    let nearest = nearest(name, place.instructions.keys().map(String::as_str));
                    unknown(
                        &place.name,
                        "runs on a processor that has",
                        &format!("instruction {name}"),
                        nearest,
                    )
                }
                None => bad_value("a processor of 256 instructions has no room for single cycles".to_owned()),
            })?;
            Ok(Command::Execute(stage, units))
        })
    }

    /// Sends a message that the module sends, to the receiver and by the device that its action names: an event that happens when it is
    /// handed over. `bytes`: its length, by default as the action has it. `to`: the receiver, if there are several.
    ///
    /// Raises BadValue for a message that the module does not send, and without `to` if it sends it to several.
    #[pyo3(signature = (message, *, bytes = None, to = None))]
    fn send<'py>(
        &self,
        py: Python<'py>,
        message: &str,
        bytes: Option<u64>,
        to: Option<&str>,
    ) -> PyResult<Bound<'py, Event>> {
        self.tell(py, |mailbox| {
            let mut random = mailbox.random.clone();
            let sending = mailbox.sending(message, to)?;
            let command = sending.command(bytes.unwrap_or_else(|| whole(sending.bytes.sample(&mut random))));
            mailbox.random = random;
            Ok(command)
        })
    }

    /// Receives the first message, or the first of this name: an event whose value is the `Message`.
    ///
    /// Raises BadValue for a message that the module does not wait for.
    #[pyo3(signature = (message = None))]
    fn receive<'py>(&self, py: Python<'py>, message: Option<String>) -> PyResult<Bound<'py, Event>> {
        let run = self.run.bind(py);
        let event = waiting(run, Subject::Program(self.index))?;
        let found = {
            let world = &mut run.borrow_mut().world;
            let Some(mailbox) = world.mailboxes.get_mut(self.index as usize) else { return Ok(event) };
            let known = &mailbox.place.messages;
            if let Some(name) = message.as_ref().filter(|name| !known.contains_key(*name)) {
                return Err(unknown(
                    &mailbox.place.name,
                    "waits for",
                    name,
                    nearest(name, known.keys().map(String::as_str)),
                ));
            }
            let found = mailbox.take(message.as_deref());
            if found.is_none() {
                mailbox.receivers.push_back((message, event.clone().unbind()));
            }
            found
        };
        if let Some(found) = found {
            let value = Py::new(py, found)?.into_any();
            let mut inner = event.borrow_mut();
            (inner.state, inner.outcome) = (State::Done, Outcome::Value(value));
        }
        Ok(event)
    }
}

impl Program {
    fn tell<'py>(
        &self,
        py: Python<'py>,
        what: impl FnOnce(&mut Mailbox) -> PyResult<Command>,
    ) -> PyResult<Bound<'py, Event>> {
        let run = self.run.bind(py);
        let event = waiting(run, Subject::Program(self.index))?;
        let world = &mut run.borrow_mut().world;
        let Some(mailbox) = world.mailboxes.get_mut(self.index as usize) else { return Ok(event) };
        let (command, at) = (what(mailbox)?, mailbox.place.address);
        world.order(at, command, event.clone().unbind());
        Ok(event)
    }
}

/// A message has come to the place of this number.
pub(super) fn receive(run: &Bound<'_, Run>, index: usize, received: Received) -> PyResult<()> {
    let py = run.py();
    let found = {
        let world = &mut run.borrow_mut().world;
        let Some(mailbox) = world.mailboxes.get_mut(index) else { return Ok(()) };
        let Some(message) = mailbox.named(received) else { return Ok(()) };
        mailbox.receiver(py, &message).map(|event| (event, message))
    };
    let Some((event, message)) = found else { return Ok(()) };
    let value = Py::new(py, message)?.into_any();
    trigger(&event, &mut run.borrow_mut().world, Outcome::Value(value));
    Ok(())
}

/// The nearest whole number of bytes.
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// The place of the module of this name.
pub(super) fn find(run: &Bound<'_, Run>, name: &str) -> PyResult<Program> {
    let world = &run.borrow().world;
    let names = || world.mailboxes.iter().map(|mailbox| mailbox.place.name.as_str());
    let Some(index) = names().position(|known| known == name) else {
        let hint =
            nearest(name, names()).map_or(String::new(), |nearest| format!("; did you mean {nearest}?"));
        let text = format!("no process of the model is in the place of a module {name}{hint}");
        return Err(PyValueError::new_err(text));
    };
    let index = u32::try_from(index).expect("there are at most 60,000 modules");
    Ok(Program { run: run.clone().unbind(), index })
}
