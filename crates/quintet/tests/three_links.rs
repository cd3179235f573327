//! Eight threads of one process at three links to one space, while workers are killed and a link is cut: who waits for a tuple that is
//! there gets it, and every task is done once.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Lab, LinkAddress, ServeConfig, Server, Space, template, tuple};
use quintet_testbed::{Child, Program, TempDir, Wire, argument};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const NAME: &str = "eight_threads_at_three_links_lose_no_tuple_and_no_wake_up";
const LONG: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_secs(2);

const THREADS: usize = 8;
/// Fewer than threads, so that most of them wait.
const TOKENS: usize = 3;
/// Of each thread.
const ROUNDS: usize = 100;
/// Rounds between two faults.
const BETWEEN_FAULTS: usize = 40;

/// A worker: does tasks for ever, until it is killed.
fn work(address: &str) -> ! {
    let address: LinkAddress = address.parse().expect("the test wrote it");
    let space = Lab::connect(address, 0, LEASE).expect("the space is there").space();
    loop {
        let lease = space.lease(&template!["task", ?i64], None).expect("the space outlives its workers");
        let result = tuple!["result", lease.tuple()[1].clone(), i64::from(lease.attempt())];
        // Whose lease ran out on a busy machine has done nothing.
        let _ = lease.acknowledge(&[result]);
    }
}

fn start_worker(address: &LinkAddress) -> Child {
    Program::this_test(NAME, address.to_string()).unwrap().spawn().unwrap()
}

/// One thread: waits for a token, has a task done, waits for its result, and hands the token on. How often a
/// worker lost one of its tasks.
fn circulate(space: &Space, thread: usize, rounds: &AtomicUsize) -> i64 {
    let mut returned = 0;
    for round in 0..ROUNDS {
        let token = template!["token", thread as u64];
        space.take_within(&token, LONG).unwrap_or_else(|error| panic!("thread {thread}: {error}"));
        let task = (thread * ROUNDS + round) as i64;
        space.out(tuple!["task", task]).unwrap();
        let result = space.take_within(&template!["result", task, ?i64], LONG);
        let result = result.unwrap_or_else(|error| panic!("task {task}: {error}"));
        returned += i64::try_from(result[2].clone()).unwrap() - 1;
        space.out(tuple!["token", ((thread + 1) % THREADS) as u64]).unwrap();
        rounds.fetch_add(1, Ordering::Relaxed);
    }
    returned
}

/// Kills a worker and starts another one, or cuts the wire: in turn, each time after some rounds.
fn disturb(
    workers: &mut [Child],
    addresses: &[LinkAddress],
    wire: &Wire,
    rounds: &AtomicUsize,
    is_over: &dyn Fn() -> bool,
) {
    for fault in 0.. {
        let goal = rounds.load(Ordering::Relaxed) + BETWEEN_FAULTS;
        while rounds.load(Ordering::Relaxed) < goal {
            if is_over() {
                assert!(fault > 2 * workers.len(), "only {fault} faults");
                return;
            }
            thread::yield_now();
        }
        let victim = fault / 2 % workers.len();
        if fault % 2 == 0 {
            wire.cut();
        } else {
            workers[victim].kill().unwrap();
            workers[victim] = start_worker(&addresses[victim]);
        }
    }
}

#[test]
fn eight_threads_at_three_links_lose_no_tuple_and_no_wake_up() {
    if let Some(address) = argument() {
        work(&address);
    }
    let folder = TempDir::new().unwrap();
    let listen: [LinkAddress; 3] = [
        LinkAddress::SharedMemory(folder.join("memory")),
        LinkAddress::Unix(folder.join("unix")),
        "tcp:127.0.0.1:0".parse().unwrap(),
    ];
    let server = Server::start_at(&listen, &ServeConfig::default()).unwrap();
    let mut addresses = server.addresses().to_vec();
    let LinkAddress::Tcp { host, port } = &mut addresses[2] else { panic!("the third is TCP") };
    let wire = Wire::to(format!("{host}:{port}").parse().unwrap()).unwrap();
    *port = wire.address().port();

    let labs = [0, 1, 2].map(|at| Lab::connect(&addresses[at], 0, LEASE).unwrap());
    let mut workers: Vec<Child> = addresses.iter().map(start_worker).collect();
    (0..TOKENS).for_each(|token| labs[0].space().out(tuple!["token", token as u64]).unwrap());
    let rounds = AtomicUsize::new(0);
    let returned: i64 = thread::scope(|scope| {
        let circulate = |thread: usize| {
            let (space, rounds) = (labs[thread % labs.len()].space(), &rounds);
            scope.spawn(move || circulate(&space, thread, rounds))
        };
        let threads: Vec<_> = (0..THREADS).map(circulate).collect();
        let is_over = || threads.iter().any(|thread| thread.is_finished());
        disturb(&mut workers, &addresses, &wire, &rounds, &is_over);
        threads.into_iter().map(|thread| thread.join().expect("it ends well")).sum()
    });
    for token in 0..THREADS as u64 {
        let expected = u64::from(token < TOKENS as u64);
        assert_eq!(labs[0].space().count(&template!["token", token]).unwrap(), expected, "at thread {token}");
    }
    let state = labs[1].space().status().unwrap();
    let (tuples, held) = (state.tuples, state.hidden);
    assert_eq!((tuples, held, state.leases, state.dead_letters), (TOKENS as u64, 0, 0, 0), "{state:?}");
    assert_eq!(state.redone, returned as u64, "a task is redone where a lease returned: {state:?}");
}
