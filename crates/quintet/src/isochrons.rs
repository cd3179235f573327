//! Isochrons between the processes of a job: what a program says of its isonet, and how it joins.

mod board;
mod counted;
mod error;
mod handlers;
mod host;
mod isochron;
mod links;
mod maker;
mod meeting;
mod no_value;
mod peers;
mod plain;
mod promise;
mod rejoining;
mod reserving;
mod state;
mod turns;
mod under_way;
mod update;
mod views;

pub use handlers::Received;
pub use host::Isonet;
pub use isochron::{Executed, Isochron, PendingIsochron};
pub use maker::IsochronMaker;
pub use peers::PeerCounters;
pub use plain::{PendingPlain, PlainReceived};
pub use reserving::{PendingUpdate, Reserved, Reserving};
pub use views::{LossCause, Lost, PresentView};

use crate::stack::IsotachConfig;
use crate::{Code, Error, Job, Lab, LinkAddress, LinkConfig, Recorder, job, life};
use host::{Host, Program};
use links::{Links, Places, Returning};
use meeting::Meeting;
use quintet_contract::NodeId;
use quintet_isotach::limits::MAX_VALUE_BYTES;
use quintet_isotach::{Delivery, Performed, Shape, Topology, Variable, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use views::OUTSIDE;

/// Members of an isonet, at most: each has a link to every other.
pub const MAX_MEMBERS: u16 = 256;
/// The member that keeps the pulse, in the first view.
const FIRST: NodeId = NodeId(0);
/// A member that was not heard for so long is asked for a sign of life, unless the links say otherwise.
const KEEP_ALIVE: Duration = Duration::from_millis(250);
/// A member of which nothing is heard for this long is gone, unless the links say otherwise.
const SILENCE: Duration = Duration::from_secs(1);
/// How long a member waits for the others to come, unless it says otherwise.
const JOIN_LIMIT: Duration = Duration::from_secs(30);

/// What a process says of an isonet before it joins. Made by [`Lab::isochrons`].
///
/// An isonet is a set of processes, its **members**, that share variables and send each other messages by *isochrons*: sets of operations that are all executed at one
/// instant of logical time, in one order for all members, without a lock. (Williams, Reynolds, de Supinski, "Delta coherence protocols", 2000; what is promised, and why
/// it holds, is decision 56.) Members find each other by the broker beside the lab's space, as [`Messaging`](crate::Messaging) does, and then have links of their own,
/// with a thread of their own: what else the lab carries does not hold them up.
///
/// ```
/// use quintet::{Lab, Variable};
/// use std::thread;
///
/// const ACCOUNTS: [Variable; 2] = [Variable(0), Variable(1)];
/// let lab = Lab::embedded(); // under `quintet run` each member is a process, and says `Lab::from_environment()`
/// let member = |me: u16| -> Result<i64, quintet::Error> {
///     let bank = lab.isochrons("bank").member(me, 2).variable(ACCOUNTS[0], 8).variable(ACCOUNTS[1], 8).join()?;
///     let mut transfer = bank.isochron()?;
///     transfer.write(ACCOUNTS[0], (-5i64).to_le_bytes().to_vec())?;
///     transfer.write(ACCOUNTS[1], 5i64.to_le_bytes().to_vec())?;
///     transfer.execute()?; // both or none, for whoever reads both
///     let mut look = bank.isochron()?;
///     ACCOUNTS.iter().try_for_each(|account| look.read(*account).map(drop))?;
///     let amounts = look.execute()?.values;
///     bank.close()?;
///     Ok(amounts.iter().flatten().map(|amount| i64::from_le_bytes(amount[..].try_into().unwrap())).sum())
/// };
/// thread::scope(|scope| {
///     let members = [0, 1].map(|me| scope.spawn(move || member(me)));
///     members.map(|member| assert_eq!(member.join().unwrap(), Ok(0)));
/// });
/// ```
#[must_use = "a process joins with `join`"]
pub struct IsonetBuilder {
    lab: Lab,
    name: String,
    /// Which member of how many; none: as the job says.
    member: Option<(u16, u16)>,
    variables: BTreeMap<Variable, Wanted>,
    program: Program,
    delivery: Delivery,
    keeps_witness: bool,
    listens_at: Option<LinkAddress>,
    link: LinkConfig,
    limit: Duration,
    is_rejoinable: bool,
    recorder: Option<Recorder>,
    /// What was wrong first with what was said.
    wrong: Option<Error>,
}

/// A variable as a program wants it: who has a copy is known once it is known how many members there are.
struct Wanted {
    bytes: usize,
    copies: Option<Vec<u16>>,
}

impl IsonetBuilder {
    pub(crate) fn new(lab: Lab, name: &str) -> IsonetBuilder {
        IsonetBuilder {
            lab,
            name: name.to_owned(),
            member: None,
            variables: BTreeMap::new(),
            program: Program::default(),
            delivery: Delivery::default(),
            keeps_witness: false,
            listens_at: None,
            link: LinkConfig {
                keep_alive: KEEP_ALIVE,
                silence_limit: SILENCE,
                resume_window: SILENCE,
                ..LinkConfig::default()
            },
            limit: JOIN_LIMIT,
            is_rejoinable: false,
            recorder: None,
            wrong: None,
        }
    }

    /// Which member this process is, from 0, and of how many. Without it: the worker's rank, of the job's workers.
    pub fn member(self, me: u16, of: u16) -> Self {
        IsonetBuilder { member: Some((me, of)), ..self }
    }

    /// Shares a variable of so many bytes, 1 to 4096, that begins as zeros, with a copy at every member. All members say the same variables.
    pub fn variable(self, variable: Variable, bytes: usize) -> Self {
        self.wanting(variable, Wanted { bytes, copies: None })
    }

    /// The same with copies at these members alone: one at least. Others read it from the copy with the lowest number.
    pub fn variable_at(self, variable: Variable, bytes: usize, copies: &[u16]) -> Self {
        self.wanting(variable, Wanted { bytes, copies: Some(copies.to_vec()) })
    }

    fn wanting(mut self, variable: Variable, wanted: Wanted) -> Self {
        if self.variables.insert(variable, wanted).is_some() {
            self.note(format!(
                "variable {} is said twice: each has one size and one set of copies",
                variable.0
            ));
        }
        self
    }

    /// Takes what isochrons say to the handler of this number, in the one order, on the thread that executes isochrons: it may begin isochrons
    /// ([`Received::isochron`]), and must not wait; what would wait there is refused. If it panics, this member leaves. What comes for a number without a handler
    /// ends this member, too, as it would not be where the others are.
    pub fn handler(mut self, number: u32, handle: impl FnMut(&Received<'_>) + Send + 'static) -> Self {
        if !self.program.handlers.add(number, Box::new(handle)) {
            self.note(format!("handler {number} is said twice"));
        }
        self
    }

    /// Takes plain messages ([`Isonet::send_plain`]) to the handler of this number, on the same thread, as they come. Their numbers have nothing to do with those
    /// of [`handler`](IsonetBuilder::handler); what holds there for waiting, panics and numbers without a handler holds here.
    pub fn plain_handler(
        mut self,
        number: u32,
        handle: impl FnMut(&PlainReceived<'_>) + Send + 'static,
    ) -> Self {
        if !self.program.plain.add(number, Box::new(handle)) {
            self.note(format!("plain handler {number} is said twice"));
        }
        self
    }

    /// Is told of each operation that this member executes and that changes something here, in the one order: messages to its handlers, before the handler has them; values that variables get, if this
    /// member has a copy. It runs on the thread that executes isochrons, as handlers do.
    pub fn observe(mut self, observe: impl FnMut(&Performed) + Send + 'static) -> Self {
        self.program.observer = Some(Box::new(observe));
        self
    }

    /// When isochrons get their place in the order: [`Delivery::Safe`] without this.
    pub fn delivery(self, delivery: Delivery) -> Self {
        IsonetBuilder { delivery, ..self }
    }

    /// Keeps all that this member does for [`Isonet::take_witness`]: for short runs.
    pub fn keep_witness(self) -> Self {
        IsonetBuilder { keeps_witness: true, ..self }
    }

    /// Has this member look, whenever something has come, whether what is always so of it is so: a defect of this library, or of the memory, ends it then, with [`Code::Mismatch`] and what is not so, and the
    /// others go on without it. It looks at all that waits in it, so that it is slower the more that is.
    pub fn check_invariants(mut self) -> Self {
        self.program.checks_invariants = true;
        self
    }

    /// Where this member listens for others. Without it: where its job says that it is reached (`quintet run --hosts`), and else shared memory, in a folder of its own, for members on one machine.
    pub fn listen_at(self, address: impl Into<LinkAddress>) -> Self {
        IsonetBuilder { listens_at: Some(address.into()), ..self }
    }

    /// Tells of each view that begins after the first, on the thread that executes isochrons, before anything of it is executed: it must not wait.
    pub fn on_view(mut self, told: impl FnMut(&PresentView) + Send + 'static) -> Self {
        self.program.on_view.push(Box::new(told));
        self
    }

    /// How the links are used. A member that ends is gone at once, over TCP and TLS as its system refuses another link; one whose link is cut otherwise after [`LinkConfig::resume_window`], and one of which
    /// nothing is heard, which may be in a handler that computes for long, after [`LinkConfig::silence_limit`]. Without this: as the default, and a second for both.
    pub fn link(self, link: LinkConfig) -> Self {
        IsonetBuilder { link, ..self }
    }

    /// A member of which nothing is heard for so long is lost to the others: a second without this. It is asked for a sign of life four times as often.
    pub fn silence_limit(self, limit: Duration) -> Self {
        let link = LinkConfig { silence_limit: limit, keep_alive: limit / 4, ..self.link };
        IsonetBuilder { link, ..self }
    }

    /// How long [`join`](IsonetBuilder::join) waits for the others: 30 seconds without this.
    pub fn limit(self, limit: Duration) -> Self {
        IsonetBuilder { limit, ..self }
    }

    /// Records this member, for `quintet replay`.
    pub fn recorder(self, recorder: &Recorder) -> Self {
        IsonetBuilder { recorder: Some(recorder.clone()), ..self }
    }

    /// Lets members that have ended come back ([`rejoin`](IsonetBuilder::rejoin)): this member answers them, on a thread that sleeps otherwise. All members should say so.
    pub fn rejoinable(self) -> Self {
        IsonetBuilder { is_rejoinable: true, ..self }
    }

    /// The program has state beside the variables, which is made by what is executed: `give` gives it, 16 MiB at most, and `take` puts one in place of that. A member that comes
    /// back takes what another one has given, before anything is executed here; that one gives what it has when the view begins with which the other comes back. Both run on the
    /// thread that executes isochrons, and must not wait. What either of them returns as an error ends its member.
    pub fn state(
        mut self,
        give: impl FnMut() -> Result<Vec<u8>, Error> + Send + 'static,
        take: impl FnMut(&[u8]) -> Result<(), Error> + Send + 'static,
    ) -> Self {
        if !self.program.state.set(Box::new(give), Box::new(take)) {
            self.note("the state of the program is said twice".to_owned());
        }
        self
    }

    fn note(&mut self, text: String) {
        self.wrong.get_or_insert_with(|| Error::new(Code::BadValue, text));
    }

    /// Joins: waits until all members are there and linked to each other.
    ///
    /// # Errors
    /// - [`Code::BadValue`]: there is no such member, variable or copy, or the members do not say the same; this process is no worker of a job and says no member.
    /// - [`Code::TimedOut`]: who did not come, or is not linked, is named. [`Code::PeerDied`]: a member has ended meanwhile.
    /// - [`Code::AddressInUse`] and the like: it cannot be listened at the address. The lab's own.
    pub fn join(self) -> Result<Isonet, Error> {
        self.begin(View(1), None)
    }

    /// Comes back: this process is the member in place of one that has ended, in the next view, with the values of variables that the view begins with, and what the programs of
    /// the others have of their [`state`](IsonetBuilder::state). Waits until it is in that view. The process that was the member before is to have ended; who is left is to be
    /// enough to go on, as where a member ends, and [`rejoinable`](IsonetBuilder::rejoinable).
    ///
    /// # Errors
    /// - [`Code::NoHandler`]: no member is there that lets others come back.
    /// - [`Code::TimedOut`]: those who are there do not let it in: they are too few, or do not reach it.
    /// - [`Code::BadValue`]: this process does not share what they do, or takes no state and they gave some. [`Code::TooLarge`]: the state of the program is too long.
    /// - Otherwise as [`join`](IsonetBuilder::join).
    pub fn rejoin(self) -> Result<Isonet, Error> {
        self.begin(OUTSIDE, Some(life::incarnation().0))
    }

    fn begin(self, view: View, joins: Option<u64>) -> Result<Isonet, Error> {
        let until = Instant::now() + self.limit;
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let (me, members) = part_of(self.member)?;
        let isonet = shared(members, &self.variables, self.delivery)?;
        let (keeps_witness, shares) = (self.keeps_witness, meeting::describe(&isonet));
        let config = IsotachConfig { me: NodeId(me), view, isonet, joins, keeps_witness };
        let listens_at = self.listens_at.map_or_else(job::listens_at, |at| Ok(Some(at)))?;
        let places = Places::listen(listens_at)?;
        let meeting = Meeting { lab: &self.lab, name: &self.name, me, members, until };
        let met = match joins {
            None => meeting.hold(&shares, &places)?,
            Some(_) => meeting.find(&shares, &places)?,
        };
        let returning = Returning::default();
        let open = || meeting.open(&shares, &places, &met, &returning);
        let doors = self.is_rejoinable.then(open).transpose()?;
        let links = Links { met, link: self.link, recorder: self.recorder, until };
        Host::start(config, self.program, (places, doors, returning), links)
    }
}

/// Which member of how many this process is.
fn part_of(said: Option<(u16, u16)>) -> Result<(u16, u16), Error> {
    let (me, members) = match said {
        Some(said) => said,
        None => part_of_job(Job::from_environment()?)?,
    };
    let bad = |text| Err(Error::new(Code::BadValue, text));
    if members > MAX_MEMBERS {
        return bad(format!("{members} members are too many: an isonet has {MAX_MEMBERS} at most"));
    }
    if me >= members {
        return bad(format!("member {me} is none of {members}: they are numbered from 0"));
    }
    Ok((me, members))
}

fn part_of_job(job: Job) -> Result<(u16, u16), Error> {
    let Some(rank) = job.rank else {
        let text =
            "this process is no worker of a job: start it with `quintet run -n N`, or say which member it is";
        return Err(Error::new(Code::BadValue, text));
    };
    let fits = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
    Ok((fits(rank), fits(job.workers)))
}

/// What all members know: one switch, whose pulse the first one keeps, and the variables.
fn shared(
    members: u16,
    wanted: &BTreeMap<Variable, Wanted>,
    delivery: Delivery,
) -> Result<Arc<quintet_isotach::Isonet>, Error> {
    let nodes: Vec<NodeId> = (0..members).map(NodeId).collect();
    let topology =
        Topology::lan(FIRST, &nodes).map_err(|error| Error::new(Code::BadValue, error.to_string()))?;
    let shape = |wanted: &Wanted| {
        let copies = match &wanted.copies {
            Some(copies) => copies.iter().copied().map(NodeId).collect(),
            None => nodes.iter().copied().collect(),
        };
        Shape { bytes: wanted.bytes, copies }
    };
    let variables = wanted.iter().map(|(variable, wanted)| (*variable, shape(wanted))).collect();
    let isonet = quintet_isotach::Isonet::new(topology, variables)
        .map_err(|error| Error::new(Code::BadValue, error.to_string()))?;
    Ok(Arc::new(isonet.with_delivery(delivery)))
}

const _: () = assert!(MAX_VALUE_BYTES == 4096, "as the documents say");

#[cfg(test)]
mod tests;
