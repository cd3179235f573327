//! Simulated machines with a member each.

use crate::parts::{Counted, FREEZE, FROZEN, Watcher};
use bytes::Bytes;
use quintet_contract::{Address, Identity, NodeId, OwnedFrame, Port, Span, Token};
use quintet_membership::{Answer, Change, Membership, MembershipConfig, Request, Start, Timing};
use quintet_simulate::{Costs, Distribution, Hosted, LinkModel, Restart, Simulation};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{LINK_NEWS, PORT_CALLERS, PORT_LINKS, PORT_MEMBERSHIP};
use quintet_wire::services::LinkNews;

pub const CLUSTER: u128 = 7;

/// How members are made in a run.
#[derive(Clone)]
pub struct Style {
    pub seed: u64,
    pub max_voters: u8,
    pub entries_at_once: u16,
    pub kept_entries: u16,
    pub spare_log_bytes: u32,
    pub timing: Timing,
    pub link: LinkModel,
    pub watches: bool,
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<quintet_membership::Defect>,
}

impl Style {
    pub fn new(seed: u64) -> Style {
        Style {
            seed,
            max_voters: 5,
            entries_at_once: 256,
            kept_entries: 64,
            spare_log_bytes: 64 * 1024,
            timing: Timing { removal: Span::ZERO, ..Timing::default() },
            link: LinkModel::default(),
            watches: true,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}

/// Machines, numbered as the membership numbers them.
pub struct Cluster {
    pub run: Simulation,
    pub style: Style,
    pub size: u16,
    lives: u64,
    tokens: u64,
}

pub fn member(node: u16) -> Address {
    Address { node: NodeId(node), port: PORT_MEMBERSHIP }
}

pub fn caller(node: u16) -> Address {
    Address { node: NodeId(node), port: PORT_CALLERS }
}

pub fn identity(of: u64) -> Identity {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&of.to_le_bytes());
    Identity(bytes)
}

pub fn join(name: &str, of: u64) -> Request {
    Request::Join {
        cluster: CLUSTER,
        name: name.to_owned(),
        identity: identity(of),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: of,
    }
}

impl Cluster {
    /// Machine 0 founds, the others join one after the other, and all are started.
    pub fn new(style: Style, size: u16) -> Cluster {
        let run = Simulation::new(style.seed);
        let mut cluster = Cluster { run, style, size: 0, lives: 0, tokens: 0 };
        cluster.add_machine();
        for number in 1..size {
            let joined = cluster.ask_for(0, &join(&format!("m{number}"), number.into()), Span::from_secs(10));
            assert!(matches!(joined, Some(Answer::Joined { node, .. }) if node.0 == number), "{joined:?}");
            cluster.add_machine();
        }
        let voters = usize::from(size.min(cluster.style.max_voters.into()));
        let voters = voters - usize::from(voters % 2 == 0);
        let settled = cluster.run.run_until(Span::from_secs(20), |run| {
            (0..size).all(|node| view_of(run, node).is_some_and(|view| view.voters().count() == voters))
        });
        assert!(settled, "every machine has the view with all voters");
        cluster
    }

    /// Starts the machine with the next number, which is linked with all others.
    pub fn add_machine(&mut self) {
        let node = self.size;
        self.size += 1;
        let (instance, watcher) = self.make(node);
        self.run.add(caller(node), watcher);
        self.run.add(member(node), instance);
        self.set_costs(node);
        for other in 0..node {
            self.run.connect(member(other), member(node), self.style.link);
        }
    }

    fn make(&mut self, node: u16) -> (Counted, Watcher) {
        self.lives += 1;
        let start = match node {
            0 => Start::Found {
                name: "m0".to_owned(),
                identity: identity(0),
                address: String::new(),
                grants: 0,
                ticket: 0,
            },
            _ => Start::Joined,
        };
        let mut config =
            MembershipConfig::new(CLUSTER, NodeId(node), start, self.style.seed ^ self.lives << 32);
        config.max_voters = self.style.max_voters;
        config.entries_at_once = self.style.entries_at_once;
        config.kept_entries = self.style.kept_entries;
        config.spare_log_bytes = self.style.spare_log_bytes;
        config.timing = self.style.timing;
        #[cfg(feature = "seeded-defects")]
        {
            config.defect = self.style.defect;
        }
        (Counted::new(Membership::new(config)), Watcher::new(member(node), self.style.watches))
    }

    pub fn crash(&mut self, node: u16) {
        self.crash_unnoticed(node, Span::from_millis(1));
    }

    /// The others are told that late: as long as sessions are kept for whose link may have been cut only.
    pub fn crash_unnoticed(&mut self, node: u16, notice: Span) {
        self.run.crash(NodeId(node), notice);
    }

    /// The host of a machine finds that nobody listens where it dials another one; or that there is a link again.
    pub fn find(&mut self, at: u16, node: u16, is_refused: bool) {
        let body = encode_to_vec(&LinkNews { node: NodeId(node), is_refused }).into();
        let frame = OwnedFrame { kind: LINK_NEWS, token: Token(0), body, bulk: Bytes::new() };
        self.run.inject_from(PORT_LINKS, member(at), frame);
    }

    /// A new process, with the disk of the one before.
    pub fn restart(&mut self, node: u16) {
        let (instance, watcher) = self.make(node);
        let instances: Vec<(Port, Box<dyn Hosted>)> =
            vec![(PORT_CALLERS, Box::new(watcher)), (PORT_MEMBERSHIP, Box::new(instance))];
        self.run.restart(NodeId(node), Restart::Fresh(instances));
        self.set_costs(node);
    }

    fn set_costs(&mut self, node: u16) {
        let millisecond = Distribution::Constant(1e9);
        self.run.set_costs(caller(node), Costs::from([(FROZEN, millisecond)]));
    }

    /// Has a machine stand still, and then find all at once what came meanwhile.
    pub fn freeze(&mut self, node: u16, millis: u32) {
        let body = Bytes::copy_from_slice(&millis.to_le_bytes());
        self.run.inject(caller(node), OwnedFrame { kind: FREEZE, token: Token(0), body, bulk: Bytes::new() });
    }

    /// Sends a request of a caller at a machine. Its token.
    pub fn ask(&mut self, node: u16, request: &Request) -> Token {
        self.tokens += 1;
        let token = Token(self.tokens);
        let body = Bytes::from(encode_to_vec(request));
        self.run.inject(member(node), OwnedFrame { kind: request.kind(), token, body, bulk: Bytes::new() });
        token
    }

    /// The answer to a request, if it comes in time.
    pub fn ask_for(&mut self, node: u16, request: &Request, limit: Span) -> Option<Answer> {
        let token = self.ask(node, request);
        self.run.run_until(limit, |run| answer_to(run, node, token).is_some());
        answer_to(&self.run, node, token)
    }

    /// Whether some machine knows that the next number was given.
    pub fn has_joined(&self) -> bool {
        let next = NodeId(self.size);
        let given = |view: &quintet_membership::View| view.members.contains_key(&next) || view.has_lost(next);
        (0..self.size).any(|node| view_of(&self.run, node).is_some_and(given))
    }

    pub fn leader(&self) -> Option<u16> {
        let leaders = (0..self.size).filter(|node| at(&self.run, *node).is_some_and(Membership::leads));
        leaders.max_by_key(|node| at(&self.run, *node).map(|member| member.term().0))
    }

    pub fn watcher(&self, node: u16) -> &Watcher {
        self.run.get(caller(node)).expect("every machine has a caller")
    }

    pub fn member(&self, node: u16) -> &Membership {
        at(&self.run, node).expect("every machine has a member")
    }

    pub fn changes(&self, node: u16) -> Vec<(u64, Change)> {
        self.watcher(node).views.iter().map(|(_, view, change)| (*view, change.clone())).collect()
    }
}

pub fn at(run: &Simulation, node: u16) -> Option<&Membership> {
    run.get::<Counted>(member(node)).map(|counted| &counted.member)
}

pub fn view_of(run: &Simulation, node: u16) -> Option<&quintet_membership::View> {
    at(run, node).and_then(Membership::view)
}

fn answer_to(run: &Simulation, node: u16, token: Token) -> Option<Answer> {
    let watcher: &Watcher = run.get(caller(node))?;
    watcher.answers.iter().find(|(of, _)| *of == token).map(|(_, answer)| answer.clone())
}
