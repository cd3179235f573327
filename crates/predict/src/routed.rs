//! A router and managers without links, step by step: for a benchmark that times what routing costs.

use crate::program::BYTES;
use quintet_contract::{
    Address, Effects, Incarnation, Input, LinkClass, LinkInfo, NodeId, Outbox, OwnedFrame, PeerChange,
    Protocol, Time, Token,
};
use quintet_messaging::relay;
use quintet_stack as stack;
use quintet_tuple_space::{
    HotKeysConfig, Manager, ManagersConfig, Request, Router, RouterConfig, SpaceConfig, Spaces, SpacesConfig,
    Value, Wait, template, tuple,
};
use quintet_wire::registry::{PORT_CALLERS, PORT_SPACE};

/// Managers of the space; one of them is asked.
const MANAGERS: u8 = 2;
/// Requests of a batch.
pub const BATCH: usize = 64;
const CLIENT: NodeId = NodeId(1);
const ROUTER: Address = Address { node: CLIENT, port: PORT_SPACE };
const CALLERS: Address = Address { node: CLIENT, port: PORT_CALLERS };
const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };
const NOW: Time = Time(1);

/// What a batch asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// Tuples of a name, a number and 64 bytes are put.
    Puts,
    /// They are taken.
    Takes,
}

/// A router, the managers that it asks, and a space that is not spread, which is asked the same.
pub struct Routed {
    router: Router,
    managers: Vec<Manager>,
    alone: Spaces,
    /// Numbers whose tuples are at one manager, whichever.
    keys: Vec<i64>,
    at: usize,
    last_token: u64,
    out: Effects,
    /// What goes into the next step.
    frames: Vec<OwnedFrame>,
    /// What the callers have asked.
    asked: Vec<OwnedFrame>,
}

impl Routed {
    /// A signature is spread over the managers by a number, as templates have given it.
    ///
    /// # Panics
    /// If the router and the managers do not understand each other: a defect of this benchmark.
    #[must_use]
    pub fn new() -> Routed {
        let managers = stack::managers(MANAGERS);
        let one_of = |me| ManagersConfig {
            managers: managers.clone(),
            addresses: vec![String::new(); MANAGERS.into()],
            me,
            seed: 1,
            spread_after: ManagersConfig::SPREAD_AFTER,
            hot_keys: HotKeysConfig { requests: u64::MAX, ..HotKeysConfig::default() },
            told: None,
        };
        let (space, spaces) = (SpaceConfig::default(), SpacesConfig::default());
        let config = RouterConfig { callers: CALLERS, managers: managers.clone(), loss: relay::loss };
        let mut routed = Routed {
            router: Router::new(config),
            managers: (0..MANAGERS).map(|me| Manager::new(space, spaces, &one_of(me))).collect(),
            alone: Spaces::new(space, spaces),
            keys: Vec::new(),
            at: 0,
            last_token: 0,
            out: Effects::default(),
            frames: Vec::new(),
            asked: Vec::new(),
        };
        routed.meet(&managers);
        routed.find_keys();
        routed
    }

    /// All are linked.
    fn meet(&mut self, managers: &[Address]) {
        for (me, address) in managers.iter().enumerate() {
            self.managers[me].handle(NOW, Input::Peer(ROUTER, &UP), &mut self.out);
            for other in managers.iter().filter(|other| *other != address) {
                self.managers[me].handle(NOW, Input::Peer(*other, &UP), &mut self.out);
            }
            self.settle(*address);
        }
        for address in managers {
            self.router.handle(NOW, Input::Peer(*address, &UP), &mut self.out);
            self.settle(ROUTER);
        }
        self.alone.handle(NOW, Input::Peer(ROUTER, &UP), &mut self.out);
        self.out.frames();
    }

    /// Delivers what was sent from here, and all that follows; how many frames the callers were given.
    fn settle(&mut self, from: Address) -> usize {
        let mut under_way: Vec<(Address, Address, OwnedFrame)> = Vec::new();
        let mut given = 0;
        let mut sender = from;
        loop {
            under_way.extend(self.out.frames().into_iter().map(|(to, frame)| (sender, to, frame)));
            if under_way.is_empty() {
                return given;
            }
            let (from, to, frame) = under_way.remove(0);
            sender = to;
            given += usize::from(to == CALLERS);
            let input = Input::Frame(from, frame.borrow());
            match stack::managers(MANAGERS).iter().position(|manager| *manager == to) {
                Some(manager) => self.managers[manager].handle(NOW, input, &mut self.out),
                None if to == ROUTER => self.router.handle(NOW, input, &mut self.out),
                None => {}
            }
        }
    }

    /// Puts and takes until the signature is spread, and finds a batch of numbers whose tuples are at one manager.
    fn find_keys(&mut self) {
        // Twice as many as it takes: by then the router knows.
        let spread = 2 * i64::from(ManagersConfig::SPREAD_AFTER);
        let mut found: [Vec<i64>; MANAGERS as usize] = Default::default();
        for key in 0.. {
            let home = self.home(key);
            if key < spread {
                continue;
            }
            found[home].push(key);
            if found[home].len() == BATCH {
                (self.keys, self.at) = (found[home].clone(), home);
                return;
            }
        }
    }

    /// Puts and takes a tuple of this number; which manager the router has asked.
    fn home(&mut self, key: i64) -> usize {
        let put = self.request(Asked::Puts, key);
        self.router.handle(NOW, Input::Frame(CALLERS, put.borrow()), &mut self.out);
        let (to, frame) = self.out.frames().remove(0);
        let home = stack::managers(MANAGERS).iter().position(|manager| *manager == to);
        let home = home.expect("the router asks a manager");
        self.managers[home].handle(NOW, Input::Frame(ROUTER, frame.borrow()), &mut self.out);
        self.settle(to);
        let take = self.request(Asked::Takes, key);
        self.router.handle(NOW, Input::Frame(CALLERS, take.borrow()), &mut self.out);
        assert_eq!(self.settle(ROUTER), 1, "a take is answered");
        home
    }

    fn request(&mut self, asked: Asked, key: i64) -> OwnedFrame {
        self.last_token += 1;
        let token = Token(self.last_token);
        let data = Value::Binary(vec![7; BYTES].into());
        let tuples = &[tuple!["pair", key, data]];
        let template = &template!["pair", key, ?[u8]];
        let request = match asked {
            Asked::Puts => Request::Out { deadline: None, tuples, expiries: &[] },
            Asked::Takes => Request::Take { wait: Wait::Forever, lease: None, template },
        };
        let mut sent = Effects::default();
        request.send(&mut sent, ROUTER, token, token).expect("an outbox that collects refuses nothing");
        sent.frames().remove(0).1
    }

    /// Makes a batch: what follows is of it, one step after the other.
    pub fn prepare(&mut self, asked: Asked) {
        let keys = self.keys.clone();
        self.asked = keys.into_iter().map(|key| self.request(asked, key)).collect();
        self.frames = self.asked.clone();
    }

    /// Somebody passes the frames on as they are: what the layers of every client do.
    pub fn forward(&mut self) {
        for OwnedFrame { kind, token, body, .. } in &self.frames {
            self.out.send(CALLERS, *kind, *token, body).expect("an outbox that collects refuses nothing");
        }
    }

    /// The router is asked, and asks the manager.
    pub fn ask(&mut self) {
        for frame in &self.frames {
            self.router.handle(NOW, Input::Frame(CALLERS, frame.borrow()), &mut self.out);
        }
    }

    /// The manager is asked, and answers.
    pub fn serve(&mut self) {
        let manager = &mut self.managers[self.at];
        for frame in &self.frames {
            manager.handle(NOW, Input::Frame(ROUTER, frame.borrow()), &mut self.out);
        }
    }

    /// A space that is not spread is asked the same, and answers.
    pub fn serve_alone(&mut self) {
        for frame in &self.frames {
            self.alone.handle(NOW, Input::Frame(ROUTER, frame.borrow()), &mut self.out);
        }
    }

    /// The router is answered, and answers.
    pub fn answer(&mut self) {
        let manager = stack::managers(MANAGERS)[self.at];
        for frame in &self.frames {
            self.router.handle(NOW, Input::Frame(manager, frame.borrow()), &mut self.out);
        }
    }

    /// Between two steps: what the last one sent goes into the next.
    ///
    /// # Panics
    /// If it sent something else than a frame for each request.
    pub fn deliver(&mut self) {
        self.frames = self.out.frames().into_iter().map(|(_, frame)| frame).collect();
        assert_eq!(self.frames.len(), BATCH, "each request is one frame");
    }

    /// Between two steps: what the last one sent goes nowhere, and what was asked at first goes into the next.
    pub fn again(&mut self) {
        self.out.frames();
        self.frames = self.asked.clone();
    }
}

impl Default for Routed {
    fn default() -> Routed {
        Routed::new()
    }
}
