//! A connection whose link is cut goes on over another one: nothing is lost and nothing happens twice.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Code, Credentials, Lab, LinkAddress, LinkConfig, ServeConfig, Server, template, tuple};
use quintet_identity::{Authority, Enrolling, Validity};
use quintet_testbed::{Told, Wire};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(30);

/// A wire between clients and a server.
fn wire_to(server: &LinkAddress) -> (Wire, LinkAddress) {
    let mut through = server.clone();
    let (LinkAddress::Tcp { host, port } | LinkAddress::Tls { host, port, .. }) = &mut through else {
        panic!("{server} has no port")
    };
    let wire = Wire::to(format!("{host}:{port}").parse().unwrap()).unwrap();
    (*host, *port) = (wire.address().ip().to_string(), wire.address().port());
    (wire, through)
}

fn served() -> (Server, LinkAddress) {
    let address: LinkAddress = "tcp:127.0.0.1:0".parse().unwrap();
    let server = Server::start(address, &ServeConfig::default()).unwrap();
    let address = server.addresses()[0].clone();
    (server, address)
}

/// A space that is served over TLS, and its address for members of its cluster.
fn served_over_tls() -> (Server, LinkAddress) {
    let identity = Authority::new().unwrap().issue("a", Validity::days(1)).unwrap();
    let credentials = Credentials::from_pem(identity.as_bytes()).unwrap();
    let address: LinkAddress = "tls:127.0.0.1:0".parse().unwrap();
    let server = Server::start(address.identified(Some(&credentials)), &ServeConfig::default()).unwrap();
    let address = server.addresses()[0].clone();
    (server, address)
}

#[test]
fn every_tuple_arrives_once_however_often_the_link_is_cut() {
    every_tuple_arrives_once(served());
}

#[test]
fn every_tuple_arrives_once_however_often_a_link_over_tls_is_cut() {
    every_tuple_arrives_once(served_over_tls());
}

fn every_tuple_arrives_once((_server, address): (Server, LinkAddress)) {
    const TUPLES: i64 = 400;
    /// Tuples between two cuts: links that are cut as soon as they are made are made again ever later.
    const BETWEEN_CUTS: usize = 25;
    let (wire, wired) = wire_to(&address);
    let (putting, taking) =
        (Lab::connect(&wired, 0, LEASE).unwrap(), Lab::connect(&wired, 0, LEASE).unwrap());
    let (count, taking) = (&AtomicUsize::new(0), &taking);
    thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..TUPLES {
                // Small ones, and some that go as bulk and in fragments.
                let size = if n % 50 == 0 { 3_000_000 } else { 100 };
                putting.space().out(tuple!["n", n, vec![n as u8; size]]).unwrap();
            }
        });
        let take = scope.spawn(move || {
            for n in 0..TUPLES {
                let taken = taking.space().take_within(&template!["n", ?i64, ?[u8]], LONG).unwrap();
                assert_eq!(taken[1], n.into(), "in order, none twice");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Or one of them has failed: then the other waits for it no longer than its limit.
        let is_over = || take.is_finished();
        let mut cuts = 0;
        while !is_over() {
            let before = wire.connections();
            wire.cut();
            cuts += 1;
            let goal = count.load(Ordering::Relaxed) + BETWEEN_CUTS;
            // Until both have come again and have gone on, or the work is over.
            let is_back = || wire.connections() >= before + 2;
            while !(is_over() || is_back() && count.load(Ordering::Relaxed) >= goal) {
                thread::yield_now();
            }
        }
        assert!(cuts > 1, "the work is long enough to be cut");
    });
    assert_eq!(taking.space().status().unwrap().tuples, 0);
}

#[test]
fn a_lease_and_a_waiting_take_outlive_a_cut() {
    both_outlive_a_cut(served());
}

#[test]
fn a_lease_and_a_waiting_take_outlive_a_cut_over_tls() {
    both_outlive_a_cut(served_over_tls());
}

/// The certificates of both sides are renewed while they are joined; the key is the same, and so who they are.
#[test]
fn a_session_goes_on_over_a_link_with_renewed_certificates() {
    let authority = Authority::new().unwrap();
    let identities = ["a", "b"].map(|name| authority.issue(name, Validity::days(1)).unwrap());
    let [ours, theirs] =
        [0, 1].map(|side: usize| Credentials::from_pem(identities[side].as_bytes()).unwrap());
    let address: LinkAddress = "tls:127.0.0.1:0".parse().unwrap();
    let listening = address.identified(Some(&theirs));
    let server = Server::start(listening, &ServeConfig::default()).unwrap();
    let (wire, wired) = wire_to(&server.addresses()[0].clone().identified(Some(&ours)));
    let lab = Lab::connect(&wired, 0, LEASE).unwrap();
    lab.space().out(tuple!["task", 1i64]).unwrap();
    let lease = lab.space().lease(&template!["task", ?i64], None).unwrap();
    for (credentials, identity) in [ours, theirs].iter().zip(&identities) {
        let renewing = Enrolling::renewing(identity.as_bytes(), "a").unwrap();
        let (request, asker) = (renewing.request().unwrap(), credentials.identity().0);
        let certificate = authority.sign(&request, &asker, "a", Validity::days(90)).unwrap();
        let renewed = renewing.finish(&certificate, authority.certificate()).unwrap();
        credentials.renew(renewed.as_bytes()).unwrap();
    }
    let before = wire.connections();
    wire.cut();
    lease.acknowledge(&[tuple!["result", 1i64]]).unwrap();
    assert!(wire.connections() > before, "over a link that was made since");
    assert_eq!(lab.space().take_if(&template!["result", ?i64]).unwrap(), Some(tuple!["result", 1i64]));
}

fn both_outlive_a_cut((_server, address): (Server, LinkAddress)) {
    let (wire, wired) = wire_to(&address);
    let (cut, whole) = (Lab::connect(&wired, 0, LEASE).unwrap(), Lab::connect(&address, 0, LEASE).unwrap());
    cut.space().out(tuple!["task", 1i64]).unwrap();
    let lease = cut.space().lease(&template!["task", ?i64], None).unwrap();
    let mut waiting = cut.space().begin().take(&template!["late", ?i64]).unwrap();
    wire.cut();
    whole.space().out(tuple!["late", 2i64]).unwrap();
    let outcome = waiting.wait(LONG).expect("it is answered over the new link").unwrap();
    assert_eq!(outcome, quintet::Outcome::Tuple(tuple!["late", 2i64], None));
    lease.acknowledge(&[tuple!["result", 1i64]]).unwrap();
    assert_eq!(whole.space().take_if(&template!["result", ?i64]).unwrap(), Some(tuple!["result", 1i64]));
    assert_eq!(whole.space().status().unwrap().leases, 0);
}

#[test]
fn a_link_that_stays_cut_ends_the_connection_at_the_end_of_its_window() {
    let (_server, address) = served();
    let (wire, wired) = wire_to(&address);
    let link = LinkConfig { resume_window: Duration::from_millis(200), ..LinkConfig::default() };
    let lab = Lab::connect_with(&wired, 0, LEASE, link).unwrap();
    let mut waiting = lab.space().begin().take(&template!["never"]).unwrap();
    wire.set_dead(true);
    wire.cut();
    let error = waiting.wait(LONG).expect("it does not hang").expect_err("nobody answers");
    assert_eq!(error.code(), Code::PeerDied, "{error}");
    assert!(error.text().contains("did not come back in time"), "the server's process lives: {error}");
    assert_eq!(lab.space().status().expect_err("it is over for good").code(), Code::PeerDied);
}

/// The link may be broken without a sign. It is given up at the end of the limit, and another one takes its place.
#[test]
fn a_link_that_falls_silent_is_replaced_and_the_calls_go_on() {
    let (_server, address) = served();
    let (wire, wired) = wire_to(&address);
    let (keep_alive, silence_limit) = (Duration::from_millis(50), Duration::from_secs(1));
    let link = LinkConfig { keep_alive, silence_limit, ..LinkConfig::default() };
    let lab = Lab::connect_with(&wired, 0, LEASE, link).unwrap();
    let mut waiting = lab.space().begin().take(&template!["late"]).unwrap();
    wire.set_mute(true);
    while wire.connections() < 2 {
        assert!(waiting.wait(Duration::from_millis(10)).is_none(), "it waits for the next link");
    }
    wire.set_mute(false);
    let whole = Lab::connect(&address, 0, LEASE).unwrap();
    whole.space().out(tuple!["late"]).unwrap();
    let outcome = waiting.wait(LONG).expect("it is answered over the new link").unwrap();
    assert_eq!(outcome, quintet::Outcome::Tuple(tuple!["late"], None));
}

/// As after a network was divided: the server never hears that the old link has ended.
#[test]
fn a_link_that_was_lost_without_a_sign_is_replaced_by_the_next_one() {
    let (_server, address) = served();
    let (wire, wired) = wire_to(&address);
    let (keep_alive, silence_limit) = (Duration::from_millis(50), Duration::from_secs(1));
    let link = LinkConfig { keep_alive, silence_limit, ..LinkConfig::default() };
    let lab = Lab::connect_with(&wired, 0, LEASE, link).unwrap();
    let mut waiting = lab.space().begin().take(&template!["late"]).unwrap();
    wire.lose(Told::Nobody);
    let whole = Lab::connect(&address, 0, LEASE).unwrap();
    whole.space().out(tuple!["late"]).unwrap();
    let outcome = waiting.wait(LONG).expect("it is answered over the new link").unwrap();
    assert_eq!(outcome, quintet::Outcome::Tuple(tuple!["late"], None));
    assert_eq!(wire.connections(), 2, "the first that came again took its place");
}

#[test]
fn a_server_that_was_started_again_is_another_one() {
    let (server, address) = served();
    let lab = Lab::connect(&address, 0, LEASE).unwrap();
    lab.space().out(tuple!["x"]).unwrap();
    server.stop().unwrap();
    let error = lab.space().count(&template!["x"]).expect_err("its space is gone");
    assert_eq!(error.code(), Code::PeerDied, "{error}");
    let _again = Server::start(address, &ServeConfig::default()).unwrap();
    assert_eq!(lab.space().count(&template!["x"]).expect_err("for good").code(), Code::PeerDied);
}

#[test]
fn an_event_loop_hears_of_the_link_that_is_made_again() {
    let (_server, address) = served();
    let (wire, wired) = wire_to(&address);
    // Nothing else has the loop look.
    let link = LinkConfig { keep_alive: LONG, ..LinkConfig::default() };
    let (cut, whole) =
        (Lab::connect_with(&wired, 0, LEASE, link).unwrap(), Lab::connect(&address, 0, LEASE).unwrap());
    let watch = cut.watch().unwrap();
    let mut waiting = cut.space().begin().take(&template!["late"]).unwrap();
    wire.cut();
    whole.space().out(tuple!["late"]).unwrap();
    // Much less than the window in which a cut link can be made again: that it closes is told of as well.
    let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
    while !waiting.is_done() {
        let told = poll(&mut [PollFd::new(&watch, PollFlags::IN)], Some(&limit)).unwrap();
        assert_eq!(told, 1, "the descriptor tells when another link is to be made");
        watch.progress();
    }
    waiting.wait(Duration::ZERO).expect("it is done").expect("it is answered over the new link");
}
