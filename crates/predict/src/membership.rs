//! What being a cluster costs its machines: the members of up to a hundred agents on modelled machines, with the sessions and messages that agents have.
//!
//! *Given*: links of 50 to 100 us in order, which may be cut, between every two machines; disks that make durable in 0.1 to 1 ms; processors that cost nothing.
//! What is counted is every frame that a node hands to a link, with its header; what TCP and TLS add is not.

use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{
    Address, Bytes, Disconnect, Identity, Incarnation, Input, Kind, NodeId, Outbox, OwnedFrame, Protocol,
    SendError, Span, Stage, Time, Token,
};
use quintet_membership::{Answer, Membership, MembershipConfig, Request, Start, View};
use quintet_simulate::{LinkModel, Simulation};
use quintet_stack::{Liveness, Stack, StackConfig, member, node, sessions_of};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_MEMBERSHIP, PORT_SESSION};

const CLUSTER: u128 = 7;
/// How long a request or a change may take before the model is given up.
const LIMIT: Span = Span::from_secs(60);
/// How long the idle cluster is looked at.
const IDLE: Span = Span::from_secs(10);
/// How many changes of the view are made.
const CHANGES: u32 = 20;

/// What a cluster costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClusterCost {
    /// Frames that all machines together send in a second in which nothing happens.
    pub idle_frames: f64,
    /// Bytes of these.
    pub idle_bytes: f64,
    /// Bytes that all machines together send for one change of the view, the idle traffic of that time among them.
    pub change_bytes: f64,
    /// From the question at one machine until the last one has the new view, in nanoseconds, the mean.
    pub change_nanos: f64,
}

/// Measures a cluster of so many machines, with agents that look after their links like this. One seed gives one result. None if the cluster does not come
/// together, which no seed that was tried has shown.
///
/// # Panics
/// With no machine, or more than a hundred.
#[must_use]
pub fn measure(size: u16, liveness: Liveness, seed: u64) -> Option<ClusterCost> {
    assert!((1..=100).contains(&size), "a cluster has 1 to 100 machines here, not {size}");
    let mut cluster = Cluster { run: Simulation::new(seed), liveness, seed, size: 0, tokens: 0 };
    cluster.form(size)?;
    let before = cluster.sent();
    cluster.run.run_for(IDLE);
    let idle = cluster.sent().since(before);
    let (mut changed, mut nanos) = (Sent::default(), 0);
    for number in 0..CHANGES {
        // Not in step with what goes at intervals.
        cluster.run.run_for(Span::from_millis(37));
        let (before, began) = (cluster.sent(), cluster.run.now());
        cluster.change(number)?;
        changed.add(cluster.sent().since(before));
        nanos += cluster.run.now().since(began).0;
    }
    let seconds = IDLE.0 as f64 / 1e9;
    Some(ClusterCost {
        idle_frames: idle.frames as f64 / seconds,
        idle_bytes: idle.bytes as f64 / seconds,
        change_bytes: changed.bytes as f64 / f64::from(CHANGES),
        change_nanos: nanos as f64 / f64::from(CHANGES),
    })
}

struct Cluster {
    run: Simulation,
    liveness: Liveness,
    seed: u64,
    size: u16,
    tokens: u64,
}

impl Cluster {
    /// Machine 0 founds, the others join one after the other; then the voters are there, and what that began is over.
    fn form(&mut self, size: u16) -> Option<()> {
        self.start();
        for number in 1..size {
            let joined = self.ask(0, &joining(number, 0))?;
            let Answer::Joined { node: NodeId(given), .. } = joined else { return None };
            (given == number).then_some(())?;
            self.start();
        }
        let voters = usize::from(size.min(5));
        let voters = voters - usize::from(voters.is_multiple_of(2));
        self.until_all(|view| view.voters().count() == voters && view.members.len() == usize::from(size))?;
        self.run.run_for(Span::from_secs(2));
        Some(())
    }

    /// Starts the machine with the next number, which knows and dials those before it.
    fn start(&mut self) {
        let number = self.size;
        let at = NodeId(number);
        let seed = self.seed << 16 | u64::from(number);
        let start = match number {
            0 => {
                let Request::Join { name, identity, address, grants, ticket, .. } = joining(0, 0) else {
                    unreachable!("it is one")
                };
                Start::Found { name, identity, address, grants, ticket }
            }
            _ => Start::Joined,
        };
        let mut config = StackConfig::of_server(CLUSTER, Incarnation(1), seed).with_liveness(self.liveness);
        let mut membership = MembershipConfig::new(CLUSTER, at, start, seed);
        membership.timing.removal = Span::ZERO;
        config.membership = Some(membership);
        let others: Vec<NodeId> = (0..number).map(NodeId).collect();
        let stack = node(at, &config, vec![member(&config, &others)]);
        self.run.add(callers(number), Callers::default());
        self.run.add(sessions_of(at), Counted { stack, sent: Sent::default() });
        let link = LinkModel { may_be_cut: true, ..LinkModel::default() };
        for other in others {
            self.run.attach(other, at, &[(PORT_SESSION, PORT_SESSION)], link);
        }
        self.size += 1;
    }

    /// The last machine is reached elsewhere; returns when all know it.
    fn change(&mut self, number: u32) -> Option<()> {
        let last = self.size - 1;
        let before = self.view(last)?.number;
        self.send(last, &joining(last, number + 1));
        self.until_all(|view| view.number > before)
    }

    fn until_all(&mut self, holds: impl Fn(&View) -> bool) -> Option<()> {
        let size = self.size;
        let all = |run: &Simulation| (0..size).all(|node| view_of(run, node).is_some_and(&holds));
        self.run.run_until(LIMIT, all).then_some(())
    }

    fn view(&self, node: u16) -> Option<&View> {
        view_of(&self.run, node)
    }

    fn send(&mut self, at: u16, request: &Request) -> Token {
        self.tokens += 1;
        let token = Token(self.tokens);
        let body = encode_to_vec(request).into();
        let frame = OwnedFrame { kind: request.kind(), token, body, bulk: Bytes::new() };
        self.run.inject(sessions_of(NodeId(at)), frame);
        token
    }

    fn ask(&mut self, at: u16, request: &Request) -> Option<Answer> {
        let token = self.send(at, request);
        let answer = |run: &Simulation| {
            let callers: &Callers = run.get(callers(at))?;
            callers.0.iter().find(|(of, _)| *of == token).map(|(_, answer)| answer.clone())
        };
        self.run.run_until(LIMIT, |run| answer(run).is_some());
        answer(&self.run)
    }

    /// What all machines have sent so far.
    fn sent(&self) -> Sent {
        let mut all = Sent::default();
        let nodes = (0..self.size).filter_map(|node| self.run.get::<Counted>(sessions_of(NodeId(node))));
        nodes.for_each(|node| all.add(node.sent));
        all
    }
}

fn callers(node: u16) -> Address {
    Address { node: NodeId(node), port: PORT_CALLERS }
}

fn view_of(run: &Simulation, number: u16) -> Option<&View> {
    let counted: &Counted = run.get(sessions_of(NodeId(number)))?;
    counted.stack.inner().get(PORT_MEMBERSHIP)?.inner().view()
}

/// What a machine asks that wants in, or is reached elsewhere.
fn joining(number: u16, moved: u32) -> Request {
    let mut identity = [0; 32];
    identity[..2].copy_from_slice(&number.to_le_bytes());
    Request::Join {
        cluster: CLUSTER,
        name: format!("machine-{number}"),
        identity: Identity(identity),
        address: format!("10.0.{moved}.{number}:7400"),
        grants: 0,
        ticket: number.into(),
    }
}

/// Keeps the answers that come to a node's callers.
#[derive(Default)]
struct Callers(Vec<(Token, Answer)>);

impl Protocol for Callers {
    fn handle(&mut self, _now: Time, input: Input<'_>, _out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = input {
            let answer = Answer::decode(frame.kind, frame.body).expect("a member's bytes are good");
            self.0.push((frame.token, answer));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Frames and bytes.
#[derive(Clone, Copy, Default)]
struct Sent {
    frames: u64,
    bytes: u64,
}

impl Sent {
    fn add(&mut self, more: Sent) {
        (self.frames, self.bytes) = (self.frames + more.frames, self.bytes + more.bytes);
    }

    fn since(self, before: Sent) -> Sent {
        Sent { frames: self.frames - before.frames, bytes: self.bytes - before.bytes }
    }
}

/// A node, and what it has sent to others.
struct Counted {
    stack: Stack<Membership>,
    sent: Sent,
}

impl Protocol for Counted {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut counting = Counting { out, to: None, sent: Sent::default() };
        self.stack.handle(now, input, &mut counting);
        self.sent.add(counting.sent);
    }

    fn deadline(&self) -> Option<Time> {
        self.stack.deadline()
    }
}

/// Counts what goes to other nodes.
struct Counting<'a> {
    out: &'a mut dyn Outbox,
    to: Option<Address>,
    sent: Sent,
}

impl Counting<'_> {
    fn count(&mut self, to: Address, bytes: usize) {
        if to.port == PORT_SESSION {
            self.sent.add(Sent { frames: 1, bytes: (HEADER_BYTES + bytes) as u64 });
        }
    }
}

impl Outbox for Counting<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, most: usize) -> Result<&mut [u8], SendError> {
        self.to = Some(to);
        self.out.begin(to, kind, token, most)
    }

    fn commit(&mut self, len: usize) {
        if let Some(to) = self.to.take() {
            self.count(to, len);
        }
        self.out.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let bytes = head.len() + bulk.len();
        self.out.send_bulk(to, kind, token, head, bulk)?;
        self.count(to, bytes);
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVENESS: Liveness = Liveness {
        keep_alive: Span::from_millis(500),
        silence_limit: Span::from_secs(10),
        resume_window: Span::from_secs(3),
    };

    #[test]
    fn one_seed_gives_one_result_and_another_another() {
        let cost = |seed| measure(3, LIVENESS, seed).expect("it comes together");
        assert_eq!(cost(1), cost(1));
        assert_ne!(cost(1).change_nanos, cost(2).change_nanos);
    }

    #[test]
    fn a_change_takes_a_round_and_costs_each_machine_a_few_frames() {
        let costs = [3, 10].map(|size| measure(size, LIVENESS, 1).expect("it comes together"));
        for (size, cost) in [(3., costs[0]), (10., costs[1])] {
            assert!(cost.change_nanos > 200e3 && cost.change_nanos < 10e6, "{cost:?}");
            assert!(cost.idle_frames > 10. * (size - 1.), "a leader is heard by all: {cost:?}");
            let frame = cost.idle_bytes / cost.idle_frames;
            assert!(frame > HEADER_BYTES as f64 && cost.change_bytes > frame * size, "{cost:?}");
        }
        assert!(costs[1].change_bytes < 10. / 3. * 2. * costs[0].change_bytes, "{costs:?}");
    }
}
