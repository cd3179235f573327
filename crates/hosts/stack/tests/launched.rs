//! Launchers above messages, ports and sessions, on simulated machines: random schedules of clients that ask, are cut off, die, stop listening
//! and end their jobs at any time.
//!
//! Checked: every request is answered once while its session lives; what a process says comes whole and in its order, its end after all of it;
//! no process outlives its job's end, or its owner's session.

use quintet_contract::{
    Address, Frame, Incarnation, Input, LinkClass, NodeId, Outbox, PeerChange, Protocol, Random, Span, Time,
    Token,
};
use quintet_launch::{
    Answer, Happening, LauncherConfig, Program, Reason, Refusal, Request, Start, Stream, What,
};
use quintet_session::Placed;
use quintet_simulate::{LinkModel, ProcessModel, Processes, Restart, ServiceModel, Simulation};
use quintet_stack::{Liveness, Stack, StackConfig, launcher, node, sessions_of};
use quintet_wire::registry::{LAUNCH, PORT_LAUNCH, PORT_PROCESS, PORT_SESSION, PORT_USER};
use std::collections::{BTreeMap, BTreeSet};

const HOST: NodeId = NodeId(0);
const CLIENTS: u16 = 3;
const AT: Address = Address { node: HOST, port: PORT_LAUNCH };
/// What a process has said at most to who does not ask: a pipe, and the piece that the launcher has read from it.
const UNHEARD_BYTES: u64 = 64 * 1024 + 16_000;

/// What a client does. It goes on with each answer, and by itself after a pause.
struct Client {
    random: Random,
    /// Whether it asks for nothing any more.
    is_quiet: bool,
    /// Whether it never asks what happens next.
    never_listens: bool,
    is_up: bool,
    next_token: u64,
    next_job: u128,
    wakes_at: Option<Time>,
    open: BTreeMap<Token, Request>,
    jobs: BTreeSet<u128>,
    /// Jobs whose end was answered.
    over: BTreeSet<u128>,
    /// Of each process: its job, bytes heard of each stream, whether its end was told.
    heard: BTreeMap<u64, (u128, [u64; 2], bool)>,
    /// How often it was told what.
    told: [u32; 4],
}

impl Client {
    fn new(node: u16, seed: u64) -> Client {
        Client {
            random: Random::new(seed, node.into()),
            is_quiet: false,
            never_listens: false,
            is_up: false,
            next_token: 0,
            next_job: u128::from(node) << 64,
            wakes_at: None,
            open: BTreeMap::new(),
            jobs: BTreeSet::new(),
            over: BTreeSet::new(),
            heard: BTreeMap::new(),
            told: [0; 4],
        }
    }

    fn ask(&mut self, request: Request, out: &mut dyn Outbox) {
        let token = Token(self.next_token);
        if request.send(out, AT, token).is_ok() {
            self.next_token += 1;
            self.open.insert(token, request);
        }
    }

    fn some_job(&mut self) -> Option<u128> {
        let count = self.jobs.len() as u64;
        let at = usize::try_from(self.random.below(count.max(1))).unwrap_or_default();
        self.jobs.iter().nth(at).copied()
    }

    fn act(&mut self, now: Time, out: &mut dyn Outbox) {
        self.wakes_at = Some(now + Span::from_micros(200 + self.random.below(6000)));
        if self.is_quiet || !self.is_up {
            return;
        }
        match (self.random.below(16), self.some_job()) {
            (0..=1, _) | (_, None) => {
                self.next_job += 1;
                self.jobs.insert(self.next_job);
                self.start(self.next_job, out);
            }
            (2..=4, Some(job)) => self.start(job, out),
            (5, Some(job)) => {
                self.ask(Request::End { job }, out);
                // Now and then a process is asked for at the same time.
                if self.random.below(3) == 0 {
                    self.start(job, out);
                }
            }
            (6, Some(_)) => {
                let signal = [9, 15, 1][usize::try_from(self.random.below(3)).unwrap_or_default()];
                let process = self.random.below(30);
                self.ask(Request::Signal { process, signal, to_group: true }, out);
            }
            (7, _) => self.ask(Request::Info, out),
            (_, Some(_)) if self.never_listens => {}
            (_, Some(job)) => {
                let wait = Span::from_millis(self.random.below(20));
                self.ask(Request::Next { job, wait }, out);
            }
        }
    }

    fn start(&mut self, job: u128, out: &mut dyn Outbox) {
        let start = Start::new("a", Program::Path(b"a".to_vec()));
        self.ask(Request::Start { job, start: Box::new(start) }, out);
    }

    fn take(&mut self, frame: Frame<'_>) {
        let request = self.open.remove(&frame.token).expect("it is answered what was asked, once");
        let answer = Answer::decode(frame.kind, frame.body).expect("a launcher's bytes are good");
        match (request, answer) {
            (Request::Start { job, .. }, Answer::Started { process, .. }) => {
                self.told[0] += 1;
                // Asked for close behind its end, it was begun again.
                self.jobs.insert(job);
                let known = self.heard.entry(process).or_insert((job, [0; 2], false));
                assert_eq!(known.0, job, "no number is given twice");
            }
            (Request::Next { job, .. }, Answer::Happened(happened)) => {
                happened.iter().for_each(|happening| self.hear(job, happening));
            }
            (Request::End { job }, Answer::Done) => {
                self.told[3] += 1;
                self.jobs.remove(&job);
                self.over.insert(job);
            }
            (Request::Signal { .. }, Answer::Done) | (Request::Info, Answer::Info(_)) => {}
            (_, Answer::Error(Refusal { reason, text })) => {
                let expected = [
                    Reason::Ending,
                    Reason::Unknown,
                    Reason::AlreadyAsked,
                    Reason::Taken,
                    Reason::Failed,
                    Reason::Busy,
                ];
                assert!(expected.contains(&reason), "{reason:?}: {text}");
            }
            (request, answer) => panic!("{request:?} is answered {answer:?}"),
        }
    }

    fn hear(&mut self, job: u128, happening: &Happening) {
        // What a process says may be told before who asked for it knows its number.
        let heard = self.heard.entry(happening.process).or_insert((job, [0; 2], false));
        assert!(heard.0 == job && !heard.2, "its end was told before");
        match &happening.what {
            What::Output { stream, bytes } => {
                self.told[1] += 1;
                let place = &mut heard.1[usize::from(*stream == Stream::Error)];
                for byte in bytes {
                    assert_eq!(*byte, Processes::byte(happening.process, *place), "a byte is missing");
                    *place += 1;
                }
            }
            What::Ended(_) => {
                self.told[2] += 1;
                heard.2 = true;
            }
        }
    }
}

impl Protocol for Client {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => self.wakes_at = Some(now),
            Input::Wake => self.act(now, out),
            Input::Frame(_, frame) => self.take(frame),
            Input::Peer(peer, PeerChange::Up { .. }) if peer == AT => self.is_up = true,
            Input::Peer(peer, PeerChange::Down(_)) if peer == AT => {
                self.is_up = false;
                self.open.clear();
                self.jobs.clear();
            }
            Input::Peer(..) | Input::Writable(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.wakes_at
    }
}

/// A machine that starts processes, and clients on others.
struct World {
    run: Simulation,
    random: Random,
    seed: u64,
    lives: [u64; CLIENTS as usize + 1],
    /// What clients that died were told.
    told: [u32; 4],
    deaths: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let mut run = Simulation::new(seed);
        run.set_services(ServiceModel { processes: true, ..ServiceModel::default() });
        let model = ProcessModel { failures_per_million: 30_000, ..ProcessModel::default() };
        run.add(Address { node: HOST, port: PORT_PROCESS }, Processes::new(model, seed));
        let mut config = StackConfig::of_server(7, Incarnation(1), seed).with_liveness(liveness());
        config.launcher = Some(LauncherConfig::new(HOST, "1"));
        run.add(sessions_of(HOST), node(HOST, &config, vec![launcher(&config)]));
        let mut world = World {
            run,
            random: Random::new(seed, 99),
            seed,
            lives: [1; CLIENTS as usize + 1],
            told: [0; 4],
            deaths: 0,
        };
        for client in 1..=CLIENTS {
            world.run.add(sessions_of(NodeId(client)), world.client(client));
            world.run.attach(HOST, NodeId(client), &[(PORT_SESSION, PORT_SESSION)], link());
        }
        world
    }

    fn client(&self, number: u16) -> Stack<Client> {
        let life = self.lives[usize::from(number)];
        let seed = self.seed * 100 + life;
        let config = StackConfig::of_client(7, Incarnation(life), seed).with_liveness(liveness());
        let protocol = Client::new(number, seed);
        let placed = Placed { port: PORT_USER, kinds: LAUNCH, asks: vec![AT], services: &[], protocol };
        node(NodeId(number), &config, vec![placed])
    }

    fn client_of(&mut self, number: u16) -> Option<&mut Client> {
        let stack: &mut Stack<Client> = self.run.get_mut(sessions_of(NodeId(number)))?;
        Some(stack.inner_mut().get_mut(PORT_USER)?.inner_mut())
    }

    fn processes(&self) -> &Processes {
        self.run.get(Address { node: HOST, port: PORT_PROCESS }).expect("it was added")
    }

    /// A link that is cut for a while, a client that dies and comes again, one that listens no more for a while.
    fn disturb(&mut self) {
        let number = 1 + u16::try_from(self.random.below(CLIENTS.into())).expect("a few");
        let client = NodeId(number);
        let pause = Span::from_millis(1 + self.random.below(400));
        match self.random.below(6) {
            0 => {
                for (from, to) in [(HOST, client), (client, HOST)] {
                    self.run.set_cut(from, to, true);
                }
                // For a moment that the session outlives, or until both sides have seen that nothing comes any more.
                let is_short = self.random.below(2) == 0;
                self.run.run_for(if is_short { Span::from_millis(5) } else { Span::from_secs(1) });
                if is_short {
                    self.run.tell_cut(HOST, client);
                    self.run.tell_cut(client, HOST);
                }
                for (from, to) in [(HOST, client), (client, HOST)] {
                    self.run.set_cut(from, to, false);
                }
                self.run.connect_again(HOST, client, link());
            }
            1 => {
                self.gather(number);
                self.deaths += 1;
                self.run.crash(client, Span::from_micros(100));
                self.run.run_for(pause);
                self.lives[usize::from(number)] += 1;
                let stack = self.client(number);
                let fresh = Restart::Fresh(vec![(PORT_SESSION, Box::new(stack))]);
                self.run.restart(client, fresh);
            }
            2 => {
                if let Some(client) = self.client_of(number) {
                    client.is_quiet = true;
                }
                self.run.run_for(pause);
                if let Some(client) = self.client_of(number) {
                    client.is_quiet = false;
                }
            }
            _ => self.run.run_for(Span::from_millis(1 + self.random.below(20))),
        }
        self.check_ends();
    }

    fn gather(&mut self, number: u16) {
        let told = self.client_of(number).map_or([0; 4], |client| client.told);
        self.told.iter_mut().zip(told).for_each(|(sum, told)| *sum += told);
    }

    /// No process of a job runs whose end its owner was told.
    fn check_ends(&mut self) {
        let running: Vec<(u64, u128)> = self.processes().running().collect();
        for client in 1..=CLIENTS {
            let Some(client) = self.client_of(client) else { continue };
            // A job that was begun again after its end is another one.
            let over: BTreeSet<u128> = client.over.difference(&client.jobs).copied().collect();
            let started = client.open.values().filter_map(|request| match request {
                Request::Start { job, .. } => Some(*job),
                _ => None,
            });
            let again: BTreeSet<u128> = started.collect();
            for (process, job) in &running {
                let known = client.heard.get(process).is_some_and(|heard| heard.0 == *job);
                assert!(
                    !(known && over.contains(job) && !again.contains(job)),
                    "process {process} outlives the end of its job"
                );
            }
        }
    }

    /// In the end all clients die: nothing is left.
    fn finish(&mut self) {
        for client in 1..=CLIENTS {
            self.gather(client);
            self.run.crash(NodeId(client), Span::from_micros(100));
        }
        self.run.run_for(Span::from_secs(5));
        assert_eq!(self.processes().running().count(), 0, "processes outlive their owners");
        let stack: &Stack<quintet_launch::Launcher> = self.run.get(sessions_of(HOST)).expect("it was added");
        let launcher = stack.inner().get(PORT_LAUNCH).expect("it is there").inner();
        assert_eq!((launcher.jobs(), launcher.processes()), (0, 0));
    }
}

/// A link within a machine, as what comes over a network has to prove who it is.
fn link() -> LinkModel {
    LinkModel { class: LinkClass::Machine, may_be_cut: true, ..LinkModel::default() }
}

fn liveness() -> Liveness {
    Liveness {
        keep_alive: Span::from_millis(50),
        silence_limit: Span::from_millis(200),
        resume_window: Span::from_millis(100),
    }
}

#[test]
fn nothing_outlives_who_asked_for_it_in_random_schedules() {
    let (mut told, mut deaths) = ([0; 4], 0);
    for seed in 0..25 {
        let mut world = World::new(seed);
        for _ in 0..40 {
            world.disturb();
        }
        world.finish();
        told.iter_mut().zip(world.told).for_each(|(sum, told)| *sum += told);
        deaths += world.deaths;
    }
    let [started, said, ended, over] = told;
    assert!(started > 600 && said > 600 && ended > 60 && over > 60 && deaths > 60, "{told:?} {deaths}");
}

#[test]
fn a_program_that_nobody_listens_to_stands_still() {
    let mut world = World::new(1);
    let model = ProcessModel { most_pieces: 1000, longest_pause: Span::ZERO, ..ProcessModel::default() };
    world.run.add(Address { node: HOST, port: PORT_PROCESS }, Processes::new(model, 1));
    for client in 1..=CLIENTS {
        world.client_of(client).expect("it was added").never_listens = true;
    }
    world.run.run_for(Span::from_secs(2));
    let running: Vec<u64> = world.processes().running().map(|(process, _)| process).collect();
    let said =
        |process| Stream::ALL.map(|stream| world.processes().said(process, stream).unwrap_or_default());
    let said: Vec<u64> = running.into_iter().flat_map(said).collect();
    assert!(said.iter().all(|said| *said <= UNHEARD_BYTES), "{said:?} bytes said");
    assert!(said.iter().filter(|said| **said > 48 * 1024).count() > 3, "a pipe has room: {said:?}");
}
