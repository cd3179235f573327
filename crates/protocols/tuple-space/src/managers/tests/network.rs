//! Managers and clients with routers, joined by links that keep their order and nothing else: which link delivers next is drawn.

use crate::codec::{Class, Load, ROUTE, Relocation, Route, View};
use crate::managers::{HotKeysConfig, Manager, ManagersConfig, Placement, Router, RouterConfig};
use crate::{
    Answer, ManagersNews, Request, Signature, SpaceConfig, SpaceNumber, SpaceSettings, SpacesConfig,
    SpacesRequest, Tuple,
};
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, LinkClass, LinkInfo, OwnedFrame, PeerChange,
    Protocol, Random, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Keys the hash that says where a tuple is.
pub(super) const SEED: u64 = 5;

/// Requests are counted over so long a time.
pub(super) const PERIOD: Span = Span::from_micros(10);

/// A frame's way.
type Link = (Address, Address);

pub(super) struct Network {
    pub(super) now: Time,
    pub(super) managers: Vec<Manager>,
    routers: Vec<Router>,
    links: BTreeMap<Link, VecDeque<OwnedFrame>>,
    /// What callers were answered: which client, under which token.
    pub(super) answers: Vec<(usize, u64, Answer)>,
    last_tokens: Vec<u64>,
    unanswered: Vec<BTreeSet<u64>>,
    /// What managers have told of each other: which one did.
    pub(super) news: Vec<(usize, ManagersNews)>,
}

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };

fn manager_at(number: usize) -> Address {
    Address::new(u16::try_from(number).expect("a few"), 16)
}

fn router_at(client: usize) -> Address {
    Address::new(u16::try_from(100 + client).expect("a few"), 16)
}

fn callers_at(client: usize) -> Address {
    Address::new(router_at(client).node.0, 1)
}

pub(super) fn is_manager(address: Address) -> bool {
    address.node.0 < 100
}

/// One manager of so many.
pub(super) fn config(managers: usize, me: usize, seed: u64) -> ManagersConfig {
    ManagersConfig {
        managers: (0..managers).map(manager_at).collect(),
        addresses: (0..managers).map(|manager| format!("place-{manager}")).collect(),
        me: u8::try_from(me).expect("a few"),
        seed,
        spread_after: 4,
        hot_keys: HotKeysConfig { period: PERIOD, requests: 2 },
        told: Some(Address::new(manager_at(me).node.0, 1)),
    }
}

impl Network {
    pub(super) fn new(managers: usize, clients: usize, space: SpaceConfig) -> Network {
        let mut network = Network::of_strangers(managers, clients, space);
        for one in 0..managers {
            (one + 1..managers).for_each(|other| network.link_managers(one, other));
        }
        network
    }

    /// Managers that are not linked with each other.
    pub(super) fn of_strangers(managers: usize, clients: usize, space: SpaceConfig) -> Network {
        let addresses: Vec<Address> = (0..managers).map(manager_at).collect();
        let router = |client| {
            let (callers, managers) = (callers_at(client), addresses.clone());
            let router = Router::new(RouterConfig { callers, managers, loss: |_| Code::PeerDied });
            #[cfg(feature = "seeded-defects")]
            let router = router.with_defect(space.defect);
            router
        };
        let spaces = SpacesConfig::default();
        let mut network = Network {
            now: Time(1),
            managers: (0..managers)
                .map(|me| Manager::new(space, spaces, &config(managers, me, SEED)))
                .collect(),
            routers: (0..clients).map(router).collect(),
            links: BTreeMap::new(),
            answers: Vec::new(),
            last_tokens: vec![0; clients],
            unanswered: vec![BTreeSet::new(); clients],
            news: Vec::new(),
        };
        for client in 0..clients {
            for manager in 0..managers {
                network.give(manager_at(manager), Input::Peer(router_at(client), &UP));
                network.give(router_at(client), Input::Peer(manager_at(manager), &UP));
            }
        }
        network
    }

    /// Gives an input to whoever is at an address, and puts what it sends into the links.
    fn give(&mut self, at: Address, input: Input<'_>) {
        let mut sent = Effects::default();
        match at.node.0 {
            node @ 100.. => self.routers[usize::from(node - 100)].handle(self.now, input, &mut sent),
            node => {
                self.managers[usize::from(node)].handle(self.now, input, &mut sent);
                self.managers[usize::from(node)].verify();
            }
        }
        for (to, frame) in sent.frames() {
            match to.port.0 {
                1 if to.node.0 < 100 => {
                    let news = ManagersNews::decode_all(&frame.body).expect("it can be read");
                    self.news.push((to.node.0.into(), news));
                }
                1 => self.hear(usize::from(to.node.0 - 100), &frame),
                _ => self.links.entry((at, to)).or_default().push_back(frame),
            }
        }
    }

    fn hear(&mut self, client: usize, frame: &OwnedFrame) {
        let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk).expect("it can be read");
        assert!(self.unanswered[client].remove(&frame.token.0), "{answer:?} answers nothing, or twice");
        self.answers.push((client, frame.token.0, answer));
    }

    /// Makes a named space.
    pub(super) fn create(&mut self, name: &str, settings: SpaceSettings) -> SpaceNumber {
        let create = SpacesRequest::Create(name.parse().expect("a name"), settings);
        match self.call(0, &Request::Spaces(&create)) {
            Some(Answer::Spaces(page)) => page.rows[0].number,
            other => panic!("{other:?}"),
        }
    }

    /// Asks without waiting; under which token.
    pub(super) fn ask(&mut self, client: usize, request: &Request<'_>) -> u64 {
        self.ask_in(client, SpaceNumber::UNNAMED, request)
    }

    /// The same in a named space.
    pub(super) fn ask_in(&mut self, client: usize, space: SpaceNumber, request: &Request<'_>) -> u64 {
        self.last_tokens[client] += 1;
        let token = self.last_tokens[client];
        self.unanswered[client].insert(token);
        self.send_in(client, token, space, request);
        token
    }

    /// Says something about a token.
    pub(super) fn send(&mut self, client: usize, token: u64, request: &Request<'_>) {
        self.send_in(client, token, SpaceNumber::UNNAMED, request);
    }

    fn send_in(&mut self, client: usize, token: u64, space: SpaceNumber, request: &Request<'_>) {
        let settled = self.unanswered[client].first().copied().unwrap_or(token).min(token);
        let mut sent = Effects::default();
        let planned = request.planned().expect("it is small").to_space(space);
        planned.send(&mut sent, router_at(client), Token(token), Token(settled)).expect("it has room");
        for (_, frame) in sent.frames() {
            self.give(router_at(client), Input::Frame(callers_at(client), frame.borrow()));
        }
    }

    /// Delivers a frame of a link that is drawn; whether there was one.
    pub(super) fn step(&mut self, random: &mut Random) -> bool {
        let busy = self.busy();
        if busy.is_empty() {
            return false;
        }
        let drawn = usize::try_from(random.below(busy.len() as u64)).expect("a few");
        self.deliver(busy[drawn]);
        true
    }

    /// Delivers all there is on these links.
    pub(super) fn deliver_where(&mut self, is_meant: impl Fn(Address, Address) -> bool) {
        while let Some(link) = self.busy().into_iter().find(|(from, to)| is_meant(*from, *to)) {
            self.deliver(link);
        }
    }

    /// Delivers all there is between managers on this link.
    pub(super) fn deliver_between(&mut self, from: usize, to: usize) {
        self.deliver_where(|one, other| (one, other) == (manager_at(from), manager_at(to)));
    }

    /// Delivers all there is but the last frame between managers on this link.
    pub(super) fn deliver_but_last(&mut self, from: usize, to: usize) {
        let link = (manager_at(from), manager_at(to));
        let held = self.links.get_mut(&link).and_then(VecDeque::pop_back);
        self.deliver_where(|_, _| true);
        let behind = self.links.entry(link).or_default();
        assert!(behind.is_empty(), "a link keeps its order");
        behind.extend(held);
    }

    fn busy(&self) -> Vec<Link> {
        self.links.iter().filter(|(_, frames)| !frames.is_empty()).map(|(link, _)| *link).collect()
    }

    fn deliver(&mut self, link: Link) {
        let frame = self.links.get_mut(&link).and_then(VecDeque::pop_front).expect("it is not empty");
        self.give(link.1, Input::Frame(link.0, frame.borrow()));
    }

    /// Delivers all there is.
    pub(super) fn settle(&mut self, random: &mut Random) {
        while self.step(random) {}
    }

    /// Asks, and delivers until there is nothing to deliver: the answer, if it came.
    pub(super) fn call(&mut self, client: usize, request: &Request<'_>) -> Option<Answer> {
        self.call_in(client, SpaceNumber::UNNAMED, request)
    }

    /// The same in a named space.
    pub(super) fn call_in(
        &mut self,
        client: usize,
        space: SpaceNumber,
        request: &Request<'_>,
    ) -> Option<Answer> {
        let token = self.ask_in(client, space, request);
        self.settle(&mut Random::new(1, 1));
        self.take_answer(client, token)
    }

    pub(super) fn take_answer(&mut self, client: usize, token: u64) -> Option<Answer> {
        let at = self.answers.iter().position(|(to, of, _)| *to == client && *of == token)?;
        Some(self.answers.remove(at).2)
    }

    pub(super) fn turn_to(&mut self, span: Span) {
        self.now += span;
        for manager in 0..self.managers.len() {
            self.give(manager_at(manager), Input::Wake);
        }
    }

    /// A client asks the directory something; under which token.
    pub(super) fn ask_directory(&mut self, client: usize, route: &Route) -> u64 {
        self.last_tokens[client] += 1;
        let token = self.last_tokens[client];
        self.unanswered[client].insert(token);
        let body = encode_to_vec(route);
        let frame = Frame::new(ROUTE, Token(token), &body);
        self.give(router_at(client), Input::Frame(callers_at(client), frame));
        token
    }

    /// A manager tells the first one twice that of four requests three are about the key of this tuple, in its field of this number.
    pub(super) fn heat(&mut self, manager: usize, tuple: &Tuple, field: u8) {
        let (signature, key, _) = self.key_of(tuple, field);
        let load = Route::Load(Load { requests: 40, keys: vec![(signature, key, 30)] });
        for _ in 0..2 {
            let body = encode_to_vec(&load);
            let frame = Frame::new(ROUTE, Token(u64::MAX), &body);
            self.give(manager_at(0), Input::Frame(manager_at(manager), frame));
        }
    }

    /// One manager asks another, which answers at once.
    pub(super) fn ask_between(&mut self, from: usize, to: usize, route: &Route) -> Option<Answer> {
        let (from, to, body) = (manager_at(from), manager_at(to), encode_to_vec(route));
        self.give(to, Input::Frame(from, Frame::new(ROUTE, Token(u64::MAX), &body)));
        let frame = self.links.get_mut(&(to, from))?.pop_back()?;
        Answer::decode(frame.kind, &frame.body, &frame.bulk).ok()
    }

    /// The manager that the value of a key says.
    pub(super) fn manager_of(&self, tuple: &Tuple, field: u8) -> usize {
        self.key_of(tuple, field).2.into()
    }

    /// The signature of a tuple, the hash of its key, and the manager which that says.
    fn key_of(&self, tuple: &Tuple, field: u8) -> (Signature, u64, u8) {
        let (head, bulk) = tuple.encode().expect("it is small");
        let view = View::checked_tuple(&head, &bulk);
        let signature = Signature(view.signature().into());
        let mut placement = Placement::new(SEED, u8::try_from(self.managers.len()).expect("a few"));
        placement.change(1, &Relocation::Class(signature.clone(), Class::Hash(field)));
        let key = placement.key_of(&view).expect("a hash has a key");
        (signature, key, placement.of_tuple(&view))
    }

    /// A client's process ends.
    pub(super) fn kill(&mut self, client: usize) {
        self.links.retain(|(from, to), _| *from != router_at(client) && *to != router_at(client));
        for manager in 0..self.managers.len() {
            self.give(
                manager_at(manager),
                Input::Peer(router_at(client), &PeerChange::Down(DownCause::Died)),
            );
        }
        self.links.retain(|(_, to), _| *to != router_at(client));
    }

    /// A manager's process ends, as a client hears.
    pub(super) fn lose(&mut self, client: usize, manager: usize) {
        let down = PeerChange::Down(DownCause::Died);
        self.give(router_at(client), Input::Peer(manager_at(manager), &down));
    }

    /// A manager's process ends, as another manager hears.
    pub(super) fn lose_between(&mut self, other: usize, manager: usize) {
        let down = PeerChange::Down(DownCause::Died);
        self.give(manager_at(other), Input::Peer(manager_at(manager), &down));
    }

    /// A manager's process ends: the other ones hear so, one after the other, and what each of them says of it comes to the rest before the next one hears it itself; at last a client does.
    pub(super) fn lose_manager(&mut self, client: usize, manager: usize) {
        for other in (0..self.managers.len()).filter(|other| *other != manager) {
            self.lose_between(other, manager);
            self.deliver_where(|from, to| is_manager(from) && is_manager(to));
        }
        self.lose(client, manager);
    }

    /// A client comes again, through the kernel of its machine.
    pub(super) fn put_behind_kernel(&mut self, client: usize) {
        self.kill(client);
        let link = LinkInfo { is_relayed: true, ..LinkInfo::new(LinkClass::Machine, 1 << 20) };
        let up = PeerChange::Up { incarnation: Incarnation(2), link };
        for manager in (0..self.managers.len()).map(manager_at) {
            self.give(manager, Input::Peer(router_at(client), &up));
            self.give(router_at(client), Input::Peer(manager, &up));
        }
    }

    /// Two managers are linked.
    pub(super) fn link_managers(&mut self, one: usize, other: usize) {
        self.give(manager_at(one), Input::Peer(manager_at(other), &UP));
        self.give(manager_at(other), Input::Peer(manager_at(one), &UP));
    }

    /// A manager's process is followed by another, which knows nothing.
    pub(super) fn replace(&mut self, manager: usize, with: Manager) {
        self.managers[manager] = with;
        let at = manager_at(manager);
        self.links.retain(|(from, to), _| *from != at && *to != at);
    }

    /// Requests that wait at a manager.
    pub(super) fn waiting_at(&self, manager: usize) -> u64 {
        self.managers[manager].spaces().unnamed().books().unanswered
    }

    /// What a number of all managers comes to.
    pub(super) fn measured(&self, name: &str) -> u64 {
        let mut sum = 0;
        let mut add = |metric: &'static quintet_contract::Metric, value: u64| {
            if metric.name == name
                || format!("{}/{}", metric.name, metric.label.map_or("", |label| label.1)) == name
            {
                sum += value;
            }
        };
        self.managers.iter().for_each(|manager| manager.measure(&mut add));
        self.routers.iter().for_each(|router| router.measure(&mut add));
        sum
    }
}
