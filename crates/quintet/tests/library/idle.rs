//! A client that asks nothing while its server ends and comes back, for longer than that waits for anybody: it goes on whenever it asks again.

use quintet::{
    Code, Credentials, Lab, LinkAddress, LinkConfig, Outcome, ServeConfig, Server, Space, SpaceLog, template,
    tuple,
};
use quintet_identity::{Authority, Validity};
use quintet_testbed::{TempDir, Wire};
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(30);
/// For how long a server waits for who asks nothing.
const SHORT: Duration = Duration::from_millis(50);

/// A logged space, served anew again and again.
struct Served {
    folder: TempDir,
    address: LinkAddress,
    window: Duration,
    server: Option<Server>,
}

impl Served {
    fn new(at: impl FnOnce(&TempDir) -> LinkAddress, window: Duration) -> Served {
        let folder = TempDir::new().expect("a temporary directory");
        let address = at(&folder);
        let mut served = Served { folder, address, window, server: None };
        served.start();
        served
    }

    fn start(&mut self) {
        let link = LinkConfig { resume_window: self.window, ..LinkConfig::default() };
        let log = Some(SpaceLog::new(self.folder.join("log")));
        let config = ServeConfig { link, log, ..ServeConfig::default() };
        let server = Server::start(&self.address, &config).expect("it serves");
        self.address = server.addresses()[0].clone();
        self.server = Some(server);
    }

    fn end(&mut self) {
        self.server.take().expect("it runs").stop().expect("it ends");
    }

    fn restart(&mut self) {
        self.end();
        self.start();
    }

    fn connect(&self) -> Space {
        Lab::connect(&self.address, 0, LEASE).expect("the space is there").space()
    }

    /// Waits until the server knows so many clients only.
    fn knows_only(&self, clients: usize) {
        let watcher = self.connect();
        wait_until(|| watcher.clients().count() == clients + 1);
    }
}

fn wait_until(mut it_is_so: impl FnMut() -> bool) {
    while !it_is_so() {
        std::thread::yield_now();
    }
}

fn tcp(_: &TempDir) -> LinkAddress {
    "tcp:127.0.0.1:0".parse().expect("an address")
}

fn tls(_: &TempDir) -> LinkAddress {
    let authority = Authority::new().expect("a new one");
    let identity = authority.issue("a", Validity::days(1)).expect("a name");
    let credentials = Credentials::from_pem(identity.as_bytes()).expect("an identity");
    let address: LinkAddress = "tls:127.0.0.1:0".parse().expect("an address");
    address.identified(Some(&credentials))
}

fn goes_on(at: impl FnOnce(&TempDir) -> LinkAddress) {
    let mut served = Served::new(at, SHORT);
    let idle = served.connect();
    for life in 0..3i64 {
        idle.out(tuple!["item", life]).expect("it goes on");
        served.restart();
        served.knows_only(0);
        assert_eq!(idle.take_if(&template!["item", ?i64]).expect("it goes on"), Some(tuple!["item", life]));
    }
    // It is known again, and waits as anybody does.
    let mut waiting = idle.begin().take(&template!["late"]).expect("it is sent");
    assert_eq!(idle.count(&template!["late"]).expect("it goes on"), 0);
    let other = served.connect();
    other.out(tuple!["late"]).expect("there is room");
    let outcome = waiting.wait(LONG).expect("it is answered").expect("it goes on");
    assert_eq!(outcome, Outcome::Tuple(tuple!["late"], None));
}

#[test]
fn who_was_forgotten_while_idle_goes_on_over_shared_memory() {
    goes_on(|folder| LinkAddress::SharedMemory(folder.join("space")));
}

#[test]
fn who_was_forgotten_while_idle_goes_on_over_a_unix_socket() {
    goes_on(|folder| LinkAddress::Unix(folder.join("space")));
}

#[test]
fn who_was_forgotten_while_idle_goes_on_over_tcp() {
    goes_on(tcp);
}

#[test]
fn who_was_forgotten_while_idle_goes_on_over_tls() {
    goes_on(tls);
}

/// The window of a client is for those who wait: it begins when one asks.
#[test]
fn a_server_that_was_away_for_longer_than_an_idle_client_would_wait_is_found_again() {
    let mut served = Served::new(tcp, SHORT);
    let link = LinkConfig { resume_window: SHORT, ..LinkConfig::default() };
    let lab = Lab::connect_with(&served.address, 0, LEASE, link).expect("the space is there");
    let (space, watch) = (lab.space(), lab.watch().expect("a descriptor"));
    space.out(tuple!["item", 1i64]).expect("there is room");
    served.end();
    // Its event loop sees the end, and nobody at that address until long after the window.
    let until = std::time::Instant::now() + 10 * SHORT;
    wait_until(|| {
        watch.progress();
        std::time::Instant::now() >= until
    });
    served.start();
    served.knows_only(0);
    let mut taken = space.begin().take_if(&template!["item", ?i64]).expect("it is begun");
    wait_until(|| {
        watch.progress();
        taken.is_done()
    });
    let outcome = taken.wait(Duration::ZERO).expect("it is done").expect("it goes on");
    assert_eq!(outcome, Outcome::Tuple(tuple!["item", 1i64], None));
}

/// What is owed keeps the link: a program that computes is not forgotten with what it has under way.
#[test]
fn who_computes_with_a_lease_or_a_take_under_way_is_not_forgotten() {
    let window = Duration::from_secs(2);
    for at in [tcp as fn(&TempDir) -> LinkAddress, |folder| LinkAddress::SharedMemory(folder.join("space"))] {
        let mut served = Served::new(at, window);
        let link = LinkConfig { resume_window: window, ..LinkConfig::default() };
        let connect = || Lab::connect_with(&served.address, 0, LEASE, link).expect("it is there").space();
        let (holder, waiter, bystander) = (connect(), connect(), connect());
        bystander.out(tuple!["task", 1i64]).expect("there is room");
        let lease = holder.lease(&template!["task", ?i64], None).expect("it is there");
        let mut waiting = waiter.begin().take(&template!["late"]).expect("it is sent");
        assert_eq!(waiter.count(&template!["late"]).expect("it is asked behind it"), 0);
        served.restart();
        // Whoever owes nothing does not come back by itself.
        served.knows_only(2);
        let other = served.connect();
        assert_eq!(other.status().expect("it is there").leases, 1);
        other.out(tuple!["late"]).expect("there is room");
        let outcome = waiting.wait(LONG).expect("it is answered").expect("it goes on");
        assert_eq!(outcome, Outcome::Tuple(tuple!["late"], None));
        lease.acknowledge(&[tuple!["result", 1i64]]).expect("it is still its holder's");
        assert_eq!(other.count(&template!["result", 1i64]).expect("it is there"), 1);
        bystander.count(&template!["task", ?i64]).expect("it goes on all the same");
    }
}

/// The thread that looks at the link takes answers in, and calls nobody.
#[test]
fn who_wants_to_be_called_is_called_by_a_thread_of_the_program() {
    let served = Served::new(tcp, LONG);
    let link = LinkConfig { resume_window: SHORT, ..LinkConfig::default() };
    let space = Lab::connect_with(&served.address, 0, LEASE, link).expect("the space is there").space();
    let pending = space.begin().take(&template!["late"]).expect("it is sent");
    let (tell, told) = std::sync::mpsc::channel();
    pending.notify(Box::new(move || tell.send(std::thread::current().id()).expect("it listens")));
    served.connect().out(tuple!["late"]).expect("there is room");
    wait_until(|| pending.is_done());
    assert!(told.try_recv().is_err(), "the program does not call");
    space.count(&template!["late"]).expect("the space is there");
    assert_eq!(told.try_recv(), Ok(std::thread::current().id()));
}

/// A client that the server could not be reached by until it was forgotten, with something under way or held.
fn cut_off(what: impl FnOnce(&Space, &Wire, &dyn Fn())) {
    let served = Served::new(tcp, SHORT);
    let LinkAddress::Tcp { host, port } = &served.address else { panic!("it is served over TCP") };
    let wire = Wire::to(format!("{host}:{port}").parse().expect("an address")).expect("a wire");
    let through = LinkAddress::Tcp { host: host.clone(), port: wire.address().port() };
    let space = Lab::connect(&through, 0, LEASE).expect("the space is there").space();
    space.out(tuple!["task", 1i64]).expect("there is room");
    what(&space, &wire, &|| {
        wire.set_dead(true);
        wire.cut();
        served.knows_only(0);
        wire.set_dead(false);
    });
}

#[test]
fn who_was_forgotten_with_a_call_under_way_is_told() {
    cut_off(|space, _, is_forgotten| {
        let mut waiting = space.begin().take(&template!["never"]).expect("it is sent");
        is_forgotten();
        let error = waiting.wait(LONG).expect("it does not hang").expect_err("nobody knows of it");
        assert_eq!(error.code(), Code::PeerDied, "{error}");
    });
}

#[test]
fn who_was_forgotten_with_a_lease_is_told_that_it_is_lost() {
    cut_off(|space, _, is_forgotten| {
        let lease = space.lease(&template!["task", ?i64], None).expect("it is there");
        is_forgotten();
        let error = lease.acknowledge(&[tuple!["result", 1i64]]).expect_err("it returned");
        assert_eq!(error.code(), Code::LeaseLost, "{error}");
        let lease = space.lease(&template!["task", ?i64], None).expect("it is there again");
        assert_eq!(lease.attempt(), 2);
        lease.acknowledge(&[]).expect("it is held");
        assert_eq!(space.count(&template!["result", 1i64]).expect("it goes on"), 0);
    });
}

/// A server without a log forgets the session whose link stays cut. So who owes something makes it again.
#[test]
fn a_link_that_is_cut_while_a_program_computes_is_made_again_where_something_is_owed() {
    let link = LinkConfig { resume_window: Duration::from_secs(2), ..LinkConfig::default() };
    let server = Server::start(tcp(&TempDir::new().expect("a folder")), &ServeConfig::default());
    let server = server.expect("it serves");
    let LinkAddress::Tcp { host, port } = &server.addresses()[0] else { panic!("it is served over TCP") };
    let wire = Wire::to(format!("{host}:{port}").parse().expect("an address")).expect("a wire");
    let through = LinkAddress::Tcp { host: host.clone(), port: wire.address().port() };
    let space = Lab::connect_with(&through, 0, LEASE, link).expect("the space is there").space();
    space.out(tuple!["task", 1i64]).expect("there is room");
    let lease = space.lease(&template!["task", ?i64], None).expect("it is there");
    let before = wire.connections();
    wire.cut();
    wait_until(|| wire.connections() > before);
    lease.acknowledge(&[]).expect("it is held");
}
