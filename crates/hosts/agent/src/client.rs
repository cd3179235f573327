//! A command's connection to an agent.

use crate::record::Record;
use crate::{AgentError, Membership};
use quintet_contract::{Incarnation, Kind, NodeId, Outbox, Port, SendError, Span, Token};
use quintet_errors::Code;
use quintet_link::{BootstrapError, LinkAddress};
use quintet_membership::{Answer, FIRST_CLIENT, Request, Suspect};
use quintet_runtime::{Calls, Instance, Redial};
use quintet_stack::enrolment::END_AGENT;
use quintet_stack::{Liveness, StackConfig, client_of, sessions_of};
use quintet_wire::registry::{PORT_ENROLMENT, PORT_LAUNCH, PORT_MEMBERSHIP};
use quintet_wire::{Encode, Sink, send};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What clients may ask an agent for.
const SERVICES: [Port; 3] = [PORT_MEMBERSHIP, PORT_LAUNCH, PORT_ENROLMENT];
/// How long a connection may take to be made.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long an answer may take: longer than a request waits for a majority.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// Between two looks at whether an agent has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// No body.
pub(crate) struct Nothing;

impl Encode for Nothing {
    fn encode(&self, _: &mut impl Sink) {}
}

/// A connection to an agent.
pub struct Client {
    calls: Calls,
    whom: LinkAddress,
}

impl Client {
    /// To the agent of this machine that has this cluster's folder.
    ///
    /// # Errors
    /// [`AgentError::NoMember`], [`AgentError::NotRunning`]; or the agent does not answer.
    pub fn local(folder: &Path) -> Result<Client, AgentError> {
        let record = Record::read(folder)?.ok_or_else(|| AgentError::NoMember(folder.to_owned()))?;
        let socket = Record::socket(folder);
        let cluster = quintet_identity::cluster_number(folder)?;
        Client::connect(LinkAddress::Unix(socket.clone()), record.node, cluster).map_err(
            |error| match error {
                AgentError::Link(BootstrapError::NobodyListens { .. }) => AgentError::NotRunning(socket),
                other => other,
            },
        )
    }

    /// To the agent that listens there and has this number.
    ///
    /// # Errors
    /// Nobody listens there, or whoever does refuses.
    pub fn connect(whom: LinkAddress, server: NodeId, cluster: u128) -> Result<Client, AgentError> {
        Client::connect_with(whom, server, cluster, Liveness::OF_CLIENT)
    }

    /// The same, over a link that is looked after like that.
    ///
    /// # Errors
    /// As of [`Client::connect`].
    pub fn connect_with(
        whom: LinkAddress,
        server: NodeId,
        cluster: u128,
        liveness: Liveness,
    ) -> Result<Client, AgentError> {
        let end = quintet_link::connect(&whom, CONNECT_LIMIT)?;
        let may_be_cut = end.sender.info().may_be_cut;
        let random = random();
        let numbers = u16::MAX - FIRST_CLIENT.0;
        let at = NodeId(FIRST_CLIENT.0 + (random % (u64::from(numbers) + 1)) as u16);
        let config = StackConfig::of_client(cluster, incarnation(), random).with_liveness(liveness);
        let instance = Instance::new(client_of(server, &SERVICES, at, &config));
        let calls = Calls::linked(sessions_of(at), instance, sessions_of(server), end)
            .map_err(|error| AgentError::System { doing: format!("watch the link to {whom}"), error })?;
        if may_be_cut && liveness.resume_window > Span::ZERO {
            let window = liveness.resume_window.into();
            calls.redial(Redial { address: whom.clone(), window, seed: random });
        }
        Ok(Client { calls, whom })
    }

    /// Asks its member.
    ///
    /// # Errors
    /// [`AgentError::Refused`], [`AgentError::Lost`].
    pub fn ask_member(&self, request: &Request) -> Result<Answer, AgentError> {
        let (kind, body) = self.ask(request.kind(), request)?;
        match Answer::decode(kind, &body) {
            Ok(Answer::Error(refusal)) => Err(AgentError::Refused(refusal)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(AgentError::Malformed("an answer of the agent")),
        }
    }

    /// Asks its launcher, and waits for so long.
    ///
    /// # Errors
    /// [`AgentError::NotLaunched`], [`AgentError::Lost`].
    pub fn ask_launcher(
        &self,
        request: &quintet_launch::Request,
        limit: Duration,
    ) -> Result<quintet_launch::Answer, AgentError> {
        let (body, bulk) = request.parts();
        let write = |out: &mut dyn Outbox, to, token: Token, _| {
            out.send_bulk(to, quintet_launch::codec::REQUEST, token, &body, bulk.clone())
        };
        let (kind, body) = self.ask_with(&write, limit)?;
        match quintet_launch::Answer::decode(kind, &body) {
            Ok(quintet_launch::Answer::Error(refusal)) => Err(AgentError::NotLaunched(refusal)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(AgentError::Malformed("an answer of the agent")),
        }
    }

    /// Asks its launcher, and does not wait for the answer: nobody will look at it.
    pub fn tell_launcher(&self, request: &quintet_launch::Request) {
        let (body, bulk) = request.parts();
        let write = |out: &mut dyn Outbox, to, token: Token, _: Token| {
            out.send_bulk(to, quintet_launch::codec::REQUEST, token, &body, bulk.clone())
        };
        // It fails if the agent is lost, which whoever waits for something learns.
        if let Ok(pending) = self.calls.begin(&write) {
            self.calls.forget(pending);
        }
    }

    /// Who is in, and what the agent's member sees; where that is to be agreed, what the leader sees beside it.
    ///
    /// # Errors
    /// As of [`Client::ask_member`].
    pub fn membership(&self, agreed: bool) -> Result<Membership, AgentError> {
        let Answer::Current(view, seen) = self.ask_member(&Request::View { agreed })? else {
            return Err(AgentError::Malformed("an answer of the agent"));
        };
        let watch = Request::Watch { view: view.number, news: 0, wait: Span::ZERO };
        let mut news = match self.ask_member(&watch)? {
            Answer::News(news) => news,
            // The view has changed in between; what is seen is asked for the next time.
            _ => quintet_membership::News::default(),
        };
        // What this machine sees by itself comes first: it may have been told how a member ended.
        let is_known = |suspect: &Suspect| news.suspects.iter().any(|known| known.node == suspect.node);
        let others: Vec<Suspect> = seen.into_iter().filter(|suspect| !is_known(suspect)).collect();
        news.suspects.extend(others);
        Ok(Membership { view: *view, news })
    }

    /// Ends the agent, and waits until nobody listens at its socket any more.
    ///
    /// # Errors
    /// It does not end.
    pub fn end_agent(self, folder: &Path) -> Result<(), AgentError> {
        match self.ask(END_AGENT, &Nothing) {
            // Its link may end before its answer is there.
            Ok(_) | Err(AgentError::Lost { code: Code::PeerDied | Code::Closed, .. }) => {}
            Err(error) => return Err(error),
        }
        let (socket, until) = (Record::socket(folder), Instant::now() + ANSWER_LIMIT);
        while quintet_link::connect(&LinkAddress::Unix(socket.clone()), CONNECT_LIMIT).is_ok() {
            if Instant::now() > until {
                return Err(AgentError::Lost { whom: self.whom, code: Code::TimedOut });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Asks for anything, and waits for the answer.
    ///
    /// # Errors
    /// [`AgentError::Lost`].
    pub(crate) fn ask(&self, kind: Kind, body: &impl Encode) -> Result<(Kind, Vec<u8>), AgentError> {
        let write = |out: &mut dyn Outbox, to, token: Token, _| -> Result<(), SendError> {
            send(out, to, kind, token, body)
        };
        self.ask_with(&write, ANSWER_LIMIT)
    }

    fn ask_with(
        &self,
        write: &dyn quintet_runtime::Request,
        limit: Duration,
    ) -> Result<(Kind, Vec<u8>), AgentError> {
        let lost = |code| AgentError::Lost { whom: self.whom.clone(), code };
        let pending = self.calls.begin(write).map_err(|_| lost(Code::Unreachable))?;
        let answer = self.calls.wait(pending, limit).ok_or_else(|| lost(Code::TimedOut))?;
        answer.map(|answer| (answer.kind, answer.body)).map_err(lost)
    }
}

/// Larger than that of every earlier life, as far as the machine's clock goes forward.
pub(crate) fn incarnation() -> Incarnation {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Incarnation(u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX))
}

/// A number from the system's randomness.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
