//! What can happen to a job, and the threads that wait for it.

use super::child::{Child, Who, wait_for_end};
use super::display::{Printer, Stream};
use super::pieces::read_pieces;
use super::sight::Sight;
use crate::interrupt::on_interrupt_or_pause;
use quintet::{Error, Lab, Template, Tuple, Value, template, tuple};
use rustix::process::Signal;
use std::io::Read;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The first field of an event tuple.
const EVENT: &str = "quintet.event";

/// What can happen.
pub(super) enum Happening {
    /// An event tuple came.
    Event(Event),
    /// A child ended.
    Ended(Who, ExitStatus),
    /// A child closed one of its captured outputs.
    Silent,
    /// Something that this process said of the job was written.
    Said,
    /// This process is asked to end.
    Interrupt(Signal),
    /// This process is asked to stop where it is.
    Pause,
    /// It goes on after that.
    Resume,
    /// The space can be reached no more.
    SpaceGone(Error),
    /// Who is in the cluster, and who does not seem to be there.
    Seen(Sight),
    /// A machine, of this name, can be reached no more; its workers, so many, have ended for this job.
    MachineGone(String, u64, Error),
}

/// What a program, or this one, says of a task in a tuple `("quintet.event", what, rank, task, attempt)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Event {
    pub(super) what: What,
    /// The worker.
    pub(super) rank: i64,
    pub(super) task: i64,
    /// 1 is the first.
    pub(super) attempt: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Submitted,
    Holding,
    Done,
    /// All events before this one were seen. Only this process puts it.
    Marker,
    /// The last event. Only this process puts it.
    End,
}

const WORDS: [(&str, What); 5] = [
    ("submitted", What::Submitted),
    ("holding", What::Holding),
    ("done", What::Done),
    ("marker", What::Marker),
    ("end", What::End),
];

fn any_event() -> Template {
    template![EVENT, ?str, ?i64, ?i64, ?i64]
}

/// Puts an event behind all others.
pub(super) fn put(lab: &Lab, what: What, rank: i64) -> Result<(), Error> {
    let word = WORDS.iter().find(|(_, of)| *of == what).map_or("", |(word, _)| word);
    lab.space().out(tuple![EVENT, word, rank, 0i64, 0i64])
}

impl Event {
    /// None: not an event of this version.
    fn of(tuple: &Tuple) -> Option<Event> {
        let [_, Value::Text(word), Value::I64(rank), Value::I64(task), Value::I64(attempt)] = tuple.values()
        else {
            return None;
        };
        let (_, what) = *WORDS.iter().find(|(known, _)| *word == **known)?;
        Some(Event { what, rank: *rank, task: *task, attempt: *attempt })
    }
}

/// Takes events out of the space until the last one.
pub(super) fn take_events(lab: &Lab, tell: Sender<Happening>) {
    let space = lab.space();
    thread::spawn(move || {
        loop {
            let happening = match space.take(&any_event()) {
                Ok(tuple) => match Event::of(&tuple) {
                    Some(event) => Happening::Event(event),
                    None => continue,
                },
                Err(error) => Happening::SpaceGone(error),
            };
            let last = matches!(
                happening,
                Happening::SpaceGone(_) | Happening::Event(Event { what: What::End, .. })
            );
            if tell.send(happening).is_err() || last {
                return;
            }
        }
    });
}

/// Where happenings come together. Signals to this process are among them from now on.
///
/// # Errors
/// The system refused.
pub(super) fn gather() -> Result<(Sender<Happening>, Receiver<Happening>), Error> {
    let (tell, happenings) = channel();
    let told = tell.clone();
    on_interrupt_or_pause(move |signal| {
        let happening = match signal {
            Signal::TSTP => Happening::Pause,
            Signal::CONT => Happening::Resume,
            _ => Happening::Interrupt(signal),
        };
        // The job may be over: then there is nothing to interrupt.
        let _ = told.send(happening);
    })?;
    Ok((tell, happenings))
}

/// Waits for a child's end and passes on what it says. How many of its outputs are captured.
pub(super) fn watch(child: &mut Child, printer: &Printer, tell: &Sender<Happening>) -> usize {
    let who = child.who;
    // What another machine's say, its agent tells.
    let Some(here) = child.here() else { return 0 };
    let (handle, ended) = (here.handle(), tell.clone());
    thread::spawn(move || {
        let how = wait_for_end(&handle);
        // The job may be over without it.
        let _ = ended.send(Happening::Ended(who, how));
    });
    let (stdout, stderr) = here.output();
    let stdout = stdout.map(|pipe| pass_on(pipe, who, Stream::Output, printer, tell));
    let stderr = stderr.map(|pipe| pass_on(pipe, who, Stream::Error, printer, tell));
    usize::from(stdout.is_some()) + usize::from(stderr.is_some())
}

fn pass_on(
    pipe: impl Read + Send + 'static,
    who: Who,
    stream: Stream,
    printer: &Printer,
    tell: &Sender<Happening>,
) {
    let (printer, tell) = (printer.clone(), tell.clone());
    let prefix = match who {
        Who::Master => String::new(),
        Who::Worker(rank) => format!("[worker {rank}] "),
    };
    thread::spawn(move || {
        read_pieces(pipe, |piece| printer.piece(stream, &prefix, piece));
        // The job may be over without it.
        let _ = tell.send(Happening::Silent);
    });
}
