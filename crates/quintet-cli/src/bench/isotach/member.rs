//! A member of an isonet that is measured: it sends what it is asked to, and answers.

use super::super::link::{arguments as side_arguments, identified};
use super::arrivals::Arrivals;
use super::cost::{self, Clock, with_copies};
use super::exclusion::{self, with_forks_and_book};
use super::flow::{flow, timed};
use super::ring::{Laps, ROUND, passing_on};
use super::sequencer::{self, Sequencer, sequenced_messages};
use super::task::{Noted, Task, Way, read_latencies, write_latencies};
use clap::Args;
use quintet::isotach::View;
use quintet::{
    Cause, Code, Error, Isonet, IsonetBuilder, IsonetCause, Lab, LinkAddress, LinkConfig, PendingIsochron,
    PendingPlain, PlainReceived, PresentView, Received, Variable,
};
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Sends back to who has sent it.
const ECHO: u32 = 1;
/// What has come back: the next one goes.
const BACK: u32 = 2;
/// Is taken, and that is all.
const SINK: u32 = 3;
/// A task for this member.
const TASK: u32 = 4;
/// The task is done.
const DONE: u32 = 5;

/// Of which member 1 has the only copy. It is no fork.
const ELSEWHERE: Variable = Variable(1 << 16);
/// Its bytes, as in the isotach study.
const ELSEWHERE_BYTES: usize = 4;

/// Of a message while a member is lost.
const STALL_BYTES: usize = 64;
/// How long a member is waited for.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
/// A member that sleeps where nothing has come and of which nothing is heard for so long is gone.
const SILENCE: Duration = Duration::from_secs(1);
/// How long the lab's space keeps what a member has leased: nothing.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// What is noted while a task is done.
#[derive(Default)]
struct Notes {
    /// The time in calls that begin a message or an isochron.
    begins: Option<Duration>,
    /// How long each took, from its begin until it was seen to be done.
    latencies: Option<Vec<Duration>>,
}

/// A process that plays a member.
#[derive(Args)]
pub(crate) struct MemberArguments {
    /// Where the lab's space is
    space: LinkAddress,
    /// Which member
    me: u16,
    /// Of how many
    members: u16,
    /// Where it listens
    listen: LinkAddress,
    /// Sleep at once where nothing has come
    #[arg(long)]
    sleeps: bool,
    /// The identity of all members, between machines
    #[arg(long)]
    identity: Option<String>,
}

/// What a member does where nothing has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It spins for a moment, and then sleeps, as isonets do by default.
    Adaptively,
    /// It sleeps: what its threads take of a processor is work.
    Asleep,
}

impl Waits {
    /// A member that waits so.
    fn in_links(self, builder: IsonetBuilder) -> IsonetBuilder {
        match self {
            Waits::Adaptively => builder,
            Waits::Asleep => {
                let link =
                    LinkConfig { spin: Duration::ZERO, resume_window: SILENCE, ..LinkConfig::default() };
                builder.link(link).silence_limit(SILENCE)
            }
        }
    }
}

/// The arguments with which this program plays a member.
pub(super) fn arguments(
    space: &LinkAddress,
    (me, members): (u16, u16),
    listen: &LinkAddress,
    waits: Waits,
) -> Vec<OsString> {
    let words = [space.to_string(), me.to_string(), members.to_string(), listen.to_string()];
    let sleeps = (waits == Waits::Asleep).then(|| "--sleeps".to_owned());
    side_arguments("member", words.into_iter().chain(sleeps).map(OsString::from))
}

impl MemberArguments {
    /// Does tasks until the isonet is over.
    pub(crate) fn run(&self) -> Result<ExitCode, Error> {
        let waits = if self.sleeps { Waits::Asleep } else { Waits::Adaptively };
        let [space, listen] =
            [&self.space, &self.listen].map(|place| identified(place, self.identity.as_deref()));
        let member = Member::join(&space?, (self.me, self.members), listen?, waits)?;
        while let Ok((from, task)) = member.tasks.recv() {
            let latencies = member.perform(&task)?;
            match member.isonet.send_plain(from, DONE, write_latencies(&latencies)) {
                // Who has heard that the last task is done may have ended before this is known here.
                Err(error) if error.code() == Code::PeerDied => break,
                told => told?,
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A member, and what it hears.
pub(super) struct Member {
    isonet: Isonet,
    tasks: Receiver<(u16, Task)>,
    /// Tasks of others that are done, and messages that have gone round.
    done: Receiver<()>,
    /// Pings of this member that are done.
    pinged: Receiver<()>,
    /// What others say of a task that is timed.
    latencies: Receiver<Vec<Duration>>,
    /// Its messages that have a place.
    sequenced: Receiver<()>,
    pings: Arc<Pings>,
    laps: Arc<Laps>,
    arrivals: Arc<Arrivals>,
    clock: Clock,
    /// At member 0.
    _sequencer: Option<Sequencer>,
}

/// Messages to a member and back, each begun where the one before has come back.
#[derive(Default)]
struct Pings {
    to: AtomicU16,
    left: AtomicUsize,
}

impl Pings {
    /// To whom the next one goes; none: there have been enough.
    fn next(&self) -> Option<u16> {
        let before = self.left.fetch_sub(1, Relaxed);
        (before > 1).then(|| self.to.load(Relaxed))
    }
}

impl Member {
    /// Joins the isonet beside that space.
    ///
    /// # Errors
    /// A member did not come, or the system refused.
    pub(super) fn join(
        space: &LinkAddress,
        (me, members): (u16, u16),
        listen: LinkAddress,
        waits: Waits,
    ) -> Result<Member, Error> {
        let lab = Lab::connect(space.clone(), 0, LEASE)?;
        let (tell_task, tasks) = channel();
        let (tell_done, done) = channel();
        let (tell_pinged, pinged) = channel();
        let (tell_latencies, latencies) = channel();
        let (tell_sequenced, sequenced) = channel();
        let (pings, laps) = (Arc::new(Pings::default()), Arc::new(Laps::default()));
        let builder = lab.isochrons("bench").member(me, members).listen_at(listen).limit(LIMIT);
        let builder = builder.variable_at(ELSEWHERE, ELSEWHERE_BYTES, &[1]);
        let builder = with_copies(with_forks_and_book(waits.in_links(builder), members), members);
        let (builder, clock) = Clock::of_member(builder);
        let builder = echoing(builder, &pings, &tell_pinged);
        let builder = passing_on(builder, (me, members), &laps, &tell_done);
        let (builder, to_sequence) = sequenced_messages(builder, me, tell_sequenced);
        let arrivals = Arc::new(Arrivals::new(members));
        let (of_isochrons, of_plain) = (Arc::clone(&arrivals), Arc::clone(&arrivals));
        let builder = builder
            .handler(SINK, move |message| of_isochrons.note(message.sender))
            .plain_handler(SINK, move |message| of_plain.note(message.sender))
            .plain_handler(DONE, move |message| {
                // Whoever asked for them waits for them.
                tell_latencies.send(read_latencies(message.bytes)).unwrap_or_default();
                tell(&tell_done);
            })
            .plain_handler(TASK, move |message| {
                // Nobody but this program sends any.
                drop(Task::read(message.bytes).map(|task| tell_task.send((message.sender, task))));
            });
        let isonet = builder.join()?;
        let sequencer = (me == 0).then(|| Sequencer::start(&isonet, to_sequence)).transpose()?;
        Ok(Member {
            isonet,
            tasks,
            done,
            pinged,
            latencies,
            sequenced,
            pings,
            laps,
            arrivals,
            clock,
            _sequencer: sequencer,
        })
    }

    /// Which one it is.
    pub(super) fn number(&self) -> u16 {
        self.isonet.member()
    }

    /// What has arrived here of messages that are taken, and that is all.
    pub(super) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Has these members do that, this one as well, and waits until all have; how long each took where the task is timed.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn ask(
        &self,
        members: impl IntoIterator<Item = u16>,
        task: &Task,
    ) -> Result<Vec<Duration>, Error> {
        let (here, others): (Vec<_>, Vec<_>) =
            members.into_iter().partition(|member| *member == self.isonet.member());
        others.iter().try_for_each(|member| self.isonet.send_plain(*member, TASK, task.write()))?;
        let mut latencies = Vec::new();
        for _ in here {
            latencies.extend(self.perform(task)?);
        }
        others.iter().try_for_each(|_| hear(&self.done))?;
        latencies.extend(self.latencies.try_iter().flatten());
        Ok(latencies)
    }

    /// So many messages to a member and back, one after the other, each of an isochron of its own or plain.
    ///
    /// # Errors
    /// The member is gone.
    pub(super) fn ping(&self, way: Way, to: u16, bytes: usize, count: usize) -> Result<(), Error> {
        self.pings.to.store(to, Relaxed);
        self.pings.left.store(count, Relaxed);
        if way == Way::Plain {
            self.isonet.send_plain(to, ECHO, vec![7; bytes])?;
        } else {
            let mut isochron = self.isonet.isochron()?;
            isochron.send(to, ECHO, vec![7; bytes])?;
            isochron.execute()?;
        }
        hear(&self.pinged)
    }

    /// Sends a message round all members, so often, each step by an isochron of who has it. Of the first member.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn send_round(&self, laps: usize) -> Result<(), Error> {
        self.laps.begin(laps);
        let mut isochron = self.isonet.isochron()?;
        isochron.send(1, ROUND, Vec::new())?;
        isochron.execute()?;
        hear(&self.done)
    }

    /// An isochron that reads a variable of which another member has the only copy.
    ///
    /// # Errors
    /// The member is gone.
    pub(super) fn read(&self) -> Result<(), Error> {
        let mut isochron = self.isonet.isochron()?;
        isochron.read(ELSEWHERE)?;
        isochron.execute().map(drop)
    }

    /// An isochron with a message to each member of the present view, executed in whatever view does it first.
    ///
    /// # Errors
    /// This member has stopped.
    pub(super) fn execute_at_all(&self) -> Result<View, Error> {
        loop {
            let PresentView { view, members, .. } = self.isonet.view();
            let executed = self.isonet.isochron().and_then(|mut isochron| {
                members.iter().try_for_each(|to| isochron.send(*to, SINK, vec![7; STALL_BYTES]))?;
                isochron.execute()
            });
            match executed {
                Ok(executed) => return Ok(executed.place.stamp.view),
                // It was put together for who is gone, or nobody has done it.
                Err(_) if self.isonet.view().view != view => {}
                Err(error) if error.cause() == &Cause::Isonet(IsonetCause::ViewChanged) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether any of these is a member of the present view.
    pub(super) fn sees_any(&self, members: &[u16]) -> bool {
        let present = self.isonet.view().members;
        members.iter().any(|member| present.contains(member))
    }

    /// Has these members do that, and does `part` again and again until one of them has; how often, at least once, and how long that took. Then it waits for the others.
    ///
    /// # Errors
    /// A member is gone, or none has done it within [`LIMIT`].
    pub(super) fn act_beside(
        &self,
        members: &[u16],
        task: &Task,
        mut part: impl FnMut() -> Result<(), Error>,
    ) -> Result<(usize, Duration), Error> {
        members.iter().try_for_each(|member| self.isonet.send_plain(*member, TASK, task.write()))?;
        let (started, mut times) = (Instant::now(), 0);
        loop {
            part()?;
            times += 1;
            let (took, is_first_done) = (started.elapsed(), self.done.try_recv().is_ok());
            if is_first_done || took > LIMIT {
                let left = members.len() - usize::from(is_first_done);
                (0..left).try_for_each(|_| hear(&self.done))?;
                return Ok((times, took));
            }
        }
    }

    /// Does that; the time in calls that begin a message or an isochron.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn time_of_begins(&self, task: &Task) -> Result<Duration, Error> {
        let mut notes = Notes { begins: Some(Duration::ZERO), latencies: None };
        self.perform_noting(task, &mut notes)?;
        Ok(notes.begins.unwrap_or_default())
    }

    /// Does that; what is noted of it.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn perform(&self, task: &Task) -> Result<Vec<Duration>, Error> {
        let mut notes = Notes { begins: None, latencies: (task.noted == Noted::Latencies).then(Vec::new) };
        if task.noted != Noted::Processor {
            self.perform_noting(task, &mut notes)?;
            return Ok(notes.latencies.unwrap_or_default());
        }
        let before = self.clock.read(&self.isonet)?;
        self.perform_noting(task, &mut notes)?;
        Ok(vec![self.clock.read(&self.isonet)?.saturating_sub(before)])
    }

    /// Does that, and notes what is wanted.
    fn perform_noting(&self, task: &Task, notes: &mut Notes) -> Result<(), Error> {
        let Task { way, count, window, .. } = *task;
        let Notes { begins, latencies } = notes;
        match way {
            Way::Isochrons(messages) => {
                let begin = || timed(begins, || self.begin_isochron(task, messages));
                flow(count.div_ceil(messages), window, latencies, begin, finish)
            }
            Way::Plain => {
                let mut receivers = task.receivers.iter().cycle();
                let begin = || {
                    let to = receivers.next().copied().unwrap_or_default();
                    timed(begins, || self.isonet.begin_plain(to, SINK, vec![7; task.bytes]))
                };
                flow(count * task.receivers.len(), window, latencies, begin, PendingPlain::finish)
            }
            Way::Sequencer => {
                let begin =
                    || timed(begins, || self.isonet.begin_plain(0, sequencer::SEQUENCE, vec![7; task.bytes]));
                // It is done when it has come back.
                let finish = |sent: PendingPlain| sent.finish().and_then(|()| hear(&self.sequenced));
                flow(count, window, latencies, begin, finish)
            }
            Way::Values => {
                let variable = cost::variable(task.bytes, &task.receivers)?;
                let begin = || {
                    let mut isochron = self.isonet.isochron()?;
                    isochron.write(variable, vec![7; task.bytes])?;
                    isochron.begin()
                };
                flow(count, window, latencies, begin, finish)
            }
            Way::Meals => exclusion::dine(&self.isonet, count),
            Way::Transfers => exclusion::transfer(&self.isonet, count),
        }
    }

    fn begin_isochron(&self, task: &Task, messages: usize) -> Result<PendingIsochron, Error> {
        let mut isochron = self.isonet.isochron()?;
        for to in &task.receivers {
            (0..messages).try_for_each(|_| isochron.send(*to, SINK, vec![7; task.bytes]))?;
        }
        isochron.begin()
    }
}

fn finish(isochron: PendingIsochron) -> Result<(), Error> {
    isochron.finish().map(drop)
}

/// Who heard is gone with the isonet at most.
pub(super) fn tell(done: &Sender<()>) {
    done.send(()).unwrap_or_default();
}

pub(super) fn hear<T>(said: &Receiver<T>) -> Result<T, Error> {
    let silent = |_| Error::new(Code::PeerSilent, format!("a member did not answer within {LIMIT:?}"));
    said.recv_timeout(LIMIT).map_err(silent)
}

/// Sends back what comes, and begins the next where one has come back.
fn echoing(builder: IsonetBuilder, pings: &Arc<Pings>, done: &Sender<()>) -> IsonetBuilder {
    let next = || {
        let (pings, done) = (Arc::clone(pings), done.clone());
        move || {
            let next = pings.next();
            if next.is_none() {
                tell(&done);
            }
            next
        }
    };
    let (next_isochron, next_plain) = (next(), next());
    builder
        .handler(ECHO, |message| send_isochron(message, message.sender, BACK))
        .plain_handler(ECHO, |message| send_plain(message, message.sender, BACK))
        .handler(BACK, move |message| {
            next_isochron().into_iter().for_each(|to| send_isochron(message, to, ECHO));
        })
        .plain_handler(BACK, move |message| {
            next_plain().into_iter().for_each(|to| send_plain(message, to, ECHO));
        })
}

/// If this fails, the isonet is over, and who waits does so in vain.
pub(super) fn send_isochron(message: &Received<'_>, to: u16, handler: u32) {
    let begun = message.isochron().and_then(|mut isochron| {
        isochron.send(to, handler, message.bytes.to_vec())?;
        isochron.begin()
    });
    drop(begun);
}

/// Likewise.
fn send_plain(message: &PlainReceived<'_>, to: u16, handler: u32) {
    drop(message.begin_plain(to, handler, message.bytes.to_vec()));
}
