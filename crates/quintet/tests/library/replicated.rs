//! A space of three replicas, each a server of its own on loopback: whoever leads may end, and what was acknowledged is there.

use quintet::{
    Code, Lab, LinkAddress, LinkConfig, Policy, Replication, ServeConfig, Server, SpaceAddress, SpaceConfig,
    SpaceLog, SpaceSettings, template, tuple,
};
use quintet_testbed::{TempDir, Wire};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LEASE: Duration = Duration::from_secs(10);

struct Group {
    folder: TempDir,
    addresses: Vec<LinkAddress>,
    link: LinkConfig,
    servers: Vec<Option<Server>>,
    /// Each says who leads, as it knows.
    told: Vec<Receiver<Option<u8>>>,
}

/// Ports that nobody has now.
fn free_ports() -> Vec<LinkAddress> {
    let listeners: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    let port = |listener: &TcpListener| listener.local_addr().expect("it is bound").port();
    listeners
        .iter()
        .map(|listener| format!("tcp:127.0.0.1:{}", port(listener)).parse().expect("an address"))
        .collect()
}

impl Group {
    fn start() -> Group {
        Group::start_with(LinkConfig::default())
    }

    fn start_with(link: LinkConfig) -> Group {
        let folder = TempDir::new().expect("a temporary directory");
        let (servers, told) = (vec![None, None, None], Vec::new());
        let mut group = Group { folder, addresses: free_ports(), link, servers, told };
        for replica in 1..=3 {
            let (server, told) = group.serve(replica).expect("it starts");
            group.servers[usize::from(replica) - 1] = Some(server);
            group.told.push(told);
        }
        group
    }

    fn serve(&self, replica: u8) -> Result<(Server, Receiver<Option<u8>>), quintet::Error> {
        let (teller, told) = channel();
        let teller = Mutex::new(teller);
        let config = ServeConfig {
            // As a program has it that keys its hashes by chance.
            space: SpaceConfig { seed: replica.into(), ..SpaceConfig::default() },
            link: self.link,
            log: Some(SpaceLog::new(self.folder.join(replica.to_string()))),
            replication: Some(Replication {
                replica,
                replicas: self.addresses.clone(),
                identities: Vec::new(),
                // A test that has ended does not listen.
                told: Some(Arc::new(move |leader| _ = teller.lock().expect("no panic").send(leader))),
            }),
            ..ServeConfig::default()
        };
        let server = Server::start(&self.addresses[usize::from(replica) - 1], &config)?;
        Ok((server, told))
    }

    fn again(&mut self, replica: u8) {
        let (server, told) = self.serve(replica).expect("it starts");
        let at = usize::from(replica) - 1;
        (self.servers[at], self.told[at]) = (Some(server), told);
    }

    fn end(&mut self, replica: u8) {
        self.servers[usize::from(replica) - 1].take().expect("it runs").stop().expect("it ends");
    }

    fn address(&self) -> SpaceAddress {
        SpaceAddress::Replicas(self.addresses.clone())
    }

    fn connect(&self) -> Lab {
        Lab::connect(self.address(), 0, LEASE).expect("one leads")
    }

    /// Who leads, once a replica knows.
    fn leader(&self, at: usize) -> u8 {
        self.told[at].iter().flatten().next().expect("it tells")
    }
}

#[test]
fn what_was_acknowledged_outlives_each_leader() {
    let mut group = Group::start();
    let mut leader = group.leader(0);
    for round in 0i64..3 {
        let space = group.connect().space();
        space.out(tuple!["item", round]).expect("it is put");
        group.end(leader);
        let space = group.connect().space();
        assert_eq!(
            space.count(&template!["item", ?i64]).expect("it is counted"),
            1 + u64::try_from(round).expect("a few")
        );
        let last = leader;
        group.again(last);
        leader = group.leader(usize::from(last) - 1);
    }
    let space = group.connect().space();
    for _ in 0..3 {
        space.take_if(&template!["item", ?i64]).expect("it leads").expect("it is there");
    }
    assert_eq!(space.take_if(&template!["item", ?i64]).expect("it leads"), None);
}

/// Nobody waits for it at the next leader any more when it asks again.
#[test]
fn a_client_that_was_idle_through_a_failover_goes_on() {
    let short = Duration::from_millis(50);
    let link = LinkConfig { resume_window: short, silence_limit: short, ..LinkConfig::default() };
    let mut group = Group::start_with(link);
    let mut leader = group.leader(0);
    let idle = group.connect().space();
    for round in 0..3i64 {
        idle.out(tuple!["item", round]).expect("it goes on");
        let last = leader;
        group.end(last);
        let watcher = group.connect().space();
        while watcher.clients().count() > 1 {
            std::thread::yield_now();
        }
        assert_eq!(idle.take_if(&template!["item", ?i64]).expect("it goes on"), Some(tuple!["item", round]));
        group.again(last);
        leader = group.leader(usize::from(last) - 1);
    }
}

/// Every call of one client, as leader after leader ends, is answered; each item is put once and taken once.
#[test]
fn a_client_goes_on_whichever_replica_ends() {
    let mut group = Group::start();
    let mut leader = group.leader(0);
    let (worker, waiter) = (group.connect(), group.connect());
    let (space, waits) = (worker.space(), waiter.space());
    let taker = std::thread::spawn(move || {
        let of = |number| move || template!["item", number];
        (0i64..8).map(|number| waits.take(&of(number)())).collect::<Result<Vec<_>, _>>()
    });
    for number in 0i64..8 {
        let last = leader;
        group.end(last);
        // Nobody leads, and the take waits at nobody's.
        space.out(tuple!["item", number]).expect("whoever leads next takes it");
        space.out(tuple!["mine", number]).expect("it leads");
        assert_eq!(
            space.take_if(&template!["mine", ?i64]).expect("it leads").as_ref(),
            Some(&tuple!["mine", number])
        );
        group.again(last);
        leader = group.leader(usize::from(last) - 1);
    }
    let taken = taker.join().expect("no panic").expect("no take fails");
    let items: Vec<_> = (0i64..8).map(|number| tuple!["item", number]).collect();
    assert_eq!(taken, items);
    assert_eq!(space.count(&template![?str, ?i64]).expect("it leads"), 0);
}

/// It is counted in the time of the log, which goes on with whoever leads next.
#[test]
fn a_lease_ends_in_its_time_though_another_replica_leads_by_then() {
    let mut group = Group::start();
    let leader = group.leader(0);
    let wire = |address: &LinkAddress| {
        let LinkAddress::Tcp { host, port } = address else { panic!("of TCP: {address}") };
        Wire::to(format!("{host}:{port}").parse().expect("an address")).expect("a wire")
    };
    let wires: Vec<Wire> = group.addresses.iter().map(wire).collect();
    let at = |wire: &Wire| format!("tcp:{}", wire.address()).parse().expect("an address");
    let lease = Duration::from_millis(1_500);
    let quiet = Lab::connect(SpaceAddress::Replicas(wires.iter().map(at).collect()), 0, lease);
    let quiet = quiet.expect("one leads").space();
    let (space, task) = (group.connect().space(), template!["task", ?i64]);
    space.out(tuple!["task", 1i64]).expect("it is put");
    let held = quiet.lease(&task, None).expect("it is there");
    wires.iter().for_each(|wire| wire.set_mute(true));
    let since = Instant::now();
    group.end(leader);
    assert_eq!(space.take_if(&task).expect("another one leads"), None, "it is leased there as well");
    let again = space.lease(&task, Some(LEASE)).expect("it comes back");
    // It was renewed last a third of it before that, or later.
    assert!(since.elapsed() > lease / 2, "{:?}", since.elapsed());
    assert_eq!((held.attempt(), again.attempt()), (1, 2));
    again.acknowledge(&[]).expect("it is held");
    wires.iter().for_each(|wire| wire.set_mute(false));
    let lost = held.acknowledge(&[]).expect_err("it has ended");
    assert_eq!(lost.code(), Code::LeaseLost, "{lost}");
}

#[test]
fn named_spaces_are_kept_by_all_replicas() {
    let mut group = Group::start();
    let leader = group.leader(0);
    let lab = group.connect();
    let settings = SpaceSettings { policy: Policy::Replicated(3), ..SpaceSettings::default() };
    let orders = lab.create_space("orders", &settings).expect("it is kept so");
    orders.out(tuple!["order", 1i64]).expect("it is put");
    let logged = SpaceSettings { policy: Policy::Logged, ..SpaceSettings::default() };
    let error =
        lab.create_space("other", &logged).err().expect("no replica keeps a space in its own log alone");
    assert!(error.text().contains("replicated=3"), "{error}");
    group.end(leader);
    assert_eq!(orders.take_if(&template!["order", ?i64]).expect("it goes on"), Some(tuple!["order", 1i64]));
    let again = group.connect().create_space("orders", &settings).expect("it is there");
    assert_eq!(again.count(&template!["order", ?i64]).expect("it leads"), 0);
}

#[test]
fn without_a_majority_nothing_is_answered_and_with_one_it_goes_on() {
    let mut group = Group::start();
    let leader = group.leader(0);
    let link = LinkConfig { resume_window: Duration::from_secs(1), ..LinkConfig::default() };
    let lab = Lab::connect_with(group.address(), 0, LEASE, link).expect("one leads");
    let space = lab.space();
    space.out(tuple!["kept"]).expect("it is put");
    let others: Vec<u8> = (1..=3).filter(|replica| *replica != leader).collect();
    others.iter().for_each(|replica| group.end(*replica));
    let error = space.out(tuple!["lost"]).expect_err("there is no majority");
    assert!(matches!(error.code(), Code::PeerDied | Code::Closed), "{error}");
    let later = space.out(tuple!["later"]).expect_err("nor is there one later");
    assert!(matches!(later.code(), Code::PeerDied | Code::Closed), "{later}");
    let told = &group.told[usize::from(leader) - 1];
    assert!(told.iter().any(|leader| leader.is_none()), "it says that nobody leads");
    group.again(others[0]);
    let space = group.connect().space();
    assert_eq!(space.count(&template!["kept"]).expect("one leads"), 1);
}

#[test]
fn a_replica_that_has_lost_its_log_is_sent_it() {
    let mut group = Group::start();
    let leader = group.leader(0);
    let space = group.connect().space();
    for number in 0i64..50 {
        space.out(tuple!["item", number]).expect("it is put");
    }
    let lost = 1 + leader % 3;
    group.end(lost);
    std::fs::remove_dir_all(group.folder.join(lost.to_string())).expect("it is there");
    group.again(lost);
    // It knows who leads once it takes part; then either of the others may go.
    assert_eq!(group.leader(usize::from(lost) - 1), leader);
    let other = (1..=3).find(|replica| *replica != leader && *replica != lost).expect("there are three");
    space.out(tuple!["item", 50i64]).expect("it is put");
    group.end(other);
    let space = group.connect().space();
    assert_eq!(space.count(&template!["item", ?i64]).expect("two are a majority"), 51);
}

#[test]
fn what_does_not_fit_is_refused_with_what_does_not() {
    let mut group = Group::start();
    group.leader(0);
    let refusal = |replica: u8, replicas: &[LinkAddress]| {
        let config = ServeConfig {
            log: Some(SpaceLog::new(group.folder.join("x"))),
            replication: Some(Replication {
                replica,
                replicas: replicas.to_vec(),
                identities: Vec::new(),
                told: None,
            }),
            ..ServeConfig::default()
        };
        Server::start(&group.folder.join("socket"), &config).err().expect("it is refused").to_string()
    };
    let [one, two, three] = &group.addresses[..] else { panic!("three") };
    for (replica, replicas, words) in [
        (1, &[one.clone(), two.clone()][..], "three or five"),
        (4, &group.addresses[..], "replica 4 is none of the 3"),
        (0, &group.addresses[..], "numbered from 1"),
        (1, &[one.clone(), two.clone(), one.clone()][..], "replica 3 has the address of another one"),
    ] {
        let text = refusal(replica, replicas);
        assert!(text.contains(words), "{text}");
    }
    assert_ne!(two, three);
    // The log of another replica.
    group.end(1);
    group.end(2);
    std::fs::rename(group.folder.join("2"), group.folder.join("of-two")).expect("it is there");
    std::fs::rename(group.folder.join("1"), group.folder.join("2")).expect("it is there");
    let error = group.serve(2).err().expect("it is refused");
    assert!(error.code() == Code::BadFile && error.text().contains("that of replica 1"), "{error}");
}
